//! What can go wrong with a stored session.

use std::io;
use std::path::PathBuf;

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
        /// The process, e.g. `process 4711`.
        holder: String,
    },
    /// A record that is not the last one is damaged.
    #[error("`{path}` is damaged at line {line}: {said}")]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// What is wrong with it.
        said: String,
    },
    /// A file or directory cannot be made.
    #[error("cannot create `{path}`: {source}")]
    Create {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Reading or writing failed.
    #[error("`{path}`: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}
