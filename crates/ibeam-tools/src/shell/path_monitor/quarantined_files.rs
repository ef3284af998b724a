//! The files in the quarantine, with the place from which each came, and their return.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags, openat2, renameat_with, statat};
use rustix::io::Errno;

use super::quarantine::{CopyBudget, copy, remove};
use crate::mode_overrides::ModeOverrides;

/// The ending of the files that list the origins of what is in the directory of the same name.
const ORIGINS_ENDING: &str = ".origins";

/// A file or directory in the quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantinedFile {
    /// The name by which it is restored: its path in the quarantine.
    pub id: String,
    /// The place where it is.
    pub place: PathBuf,
    /// The place where it was; `None` if that was not recorded.
    pub origin: Option<PathBuf>,
    /// When it was moved, in milliseconds since the Unix epoch.
    pub moved_at_ms: u64,
}

/// Records where a file in a directory of the quarantine came from.
pub(super) fn record_origin(directory: &Path, name: &OsStr, origin: &Path) -> io::Result<()> {
    let mut record = OpenOptions::new();
    let mut record = record.append(true).create(true).mode(0o600).open(origins_file(directory))?;
    record.write_all(&[name.as_bytes(), b"\0", origin.as_os_str().as_bytes(), b"\0"].concat())
}

fn origins_file(directory: &Path) -> PathBuf {
    let mut path = directory.as_os_str().to_owned();
    path.push(ORIGINS_ENDING);
    path.into()
}

impl QuarantinedFile {
    /// Lists what is in the quarantine, the oldest first. A quarantine that does not exist is empty.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn list(quarantine: &Path) -> io::Result<Vec<Self>> {
        let directories = match std::fs::read_dir(quarantine) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            directories => directories?,
        };
        let mut found = Vec::new();
        for directory in
            directories.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        {
            let origins = std::fs::read(origins_file(&directory.path())).unwrap_or_default();
            let mut words = origins.split(|byte| *byte == 0);
            let mut pairs = Vec::new();
            while let (Some(name), Some(origin)) = (words.next(), words.next()) {
                pairs.push((OsStr::from_bytes(name), Path::new(OsStr::from_bytes(origin))));
            }
            let directory_name = directory.file_name().to_string_lossy().into_owned();
            let time = directory_name.split('-').next().and_then(|time| time.parse().ok());
            // A directory that cannot be read is left out, as if it were empty.
            for entry in std::fs::read_dir(directory.path()).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let origin = pairs.iter().rfind(|(known, _)| *known == name);
                found.push(Self {
                    id: format!("{directory_name}/{}", name.to_string_lossy()),
                    place: entry.path(),
                    origin: origin.map(|(_, origin)| (*origin).to_owned()),
                    moved_at_ms: time.unwrap_or_default(),
                });
            }
        }
        found.sort_by(|a, b| (a.moved_at_ms, &a.id).cmp(&(b.moved_at_ms, &b.id)));
        Ok(found)
    }

    /// Moves the file to `target`. No link on the way there is followed, because a command may have made it.
    ///
    /// # Errors
    /// `EXIST`: something is there. `LOOP`: a directory on the way is a link now. `NOENT`: it does not exist any more.
    pub fn restore(&self, target: &Path) -> Result<(), Errno> {
        let (from, name) = open_parent(&self.place)?;
        let (to, new_name) = open_parent(target)?;
        match renameat_with(&from, name, &to, new_name, RenameFlags::NOREPLACE) {
            Err(Errno::XDEV) => {}
            // A file system that cannot refuse to replace.
            Err(Errno::INVAL | Errno::NOSYS) => {
                check_free(to.as_fd(), new_name)?;
                return rustix::fs::renameat(&from, name, &to, new_name);
            }
            moved => return moved,
        }
        check_free(to.as_fd(), new_name)?;
        let mut modes = ModeOverrides::default();
        copy(from.as_fd(), name, to.as_fd(), new_name, &mut CopyBudget::unlimited(), &mut modes)?;
        remove(from.as_fd(), name, &mut modes)
    }
}

fn check_free(directory: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(()),
        Ok(_) => Err(Errno::EXIST),
        Err(errno) => Err(errno),
    }
}

/// Opens the directory in which a file is, without following links.
fn open_parent(path: &Path) -> Result<(OwnedFd, &OsStr), Errno> {
    let (above, name) = path.parent().zip(path.file_name()).ok_or(Errno::INVAL)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat2(CWD, above, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Before Linux 5.6. The paths were resolved when they were recorded.
        Err(Errno::NOSYS) if above.canonicalize().is_ok_and(|real| real == above) => {
            File::open(above).map(OwnedFd::from).map_err(|_| Errno::NOENT)
        }
        opened => opened,
    }
    .map(|opened| (opened, name))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_quarantined_file_returns_unless_something_is_there() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let (quarantine, workspace) = (top.join("quarantine"), top.join("ws"));
        assert_eq!(QuarantinedFile::list(&quarantine).unwrap(), []);
        let directory = quarantine.join("1700000000000-00ff");
        fs::create_dir_all(directory.join(".idea")).unwrap();
        fs::create_dir_all(workspace.join("sub")).unwrap();
        fs::write(directory.join(".idea/x"), "x").unwrap();
        fs::write(directory.join("unknown"), "").unwrap();
        record_origin(&directory, OsStr::new(".idea"), &workspace.join("sub/.idea")).unwrap();
        let found = QuarantinedFile::list(&quarantine).unwrap();
        let [idea, unknown] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(idea.id, "1700000000000-00ff/.idea");
        assert_eq!((idea.moved_at_ms, unknown.origin.as_ref()), (1_700_000_000_000, None));
        let origin = idea.origin.clone().unwrap();
        assert_eq!(origin, workspace.join("sub/.idea"));
        fs::create_dir(&origin).unwrap();
        assert_eq!(idea.restore(&origin), Err(Errno::EXIST));
        fs::remove_dir(&origin).unwrap();
        // A command may have replaced the directory by a link.
        fs::rename(workspace.join("sub"), workspace.join("aside")).unwrap();
        std::os::unix::fs::symlink("aside", workspace.join("sub")).unwrap();
        assert_eq!(idea.restore(&origin), Err(Errno::LOOP));
        fs::remove_file(workspace.join("sub")).unwrap();
        fs::rename(workspace.join("aside"), workspace.join("sub")).unwrap();
        assert_eq!(idea.restore(&origin), Ok(()));
        assert_eq!(fs::read_to_string(origin.join("x")).unwrap(), "x");
        assert_eq!(QuarantinedFile::list(&quarantine).unwrap().as_slice(), std::slice::from_ref(unknown));
    }
}
