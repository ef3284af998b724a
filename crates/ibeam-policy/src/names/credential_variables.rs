//! Credentials whose location an environment variable sets.
//!
//! Does not read the environment: the caller looks variables up. Leaves out paths that cannot be credentials whatever a
//! variable contains: devices, and directories that contain the home directory or the workspace.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::{Protection, entries};

/// The meaning of a variable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VariableMeaning {
    /// The path of a credential file, or of a directory of credentials.
    SinglePath,
    /// Several such paths, separated by colons.
    PathList,
    /// The path of a directory that is used in place of this directory below the home directory. It contains the same
    /// credentials, as listed in the table of the parent module.
    ReplacesDirectory(&'static str),
    /// The path of a directory that contains these credential files.
    DirectoryOf(&'static [&'static str]),
}

use VariableMeaning::{DirectoryOf, PathList, ReplacesDirectory, SinglePath};

/// The variables. One that has two meanings is listed twice.
const VARIABLES: &[(&str, VariableMeaning)] = &[
    // base directories
    ("XDG_CONFIG_HOME", ReplacesDirectory(".config")),
    ("XDG_DATA_HOME", ReplacesDirectory(".local/share")),
    ("XDG_STATE_HOME", ReplacesDirectory(".local/state")),
    ("XDG_CACHE_HOME", ReplacesDirectory(".cache")),
    // keys and passwords
    ("GNUPGHOME", SinglePath),
    ("NETRC", SinglePath),
    ("PASSWORD_STORE_DIR", SinglePath),
    ("SOPS_AGE_KEY_FILE", SinglePath),
    ("SSH_KEY_PATH", SinglePath),
    ("CREDENTIALS_DIRECTORY", SinglePath),
    ("KRB5_KTNAME", SinglePath),
    ("KRB5_CLIENT_KTNAME", SinglePath),
    ("KRB5CCNAME", SinglePath),
    ("STEPPATH", SinglePath),
    // other coding agents
    ("AMP_SETTINGS_FILE", SinglePath),
    ("CLAUDE_CONFIG_DIR", ReplacesDirectory(".claude")),
    ("CLAUDE_CONFIG_DIR", DirectoryOf(&[".claude.json"])),
    ("CODEX_HOME", ReplacesDirectory(".codex")),
    ("GH_COPILOT_CONFIG_DIR", SinglePath),
    ("GOOSE_CONFIG_DIR", SinglePath),
    ("OPENCODE_CONFIG", SinglePath),
    ("QWEN_HOME", ReplacesDirectory(".qwen")),
    // package registries
    ("BUNDLE_USER_CONFIG", SinglePath),
    ("CARGO_HOME", ReplacesDirectory(".cargo")),
    ("COMPOSER_HOME", ReplacesDirectory(".config/composer")),
    ("CONDARC", SinglePath),
    ("CONAN_HOME", ReplacesDirectory(".conan2")),
    ("GRADLE_USER_HOME", ReplacesDirectory(".gradle")),
    ("NPM_CONFIG_USERCONFIG", SinglePath),
    ("npm_config_userconfig", SinglePath),
    ("NPM_CONFIG_GLOBALCONFIG", SinglePath),
    ("npm_config_globalconfig", SinglePath),
    ("PIP_CONFIG_FILE", SinglePath),
    ("POETRY_CONFIG_DIR", DirectoryOf(&["auth.toml"])),
    ("UV_CONFIG_FILE", SinglePath),
    ("UV_CREDENTIALS_DIR", SinglePath),
    ("HATCH_CONFIG", SinglePath),
    ("YARN_RC_FILENAME", SinglePath),
    // code hosts
    ("GH_CONFIG_DIR", SinglePath),
    ("GLAB_CONFIG_DIR", SinglePath),
    ("HUB_CONFIG", SinglePath),
    ("PYTHON_GITLAB_CFG", SinglePath),
    // clouds
    ("AWS_SHARED_CREDENTIALS_FILE", SinglePath),
    ("AWS_CONFIG_FILE", SinglePath),
    ("AWS_WEB_IDENTITY_TOKEN_FILE", SinglePath),
    ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", SinglePath),
    ("AZURE_CONFIG_DIR", SinglePath),
    ("AZURE_CLIENT_CERTIFICATE_PATH", SinglePath),
    ("AZURE_FEDERATED_TOKEN_FILE", SinglePath),
    ("BOTO_CONFIG", SinglePath),
    ("CLOUDSDK_CONFIG", SinglePath),
    ("CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE", SinglePath),
    ("GOOGLE_APPLICATION_CREDENTIALS", SinglePath),
    ("GOOGLE_CREDENTIALS", SinglePath),
    ("OCI_CLI_CONFIG_FILE", SinglePath),
    ("OCI_CLI_KEY_FILE", SinglePath),
    ("OS_CLIENT_CONFIG_FILE", SinglePath),
    ("DIGITALOCEAN_CONFIG", SinglePath),
    ("HCLOUD_CONFIG", SinglePath),
    ("LINODE_CLI_CONFIG", SinglePath),
    ("SCW_CONFIG_PATH", SinglePath),
    ("FLY_CONFIG_DIR", ReplacesDirectory(".fly")),
    // clusters, containers, infrastructure
    ("DOCKER_CONFIG", ReplacesDirectory(".docker")),
    ("DOCKER_CERT_PATH", SinglePath),
    ("REGISTRY_AUTH_FILE", SinglePath),
    ("KUBECONFIG", PathList),
    ("HELM_REGISTRY_CONFIG", SinglePath),
    ("HELM_REPOSITORY_CONFIG", SinglePath),
    ("TALOSCONFIG", SinglePath),
    ("MINIKUBE_HOME", SinglePath),
    ("TF_CLI_CONFIG_FILE", SinglePath),
    ("PULUMI_HOME", ReplacesDirectory(".pulumi")),
    ("VAULT_CONFIG_PATH", SinglePath),
    ("VAULT_CLIENT_KEY", SinglePath),
    ("CONSUL_HTTP_TOKEN_FILE", SinglePath),
    ("CONSUL_CLIENT_KEY", SinglePath),
    ("NOMAD_CLIENT_KEY", SinglePath),
    ("ANSIBLE_VAULT_PASSWORD_FILE", SinglePath),
    ("ANSIBLE_PRIVATE_KEY_FILE", SinglePath),
    // databases, data and models
    ("PGPASSFILE", SinglePath),
    ("PGSERVICEFILE", SinglePath),
    ("PGSSLKEY", SinglePath),
    ("MYSQL_TEST_LOGIN_FILE", SinglePath),
    ("DATABRICKS_CONFIG_FILE", SinglePath),
    ("SNOWFLAKE_HOME", SinglePath),
    ("DBT_PROFILES_DIR", DirectoryOf(&["profiles.yml"])),
    ("HF_HOME", ReplacesDirectory(".cache/huggingface")),
    ("HF_TOKEN_PATH", SinglePath),
    ("KAGGLE_CONFIG_DIR", SinglePath),
    ("JUPYTER_CONFIG_DIR", SinglePath),
    ("JUPYTER_RUNTIME_DIR", SinglePath),
    ("WANDB_CONFIG_DIR", SinglePath),
    // storage and backups
    ("RCLONE_CONFIG", SinglePath),
    ("RESTIC_PASSWORD_FILE", SinglePath),
    ("BORG_KEYS_DIR", SinglePath),
    ("BORG_KEY_FILE", SinglePath),
    // histories of commands
    ("HISTFILE", SinglePath),
    ("PYTHON_HISTORY", SinglePath),
    ("NODE_REPL_HISTORY", SinglePath),
    ("PSQL_HISTORY", SinglePath),
    ("MYSQL_HISTFILE", SinglePath),
    ("SQLITE_HISTORY", SinglePath),
    ("LESSHISTFILE", SinglePath),
];

/// Returns the credential paths that the variables known to `lookup` set. A relative path starts from `start`. Paths
/// that contain `home`, `start` or a system directory are left out, because they cannot be credentials.
pub fn credentials_from_environment(
    lookup: impl Fn(&str) -> Option<OsString>,
    home: &Path,
    start: &Path,
) -> Vec<PathBuf> {
    let mut named = Vec::new();
    for (variable, meaning) in VARIABLES {
        let Some(value) = lookup(variable).filter(|value| !value.is_empty()) else { continue };
        match meaning {
            SinglePath => named.push(absolute_path(&value, home, start)),
            PathList => {
                let parts = value.as_bytes().split(|byte| *byte == b':').filter(|part| !part.is_empty());
                named.extend(parts.map(|part| absolute_path(OsStr::from_bytes(part), home, start)));
            }
            DirectoryOf(files) => {
                let directory = absolute_path(&value, home, start);
                named.extend(files.iter().map(|file| directory.join(file)));
            }
            ReplacesDirectory(default) => {
                let directory = absolute_path(&value, home, start);
                if directory != home.join(default) {
                    named.extend(credentials_below(default).map(|rest| directory.join(rest)));
                }
            }
        }
    }
    named.retain(|path| may_be_credential(path, home, start));
    named.sort();
    named.dedup();
    named
}

/// Returns the credentials of the table below the directory `default`, relative to that directory.
fn credentials_below(default: &str) -> impl Iterator<Item = &'static str> + '_ {
    let below = entries().filter(|entry| entry.protection == Protection::Credential);
    below.filter_map(move |entry| entry.name.strip_prefix(default)?.strip_prefix('/'))
}

/// Returns `value` as an absolute path without `.` and `..`. Kerberos writes the kind of storage before it.
fn absolute_path(value: &OsStr, home: &Path, start: &Path) -> PathBuf {
    let kinds: [&[u8]; 3] = [b"FILE:", b"WRFILE:", b"DIR:"];
    let plain = kinds.iter().find_map(|kind| value.as_bytes().strip_prefix(*kind));
    let value = Path::new(plain.map_or(value, OsStr::from_bytes));
    let from_home = value.strip_prefix("~").ok().map(|rest| home.join(rest));
    let mut path = PathBuf::new();
    for component in from_home.unwrap_or_else(|| start.join(value)).components() {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => path.push(component),
        }
    }
    path
}

/// Whether a path may be a credential: it is not a system directory and does not contain `home` or `start`.
fn may_be_credential(path: &Path, home: &Path, start: &Path) -> bool {
    let contains = |directory: &Path| directory.starts_with(path);
    let is_kernel_path = ["/dev", "/proc", "/sys"].iter().any(|system| path.starts_with(system));
    // `/etc`, `/usr` and similar directories are not credentials.
    path.components().count() > 2 && !is_kernel_path && !contains(home) && !contains(start)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    use super::credentials_from_environment;

    #[track_caller]
    fn check(variables: &[(&str, &str)], expect: &[&str]) {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let named = credentials_from_environment(lookup, Path::new("/home/ann"), Path::new("/home/ann/work"));
        let expect: Vec<PathBuf> = expect.iter().map(PathBuf::from).collect();
        assert_eq!(named, expect, "{variables:?}");
    }

    #[track_caller]
    fn check_contains(variable: (&str, &str), expect: &str) {
        let lookup = |name: &str| (name == variable.0).then(|| OsString::from(variable.1));
        let named = credentials_from_environment(lookup, Path::new("/home/ann"), Path::new("/home/ann/work"));
        assert!(named.contains(&PathBuf::from(expect)), "{variable:?}: {named:?}");
    }

    #[test]
    fn files_that_a_variable_names_are_credentials() {
        check(&[], &[]);
        check(&[("GOOGLE_APPLICATION_CREDENTIALS", "/srv/keys/g.json")], &["/srv/keys/g.json"]);
        check(&[("KUBECONFIG", "/srv/a:/srv/b::~/c")], &["/home/ann/c", "/srv/a", "/srv/b"]);
        check(&[("AWS_SHARED_CREDENTIALS_FILE", "../aws"), ("AWS_CONFIG_FILE", "")], &["/home/ann/aws"]);
        check(&[("KRB5CCNAME", "FILE:/srv/cc"), ("KRB5_KTNAME", "/srv/kt")], &["/srv/cc", "/srv/kt"]);
        check(&[("DBT_PROFILES_DIR", "/srv/dbt")], &["/srv/dbt/profiles.yml"]);
    }

    #[test]
    fn a_directory_in_place_of_the_usual_one_holds_the_same_credentials() {
        check(&[("CARGO_HOME", "/srv/cargo")], &["/srv/cargo/credentials", "/srv/cargo/credentials.toml"]);
        check(&[("CARGO_HOME", "/home/ann/.cargo")], &[]);
        check_contains(("XDG_CONFIG_HOME", "/srv/config"), "/srv/config/gh");
        check_contains(("XDG_DATA_HOME", "/srv/data"), "/srv/data/keyrings");
        check_contains(("DOCKER_CONFIG", "/srv/docker"), "/srv/docker/config.json");
        check_contains(("CLAUDE_CONFIG_DIR", "/srv/claude"), "/srv/claude/.credentials.json");
        check_contains(("CLAUDE_CONFIG_DIR", "/srv/claude"), "/srv/claude/.claude.json");
        check_contains(("GNUPGHOME", "/srv/gnupg"), "/srv/gnupg");
    }

    #[test]
    fn paths_that_cannot_be_credentials_are_left_out() {
        for value in
            ["/dev/null", "/", "/etc", "/home/ann", "/home", "/home/ann/work", ".", "/proc/self/fd/3"]
        {
            check(&[("PIP_CONFIG_FILE", value)], &[]);
            check(&[("HISTFILE", value)], &[]);
        }
    }
}
