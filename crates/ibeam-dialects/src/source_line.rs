//! Parses one line of a source into an event, and names the event in a report. Errors of a source.

use serde_json::Value;

use crate::dialects::DialectName;
use crate::json::{Object, text};

/// An error of the source. Lines that were converted before the error remain valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// A line is not UTF-8.
    #[error("line {line}: not UTF-8")]
    NotUtf8 {
        /// The line with the error, from 1.
        line: u64,
    },
    #[error("line {line}, column {column}: not JSON: {message}")]
    NotJson {
        /// The line with the error, from 1.
        line: u64,
        /// The column of the error, from 1, in bytes.
        column: u64,
        /// The message of the parser.
        message: String,
    },
    /// A line is JSON, but not an object whose `type` is a string.
    #[error("line {line}: not an object with a `type`")]
    NotAnEvent {
        /// The line with the error, from 1.
        line: u64,
    },
    /// No event of the source is an event of the dialect.
    #[error("line {line}: not an event of {dialect}, nor is any after it")]
    OtherDialect {
        /// The first line with an event.
        line: u64,
        /// The dialect that the source was declared to be.
        dialect: DialectName,
    },
}

impl ConvertError {
    /// Returns the number of the line with the error, from 1.
    pub fn line(&self) -> u64 {
        match self {
            Self::NotUtf8 { line }
            | Self::NotJson { line, .. }
            | Self::NotAnEvent { line }
            | Self::OtherDialect { line, .. } => *line,
        }
    }
}

/// Parses a line, with or without its line end.
///
/// # Errors
/// The line is not an event.
pub(crate) fn parse_event(line: &[u8], number: u64) -> Result<Object, ConvertError> {
    let text = std::str::from_utf8(line).map_err(|_| ConvertError::NotUtf8 { line: number })?;
    // Lines of Windows end with `\r`, and some editors write a byte order mark at the start of a file.
    let text = text.trim_ascii().trim_start_matches('\u{feff}');
    let value: Value = ibeam_wire::parse(text).map_err(|error| ConvertError::NotJson {
        line: number,
        column: error.column() as u64,
        message: without_position(&error),
    })?;
    match value {
        Value::Object(object) if object.get("type").is_some_and(Value::is_string) => Ok(object),
        _ => Err(ConvertError::NotAnEvent { line: number }),
    }
}

/// Returns the message of the parser without its own line and column.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.clone(), |(message, _)| message.to_owned())
}

/// Returns the name of an event in a report: `type`, `type/subtype`, or `type` and the type of the inner object.
pub(crate) fn event_name(event: &Object) -> String {
    let kind = text(event, "type").unwrap_or_default();
    let inner = text(event, "subtype")
        .or_else(|| event.get("event")?.get("type")?.as_str())
        .or_else(|| event.get("item")?.get("type")?.as_str());
    inner.map_or_else(|| kind.to_owned(), |inner| format!("{kind}/{inner}"))
}
