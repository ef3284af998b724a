//! Places that need more than being in the workspace: configuration that executes, and credentials.
//!
//! Lists of names. Compared folded, on every file system: without case, composition, trailing dots and spaces,
//! invisible characters, streams, and as the short names of FAT and NTFS, since some file system would open the
//! same file for both spellings.

use std::path::{Component, Path, PathBuf};

use crate::fold::{fold, is_short_form};

/// Names whose content makes other programs execute something, or widens what we or other agents may do.
/// A file or directory of this name is not written wherever it is.
const PROTECTED: &[&str] = &[
    // version control: configuration, hooks and attributes run commands
    ".git",
    ".hg",
    ".jj",
    ".husky",
    // ours and other agents'
    ".ibeam",
    ".cursor",
    ".claude",
    ".gemini",
    ".codex",
    ".opencode",
    ".windsurf",
    ".continue",
    ".aider.conf.yml",
    ".mcp.json",
    // editors run tasks on opening
    ".vscode",
    ".idea",
    ".zed",
    ".fleet",
    ".devcontainer",
    // shells read them when they start
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    // a planted `HEAD` turns a directory into a bare repository whose configuration git obeys
    "head",
    // logging in
    ".ssh",
    ".gnupg",
    ".netrc",
    ".pam_environment",
    ".gitconfig",
];

/// What git reads programs to run, or the way to such configuration, from: names in its directory.
const IN_GIT: &[&str] = &["config", "config.worktree", "commondir", "hooks", "info"];

/// The same for other version control, below a root.
const IN_STORES: &[&str] = &[".hg/hgrc", ".hg/hgrc-not-shared", ".jj/repo/config.toml"];

/// Below the home directory: what other programs keep secret there.
const CREDENTIALS: &[&str] = &[
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".vault-token",
    ".password-store",
    ".databrickscfg",
    ".boto",
    ".s3cfg",
    ".passwd-s3fs",
    ".kaggle",
    ".snowflake",
    ".terraformrc",
    ".terraform.d/credentials.tfrc.json",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".docker/config.json",
    ".composer/auth.json",
    ".cache/huggingface/token",
    ".huggingface/token",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".config/ibeam",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/doctl",
    ".config/rclone",
    ".config/composer/auth.json",
    ".config/containers/auth.json",
    ".config/configstore",
    ".config/sops",
    ".config/age",
    ".config/git/credentials",
    ".config/op",
    ".config/cursor",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".local/share/ibeam",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    "library/keychains",
];

/// System files that tell secrets.
const SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/krb5.keytab",
    "/etc/security/opasswd",
    "/etc/ssl/private",
    "/run/secrets",
    "/var/run/secrets",
];

/// System files that tell the state of the machine, wait, or never end.
const DEVICES: &[&str] = &["/dev", "/proc/kcore", "/proc/kmsg"];

/// The first protected name on the way to `path`.
pub(crate) fn protected(path: &Path) -> Option<&'static str> {
    path.components().find_map(|component| match component {
        Component::Normal(name) => protected_name(&name.to_string_lossy()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    })
}

/// The protected name that `name` is for some file system.
pub(crate) fn protected_name(name: &str) -> Option<&'static str> {
    // All of them begin so, whatever the case; short names have a tilde.
    let may_be = |c: char| matches!(c, '.' | 'h' | 'H') || !c.is_ascii();
    if !name.starts_with(may_be) && !name.contains('~') {
        return None;
    }
    let name = fold(name);
    PROTECTED.iter().find(|protected| **protected == name || is_short_form(&name, protected)).copied()
}

/// Whether commands must leave what has this name in a root, and all below it, as it is: the protected names,
/// compared folded, but of a repository, where only a part makes others run something.
pub fn is_kept_at_root(name: &str) -> bool {
    let stores = [".git", ".hg", ".jj"];
    // Another spelling of a repository is one for some file system, and not the one that is in use here.
    protected_name(name).is_some_and(|found| found != "head" && (!stores.contains(&found) || found != name))
}

/// What commands must leave as it is in repositories other than git's, below a root.
pub fn kept_in_stores() -> &'static [&'static str] {
    IN_STORES
}

/// Names in a directory of git whose content commands must leave as it is.
pub fn kept_in_git() -> &'static [&'static str] {
    IN_GIT
}

/// What may stand below `home`, and in the system, that commands must not read.
pub(crate) fn credentials(home: &Path) -> impl Iterator<Item = PathBuf> {
    CREDENTIALS.iter().map(|name| home.join(name)).chain(SECRETS.iter().map(PathBuf::from))
}

/// The entry of the list of secrets that `path` is or lies in.
pub(crate) fn credential(path: &Path, home: &Path) -> Option<&'static str> {
    if let Some(system) = SECRETS.iter().chain(DEVICES).find(|system| path.starts_with(system)) {
        return (path != Path::new("/dev/null")).then_some(*system);
    }
    if let Ok(name) = path.strip_prefix("/etc/ssh") {
        let name = name.to_string_lossy();
        return (name.starts_with("ssh_host_") && !name.ends_with(".pub")).then_some("/etc/ssh");
    }
    if let Ok(rest) = path.strip_prefix("/proc") {
        // `/proc/cpuinfo` is fine, `/proc/self/environ` has our keys.
        let first = rest.components().next().map(|first| first.as_os_str().to_string_lossy().into_owned());
        return first
            .filter(|name| name.ends_with("self") || name.starts_with(|c: char| c.is_ascii_digit()))
            .map(|_| "/proc");
    }
    let relative = path.strip_prefix(home).ok()?;
    let folded: Vec<String> = relative.iter().map(|name| fold(&name.to_string_lossy())).collect();
    CREDENTIALS
        .iter()
        .find(|entry| {
            let mut names = folded.iter();
            entry.split('/').all(|part| names.next().is_some_and(|name| name == part))
        })
        .copied()
}

/// True for a path that can be judged by its spelling: absolute, without `..` and NUL.
pub(crate) fn is_resolved(path: &Path) -> bool {
    path.is_absolute()
        && !path.as_os_str().as_encoded_bytes().contains(&0)
        && !path.components().any(|component| component == Component::ParentDir)
}
