//! The errors of the driver.

use std::io;
use std::path::{Path, PathBuf};

use crate::queue::QueueError;

/// An error that ends a fleet. The tasks stay as they are and can be run again.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A file or directory of the fleet cannot be used.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        source: io::Error,
    },
    /// Another driver uses the directory.
    #[error("another process uses the fleet in `{}`", .0.display())]
    InUse(PathBuf),
    /// The ledger failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The receiver of the results failed.
    #[error("cannot write the results: {0}")]
    Output(io::Error),
}

impl FleetError {
    /// Returns a function that names `path` in an error of the system.
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Io { path: path.to_owned(), source }
    }
}
