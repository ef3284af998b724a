//! The parsers of what journals contain.
//!
//! The derived parsers of these types are large, and every crate that calls one generically compiles it again. With
//! these functions, this crate has the only copy.

use serde::{Deserialize, Serialize};
use serde_json::de::{Deserializer, SliceRead};
use serde_json::{Map, Value};

use crate::{Event, EventKind, PromptRecord, Reason, RunOutcome, Sentence, ToolOutcome, sentence};

/// A parser of JSON in memory.
pub type JsonParser<'a> = Deserializer<SliceRead<'a>>;

/// A type that is parsed from JSON in memory.
pub trait FromJson: Sized {
    /// Parses a value. Does not check that nothing follows the value.
    ///
    /// # Errors
    /// The text is not JSON, or not a value of this type.
    fn from_json(parser: &mut JsonParser<'_>) -> serde_json::Result<Self>;
}

macro_rules! derived_from_json {
    ($($type:ty),+) => {$(
        impl FromJson for $type {
            fn from_json(parser: &mut JsonParser<'_>) -> serde_json::Result<Self> {
                Self::deserialize(parser)
            }
        }
    )+};
}

derived_from_json!(Event, EventKind, PromptRecord, Reason, RunOutcome, String, ToolOutcome, Value);

/// Returns the tag and the fields of a variant of an externally tagged enum. The stored name `said` of a field becomes its
/// name in the code, `detail`. Another value has no tag.
pub fn tag_and_fields(variant: &impl Serialize) -> (String, Map<String, Value>) {
    let (tag, content) = match serde_json::to_value(variant) {
        Ok(Value::String(tag)) => (tag, Value::Null),
        Ok(Value::Object(entry)) => entry.into_iter().next().unwrap_or_default(),
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | Err(_) => Default::default(),
    };
    let Value::Object(fields) = content else { return (tag, Map::new()) };
    let named = |(name, value)| (if name == "said" { "detail".to_owned() } else { name }, value);
    (tag, fields.into_iter().map(named).collect())
}

/// Returns the message of an error of JSON, with its place as arguments.
pub fn json_error(error: &serde_json::Error) -> Sentence {
    let (text, line, column) = (error.to_string(), error.line(), error.column());
    match text.strip_suffix(&format!(" at line {line} column {column}")) {
        Some(reason) => {
            let reason = Sentence::from(reason);
            sentence!("{reason} at line {line} column {column}", reason, line, column)
        }
        None => text.into(),
    }
}

/// Parses a JSON text.
///
/// # Errors
/// The text is not JSON, or not a value of this type.
pub fn parse_json<T: FromJson>(json: &[u8]) -> serde_json::Result<T> {
    let mut parser = JsonParser::from_slice(json);
    let value = T::from_json(&mut parser)?;
    parser.end()?;
    Ok(value)
}
