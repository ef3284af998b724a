//! One line of a source as an event, and what it is called in a report.

use serde_json::Value;

use crate::error::ConvertError;
use crate::json::{Object, text};

/// The event of a line.
///
/// # Errors
/// It is none.
pub(crate) fn parse(line: &[u8], number: u64) -> Result<Object, ConvertError> {
    let text = std::str::from_utf8(line).map_err(|_| ConvertError::NotUtf8 { line: number })?;
    // Windows, and editors that mark their files.
    let text = text.trim_ascii().trim_start_matches('\u{feff}');
    let value: Value = ibeam_wire::parse(text).map_err(|error| ConvertError::NotJson {
        line: number,
        column: error.column() as u64,
        said: without_place(&error),
    })?;
    match value {
        Value::Object(object) if object.get("type").is_some_and(Value::is_string) => Ok(object),
        _ => Err(ConvertError::NotAnEvent { line: number }),
    }
}

/// What the parser says, without a line of its own.
fn without_place(error: &serde_json::Error) -> String {
    let said = error.to_string();
    said.rsplit_once(" at line ").map_or(said.clone(), |(said, _)| said.to_owned())
}

/// `type`, or `type/subtype`, or the kinds of what stands inside.
pub(crate) fn name_of(event: &Object) -> String {
    let kind = text(event, "type").unwrap_or_default();
    let inner = text(event, "subtype")
        .or_else(|| event.get("event")?.get("type")?.as_str())
        .or_else(|| event.get("item")?.get("type")?.as_str());
    inner.map_or_else(|| kind.to_owned(), |inner| format!("{kind}/{inner}"))
}
