//! Where things of ours are: configuration, keys, sessions, models, caches.
//!
//! The XDG directories on every system. Refuses to make anything in `/`, and to go through a link that stands
//! where a directory of ours should be.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ibeam_protocol::Reason;
use nix::unistd::{User, getuid};
use rustix::fs::{Access, access};

/// Absolute paths; nothing of them need exist.
#[derive(Clone, Debug)]
pub(crate) struct Places {
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

impl Places {
    /// The places of this user and of the project in `workspace`.
    ///
    /// # Errors
    /// `CannotCreate` when neither a home directory nor the XDG variables say where.
    pub(crate) fn of(workspace: &Path) -> Result<Self, Reason> {
        let home = home();
        let ours = |variable: &str, usual: &str| {
            let given = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            let base = given.or_else(|| Some(home.as_ref()?.join(usual)));
            base.map(|base| base.join("ibeam")).ok_or_else(|| Reason::CannotCreate {
                path: format!("${variable}"),
                said: "there is no home directory; set HOME or the XDG variables".to_owned(),
            })
        };
        let config = ours("XDG_CONFIG_HOME", ".config")?;
        Ok(Self {
            user_config: config.join("config.toml"),
            project_config: workspace.join(".ibeam").join("config.toml"),
            user_cursor: user_cursor(home.as_deref()),
            project_cursor: workspace.join(".cursor").join("cli.json"),
            managed_config: PathBuf::from("/etc/ibeam/config.toml"),
            credentials: config.join("credentials.toml"),
            data: ours("XDG_DATA_HOME", ".local/share")?,
            cache: ours("XDG_CACHE_HOME", ".cache")?,
            home: home.unwrap_or_else(|| PathBuf::from("/")),
        })
    }

    /// Where files of the configuration are looked for: ours, those in the original's form, the managed one.
    pub(crate) fn configuration(&self) -> impl Iterator<Item = &Path> {
        let ours = [&self.user_config, &self.project_config].into_iter();
        let others = self.user_cursor.iter().chain([&self.project_cursor, &self.managed_config]);
        ours.chain(others).map(PathBuf::as_path)
    }

    /// The directory of sessions.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.data.join("sessions")
    }

    /// The directory of models.
    #[cfg_attr(not(feature = "embedded"), expect(dead_code, reason = "only the embedded model has files"))]
    pub(crate) fn models(&self) -> PathBuf {
        self.data.join("models")
    }

    /// Holds that what stands where a run writes is a directory of this user's own, or nothing yet.
    ///
    /// # Errors
    /// `CannotCreate` for a link, a file, or another user's directory.
    pub(crate) fn check_owned(&self) -> Result<(), Reason> {
        for path in [&self.data, &self.sessions(), &self.cache, &self.cache.join("background")] {
            let planted = match fs::symlink_metadata(path) {
                Ok(found) => what_is_wrong(&found),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => Some(error.to_string()),
            };
            if let Some(said) = planted {
                return Err(Reason::CannotCreate { path: path.display().to_string(), said });
            }
        }
        Ok(())
    }
}

fn what_is_wrong(found: &Metadata) -> Option<String> {
    let kind = found.file_type();
    if kind.is_symlink() {
        return Some("a symbolic link stands there, which is not followed".to_owned());
    }
    if !kind.is_dir() {
        return Some("it is not a directory".to_owned());
    }
    // Root may keep its things with whom it likes, e.g. in a container with a mounted home.
    let (owner, us) = (found.uid(), getuid());
    (owner != us.as_raw() && !us.is_root()).then(|| format!("it belongs to another user (uid {owner})"))
}

/// Where the original looks for the user's file. `CURSOR_CONFIG_DIR` means that one alone.
fn user_cursor(home: Option<&Path>) -> Vec<PathBuf> {
    let given =
        |variable: &str| std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let directories = match given("CURSOR_CONFIG_DIR") {
        Some(only) => vec![std::path::absolute(&only).unwrap_or(only)],
        None => {
            let of_xdg = given("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
            of_xdg
                .map(|path| path.join("cursor"))
                .into_iter()
                .chain(home.map(|home| home.join(".cursor")))
                .collect()
        }
    };
    directories.into_iter().map(|directory| directory.join("cli-config.json")).collect()
}

/// The home directory: `HOME`, else what the list of users says, whichever can hold something of ours.
fn home() -> Option<PathBuf> {
    let named = std::env::var_os("HOME").map(PathBuf::from).filter(|home| is_one(home));
    let listed = || User::from_uid(getuid()).ok().flatten().map(|user| user.dir).filter(|home| is_one(home));
    match named {
        Some(home) if can_hold(&home) => Some(home),
        named => listed().filter(|home| can_hold(home)).or_else(|| named.filter(|home| can_enter(home))),
    }
}

/// A home that holds nothing new may still hold a configuration to read.
fn can_enter(home: &Path) -> bool {
    access(home, Access::EXEC_OK).is_ok()
}

/// Never `/`, and no directory that would first have to be made in it.
fn is_one(home: &Path) -> bool {
    let root = Path::new("/");
    home.is_absolute() && home != root && (home.parent() != Some(root) || home.is_dir())
}

/// Whether a directory can be made in it, or it beside its neighbours.
fn can_hold(home: &Path) -> bool {
    let writable = |path: &Path| access(path, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    match fs::metadata(home) {
        Ok(found) => found.is_dir() && writable(home),
        Err(error) if error.kind() == io::ErrorKind::NotFound => home.parent().is_some_and(writable),
        Err(_) => false,
    }
}
