//! Credentials whose place a variable of the environment decides.
//!
//! Reads no environment: the caller looks variables up. Refuses places that are no credentials whatever a variable
//! says: devices, and directories that hold the home directory or the workspace.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::{Protection, entries};

/// What a variable says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// The path of a file with credentials, or of a directory that is nothing else.
    Place,
    /// Several such paths with colons between them.
    Places,
    /// A directory that stands for this one below the home directory: the entries of the table below that.
    Instead(&'static str),
    /// A directory with files of credentials, which are these.
    Holds(&'static [&'static str]),
}

use Meaning::{Holds, Instead, Place, Places};

const VARIABLES: &[(&str, Meaning)] = &[
    // where a system's directories are
    ("XDG_CONFIG_HOME", Instead(".config")),
    ("XDG_DATA_HOME", Instead(".local/share")),
    ("XDG_STATE_HOME", Instead(".local/state")),
    ("XDG_CACHE_HOME", Instead(".cache")),
    // keys and passwords
    ("GNUPGHOME", Place),
    ("NETRC", Place),
    ("PASSWORD_STORE_DIR", Place),
    ("SOPS_AGE_KEY_FILE", Place),
    ("SSH_KEY_PATH", Place),
    ("CREDENTIALS_DIRECTORY", Place),
    ("KRB5_KTNAME", Place),
    ("STEPPATH", Place),
    // other agents
    ("AMP_SETTINGS_FILE", Place),
    ("CLAUDE_CONFIG_DIR", Instead(".claude")),
    ("CLAUDE_CONFIG_DIR", Holds(&[".claude.json"])),
    ("CODEX_HOME", Instead(".codex")),
    ("GH_COPILOT_CONFIG_DIR", Place),
    ("GOOSE_CONFIG_DIR", Place),
    ("OPENCODE_CONFIG", Place),
    ("QWEN_HOME", Instead(".qwen")),
    // package registries
    ("BUNDLE_USER_CONFIG", Place),
    ("CARGO_HOME", Instead(".cargo")),
    ("COMPOSER_HOME", Instead(".config/composer")),
    ("CONDARC", Place),
    ("CONAN_HOME", Instead(".conan2")),
    ("GRADLE_USER_HOME", Instead(".gradle")),
    ("NPM_CONFIG_USERCONFIG", Place),
    ("npm_config_userconfig", Place),
    ("NPM_CONFIG_GLOBALCONFIG", Place),
    ("npm_config_globalconfig", Place),
    ("PIP_CONFIG_FILE", Place),
    ("POETRY_CONFIG_DIR", Holds(&["auth.toml"])),
    ("UV_CONFIG_FILE", Place),
    ("UV_CREDENTIALS_DIR", Place),
    ("HATCH_CONFIG", Place),
    ("YARN_RC_FILENAME", Place),
    // code hosts
    ("GH_CONFIG_DIR", Place),
    ("GLAB_CONFIG_DIR", Place),
    ("HUB_CONFIG", Place),
    ("PYTHON_GITLAB_CFG", Place),
    // clouds
    ("AWS_SHARED_CREDENTIALS_FILE", Place),
    ("AWS_CONFIG_FILE", Place),
    ("AWS_WEB_IDENTITY_TOKEN_FILE", Place),
    ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", Place),
    ("AZURE_CONFIG_DIR", Place),
    ("AZURE_CLIENT_CERTIFICATE_PATH", Place),
    ("AZURE_FEDERATED_TOKEN_FILE", Place),
    ("BOTO_CONFIG", Place),
    ("CLOUDSDK_CONFIG", Place),
    ("CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE", Place),
    ("GOOGLE_APPLICATION_CREDENTIALS", Place),
    ("GOOGLE_CREDENTIALS", Place),
    ("OCI_CLI_CONFIG_FILE", Place),
    ("OCI_CLI_KEY_FILE", Place),
    ("OS_CLIENT_CONFIG_FILE", Place),
    ("DIGITALOCEAN_CONFIG", Place),
    ("HCLOUD_CONFIG", Place),
    ("LINODE_CLI_CONFIG", Place),
    ("SCW_CONFIG_PATH", Place),
    ("FLY_CONFIG_DIR", Instead(".fly")),
    // clusters, containers, infrastructure
    ("DOCKER_CONFIG", Instead(".docker")),
    ("DOCKER_CERT_PATH", Place),
    ("REGISTRY_AUTH_FILE", Place),
    ("KUBECONFIG", Places),
    ("HELM_REGISTRY_CONFIG", Place),
    ("HELM_REPOSITORY_CONFIG", Place),
    ("TALOSCONFIG", Place),
    ("MINIKUBE_HOME", Place),
    ("TF_CLI_CONFIG_FILE", Place),
    ("PULUMI_HOME", Instead(".pulumi")),
    ("VAULT_CONFIG_PATH", Place),
    ("VAULT_CLIENT_KEY", Place),
    ("CONSUL_HTTP_TOKEN_FILE", Place),
    ("CONSUL_CLIENT_KEY", Place),
    ("NOMAD_CLIENT_KEY", Place),
    ("ANSIBLE_VAULT_PASSWORD_FILE", Place),
    ("ANSIBLE_PRIVATE_KEY_FILE", Place),
    // databases, data and models
    ("PGPASSFILE", Place),
    ("PGSERVICEFILE", Place),
    ("PGSSLKEY", Place),
    ("MYSQL_TEST_LOGIN_FILE", Place),
    ("DATABRICKS_CONFIG_FILE", Place),
    ("SNOWFLAKE_HOME", Place),
    ("DBT_PROFILES_DIR", Holds(&["profiles.yml"])),
    ("HF_HOME", Instead(".cache/huggingface")),
    ("HF_TOKEN_PATH", Place),
    ("KAGGLE_CONFIG_DIR", Place),
    ("JUPYTER_CONFIG_DIR", Place),
    ("JUPYTER_RUNTIME_DIR", Place),
    ("WANDB_CONFIG_DIR", Place),
    // storage and copies
    ("RCLONE_CONFIG", Place),
    ("RESTIC_PASSWORD_FILE", Place),
    ("BORG_KEYS_DIR", Place),
    ("BORG_KEY_FILE", Place),
    // what was typed
    ("HISTFILE", Place),
    ("PYTHON_HISTORY", Place),
    ("NODE_REPL_HISTORY", Place),
    ("PSQL_HISTORY", Place),
    ("MYSQL_HISTFILE", Place),
    ("SQLITE_HISTORY", Place),
    ("LESSHISTFILE", Place),
];

/// The places of credentials that the variables which `lookup` knows decide, below no home directory of their own.
/// A relative path is taken from `start`. Places that hold `home`, `start` or a whole system directory are left
/// out: a variable that names these names no credential.
pub fn credentials_from_environment(
    lookup: impl Fn(&str) -> Option<OsString>,
    home: &Path,
    start: &Path,
) -> Vec<PathBuf> {
    let mut named = Vec::new();
    for (variable, meaning) in VARIABLES {
        let Some(value) = lookup(variable).filter(|value| !value.is_empty()) else { continue };
        match meaning {
            Place => named.push(absolute(&value, home, start)),
            Places => {
                let parts = value.as_bytes().split(|byte| *byte == b':').filter(|part| !part.is_empty());
                named.extend(parts.map(|part| absolute(OsStr::from_bytes(part), home, start)));
            }
            Holds(files) => {
                let directory = absolute(&value, home, start);
                named.extend(files.iter().map(|file| directory.join(file)));
            }
            Instead(usual) => {
                let directory = absolute(&value, home, start);
                if directory != home.join(usual) {
                    named.extend(moved(usual).map(|rest| directory.join(rest)));
                }
            }
        }
    }
    named.retain(|path| may_be_credential(path, home, start));
    named.sort();
    named.dedup();
    named
}

/// The credentials of the table below `usual`, from there.
fn moved(usual: &str) -> impl Iterator<Item = &'static str> + '_ {
    let below = entries().filter(|entry| entry.protection == Protection::Credential);
    below.filter_map(move |entry| entry.name.strip_prefix(usual)?.strip_prefix('/'))
}

/// `value` as an absolute path without `.` and `..`.
fn absolute(value: &OsStr, home: &Path, start: &Path) -> PathBuf {
    let value = Path::new(value);
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

fn may_be_credential(path: &Path, home: &Path, start: &Path) -> bool {
    let holds = |place: &Path| place.starts_with(path);
    let is_of_the_kernel = ["/dev", "/proc", "/sys"].iter().any(|system| path.starts_with(system));
    // `/etc`, `/usr` and their like are never one credential.
    path.components().count() > 2 && !is_of_the_kernel && !holds(home) && !holds(start)
}

#[cfg(test)]
#[path = "variables_test.rs"]
mod tests;
