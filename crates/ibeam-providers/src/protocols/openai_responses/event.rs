//! The fields of stream events and of the response object that the decoder reads.
//!
//! Texts borrow from the event: nearly every event carries one short delta, and copying the other fields would take as
//! long as parsing them.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::lenient_json::{self, Text};
use crate::response_error::{ResponseError, parse_failure};

/// The events that the decoder reads. The text of all other events comes again in `response.output_item.done`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) enum EventName {
    #[serde(rename = "response.output_text.delta")]
    TextDelta,
    #[serde(rename = "response.refusal.delta")]
    RefusalDelta,
    /// The reasoning itself, from models with open weights, or its summary.
    #[serde(
        rename = "response.reasoning_summary_text.delta",
        alias = "response.reasoning_text.delta",
        alias = "response.reasoning_summary.delta",
        alias = "response.reasoning.delta"
    )]
    ReasoningDelta,
    #[serde(
        rename = "response.function_call_arguments.delta",
        alias = "response.custom_tool_call_input.delta"
    )]
    ArgumentsDelta,
    #[serde(rename = "response.function_call_arguments.done")]
    ArgumentsDone,
    #[serde(rename = "response.output_item.added")]
    ItemAdded,
    #[serde(rename = "response.output_item.done")]
    ItemDone,
    #[serde(rename = "response.created")]
    Created,
    #[serde(rename = "response.completed", alias = "response.done")]
    Completed,
    #[serde(rename = "response.incomplete")]
    Incomplete,
    #[serde(rename = "response.failed", alias = "response.cancelled")]
    Failed,
    #[serde(rename = "error", alias = "response.error")]
    Error,
    /// The event has no type.
    #[default]
    #[serde(skip_deserializing)]
    Missing,
    #[serde(other)]
    Unknown,
}

/// An event of any kind. Each kind has only some of these fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StreamEvent<'a> {
    pub(super) r#type: EventName,
    pub(super) output_index: Option<u64>,
    #[serde(borrow)]
    pub(super) item_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) delta: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) response: Option<&'a RawValue>,
}

/// The type of an event whose other fields have an unknown form.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EventType {
    r#type: EventName,
}

impl<'a> StreamEvent<'a> {
    /// Parses an event. The flag is whether its JSON was repaired.
    ///
    /// # Errors
    /// `Protocol` for an event of a known type with invalid fields, and for text that is not JSON.
    pub(super) fn parse(text: &'a str, buffer: &'a mut String) -> Result<(Self, bool), ResponseError> {
        lenient_json::parse::<Self>(text, buffer).or_else(|error| {
            match serde_json::from_str::<EventType>(text) {
                Ok(EventType { r#type: r#type @ (EventName::Unknown | EventName::Missing) }) => {
                    Ok((Self { r#type, ..Self::default() }, false))
                }
                Ok(_) | Err(_) => Err(parse_failure(text, &error)),
            }
        })
    }
}

/// A response object, at the end of a stream or as a document of its own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireResponse<'a> {
    pub(super) id: Option<String>,
    pub(super) status: Option<String>,
    pub(super) error: Option<Value>,
    pub(super) incomplete_details: Option<IncompleteDetails>,
    #[serde(borrow)]
    pub(super) output: Option<Vec<&'a RawValue>>,
    pub(super) usage: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct IncompleteDetails {
    pub(super) reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseId {
    pub(super) id: Option<String>,
}
