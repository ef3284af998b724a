//! What can go wrong with a stored session.

use std::io;
use std::path::{Path, PathBuf};

/// Each variant is another thing the caller can do.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is no such session.
    #[error("there is no session at `{path}`")]
    Unknown {
        /// Where it would be.
        path: PathBuf,
    },
    /// Another process writes to it.
    #[error("the session is held by {holder}")]
    Busy {
        /// The process, e.g. `process 4711 on build-3`.
        holder: String,
    },
    /// A process that cannot be looked at from here writes to it, or did so when it ended.
    #[error("the session is held by {holder}, whose lease is the file `{path}`")]
    Leased {
        /// The process, e.g. `process 4711 on build-3`.
        holder: String,
        /// The lease.
        path: PathBuf,
    },
    /// Another thread ended the opening.
    #[error("the opening of the session was cancelled")]
    Cancelled,
    /// A record that is not the last one is damaged.
    #[error("`{path}` is damaged at line {line}: {detail}")]
    Damaged {
        /// The segment of the journal.
        path: PathBuf,
        /// From 1, in that segment.
        line: u64,
        /// What is wrong with it.
        detail: String,
    },
    /// A file or directory cannot be made or taken: not allowed, no room, or something of somebody else's stands
    /// in its place.
    #[error("cannot create `{path}`: {source}")]
    Create {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The journal was removed or replaced while it was written: what was recorded cannot be found any more.
    #[error("`{path}` was removed while the session was in use")]
    Removed {
        /// The segment of the journal.
        path: PathBuf,
    },
    /// Every record is written, but the room kept for the next ones cannot be renewed: end the run in order.
    #[error("`{path}`: no room for what comes next: {source}")]
    LowDiskSpace {
        /// The segment of the journal.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Reading or writing failed. A record that could not be written is left out whole; later ones may still
    /// fit.
    #[error("`{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// For `map_err`: an `Io` at `path`.
pub(crate) fn io_error(path: &Path) -> impl Fn(io::Error) -> SessionError {
    move |source| SessionError::Io { path: path.to_owned(), source }
}

/// For `map_err`: a `Create` at `path`.
pub(crate) fn create_error(path: &Path) -> impl Fn(io::Error) -> SessionError {
    move |source| SessionError::Create { path: path.to_owned(), source }
}
