//! The parsers of what journals contain.
//!
//! The derived parsers of these types are large, and every crate that calls one generically compiles it again. With
//! these functions, this crate has the only copy.

use serde::Deserialize;
use serde_json::Value;
use serde_json::de::{Deserializer, SliceRead};

use crate::{Event, EventKind, PromptRecord, Reason, RunOutcome, ToolOutcome};

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
