//! Opens the files of a directory walk beneath a held directory, so that no link that is put there meanwhile is
//! followed.
//!
//! A walk visits files in order, so the next file is usually in the same directory. A directory is held until the
//! walk visits another one.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

use crate::beneath;
use crate::dir_entry::open_regular;
use crate::workspace::Workspace;

/// The directory that a walk visited last, held open.
pub(crate) struct DirCache<'a> {
    workspace: &'a Workspace,
    held: Option<(PathBuf, OwnedFd)>,
}

impl<'a> DirCache<'a> {
    pub(crate) fn new(workspace: &'a Workspace) -> Self {
        Self { workspace, held: None }
    }

    /// Opens a regular file of the walk, without waiting.
    ///
    /// # Errors
    /// The system's; `INVAL` for anything but a regular file.
    pub(crate) fn open(&mut self, path: &Path) -> Result<(File, Stat), Errno> {
        let (directory, name) = self.parent_and_name(path)?;
        let (file, stat) = open_regular(directory, name)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((file, stat)),
            FileType::Directory
            | FileType::Fifo
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Socket
            | FileType::Symlink
            | FileType::Unknown => Err(Errno::INVAL),
        }
    }

    /// Returns the metadata of the file at `path`, without following links.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn stat(&mut self, path: &Path) -> Result<Stat, Errno> {
        let (directory, name) = self.parent_and_name(path)?;
        rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Returns the open directory of `path`, which is absolute and normalized, and the file name.
    fn parent_and_name<'b>(&mut self, path: &'b Path) -> Result<(BorrowedFd<'_>, &'b OsStr), Errno> {
        // By bytes: splitting a path into components costs more than opening it.
        let bytes = path.as_os_str().as_bytes();
        let end = memchr::memrchr(b'/', bytes).ok_or(Errno::INVAL)?;
        let (parent, name) = bytes.split_at(end);
        let parent = Path::new(OsStr::from_bytes(if parent.is_empty() { b"/" } else { parent }));
        let name = OsStr::from_bytes(name.get(1..).unwrap_or_default());
        let held = match self.held.take() {
            Some(held) if held.0.as_os_str() == parent.as_os_str() => held,
            Some(_) | None => {
                let (from, rel_path) = self.workspace.anchor(parent);
                (parent.to_owned(), beneath::open_directory(from, rel_path)?)
            }
        };
        let held = self.held.insert(held);
        Ok((held.1.as_fd(), name))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rustix::io::Errno;

    use super::DirCache;
    use crate::fixture::Fixture;
    use crate::workspace::Workspace;

    #[test]
    fn files_are_opened_in_any_order_of_directories() {
        let fixture = Fixture::with("a/f", "x");
        fixture.put("a/g", "xx");
        fixture.put("b/f", "xxx");
        let workspace = Workspace::new(&fixture.root(), &[]).unwrap();
        let mut cache = DirCache::new(&workspace);
        for (path, size) in [("a/f", 1), ("a/g", 2), ("b/f", 3), ("a/f", 1)] {
            let path = workspace.root().join(path);
            assert_eq!(cache.open(&path).unwrap().1.st_size, size, "{}", path.display());
            assert_eq!(cache.stat(&path).unwrap().st_size, size, "{}", path.display());
        }
        assert_eq!(cache.open(&workspace.root().join("a")).unwrap_err(), Errno::INVAL);
        assert_eq!(cache.stat(&workspace.root().join("c/f")).unwrap_err(), Errno::NOENT);
        assert!(cache.stat(Path::new("/")).is_err());
    }

    #[test]
    fn a_link_in_the_place_of_a_directory_is_not_followed() {
        let fixture = Fixture::with("a/f", "x");
        std::fs::write(fixture.outside("f"), "secret").unwrap();
        let workspace = Workspace::new(&fixture.root(), &[]).unwrap();
        fixture.link("..", "b");
        let path = workspace.root().join("b/f");
        assert!(DirCache::new(&workspace).open(&path).is_err());
        let mut cache = DirCache::new(&workspace);
        cache.open(&workspace.root().join("a/f")).unwrap();
        assert!(cache.open(&path).is_err(), "nor where another directory is held");
    }
}
