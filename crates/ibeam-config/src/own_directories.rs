//! Creates and checks the directories that this program writes, before a run begins.
//!
//! If the workspace contains the home directory, commands may write to it. The user's configuration and the directories
//! that this program writes must then exist before the sandbox is planned, because only existing paths can be
//! protected from commands. Refuses a link, a directory of another user and a directory that every user may write.

use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::process::geteuid;

use crate::{ConfigError, Dirs};

/// The mode bit that lets every user write to a directory.
const WRITABLE_BY_ALL: u32 = 0o002;
/// The directories of the administrator's files.
const MANAGED_DIRS: [&str; 2] = ["/etc/ibeam", "/etc/cursor"];

/// A directory that this program writes, and the environment variable that sets another path for it.
struct OwnDirectory {
    path: PathBuf,
    variable: &'static str,
    /// Whether the directory may be a link: people keep configuration directories elsewhere and link to them.
    may_be_link: bool,
}

impl Dirs {
    /// Creates the directory of sessions, and checks every directory that a run writes.
    ///
    /// # Errors
    /// `CannotCreate` with the directory and the variable that moves it.
    pub fn create_sessions_dir(&self) -> Result<(), ConfigError> {
        self.check_directories()?;
        let sessions = self.own_directory(self.sessions(), "XDG_DATA_HOME");
        sessions.create(&self.home).map_err(suggest_ephemeral)?;
        sessions.check()?;
        sessions.check_writable().map_err(suggest_ephemeral)
    }

    /// Checks every directory that a run writes, and creates none.
    ///
    /// # Errors
    /// `CannotCreate` with the directory and the variable that moves it.
    pub fn check_directories(&self) -> Result<(), ConfigError> {
        self.own_directories().iter().try_for_each(OwnDirectory::check)
    }

    /// Creates the directories that a command could otherwise create itself, and returns the directories that commands
    /// must not change. `writable` are the real paths of the directories that commands may write.
    ///
    /// # Errors
    /// `CannotCreate` for a link that commands could replace, or that leads to a directory that commands may write.
    pub fn protect_from_commands(&self, writable: &[PathBuf]) -> Result<Vec<PathBuf>, ConfigError> {
        self.check_directories()?;
        let is_writable = |path: &Path| writable.iter().any(|root| path.starts_with(root));
        let mut protected = Vec::new();
        for directory in self.own_directories() {
            directory.create_before_commands(&self.home, &is_writable);
            protected.extend(directory.resolve_writable(&is_writable)?);
        }
        // Other programs write these directories, so a link among them is the user's choice.
        let read = self.user_cursor.iter().filter_map(|file| file.parent()).map(Path::to_owned);
        let mut read: Vec<PathBuf> = read.chain([self.home.join(".cursor")]).collect();
        // If the workspace is `/`, the sandbox makes the system's directories read-only anyway.
        if !writable.iter().any(|root| root == Path::new("/")) {
            read.extend(MANAGED_DIRS.map(PathBuf::from));
        }
        for path in read {
            let directory = OwnDirectory { path, variable: "CURSOR_CONFIG_DIR", may_be_link: true };
            directory.create_before_commands(&self.home, &is_writable);
            protected.extend(directory.path.canonicalize().ok().filter(|path| is_writable(path)));
        }
        protected.sort();
        protected.dedup();
        Ok(protected)
    }

    fn own_directory(&self, path: PathBuf, variable: &'static str) -> OwnDirectory {
        OwnDirectory { path, variable, may_be_link: false }
    }

    /// Returns all directories, parents before children.
    fn own_directories(&self) -> [OwnDirectory; 6] {
        let config = self.own_directory(self.config_directory().to_owned(), "XDG_CONFIG_HOME");
        [
            OwnDirectory { may_be_link: true, ..config },
            self.own_directory(self.data.clone(), "XDG_DATA_HOME"),
            self.own_directory(self.sessions(), "XDG_DATA_HOME"),
            self.own_directory(self.cache.clone(), "XDG_CACHE_HOME"),
            self.own_directory(self.background_logs(), "XDG_CACHE_HOME"),
            self.own_directory(self.quarantine(), "XDG_CACHE_HOME"),
        ]
    }
}

impl OwnDirectory {
    fn error(&self, path: &Path, problem: &str) -> ConfigError {
        let message = format!("{problem}; set {} to another directory", self.variable);
        ConfigError::cannot_create(path, message)
    }

    /// Creates the directory and its missing parents, for this user alone.
    fn create(&self, home: &Path) -> Result<(), ConfigError> {
        if self.path.symlink_metadata().is_ok() {
            return Ok(());
        }
        let missing = self.path.ancestors().take_while(|path| path.symlink_metadata().is_err());
        let mut missing: Vec<&Path> = missing.collect();
        let root = Some(Path::new("/"));
        if let Some(first) = missing.last()
            && first.parent() == root
            && self.path.starts_with(home)
        {
            return Err(self.error(&self.path, "this program creates no directory in `/`"));
        }
        missing.reverse();
        for path in missing {
            create_and_sync_dir(path).map_err(|error| self.error(path, &error.to_string()))?;
        }
        Ok(())
    }

    /// Refuses what is not a directory of this user. A missing directory is fine.
    fn check(&self) -> Result<(), ConfigError> {
        let found = match fs::symlink_metadata(&self.path) {
            Ok(found) if found.is_symlink() && self.may_be_link => fs::metadata(&self.path),
            found => found,
        };
        let problem = match found {
            Ok(found) => self.problem_of(&found),
            Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => None,
            Err(error) => Some(error.to_string()),
        };
        problem.map_or(Ok(()), |problem| Err(self.error(&self.path, &problem)))
    }

    fn problem_of(&self, found: &Metadata) -> Option<String> {
        let kind = found.file_type();
        if kind.is_symlink() {
            return Some("it is a symbolic link, which is not followed".to_owned());
        }
        if !kind.is_dir() {
            return Some("it is not a directory".to_owned());
        }
        // Root may use a home of another user, e.g. one mounted into a container. The configuration, which may be a
        // link and is only read, may belong to root.
        let (owner, own_id) = (found.uid(), geteuid());
        let may_belong_to_root = self.may_be_link && owner == 0;
        if owner != own_id.as_raw() && !own_id.is_root() && !may_belong_to_root {
            return Some(format!("it belongs to another user (uid {owner})"));
        }
        let mode = found.mode() & 0o7777;
        (mode & WRITABLE_BY_ALL != 0).then(|| format!("every user may write to it (mode {mode:04o})"))
    }

    fn check_writable(&self) -> Result<(), ConfigError> {
        let cannot_write = |errno: rustix::io::Errno| {
            self.error(&self.path, &format!("it cannot be written: {}", io::Error::from(errno)))
        };
        access(&self.path, Access::WRITE_OK | Access::EXEC_OK).map_err(cannot_write)
    }

    /// Creates the directory if commands could create it. An error is ignored, because a command cannot create it
    /// either.
    fn create_before_commands(&self, home: &Path, is_writable: &dyn Fn(&Path) -> bool) {
        let nearest = self.path.ancestors().skip(1).find(|path| path.exists());
        if nearest
            .and_then(|nearest| nearest.canonicalize().ok())
            .is_some_and(|nearest| is_writable(&nearest))
        {
            drop(self.create(home));
        }
    }

    /// Returns the real path of the directory if commands may write it.
    fn resolve_writable(&self, is_writable: &dyn Fn(&Path) -> bool) -> Result<Option<PathBuf>, ConfigError> {
        let mut real_path = PathBuf::new();
        for component in self.path.components() {
            match component {
                Component::ParentDir => {
                    real_path.pop();
                }
                Component::CurDir => {}
                Component::Prefix(_) | Component::RootDir | Component::Normal(_) => real_path.push(component),
            }
            if !real_path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
                continue;
            }
            if real_path.parent().is_some_and(is_writable) {
                let problem = "it is a symbolic link that commands could replace";
                return Err(self.error(&real_path, problem));
            }
            let Ok(target) = real_path.canonicalize() else { return Ok(None) };
            if real_path == self.path && is_writable(&target) {
                return Err(
                    self.error(&real_path, "it is a symbolic link to a directory that commands may write")
                );
            }
            real_path = target;
        }
        Ok((is_writable(&real_path) && real_path.is_dir()).then_some(real_path))
    }
}

/// Adds the hint that a run without a session needs no directory.
fn suggest_ephemeral(error: ConfigError) -> ConfigError {
    match error {
        ConfigError::CannotCreate { path, message } => {
            let message = format!("{message}, or keep no session with `--ephemeral`");
            ConfigError::CannotCreate { path, message }
        }
        error => error,
    }
}

/// Creates one directory and syncs its name to the disk.
fn create_and_sync_dir(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(error),
    }
    // The umask may have removed permissions.
    fs::set_permissions(path, Permissions::from_mode(0o700))?;
    // A parent that cannot be opened for reading cannot be synced.
    if let Some(parent) = path.parent().and_then(|parent| File::open(parent).ok()) {
        drop(parent.sync_all());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Resolves `home/.config/ibeam` while commands may write `writable`; both are relative to one root.
    fn resolve(arrange: impl FnOnce(&Path), writable: &str) -> Result<Option<PathBuf>, ConfigError> {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for name in ["home", "workspace"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        arrange(&root);
        let path = root.join("home/.config/ibeam");
        let directory = OwnDirectory { path, variable: "XDG_CONFIG_HOME", may_be_link: true };
        drop(directory.create(&root.join("home")));
        let writable = root.join(writable);
        let found = directory.resolve_writable(&|path| path.starts_with(&writable));
        found.map(|found| found.map(|found| found.strip_prefix(&root).unwrap().to_owned()))
    }

    fn create_dir(root: &Path, name: &str) -> PathBuf {
        fs::create_dir_all(root.join(name)).unwrap();
        root.join(name)
    }

    #[test]
    fn a_directory_that_commands_may_write_is_returned_with_its_real_path() {
        let config = Some(PathBuf::from("home/.config/ibeam"));
        assert_eq!(resolve(|_| (), "workspace").unwrap(), None);
        assert_eq!(resolve(|_| (), "home").unwrap(), config);
        assert_eq!(resolve(|_| (), "home/.config/ibeam/below").unwrap(), None);
        // A linked parent, as programs that manage configuration files create it, still works.
        let linked = |root: &Path| symlink(create_dir(root, "kept"), root.join("home/.config")).unwrap();
        assert_eq!(resolve(linked, "workspace").unwrap(), None);
        assert_eq!(resolve(linked, "kept").unwrap(), Some(PathBuf::from("kept/ibeam")));
    }

    #[test]
    fn a_link_that_commands_could_replace_or_fill_is_refused() {
        let linked = |root: &Path| symlink(create_dir(root, "kept"), root.join("home/.config")).unwrap();
        let filled = |root: &Path| {
            create_dir(root, "home/.config");
            symlink(create_dir(root, "workspace/config"), root.join("home/.config/ibeam")).unwrap();
        };
        let elsewhere = |root: &Path| {
            create_dir(root, "home/.config");
            symlink(create_dir(root, "kept"), root.join("home/.config/ibeam")).unwrap();
        };
        for found in [resolve(linked, "home"), resolve(filled, "workspace"), resolve(elsewhere, "home")] {
            let Err(ConfigError::CannotCreate { message, .. }) = found else { panic!("{found:?}") };
            assert!(message.contains("symbolic link") && message.contains("XDG_CONFIG_HOME"), "{message}");
        }
        assert_eq!(resolve(elsewhere, "workspace").unwrap(), None);
    }

    #[test]
    fn a_directory_that_everybody_may_write_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let directory =
            OwnDirectory { path: root.path().join("own"), variable: "XDG_DATA_HOME", may_be_link: false };
        directory.create(Path::new("/home/none")).unwrap();
        let mode = || fs::metadata(&directory.path).unwrap().mode() & 0o777;
        assert_eq!(mode(), 0o700);
        directory.check().unwrap();
        fs::set_permissions(&directory.path, Permissions::from_mode(0o775)).unwrap();
        directory.check().unwrap();
        fs::set_permissions(&directory.path, Permissions::from_mode(0o777)).unwrap();
        let Err(ConfigError::CannotCreate { message, .. }) = directory.check() else { panic!("accepted") };
        assert!(message.contains("every user may write") && message.contains("XDG_DATA_HOME"), "{message}");
    }
}
