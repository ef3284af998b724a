//! Errors of the session store.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the session store. Each variant calls for a different action.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The session does not exist.
    #[error("no session exists at `{path}`")]
    Unknown {
        /// The directory that the session would have.
        path: PathBuf,
    },
    /// Another process has opened the session for writing.
    #[error("the session is held by {holder}")]
    Busy {
        /// The process, e.g. `process 4711 on build-3`.
        holder: String,
    },
    /// A process of another system holds the lease file, or left it behind. Whether it still runs cannot be checked.
    #[error("the session is held by {holder}, whose lease is the file `{path}`")]
    Leased {
        /// The process, e.g. `process 4711 on build-3`.
        holder: String,
        path: PathBuf,
    },
    /// Another thread cancelled the opening.
    #[error("the opening of the session was cancelled")]
    Cancelled,
    /// A record that is not the last one is damaged.
    #[error("`{path}` is damaged at line {line}: {detail}")]
    Damaged {
        /// The segment of the journal.
        path: PathBuf,
        /// The line in that segment, from 1.
        line: u64,
        /// The kind of damage.
        detail: String,
    },
    /// A file or directory cannot be created or used: permission is missing, the disk is full, or the path is a link or
    /// belongs to another user.
    #[error("cannot create or use `{path}`: {source}")]
    Unusable {
        /// The file or directory.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// The journal was removed or replaced while the session was open, so its records are lost.
    #[error("`{path}` was removed while the session was in use")]
    Removed {
        /// The segment of the journal.
        path: PathBuf,
    },
    /// All records are written, but no space can be reserved for further ones. The run should end in order.
    #[error("`{path}`: cannot reserve space for further records: {source}")]
    LowDiskSpace {
        /// The segment of the journal.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// Reading or writing failed. A record that could not be written is left out completely; later ones may still fit.
    #[error("`{path}`: {source}")]
    Io {
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
}

/// Returns a function for `map_err` that makes an `Io` error at `path`.
pub(crate) fn io_error(path: &Path) -> impl Fn(io::Error) -> SessionError {
    move |source| SessionError::Io { path: path.to_owned(), source }
}

/// Returns a function for `map_err` that makes an `Unusable` error at `path`.
pub(crate) fn unusable_error(path: &Path) -> impl Fn(io::Error) -> SessionError {
    move |source| SessionError::Unusable { path: path.to_owned(), source }
}
