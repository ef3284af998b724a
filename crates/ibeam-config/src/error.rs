//! The reasons why a file, a variable, a flag or a directory cannot be used, and the failure of a run for each.

use std::io;
use std::path::Path;

use ibeam_files::exhausted_resource;
use ibeam_protocol::{Failure, Reason, Sentence};

/// The reason why a file, a variable, a flag or a directory cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A file or a variable (`$NAME`) has a wrong value or wrong syntax. Line and column count from 1.
    #[error("`{path}` is invalid: {message}")]
    Invalid {
        /// The file, or the variable with its `$`.
        path: String,
        /// The line, where it is known.
        line: Option<u64>,
        /// The column, where it is known.
        column: Option<u64>,
        message: Sentence,
    },
    /// This user may not read the file.
    #[error("cannot read `{path}`: {message}")]
    Unreadable {
        path: String,
        /// The error of the system.
        message: String,
    },
    /// A file or directory cannot be written, or its owner, mode or type is not safe.
    #[error("cannot create `{path}`: {message}")]
    CannotCreate {
        /// The file or directory, or the variable that should name it.
        path: String,
        /// The reason and a remedy.
        message: String,
    },
    /// The system has too few descriptors, too little memory or too few threads.
    #[error("the system has no {resource} left: {message}")]
    Exhausted {
        /// `descriptor`, `memory` or `thread`.
        resource: &'static str,
        /// The error of the system.
        message: String,
    },
    /// A flag has a wrong value, or contradicts the managed file.
    #[error("{message}")]
    Flag { message: Sentence },
}

impl ConfigError {
    /// Returns the error about the file at `path` as a whole.
    pub fn in_file(path: &Path, message: impl Into<Sentence>) -> Self {
        let (path, message) = (path.display().to_string(), message.into());
        Self::Invalid { path, line: None, column: None, message }
    }

    /// Returns the error about a place in the file at `path`; line and column count from 1.
    pub fn at<N: TryInto<u64>>(path: &Path, line: N, column: N, message: impl Into<Sentence>) -> Self {
        let (line, column) = (line.try_into().ok(), column.try_into().ok());
        Self::Invalid { path: path.display().to_string(), line, column, message: message.into() }
    }

    /// Returns the error of reading the file at `path`: what the system ran out of, or else what is wrong with the file.
    pub(crate) fn from_io(path: &Path, error: &io::Error) -> Self {
        match exhausted_resource(error) {
            Some(resource) => Self::Exhausted { resource, message: error.to_string() },
            None => Self::in_file(path, error.to_string()),
        }
    }

    /// Returns the error of a file or directory that cannot be written.
    pub(crate) fn cannot_create(path: &Path, message: impl Into<String>) -> Self {
        Self::CannotCreate { path: path.display().to_string(), message: message.into() }
    }
}

impl From<ConfigError> for Reason {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::Invalid { path, line, column, message: detail } => {
                Self::BadConfig { path, line, column, detail }
            }
            ConfigError::Unreadable { path, message: detail } => Self::UnreadableConfig { path, detail },
            ConfigError::CannotCreate { path, message: detail } => Self::CannotCreate { path, detail },
            ConfigError::Exhausted { resource, message: detail } => {
                Self::System { what: resource.to_owned(), detail }
            }
            ConfigError::Flag { message: detail } => Self::Usage { detail },
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Reason::from(error).into()
    }
}
