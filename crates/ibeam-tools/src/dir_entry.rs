//! A name in an open directory: the file tools open, stat and remove files through it.
//!
//! The directory is opened beneath a held one by the resolved path, without following links. A link that is put there
//! afterwards is refused.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use ibeam_protocol::sentence;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::beneath;
use crate::file_error::{FileAction, FileError};
use crate::file_id::file_id;
use crate::workspace::Workspace;

/// A directory entry that exists or will be created.
#[derive(Debug)]
pub(crate) struct DirEntryAt {
    /// The open directory.
    pub(crate) directory: OwnedFd,
    /// The name in the directory.
    pub(crate) name: OsString,
    /// The path as the model wrote it, for messages.
    pub(crate) requested: String,
}

/// Attempts to open a file that another program replaces meanwhile.
const OPEN_ATTEMPTS: usize = 8;

/// The handling of missing parent directories.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Parents {
    /// Missing parents are an error.
    Required,
    /// Missing parents are created.
    Created,
}

impl DirEntryAt {
    /// Opens the directory of `real`, which must be free of links.
    pub(crate) fn find(
        workspace: &Workspace,
        requested: &str,
        real: &Path,
        parents: Parents,
    ) -> Result<Self, FileError> {
        let fail = |errno| FileError::for_resolved_path(FileAction::Reach, requested, errno);
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(not_regular_error(requested, FileType::Directory));
        };
        // The workspace root is addressed by its parent's entry. It is a directory, so every tool here refuses it.
        let (from, rel_path) = workspace.anchor(parent);
        let directory = match beneath::open_directory(from, rel_path) {
            Err(Errno::NOENT) if parents == Parents::Created => create_parents(from, rel_path),
            opened => opened,
        };
        let directory = directory.map_err(fail)?;
        Ok(Self { directory, name: name.to_owned(), requested: requested.to_owned() })
    }

    /// Returns the metadata of the entry, without following a link; `None` when nothing exists.
    pub(crate) fn stat(&self) -> Result<Option<Stat>, FileError> {
        match rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(FileError::system(FileAction::LookAt, &self.requested, errno)),
        }
    }

    /// Returns the metadata of the regular file; `None` when nothing exists, an error for anything else.
    pub(crate) fn stat_regular_file(&self) -> Result<Option<Stat>, FileError> {
        match self.stat()? {
            Some(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Ok(Some(stat)),
                other => Err(not_regular_error(&self.requested, other)),
            },
            None => Ok(None),
        }
    }

    /// Opens the regular file for reading. Never waits: a FIFO or device is refused by its type first.
    pub(crate) fn open(&self) -> Result<(File, Stat), FileError> {
        let fail = |errno| match errno {
            Errno::STALE => FileError::refused(
                &self.requested,
                "is replaced by another program again and again; try again",
            ),
            errno => FileError::system(FileAction::Read, &self.requested, errno),
        };
        self.stat_regular_file()?.ok_or_else(|| fail(Errno::NOENT))?;
        let (file, stat) = open_regular(self.directory.as_fd(), &self.name).map_err(fail)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((file, stat)),
            other => Err(not_regular_error(&self.requested, other)),
        }
    }

    /// Removes the file or symbolic link.
    pub(crate) fn remove(&self) -> Result<(), FileError> {
        rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty())
            .map_err(|errno| FileError::system(FileAction::Delete, &self.requested, errno))?;
        sync_directory(&self.directory);
        Ok(())
    }
}

/// Opens `name` without following a link and without waiting. The metadata were read after the file was opened and
/// belong to the same file, so the number of hard links is right: if a name were removed in between, the file would not
/// look like one of several names.
///
/// # Errors
/// The system's; `STALE` when another program replaces the file at each attempt.
pub(crate) fn open_regular(directory: BorrowedFd<'_>, name: &OsStr) -> Result<(File, Stat), Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    for _ in 0..OPEN_ATTEMPTS {
        let file = rustix::io::retry_on_intr(|| rustix::fs::openat(directory, name, flags, Mode::empty()))?;
        let opened = rustix::fs::fstat(&file)?;
        let named = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if file_id(&opened) == file_id(&named) {
            return Ok((File::from(file), named));
        }
    }
    Err(Errno::STALE)
}

/// Waits until the names in a directory survive a power cut. Best effort: the files themselves are complete.
pub(crate) fn sync_directory(directory: &OwnedFd) {
    // `directory` may be open for searching only.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(directory) =
        rustix::io::retry_on_intr(|| rustix::fs::openat(directory, ".", flags, Mode::empty()))
    {
        let _ = rustix::io::retry_on_intr(|| rustix::fs::fsync(&directory));
    }
}

/// Opens a directory, and creates the missing ones on the path.
fn create_parents(from: BorrowedFd<'_>, rel_path: &Path) -> Result<OwnedFd, Errno> {
    let mut directory = beneath::open_directory(from, Path::new("."))?;
    for component in rel_path.components() {
        let Component::Normal(step) = component else { continue };
        directory = match beneath::open_directory(directory.as_fd(), Path::new(step)) {
            Err(Errno::NOENT) => {
                create_directory(&directory, step)?;
                sync_directory(&directory);
                beneath::open_directory(directory.as_fd(), Path::new(step))?
            }
            opened => opened?,
        };
    }
    Ok(directory)
}

fn create_directory(parent: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
        // Another program created it first.
        Err(Errno::EXIST) => Ok(()),
        made => made,
    }
}

/// Returns the error about anything but a regular file.
pub(crate) fn not_regular_error(requested: &str, kind: FileType) -> FileError {
    let (kind, suggestion) = match kind {
        FileType::Directory => {
            return FileError::Refused(sentence!(
                "`{path}` is a directory, not a regular file; `ls` lists it",
                path = requested
            ));
        }
        FileType::Fifo => ("a named pipe (FIFO)", "opening it could block forever"),
        FileType::CharacterDevice => ("a character device", "it may have no end"),
        FileType::BlockDevice => ("a block device", "only regular files are supported"),
        FileType::Socket => ("a socket", "only regular files are supported"),
        FileType::Symlink => ("a symbolic link that was put there just now", "try again"),
        FileType::RegularFile | FileType::Unknown => {
            ("of an unknown type", "only regular files are supported")
        }
    };
    FileError::refused(requested, format!("is {kind}, not a regular file; {suggestion}"))
}

#[cfg(test)]
mod tests {
    use super::{DirEntryAt, Parents};
    use crate::fixture::Fixture;
    use crate::workspace::Workspace;

    /// Resolves `d/f`, runs `swap`, then opens the file as a tool does.
    #[track_caller]
    fn refused_after(swap: impl Fn(&Fixture), expect: &str) {
        let fixture = Fixture::with("d/f", "inside");
        std::fs::create_dir(fixture.outside("other")).unwrap();
        std::fs::write(fixture.outside("other/f"), "secret").unwrap();
        let workspace = Workspace::new(&fixture.root(), &[]).unwrap();
        let real = workspace.resolve("d/f").unwrap().real;
        swap(&fixture);
        let opened =
            DirEntryAt::find(&workspace, "d/f", &real, Parents::Created).and_then(|entry| entry.open());
        let error = opened.unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    }

    #[test]
    fn a_link_put_in_the_place_of_a_file_is_not_followed() {
        refused_after(
            |fixture| {
                std::fs::remove_file(fixture.path("d/f")).unwrap();
                fixture.link("../../other/f", "d/f");
            },
            "is a symbolic link that was put there just now",
        );
    }

    #[test]
    fn a_link_put_in_the_place_of_a_directory_is_not_followed() {
        refused_after(
            |fixture| {
                std::fs::rename(fixture.path("d"), fixture.path("moved")).unwrap();
                fixture.link("../other", "d");
            },
            "has a symbolic link in its path that was put there just now",
        );
    }
}
