//! The events of a stream as types. Reading is lenient: keys that a reader can do without may be absent or new.

mod ending;
mod init;
mod tool_call;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::ending::KEYS_OF_A_RUN;
pub use self::ending::{
    DenialEntry, ErrorEvent, FAILURE_CLASSES, FailureClass, ResultEvent, ResultObject, ResultSubtype,
    RunSummary, TokenUsage,
};
pub use self::init::{
    ApiKeySource, InitEvent, InitExtras, InitSubtype, LimitValues, SandboxEntry, ServerEntry,
};
pub use self::tool_call::{CallPhase, ToolCallBody, ToolCallEvent};
use crate::describe::{Constraint, Describe, DescribeObject, Shape, contract_object};
use crate::scan;

/// One line of a stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Event {
    /// `system`/`init`: the head of the run. Once, first.
    Init(Box<InitEvent>),
    /// `user`: the prompt. Once, second.
    User(UserEvent),
    /// `assistant`: a piece of the answer.
    Assistant(AssistantEvent),
    /// `tool_call`: a call starts or has ended.
    ToolCall(Box<ToolCallEvent>),
    /// `result`: the end of a run that succeeded. Last.
    Result(Box<ResultEvent>),
    /// `error`: the end of a run that failed. Last.
    Error(Box<ErrorEvent>),
    /// An event that this version does not know, unchanged.
    Other(Value),
}

contract_object! {
    /// The prompt, verbatim; one line for each prompt.
    pub struct UserEvent<S: Default = String> type "user" {
        /// The prompt: a block each for the words, for piped context, and for the context of hooks.
        required message("message", shape: Shape::ObjectWithConst(Message::<String>::object, "role", "user")): Message<S>,
        /// The session of the run.
        required session_id("session_id", shape: Shape::Uuid): S,
    }
}

contract_object! {
    /// A piece of the answer. The texts of all of them, in order and with nothing in between, are the answer.
    pub struct DeltaEvent<S: Default = String> (name: "AssistantEvent") type "assistant" {
        /// The piece of text, as the model writes it.
        required message("message", shape: ASSISTANT_MESSAGE): Message<S>,
        /// The session of the run.
        required session_id("session_id", shape: Shape::Uuid): S,
        /// When it was written, since 1970-01-01 UTC.
        added timestamp_ms("timestamp_ms", unit: "ms"): u64,
    }
}

contract_object! {
    /// A segment of the answer: the whole text between two calls. The texts of all segments, in order and with nothing in
    /// between, are the answer. A segment before a call has `model_call_id` and `timestamp_ms`, the last one neither. With
    /// `timestamp_ms` alone it is a delta, which the segment after it repeats; deltas come with `--stream-partial-output`.
    pub struct AssistantEvent<S: Default = String> (constraint: Constraint::Requires("model_call_id", "timestamp_ms")) type "assistant" {
        /// The piece of text, as the model writes it.
        required message("message", shape: ASSISTANT_MESSAGE): Message<S>,
        /// The session of the run.
        required session_id("session_id", shape: Shape::Uuid): S,
        /// The answer of the model that the text and the call after it belong to.
        optional model_call_id("model_call_id", is_addition: true): Option<S>,
        /// When it was written, since 1970-01-01 UTC.
        optional timestamp_ms("timestamp_ms", unit: "ms", is_addition: true): Option<u64>,
    }
}

const ASSISTANT_MESSAGE: Shape = Shape::ObjectWithConst(Message::<String>::object, "role", "assistant");

impl AssistantEvent {
    /// Whether it has a time and no answer, as deltas do. A stream of another program may have deltas without a time.
    pub fn is_delta(&self) -> bool {
        self.timestamp_ms.is_some() && self.model_call_id.is_none()
    }
}

contract_object! {
    /// What one side says.
    pub struct Message<S: Default = String> {
        /// Who says it.
        required role("role", shape: Shape::Enum(&["user", "assistant"])): S,
        /// The blocks of it.
        required content("content", shape: Shape::NonEmptyList(&TextBlock::<String>::SHAPE)): Vec<TextBlock<S>>,
    }
}

contract_object! {
    /// A block of text.
    pub struct TextBlock<S: Default = String> {
        /// What this object is.
        required kind("type", shape: Shape::Enum(&["text"])): S,
        /// The text.
        expected text("text"): S,
    }
}

impl Message {
    /// Returns the texts of all blocks, joined.
    pub fn text(&self) -> String {
        self.content.iter().map(|block| block.text.as_str()).collect()
    }
}

/// The keys that tell which event a line is.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    /// Any value: an unknown event may have a subtype that is not a string.
    subtype: Option<Value>,
}

impl Event {
    /// Parses the event of one line, with or without its line end.
    ///
    /// # Errors
    /// The line is not JSON, or a key that readers rely on is missing or of another type.
    pub fn from_line(line: &str) -> Result<Self, serde_json::Error> {
        let Head { kind, subtype } = scan::parse(line)?;
        Ok(match (kind.as_ref(), subtype.as_ref().and_then(Value::as_str)) {
            ("system", Some("init")) => Self::Init(scan::parse(line)?),
            ("user", _) => Self::User(scan::parse(line)?),
            ("assistant", _) => Self::Assistant(scan::parse(line)?),
            ("tool_call", Some("started" | "completed")) => Self::ToolCall(scan::parse(line)?),
            ("result", Some("success")) => Self::Result(scan::parse(line)?),
            ("error", _) => Self::Error(scan::parse(line)?),
            _ => Self::Other(scan::parse(line)?),
        })
    }

    /// Returns the id of the session, or `None` where the event has none.
    pub fn session_id(&self) -> Option<&str> {
        match self {
            Self::Init(event) => Some(&event.session_id),
            Self::User(event) => Some(&event.session_id),
            Self::Assistant(event) => Some(&event.session_id),
            Self::ToolCall(event) => Some(&event.session_id),
            Self::Result(event) => Some(&event.session_id),
            Self::Error(event) => event.session_id.as_deref(),
            Self::Other(event) => event.get("session_id")?.as_str(),
        }
    }
}
