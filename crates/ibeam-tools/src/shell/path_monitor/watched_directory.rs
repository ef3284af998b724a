//! The directories whose protected paths are monitored.

use std::os::fd::BorrowedFd;
use std::path::Path;

/// The entries that are watched in a directory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WatchKind {
    /// A directory of the workspace.
    Root,
    /// A git directory with its own configuration.
    Repository,
    /// The git directory of a linked work tree.
    WorkTree,
}

/// A held directory in which paths are watched.
pub(super) struct WatchedDirectory<'a> {
    pub(super) path: &'a Path,
    pub(super) directory: BorrowedFd<'a>,
    pub(super) watch: WatchKind,
    /// The home directory in it, if only the protected names of that are watched.
    pub(super) home: Option<&'a Path>,
    /// The directory to which files are moved.
    pub(super) quarantine: &'a Path,
}
