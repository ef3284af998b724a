//! The `assistant` line of contract 2, whose two last keys tell its three forms apart.

use ibeam_protocol::{ModelCallId, SessionId};
use schemars::JsonSchema;
use serde::Serialize;

use super::Message;
use super::schemas::Uuid;

/// A segment of the answer: the whole text between two calls. The texts of all segments, in order and with nothing in
/// between, are the answer. A segment before a call has `model_call_id` and `timestamp_ms`, the last one neither. With
/// `timestamp_ms` alone it is a delta, which the segment after it repeats; deltas come with `--stream-partial-output`.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename = "assistant")]
#[schemars(extend("dependentRequired" = { "model_call_id": ["timestamp_ms"] }))]
pub(crate) struct Segment<'a> {
    /// The piece of text, as the model writes it.
    #[schemars(extend("properties" = { "role": { "const": "assistant" } }))]
    pub(crate) message: Message<'a>,
    /// The session of the run.
    #[schemars(with = "Uuid")]
    pub(crate) session_id: SessionId,
    /// The answer of the model that the text and the call after it belong to.
    #[schemars(with = "Option<String>", extend("x-origin" = "ibeam"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model_call_id: Option<&'a ModelCallId>,
    /// When it was written, since 1970-01-01 UTC.
    #[schemars(extend("x-unit" = "ms", "x-origin" = "ibeam"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timestamp_ms: Option<u64>,
}
