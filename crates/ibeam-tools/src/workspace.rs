//! The directories of a run, and the resolution of paths.
//!
//! Resolves a path as the kernel would, links included, so that the policy checks the real target and not the name. Holds
//! the root by descriptor: renaming the directory or replacing it by a link does not move the workspace. `~` has no
//! special meaning here.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::beneath;
use crate::inventory::Inventory;

/// The number of links that Linux follows in one path (path_resolution(7)).
const LINK_LIMIT: usize = 40;

/// The root of a run and its additional directories.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
    /// The directories from which paths are opened: the root, the additional directories, and last `/`.
    anchors: Arc<Vec<HeldDirectory>>,
}

/// A directory that is held open.
#[derive(Debug)]
struct HeldDirectory {
    path: PathBuf,
    directory: OwnedFd,
    /// The listing that was made when the sandbox was planned, for the first scan of the monitor.
    listing: Mutex<Option<Inventory>>,
}

impl HeldDirectory {
    fn open(path: PathBuf) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::io::retry_on_intr(|| rustix::fs::open(&path, flags, Mode::empty()))?;
        Ok(Self { path, directory, listing: Mutex::default() })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPath {
    /// Absolute, `.` and `..` removed, links not followed.
    pub lexical: PathBuf,
    /// Absolute, without links. The file itself need not exist.
    pub real: PathBuf,
    /// Whether `real` lies in the workspace.
    pub is_inside: bool,
    /// Whether a link on the path names something that does not exist.
    pub is_dangling: bool,
}

/// The reason why a path cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("the path is empty; give one relative to the workspace, e.g. `src/main.rs`")]
    Empty,
    #[error("the path contains a NUL byte, which no file name can")]
    Nul,
    /// The system's error: too long, a loop of links, a file in place of a directory, no permission.
    #[error("cannot follow the path")]
    Unreachable(Errno),
}

impl Workspace {
    /// Returns a workspace at `root` with `additional` directories; all must exist.
    ///
    /// # Errors
    /// A directory does not exist or cannot be read.
    pub fn new(root: &Path, additional: &[PathBuf]) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let additional = additional.iter().map(|directory| directory.canonicalize());
        let file_system_root = std::iter::once(Ok(PathBuf::from("/")));
        let paths = std::iter::once(Ok(root.clone())).chain(additional).chain(file_system_root);
        let held = paths.map(|path| HeldDirectory::open(path?)).collect::<io::Result<Vec<_>>>()?;
        Ok(Self { root, anchors: Arc::new(held) })
    }

    /// Returns the root: absolute, without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the root and the additional directories.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.held_directories().map(|(path, _)| path)
    }

    /// Like [`Self::directories`], with the descriptors.
    pub(crate) fn held_directories(&self) -> impl Iterator<Item = (&Path, BorrowedFd<'_>)> {
        let inside = self.anchors.split_last().map(|(_, inside)| inside).unwrap_or_default();
        inside.iter().map(|held| (held.path.as_path(), held.directory.as_fd()))
    }

    /// Keeps the listing of a root for [`Self::take_listing`].
    pub(crate) fn keep_listing(&self, root: &Path, listing: Inventory) {
        if let Some(held) = self.anchors.iter().find(|held| held.path == root) {
            *held.listing.lock().unwrap_or_else(PoisonError::into_inner) = Some(listing);
        }
    }

    /// Returns the listing of a root once, if there is one.
    pub(crate) fn take_listing(&self, root: &Path) -> Option<Inventory> {
        let held = self.anchors.iter().find(|held| held.path == root)?;
        held.listing.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether the root was removed, or was moved and nothing is at its path. A root whose path leads to another directory
    /// is still the root.
    pub fn is_root_gone(&self) -> bool {
        let is_removed = |root: &HeldDirectory| {
            rustix::fs::fstat(&root.directory).is_ok_and(|stat| stat.st_nlink == 0)
                || rustix::fs::lstat(&root.path).is_err_and(|errno| errno == rustix::io::Errno::NOENT)
        };
        self.anchors.first().is_some_and(is_removed)
    }

    /// Whether a path without links lies in the workspace.
    pub fn contains(&self, real: &Path) -> bool {
        self.directories().any(|directory| real.starts_with(directory))
    }

    /// Returns `path` without links; relative paths start at the root.
    ///
    /// # Errors
    /// See [`PathError`]. A file or directory that does not exist is not an error.
    pub fn resolve(&self, path: &str) -> Result<ResolvedPath, PathError> {
        self.resolve_links(path, LastLink::Follow)
    }

    /// Like [`Self::resolve`], but a link in the last place is not followed, as by `unlink`.
    pub fn resolve_entry(&self, path: &str) -> Result<ResolvedPath, PathError> {
        self.resolve_links(path, LastLink::Keep)
    }

    /// Returns `path` for messages: relative to the root if it lies in the root.
    pub(crate) fn display<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        match path.strip_prefix(&self.root) {
            Ok(relative) if relative.as_os_str().is_empty() => Path::new(".").display(),
            Ok(relative) => relative.display(),
            Err(_) => path.display(),
        }
    }

    /// Returns the descriptor of the first anchor that contains `real`, and the path from this anchor to `real`.
    pub(crate) fn anchor<'a>(&'a self, real: &'a Path) -> (BorrowedFd<'a>, &'a Path) {
        for held in self.anchors.iter() {
            match real.strip_prefix(&held.path) {
                Ok(rel_path) if rel_path.as_os_str().is_empty() => {
                    return (held.directory.as_fd(), Path::new("."));
                }
                Ok(rel_path) => return (held.directory.as_fd(), rel_path),
                Err(_) => {}
            }
        }
        (CWD, real)
    }

    /// Returns `path` absolute, with `.` and `..` removed by name alone.
    pub(crate) fn lexical_path(&self, path: &str) -> PathBuf {
        let mut lexical = self.root.clone();
        for component in Path::new(path).components() {
            match component {
                Component::RootDir | Component::Prefix(_) => lexical = PathBuf::from("/"),
                Component::CurDir => {}
                Component::ParentDir => {
                    lexical.pop();
                }
                Component::Normal(name) => lexical.push(name),
            }
        }
        lexical
    }

    /// Returns `path` as if it had no links, without reading the file system.
    pub(crate) fn resolve_lexically(&self, path: &str) -> ResolvedPath {
        let lexical = self.lexical_path(path);
        ResolvedPath {
            is_inside: self.contains(&lexical),
            real: lexical.clone(),
            lexical,
            is_dangling: false,
        }
    }

    /// Returns the metadata of `real`, which must be free of links; a link in the last place is not followed.
    ///
    /// # Errors
    /// The system's; `LOOP` or `NOTDIR` where a link is on the path.
    pub(crate) fn stat(&self, real: &Path) -> Result<Stat, Errno> {
        let (from, relative) = self.anchor(real);
        let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
            return rustix::fs::fstat(from);
        };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        rustix::fs::statat(beneath::open_directory(from, parent)?, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn resolve_links(&self, path: &str, last: LastLink) -> Result<ResolvedPath, PathError> {
        if path.is_empty() {
            return Err(PathError::Empty);
        }
        if path.contains('\0') {
            return Err(PathError::Nul);
        }
        let mut real = if path.starts_with('/') { PathBuf::from("/") } else { self.root.clone() };
        let mut remaining: VecDeque<OsString> = component_names(Path::new(path)).collect();
        let (mut links, mut missing, mut names_from_link, mut dangling) = (0, false, 0usize, false);
        while let Some(name) = remaining.pop_front() {
            let via_link = names_from_link > 0;
            names_from_link = names_from_link.saturating_sub(1);
            if name == OsStr::new("..") {
                if missing {
                    return Err(PathError::Unreachable(Errno::NOENT));
                }
                real.pop();
                continue;
            }
            real.push(name);
            if missing {
                continue;
            }
            match self.kind(&real) {
                Ok(FileType::Symlink) if remaining.is_empty() && last == LastLink::Keep => {}
                Ok(FileType::Symlink) => {
                    links += 1;
                    if links > LINK_LIMIT {
                        return Err(PathError::Unreachable(Errno::LOOP));
                    }
                    let target = self.read_link(&real).map_err(PathError::Unreachable)?;
                    if target.is_absolute() {
                        real = PathBuf::from("/");
                    } else {
                        real.pop();
                    }
                    let names: Vec<OsString> = component_names(&target).collect();
                    names_from_link += names.len();
                    for name in names.into_iter().rev() {
                        remaining.push_front(name);
                    }
                }
                Ok(_) => {}
                Err(Errno::NOENT) => {
                    missing = true;
                    dangling = via_link;
                }
                Err(errno) => return Err(PathError::Unreachable(errno)),
            }
        }
        let inside = self.contains(&real);
        Ok(ResolvedPath { lexical: self.lexical_path(path), real, is_inside: inside, is_dangling: dangling })
    }

    fn kind(&self, real: &Path) -> Result<FileType, Errno> {
        let (from, path) = self.anchor(real);
        let stat = rustix::fs::statat(from, path, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(stat.st_mode))
    }

    fn read_link(&self, real: &Path) -> Result<PathBuf, Errno> {
        let (from, path) = self.anchor(real);
        let target = rustix::fs::readlinkat(from, path, Vec::new())?;
        Ok(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
    }
}

/// The handling of a link that is the last component of a path.
#[derive(Clone, Copy, PartialEq)]
enum LastLink {
    Follow,
    Keep,
}

fn component_names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::Prefix(_) | Component::CurDir => None,
    })
}

#[cfg(test)]
#[path = "workspace_test.rs"]
mod tests;
