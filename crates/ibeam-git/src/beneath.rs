//! Files beneath an open directory, reached without following links: commands of models can change most directories of a
//! repository at any time.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, statat};
use rustix::io::Errno;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a directory that is not a link.
pub(crate) fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, DIRECTORY, Mode::empty())?)
}

/// Opens the directory at `names` beneath `root`, and creates what is missing of it.
pub(crate) fn create_directories(root: &OwnedFd, names: &Path) -> io::Result<OwnedFd> {
    let mut directory = root.try_clone()?;
    for name in names {
        match mkdirat(&directory, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        directory = openat(&directory, name, DIRECTORY, Mode::empty())?;
    }
    Ok(directory)
}

/// Creates a new directory and opens it.
pub(crate) fn create_new_directory(parent: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    mkdirat(parent, name, Mode::from_raw_mode(0o777))?;
    Ok(openat(parent, name, DIRECTORY, Mode::empty())?)
}

pub(crate) fn write_new(directory: &impl AsFd, name: &OsStr, content: &[u8]) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(directory, name, flags, Mode::from_raw_mode(0o666))?);
    file.write_all(content)?;
    Ok(file)
}

/// Whether the directory has an entry of this name.
pub(crate) fn has_entry(directory: &OwnedFd, name: &OsStr) -> bool {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Copies the files and directories in `from`, with their times, into an open directory. Links are left out.
pub(crate) fn copy_tree(from: &Path, to: &OwnedFd) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, name) = (entry.file_type()?, entry.file_name());
        if kind.is_dir() {
            copy_tree(&entry.path(), &create_new_directory(to, &name)?)?;
        } else if kind.is_file() {
            let file = write_new(to, &name, &fs::read(entry.path())?)?;
            // Git compares the time of an index with those of the files.
            file.set_modified(entry.metadata()?.modified()?)?;
        }
    }
    Ok(())
}

/// Returns a path to an entry of an open directory that holds even if the directory is moved.
pub(crate) fn path_through(directory: &OwnedFd, name: &OsStr) -> PathBuf {
    Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name)
}
