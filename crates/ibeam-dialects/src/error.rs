//! Why a source cannot be converted.

use crate::dialect::DialectName;

/// The source is not what it was said to be. Lines that were converted before it stand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// A line is not UTF-8.
    #[error("line {line}: not UTF-8")]
    NotUtf8 {
        /// From 1.
        line: u64,
    },
    /// A line is not JSON.
    #[error("line {line}, column {column}: not JSON: {said}")]
    NotJson {
        /// From 1.
        line: u64,
        /// From 1, in bytes.
        column: u64,
        /// What the parser says.
        said: String,
    },
    /// A line is JSON, but not an object whose `type` is a string.
    #[error("line {line}: not an object with a `type`")]
    NotAnEvent {
        /// From 1.
        line: u64,
    },
    /// The source is at its end, and none of its events is one of the dialect.
    #[error("line {line}: not an event of {dialect}, nor is any after it")]
    OtherDialect {
        /// The first line that has an event.
        line: u64,
        /// What the source was said to be.
        dialect: DialectName,
    },
}

impl ConvertError {
    /// The line it is about, from 1.
    pub fn line(&self) -> u64 {
        match self {
            Self::NotUtf8 { line }
            | Self::NotJson { line, .. }
            | Self::NotAnEvent { line }
            | Self::OtherDialect { line, .. } => *line,
        }
    }
}
