//! The directories that this program writes: made before a run begins, and never through a link that a command left.
//!
//! A command may write where the workspace contains the home directory. There, what is read as the user's
//! configuration and what this program writes must exist before the sandbox is planned, because only what exists can
//! be kept from commands. Refuses a link, another user's directory and one that everybody may write.

use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use ibeam_protocol::Reason;
use rustix::fs::{Access, access};
use rustix::process::geteuid;

use crate::dirs::Dirs;

/// Everybody may write.
const WRITABLE_BY_ALL: u32 = 0o002;
/// Where files of the administrator are read from.
const MANAGED: [&str; 2] = ["/etc/ibeam", "/etc/cursor"];

/// A directory that this program writes, and the variable that puts it elsewhere.
struct OwnDirectory {
    path: PathBuf,
    variable: &'static str,
    /// Whether a link may stand in its place: people link configuration directories to where they keep them.
    may_be_link: bool,
}

impl Dirs {
    /// Makes the directory of sessions, and checks every directory that a run writes.
    ///
    /// # Errors
    /// `CannotCreate` with the directory and the variable that puts it elsewhere.
    pub(crate) fn create_sessions_dir(&self) -> Result<(), Reason> {
        self.check()?;
        let sessions = self.own(self.sessions(), "XDG_DATA_HOME");
        sessions.make(&self.home).map_err(or_ephemeral)?;
        sessions.check()?;
        sessions.check_writable().map_err(or_ephemeral)
    }

    /// Checks every directory that a run writes, and makes none.
    ///
    /// # Errors
    /// `CannotCreate` with the directory and the variable that puts it elsewhere.
    pub(crate) fn check(&self) -> Result<(), Reason> {
        self.own_directories().iter().try_for_each(OwnDirectory::check)
    }

    /// Makes every directory that commands could otherwise make in the place of one that is read or written here, and
    /// returns those that commands must leave as they are. `writable` are the directories that commands may write,
    /// resolved. Where commands could not make one, none is made.
    ///
    /// # Errors
    /// `CannotCreate` for a link that commands could replace, or that leads to where commands may write.
    pub(crate) fn protect_from_commands(&self, writable: &[PathBuf]) -> Result<Vec<PathBuf>, Reason> {
        self.check()?;
        let is_writable = |path: &Path| writable.iter().any(|root| path.starts_with(root));
        let mut kept = Vec::new();
        for directory in self.own_directories() {
            directory.make_before_commands(&self.home, &is_writable);
            kept.extend(directory.resolved(&is_writable)?);
        }
        // Read here and written by other programs: a link among these is the person's arrangement.
        let read = self.user_cursor.iter().filter_map(|file| file.parent()).map(Path::to_owned);
        let mut read: Vec<PathBuf> = read.chain([self.home.join(".cursor")]).collect();
        // In a workspace that is `/`, the system's directories are read-only anyway, and none is made in them.
        if !writable.iter().any(|root| root == Path::new("/")) {
            read.extend(MANAGED.map(PathBuf::from));
        }
        for path in read {
            let directory = OwnDirectory { path, variable: "CURSOR_CONFIG_DIR", may_be_link: true };
            directory.make_before_commands(&self.home, &is_writable);
            kept.extend(directory.path.canonicalize().ok().filter(|place| is_writable(place)));
        }
        kept.sort();
        kept.dedup();
        Ok(kept)
    }

    fn own(&self, path: PathBuf, variable: &'static str) -> OwnDirectory {
        OwnDirectory { path, variable, may_be_link: false }
    }

    /// Above first.
    fn own_directories(&self) -> [OwnDirectory; 6] {
        let config = self.own(self.config_directory().to_owned(), "XDG_CONFIG_HOME");
        [
            OwnDirectory { may_be_link: true, ..config },
            self.own(self.data.clone(), "XDG_DATA_HOME"),
            self.own(self.sessions(), "XDG_DATA_HOME"),
            self.own(self.cache.clone(), "XDG_CACHE_HOME"),
            self.own(self.background_logs(), "XDG_CACHE_HOME"),
            self.own(self.quarantine(), "XDG_CACHE_HOME"),
        ]
    }
}

impl OwnDirectory {
    fn refused(&self, path: &Path, what: &str) -> Reason {
        let detail = format!("{what}; set {} to another directory", self.variable);
        Reason::CannotCreate { path: path.display().to_string(), detail }
    }

    /// Makes the directory and those above it that are missing, for this user alone.
    fn make(&self, home: &Path) -> Result<(), Reason> {
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
            return Err(self.refused(&self.path, "no directory is made in `/`"));
        }
        missing.reverse();
        for path in missing {
            make_one(path).map_err(|error| self.refused(path, &error.to_string()))?;
        }
        Ok(())
    }

    /// Refuses what is not a directory of this user's own.
    fn check(&self) -> Result<(), Reason> {
        let found = match fs::symlink_metadata(&self.path) {
            Ok(found) if found.is_symlink() && self.may_be_link => fs::metadata(&self.path),
            found => found,
        };
        let wrong = match found {
            Ok(found) => self.what_is_wrong(&found),
            Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => None,
            Err(error) => Some(error.to_string()),
        };
        wrong.map_or(Ok(()), |what| Err(self.refused(&self.path, &what)))
    }

    fn what_is_wrong(&self, found: &Metadata) -> Option<String> {
        let kind = found.file_type();
        if kind.is_symlink() {
            return Some("a symbolic link stands there, which is not followed".to_owned());
        }
        if !kind.is_dir() {
            return Some("it is not a directory".to_owned());
        }
        // Root may keep its things with whom it likes, e.g. in a container with a mounted home; and where a link may
        // stand, what is only read may be root's.
        let (owner, us) = (found.uid(), geteuid());
        let may_be_roots = self.may_be_link && owner == 0;
        if owner != us.as_raw() && !us.is_root() && !may_be_roots {
            return Some(format!("it belongs to another user (uid {owner})"));
        }
        let mode = found.mode() & 0o7777;
        (mode & WRITABLE_BY_ALL != 0).then(|| format!("every user may write it (mode {mode:04o})"))
    }

    fn check_writable(&self) -> Result<(), Reason> {
        let refused = |errno: rustix::io::Errno| {
            self.refused(&self.path, &format!("it cannot be written: {}", io::Error::from(errno)))
        };
        access(&self.path, Access::WRITE_OK | Access::EXEC_OK).map_err(refused)
    }

    /// Makes the directory where commands could make it. What cannot be made here, a command cannot make either.
    fn make_before_commands(&self, home: &Path, is_writable: &dyn Fn(&Path) -> bool) {
        let nearest = self.path.ancestors().skip(1).find(|path| path.exists());
        if nearest
            .and_then(|nearest| nearest.canonicalize().ok())
            .is_some_and(|nearest| is_writable(&nearest))
        {
            drop(self.make(home));
        }
    }

    /// Returns the place itself, where commands could write it.
    fn resolved(&self, is_writable: &dyn Fn(&Path) -> bool) -> Result<Option<PathBuf>, Reason> {
        let mut place = PathBuf::new();
        for component in self.path.components() {
            match component {
                Component::ParentDir => {
                    place.pop();
                }
                Component::CurDir => {}
                Component::Prefix(_) | Component::RootDir | Component::Normal(_) => place.push(component),
            }
            if !place.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
                continue;
            }
            if place.parent().is_some_and(is_writable) {
                let what = "a symbolic link stands there, which commands could replace";
                return Err(self.refused(&place, what));
            }
            let Ok(real) = place.canonicalize() else { return Ok(None) };
            if place == self.path && is_writable(&real) {
                return Err(self.refused(&place, "it is a symbolic link to where commands may write"));
            }
            place = real;
        }
        Ok((is_writable(&place) && place.is_dir()).then_some(place))
    }
}

/// Adds the way out for a run that need not be kept.
fn or_ephemeral(reason: Reason) -> Reason {
    match reason {
        Reason::CannotCreate { path, detail } => {
            let detail = format!("{detail}, or keep no session with `--ephemeral`");
            Reason::CannotCreate { path, detail }
        }
        reason => reason,
    }
}

/// Makes one directory, whose name is on the disk then.
fn make_one(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(error),
    }
    // Whatever the umask leaves.
    fs::set_permissions(path, Permissions::from_mode(0o700))?;
    // A directory that cannot be opened for reading cannot be synced; the name is there all the same.
    if let Some(parent) = path.parent().and_then(|parent| File::open(parent).ok()) {
        drop(parent.sync_all());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// The directory `home/.config/ibeam` where commands may write `writable`, names below the same root.
    fn resolved(arrange: impl FnOnce(&Path), writable: &str) -> Result<Option<PathBuf>, Reason> {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for name in ["home", "workspace"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        arrange(&root);
        let path = root.join("home/.config/ibeam");
        let directory = OwnDirectory { path, variable: "XDG_CONFIG_HOME", may_be_link: true };
        drop(directory.make(&root.join("home")));
        let writable = root.join(writable);
        let found = directory.resolved(&|path| path.starts_with(&writable));
        found.map(|found| found.map(|found| found.strip_prefix(&root).unwrap().to_owned()))
    }

    fn made(root: &Path, name: &str) -> PathBuf {
        fs::create_dir_all(root.join(name)).unwrap();
        root.join(name)
    }

    #[test]
    fn what_commands_could_write_is_named_by_its_real_place() {
        let config = Some(PathBuf::from("home/.config/ibeam"));
        assert_eq!(resolved(|_| (), "workspace").unwrap(), None);
        assert_eq!(resolved(|_| (), "home").unwrap(), config);
        assert_eq!(resolved(|_| (), "home/.config/ibeam/below").unwrap(), None);
        // A linked parent elsewhere, as programs that keep configuration files make it, goes on working.
        let linked = |root: &Path| symlink(made(root, "kept"), root.join("home/.config")).unwrap();
        assert_eq!(resolved(linked, "workspace").unwrap(), None);
        assert_eq!(resolved(linked, "kept").unwrap(), Some(PathBuf::from("kept/ibeam")));
    }

    #[test]
    fn a_link_that_commands_could_replace_or_fill_is_refused() {
        let linked = |root: &Path| symlink(made(root, "kept"), root.join("home/.config")).unwrap();
        let filled = |root: &Path| {
            made(root, "home/.config");
            symlink(made(root, "workspace/config"), root.join("home/.config/ibeam")).unwrap();
        };
        let elsewhere = |root: &Path| {
            made(root, "home/.config");
            symlink(made(root, "kept"), root.join("home/.config/ibeam")).unwrap();
        };
        for found in [resolved(linked, "home"), resolved(filled, "workspace"), resolved(elsewhere, "home")] {
            let Err(Reason::CannotCreate { detail, .. }) = found else { panic!("{found:?}") };
            assert!(detail.contains("symbolic link") && detail.contains("XDG_CONFIG_HOME"), "{detail}");
        }
        assert_eq!(resolved(elsewhere, "workspace").unwrap(), None);
    }

    #[test]
    fn a_directory_that_everybody_may_write_is_nobodys_own() {
        let root = tempfile::tempdir().unwrap();
        let directory =
            OwnDirectory { path: root.path().join("own"), variable: "XDG_DATA_HOME", may_be_link: false };
        directory.make(Path::new("/home/none")).unwrap();
        let mode = || fs::metadata(&directory.path).unwrap().mode() & 0o777;
        assert_eq!(mode(), 0o700);
        directory.check().unwrap();
        fs::set_permissions(&directory.path, Permissions::from_mode(0o775)).unwrap();
        directory.check().unwrap();
        fs::set_permissions(&directory.path, Permissions::from_mode(0o777)).unwrap();
        let Err(Reason::CannotCreate { detail, .. }) = directory.check() else { panic!("it is taken") };
        assert!(detail.contains("every user may write it") && detail.contains("XDG_DATA_HOME"), "{detail}");
    }
}
