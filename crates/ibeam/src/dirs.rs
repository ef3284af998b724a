//! Where things of ours are: configuration, keys, sessions, models, caches.
//!
//! The XDG directories on every system. Only names them: `own_directories` makes and checks them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ibeam_protocol::Reason;
use nix::unistd::{User, getuid};
use rustix::fs::{Access, access};
use rustix::io::Errno;

use crate::regular_file;

/// Bytes of the system's file of users; a machine with more of them has a service of names.
const LARGEST_LIST: u64 = 1024 * 1024;

/// Absolute paths; nothing of them need exist.
#[derive(Clone, Debug)]
pub(crate) struct Dirs {
    /// The home directory.
    pub(crate) home: PathBuf,
    /// The user's configuration file.
    pub(crate) user_config: PathBuf,
    /// The project's configuration file.
    pub(crate) project_config: PathBuf,
    /// The user's file in the form of the original: the first of these that is there.
    pub(crate) user_cursor: Vec<PathBuf>,
    /// The project's file in the form of the original.
    pub(crate) project_cursor: PathBuf,
    /// The file of whoever administers this machine.
    pub(crate) managed_config: PathBuf,
    /// Stored keys.
    pub(crate) credentials: PathBuf,
    /// Our data: sessions, models.
    pub(crate) data: PathBuf,
    /// What can be made again.
    pub(crate) cache: PathBuf,
}

impl Dirs {
    /// The places of this user and of the project in `workspace`.
    ///
    /// # Errors
    /// `CannotCreate` when neither a home directory nor the XDG variables say where; `BadConfig` for a variable that
    /// is a relative path.
    pub(crate) fn for_workspace(workspace: &Path) -> Result<Self, Reason> {
        let home = home()?;
        let ours = |variable: &str, usual: &str| {
            let given = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            let base = given.or_else(|| Some(home.as_ref()?.join(usual)));
            base.map(|base| base.join("ibeam")).ok_or_else(|| Reason::CannotCreate {
                path: format!("${variable}"),
                detail: "there is no home directory; set HOME or the XDG variables".to_owned(),
            })
        };
        let config = ours("XDG_CONFIG_HOME", ".config")?;
        Ok(Self {
            user_config: config.join("config.toml"),
            project_config: workspace.join(".ibeam").join("config.toml"),
            user_cursor: user_cursor(home.as_deref())?,
            project_cursor: workspace.join(".cursor").join("cli.json"),
            managed_config: PathBuf::from("/etc/ibeam/config.toml"),
            credentials: config.join("credentials.toml"),
            data: ours("XDG_DATA_HOME", ".local/share")?,
            cache: ours("XDG_CACHE_HOME", ".cache")?,
            home: home.unwrap_or_else(|| PathBuf::from("/")),
        })
    }

    /// Where files of the configuration are looked for: ours, those in the original's form, the managed one.
    pub(crate) fn config_files(&self) -> impl Iterator<Item = &Path> {
        let ours = [&self.user_config, &self.project_config].into_iter();
        let others = self.user_cursor.iter().chain([&self.project_cursor, &self.managed_config]);
        ours.chain(others).map(PathBuf::as_path)
    }

    /// The directory of sessions.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.data.join("sessions")
    }

    /// The directory of what commands in the background print.
    pub(crate) fn background_logs(&self) -> PathBuf {
        self.cache.join("background")
    }

    /// The directory of what commands made in protected places.
    pub(crate) fn quarantine(&self) -> PathBuf {
        self.cache.join("quarantine")
    }

    /// The directory of models.
    #[cfg_attr(not(feature = "embedded"), expect(dead_code, reason = "only the embedded model has files"))]
    pub(crate) fn models(&self) -> PathBuf {
        self.data.join("models")
    }

    /// The directory of the user's configuration.
    pub(crate) fn config_directory(&self) -> &Path {
        self.user_config.parent().unwrap_or(&self.user_config)
    }
}

/// Where the original looks for the user's file. `CURSOR_CONFIG_DIR` means that one alone.
///
/// # Errors
/// `BadConfig` for a `CURSOR_CONFIG_DIR` that is relative: the workspace would decide which file it is.
fn user_cursor(home: Option<&Path>) -> Result<Vec<PathBuf>, Reason> {
    let given =
        |variable: &str| std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let directories = match given("CURSOR_CONFIG_DIR") {
        Some(only) if !only.is_absolute() => return Err(relative("CURSOR_CONFIG_DIR", &only)),
        Some(only) => vec![only],
        None => {
            let of_xdg = given("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
            of_xdg
                .map(|path| path.join("cursor"))
                .into_iter()
                .chain(home.map(|home| home.join(".cursor")))
                .collect()
        }
    };
    Ok(directories.into_iter().map(|directory| directory.join("cli-config.json")).collect())
}

/// The home directory: `HOME` as it is given; where it is unset or empty, the one in the system's list of users.
///
/// Never another one than `HOME` names, whatever can be written there: the user's rules are read from it.
///
/// # Errors
/// `BadConfig` for a relative `HOME`, which would make files of the workspace the user's; `CannotCreate` for a
/// directory that this user may not enter, since nothing in it can be read or written.
fn home() -> Result<Option<PathBuf>, Reason> {
    let Some(given) = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from) else {
        let listed = User::from_uid(getuid()).ok().flatten().map(|user| user.dir);
        return Ok(listed.filter(|home| home.is_absolute() && home != Path::new("/")));
    };
    if !given.is_absolute() {
        return Err(relative("HOME", &given));
    }
    match access(&given, Access::EXEC_OK) {
        Err(Errno::ACCESS) => Err(Reason::CannotCreate {
            path: given.display().to_string(),
            detail: "this user may not enter the directory that HOME names; set HOME to another one"
                .to_owned(),
        }),
        Ok(()) | Err(_) => Ok(Some(given)),
    }
}

/// Returns the home directory that the system's file of users gives this user, which `HOME` may not name. Other services
/// of names are not asked, since they may be far away.
pub(crate) fn home_from_user_database() -> Option<PathBuf> {
    let users = regular_file::read(Path::new("/etc/passwd"), LARGEST_LIST).ok()?;
    let us = getuid().to_string();
    let home = |line: &[u8]| {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
        let [_, _, id, _, _, home, ..] = fields.as_slice() else { return None };
        (*id == us.as_bytes()).then(|| PathBuf::from(OsStr::from_bytes(home)))
    };
    let found = users.split(|byte| *byte == b'\n').find_map(home)?;
    Some(found).filter(|home| home.is_absolute() && home != Path::new("/"))
}

fn relative(variable: &str, path: &Path) -> Reason {
    Reason::BadConfig {
        path: format!("${variable}"),
        line: None,
        column: None,
        detail: format!("`{}` is a relative path; set {variable} to an absolute one", path.display()),
    }
}
