//! The paths of configuration, keys, sessions, models and caches.
//!
//! Uses the XDG directories on every system. Only computes paths: `own_directories` creates and checks directories.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ibeam_files::regular_file;
use nix::unistd::{User, getuid};
use rustix::fs::{Access, access};
use rustix::io::Errno;

use crate::ConfigError;

/// The size limit of `/etc/passwd` in bytes; a machine with more users has a directory service.
const MAX_PASSWD_BYTES: u64 = 1024 * 1024;

/// The paths of a user and of a project, all absolute. None of them has to exist.
#[derive(Clone, Debug)]
pub struct Dirs {
    pub home: PathBuf,
    /// The user's configuration file.
    pub user_config: PathBuf,
    /// The project's configuration file.
    pub project_config: PathBuf,
    /// The user's configuration of the Cursor CLI: the first of these files that exists counts.
    pub user_cursor: Vec<PathBuf>,
    /// The project's configuration of the Cursor CLI.
    pub project_cursor: PathBuf,
    /// The configuration file of the administrator.
    pub managed_config: PathBuf,
    /// The file of stored API keys.
    pub credentials: PathBuf,
    /// The data directory: sessions, models.
    pub data: PathBuf,
    /// The cache directory: everything in it can be created again.
    pub cache: PathBuf,
}

impl Dirs {
    /// Returns the paths of this user and of the project in `workspace`.
    ///
    /// # Errors
    /// `CannotCreate` if there is neither a home directory nor the XDG variables; `Invalid` for a variable with a
    /// relative path.
    pub fn for_workspace(workspace: &Path) -> Result<Self, ConfigError> {
        let home = home()?;
        let own_dir = |variable: &str, default: &str| {
            let given = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            let base = given.or_else(|| Some(home.as_ref()?.join(default)));
            base.map(|base| base.join("ibeam")).ok_or_else(|| ConfigError::CannotCreate {
                path: format!("${variable}"),
                message: "there is no home directory; set HOME or the XDG variables".to_owned(),
            })
        };
        let config = own_dir("XDG_CONFIG_HOME", ".config")?;
        Ok(Self {
            user_config: config.join("config.toml"),
            project_config: workspace.join(".ibeam").join("config.toml"),
            user_cursor: user_cursor_files(home.as_deref())?,
            project_cursor: workspace.join(".cursor").join("cli.json"),
            managed_config: PathBuf::from("/etc/ibeam/config.toml"),
            credentials: config.join("credentials.toml"),
            data: own_dir("XDG_DATA_HOME", ".local/share")?,
            cache: own_dir("XDG_CACHE_HOME", ".cache")?,
            home: home.unwrap_or_else(|| PathBuf::from("/")),
        })
    }

    /// Returns the paths of all configuration files: this program's, the Cursor CLI's, the administrator's.
    pub fn config_files(&self) -> impl Iterator<Item = &Path> {
        let own = [&self.user_config, &self.project_config].into_iter();
        let foreign = self.user_cursor.iter().chain([&self.project_cursor, &self.managed_config]);
        own.chain(foreign).map(PathBuf::as_path)
    }

    pub fn sessions(&self) -> PathBuf {
        self.data.join("sessions")
    }

    /// Returns the directory of the views of repositories, in which git runs.
    pub fn git_views(&self) -> PathBuf {
        self.data.join("git")
    }

    /// Returns the directory of the output of background commands.
    pub fn background_logs(&self) -> PathBuf {
        self.cache.join("background")
    }

    /// Returns the directory to which files are moved that commands created at protected paths.
    pub fn quarantine(&self) -> PathBuf {
        self.cache.join("quarantine")
    }

    /// Returns the directory of embedded models.
    pub fn models(&self) -> PathBuf {
        self.data.join("models")
    }

    /// Returns the directory of the user's configuration.
    pub fn config_directory(&self) -> &Path {
        self.user_config.parent().unwrap_or(&self.user_config)
    }
}

/// Returns the paths at which the Cursor CLI looks for the user's file: if `CURSOR_CONFIG_DIR` is set, only there.
///
/// # Errors
/// `Invalid` for a relative `CURSOR_CONFIG_DIR`: the file would depend on the working directory.
fn user_cursor_files(home: Option<&Path>) -> Result<Vec<PathBuf>, ConfigError> {
    let given =
        |variable: &str| std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let directories = match given("CURSOR_CONFIG_DIR") {
        Some(only) if !only.is_absolute() => return Err(relative_path_error("CURSOR_CONFIG_DIR", &only)),
        Some(only) => vec![only],
        None => {
            let xdg = given("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
            xdg.map(|path| path.join("cursor"))
                .into_iter()
                .chain(home.map(|home| home.join(".cursor")))
                .collect()
        }
    };
    Ok(directories.into_iter().map(|directory| directory.join("cli-config.json")).collect())
}

/// Returns the home directory: `HOME`, or the directory of the user database if `HOME` is unset or empty.
///
/// A `HOME` that cannot be written is not replaced by another directory: the user's rules are read from it.
///
/// # Errors
/// `Invalid` for a relative `HOME`, with which files of the workspace would become the user's; `CannotCreate` for a
/// directory that this user may not enter.
fn home() -> Result<Option<PathBuf>, ConfigError> {
    let Some(given) = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from) else {
        let home = User::from_uid(getuid()).ok().flatten().map(|user| user.dir);
        return Ok(home.filter(|home| home.is_absolute() && home != Path::new("/")));
    };
    if !given.is_absolute() {
        return Err(relative_path_error("HOME", &given));
    }
    match access(&given, Access::EXEC_OK) {
        Err(Errno::ACCESS) => Err(ConfigError::cannot_create(
            &given,
            "this user may not enter the directory that HOME names; set HOME to another one",
        )),
        Ok(()) | Err(_) => Ok(Some(given)),
    }
}

/// Returns the home directory that `/etc/passwd` gives this user, which `HOME` may not name. Does not ask directory
/// services, which may be on the network.
pub fn home_from_user_database() -> Option<PathBuf> {
    let users = regular_file::read(Path::new("/etc/passwd"), MAX_PASSWD_BYTES).ok()?;
    let own_id = getuid().to_string();
    let home = |line: &[u8]| {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
        let [_, _, id, _, _, home, ..] = fields.as_slice() else { return None };
        (*id == own_id.as_bytes()).then(|| PathBuf::from(OsStr::from_bytes(home)))
    };
    let found = users.split(|byte| *byte == b'\n').find_map(home)?;
    Some(found).filter(|home| home.is_absolute() && home != Path::new("/"))
}

fn relative_path_error(variable: &str, path: &Path) -> ConfigError {
    ConfigError::Invalid {
        path: format!("${variable}"),
        line: None,
        column: None,
        message: format!("`{}` is a relative path; set {variable} to an absolute one", path.display()).into(),
    }
}
