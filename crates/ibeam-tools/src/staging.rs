//! New files before they are published, and the temporary files that killed writers left.
//!
//! A new file has no name where the file system supports that, so a kill leaves nothing behind; only the rename needs a
//! temporary name. The writer holds a lock on the file. A temporary name whose file is not locked was left by a killed
//! writer, possibly on another machine, and the next writer in the directory removes it.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use ibeam_files::file_lock;
use rustix::fs::{Access, AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

const PREFIX: &[u8] = b".ibeam-";
const SUFFIX: &[u8] = b".tmp";
/// Random digits between prefix and suffix.
const DIGIT_COUNT: usize = 16;
/// The number of entries of a directory that are checked.
const SWEEP_LIMIT: usize = 65_536;

/// A new file that is not published yet.
pub(crate) struct StagedFile {
    pub(crate) file: File,
    /// The temporary name, if it has one.
    name: Option<OsString>,
}

impl StagedFile {
    /// Creates an empty file for `directory`.
    pub(crate) fn new(directory: &OwnedFd) -> Result<Self, Errno> {
        Self::new_unnamed(directory).or_else(|_| Self::new_named(directory))
    }

    #[cfg(target_os = "linux")]
    fn new_unnamed(directory: &OwnedFd) -> Result<Self, Errno> {
        // The final name is given through /proc.
        rustix::fs::accessat(CWD, "/proc/self/fd", Access::EXISTS, AtFlags::empty())?;
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::io::retry_on_intr(|| {
            rustix::fs::openat(directory, ".", flags, Mode::from_raw_mode(0o666))
        })?;
        try_lock(&file);
        Ok(Self { file: File::from(file), name: None })
    }

    #[cfg(not(target_os = "linux"))]
    fn new_unnamed(_: &OwnedFd) -> Result<Self, Errno> {
        Err(Errno::OPNOTSUPP)
    }

    fn new_named(directory: &OwnedFd) -> Result<Self, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..8 {
            let name = temporary_name();
            let file = rustix::io::retry_on_intr(|| {
                rustix::fs::openat(directory, &name, flags, Mode::from_raw_mode(0o666))
            })?;
            // Another writer may have removed the name before the lock, taking the file for a leftover.
            if try_lock(&file) && rustix::fs::fstat(&file)?.st_nlink > 0 {
                return Ok(Self { file: File::from(file), name: Some(name) });
            }
        }
        Err(Errno::BUSY)
    }

    /// Publishes the file under `name`; `is_new` states that no such file existed.
    pub(crate) fn publish(&mut self, directory: &OwnedFd, name: &OsStr, is_new: bool) -> Result<(), Errno> {
        let temporary = match &self.name {
            Some(temporary) => temporary.clone(),
            None => {
                let nameless = format!("/proc/self/fd/{}", self.file.as_raw_fd());
                let link =
                    |to: &OsStr| rustix::fs::linkat(CWD, &nameless, directory, to, AtFlags::SYMLINK_FOLLOW);
                if is_new {
                    return link(name);
                }
                let temporary = temporary_name();
                link(&temporary)?;
                self.name.insert(temporary).clone()
            }
        };
        rustix::fs::renameat(directory, &temporary, directory, name)?;
        self.name = None;
        Ok(())
    }

    /// Removes the temporary name.
    pub(crate) fn discard(&self, directory: &OwnedFd) {
        if let Some(name) = &self.name {
            let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
        }
    }
}

/// Removes the temporary files that killed writers left in `directory`.
pub(crate) fn remove_leftovers(directory: &OwnedFd) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(listed) = rustix::io::retry_on_intr(|| rustix::fs::openat(directory, ".", flags, Mode::empty()))
    else {
        return;
    };
    let Ok(entries) = Dir::new(listed) else { return };
    for entry in entries.take(SWEEP_LIMIT) {
        let Ok(entry) = entry else { return };
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if is_temporary(name) {
            // A file that cannot be removed stays: it belongs to another user, or a writer has locked it.
            let _ = remove_if_unlocked(directory, name);
        }
    }
}

fn remove_if_unlocked(directory: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::io::retry_on_intr(|| rustix::fs::openat(directory, name, flags, Mode::empty()))?;
    if FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) != FileType::RegularFile {
        return Ok(());
    }
    if file_lock::try_lock(&file).is_err() {
        return Ok(());
    }
    rustix::fs::unlinkat(directory, name, AtFlags::empty())
}

/// Locks the file; `true` also on a file system without locks, where leftovers are not removed either.
fn try_lock(file: impl AsFd) -> bool {
    !matches!(file_lock::try_lock(file), Err(TryLockError::WouldBlock))
}

fn temporary_name() -> OsString {
    OsString::from(format!(".ibeam-{:016x}.tmp", fastrand::u64(..)))
}

fn is_temporary(name: &OsStr) -> bool {
    let digits = name.as_bytes().strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    digits.is_some_and(|digits| digits.len() == DIGIT_COUNT && digits.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::fd::OwnedFd;

    use super::{StagedFile, is_temporary, remove_leftovers, temporary_name};
    use crate::fixture::Fixture;

    fn directory(fixture: &Fixture) -> OwnedFd {
        OwnedFd::from(std::fs::File::open(fixture.root()).unwrap())
    }

    #[test]
    fn f103_a_temporary_file_of_a_dead_writer_is_removed_and_no_other() {
        let fixture = Fixture::with(".ibeam-0123456789abcdef.tmp", "half");
        for kept in [".ibeam-notes.tmp", ".ibeam-0123456789abcdeX.tmp", "ibeam-0123456789abcdef.tmp"] {
            fixture.put(kept, "mine");
        }
        fixture.fifo(".ibeam-1123456789abcdef.tmp");
        let directory = directory(&fixture);
        let alive = StagedFile::new_named(&directory).unwrap();
        let held = alive.name.clone().unwrap();
        remove_leftovers(&directory);
        let mut names: Vec<_> =
            std::fs::read_dir(fixture.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names.len(), 5, "{names:?}");
        assert!(!fixture.path(".ibeam-0123456789abcdef.tmp").exists());
        assert!(names.contains(&held), "a living writer keeps its file");
        drop(alive);
        remove_leftovers(&directory);
        assert!(!fixture.root().join(held).exists());
    }

    #[test]
    fn a_file_with_a_temporary_name_is_published() {
        let fixture = Fixture::with("f", "old");
        let directory = directory(&fixture);
        let mut staged = StagedFile::new_named(&directory).unwrap();
        std::io::Write::write_all(&mut staged.file, b"new").unwrap();
        staged.publish(&directory, OsStr::new("f"), false).unwrap();
        assert_eq!(fixture.bytes("f"), b"new");
        remove_leftovers(&directory);
        assert_eq!(fixture.bytes("f"), b"new");
    }

    #[test]
    fn temporary_names_are_recognized() {
        assert!(is_temporary(&temporary_name()));
    }
}
