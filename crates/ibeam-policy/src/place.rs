//! Places that need more than being in the workspace: configuration that executes, and credentials.
//!
//! Lists of names. Compared folded: without case, trailing dots and invisible characters, as file systems do
//! that would open the same file for both spellings.

use std::path::{Component, Path};

/// Names whose content makes other programs execute something, or widens what we or other agents may do.
/// A file or directory of this name is not written wherever it is.
const PROTECTED: &[&str] = &[
    // version control: configuration, hooks and attributes run commands
    ".git",
    "git~1",
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
    ".docker/config.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".config/ibeam",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/op",
    ".config/cursor",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".local/share/keyrings",
    ".local/share/ibeam",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
];

/// System files that tell secrets or the state of processes, or never end.
const SYSTEM: &[&str] =
    &["/dev", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/run/secrets", "/var/run/secrets"];

/// The first protected name on the way to `path`.
pub(crate) fn protected(path: &Path) -> Option<&'static str> {
    path.components().find_map(|component| match component {
        Component::Normal(name) => {
            let name = fold(&name.to_string_lossy());
            PROTECTED.iter().find(|protected| **protected == name).copied()
        }
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    })
}

/// The entry of the list of secrets that `path` is or lies in.
pub(crate) fn credential(path: &Path, home: &Path) -> Option<&'static str> {
    if let Some(system) = SYSTEM.iter().find(|system| path.starts_with(system)) {
        return (path != Path::new("/dev/null")).then_some(*system);
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

fn fold(name: &str) -> String {
    let visible = name.chars().filter(|c| {
        !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    });
    visible.flat_map(char::to_lowercase).collect::<String>().trim_end_matches(['.', ' ']).to_owned()
}
