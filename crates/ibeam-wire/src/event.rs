//! The events of a stream as types. Reading is lenient: keys that are not essential may be absent, and unknown keys are
//! ignored.

pub(crate) mod call_phase;
mod ending;
mod init;
pub(crate) mod tool_call;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::call_phase::CallPhase;
pub(crate) use self::ending::RUN_KEYS;
pub use self::ending::{
    BackgroundEndEntry, DenialEntry, ErrorEvent, FAILURE_CLASSES, FailureClass, FallbackEntry, ModelCosts,
    ModelTokens, ModelUsage, ResultEvent, ResultObject, ResultSubtype, RunSummary, TokenUsage,
};
pub use self::init::{
    ApiKeySource, InitEvent, InitExtras, InitSubtype, LimitValues, SandboxEntry, ServerEntry,
};
pub use self::tool_call::{ToolCallBody, ToolCallEvent};
use crate::describe::{Constraint, Describe, DescribeObject, Shape, contract_object};
use crate::scan;

/// One line of a stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Event {
    /// `system`/`init`: the settings of the run. Once, first.
    Init(Box<InitEvent>),
    /// `user`: the prompt. Once, second.
    User(UserEvent),
    /// `assistant`: a piece of the answer.
    Assistant(AssistantEvent),
    /// `tool_call`: a call starts or has ended.
    ToolCall(Box<ToolCallEvent>),
    /// `ibeam`/`model_fallback`: another model takes over.
    ModelFallback(Box<ModelFallbackEvent>),
    /// `result`: the end of a run that succeeded. Last.
    Result(Box<ResultEvent>),
    /// `error`: the end of a run that failed. Last.
    Error(Box<ErrorEvent>),
    /// An unknown event, unchanged.
    Other(Value),
}

contract_object! {
    /// The prompt, verbatim. Occurs once, after `init`.
    pub struct UserEvent<S: Default = String> type "user" {
        /// The prompt. Its text, piped input and context added by hooks are separate blocks.
        required message("message", shape: Shape::ObjectWithConst(Message::<String>::object, "role", "user")): Message<S>,
        /// The id of the session.
        required session_id("session_id", shape: Shape::Uuid): S,
        /// The additions of ibeam; absent without attached files.
        optional ibeam("ibeam", is_addition: true): Option<UserExtras<S>>,
    }
}

contract_object! {
    /// The additions to `user`.
    pub struct UserExtras<S: Default = String> {
        /// The files that the user attached, in their order.
        required attachments("attachments"): Vec<AttachmentEntry<S>>,
    }
}

contract_object! {
    /// A file that the user attached. Its content is not in the stream.
    pub struct AttachmentEntry<S: Default = String> {
        /// The path as the user wrote it, or `image 1` or `document 1` for a block of a message on stdin.
        required name("name"): S,
        /// The type of the file: `text/plain` for any text.
        required media_type("media_type"): S,
    }
}

// The `assistant` event of contract 1, and a delta of contract 2. `AssistantEvent` reads both contracts.
contract_object! {
    /// A part of the answer. The answer is the concatenation of the texts of all `assistant` lines, in order.
    pub struct DeltaEvent<S: Default = String> (name: "AssistantEvent") type "assistant" {
        /// The message with this part of the text.
        required message("message", shape: ASSISTANT_MESSAGE): Message<S>,
        /// The id of the session.
        required session_id("session_id", shape: Shape::Uuid): S,
        /// The time of the event, since 1970-01-01 UTC.
        added timestamp_ms("timestamp_ms", unit: "ms"): u64,
    }
}

contract_object! {
    /// A segment of the answer: the complete text between two calls. The answer is the concatenation of the texts of all
    /// segments, in order. A segment before a call has `model_call_id` and `timestamp_ms`; the last segment has neither. An
    /// event with `timestamp_ms` alone is a delta, which the next segment repeats; deltas need `--stream-partial-output`.
    pub struct AssistantEvent<S: Default = String> (constraint: Constraint::Requires("model_call_id", "timestamp_ms")) type "assistant" {
        /// The message with this part of the text.
        required message("message", shape: ASSISTANT_MESSAGE): Message<S>,
        /// The id of the session.
        required session_id("session_id", shape: Shape::Uuid): S,
        /// The id of the model response that the text and the following call belong to.
        optional model_call_id("model_call_id", is_addition: true): Option<S>,
        /// The time of the event, since 1970-01-01 UTC.
        optional timestamp_ms("timestamp_ms", unit: "ms", is_addition: true): Option<u64>,
    }
}

const ASSISTANT_MESSAGE: Shape = Shape::ObjectWithConst(Message::<String>::object, "role", "assistant");

impl AssistantEvent {
    /// Whether the event is a delta: it has a time and no `model_call_id`. Deltas of other programs may have no time.
    pub fn is_delta(&self) -> bool {
        self.timestamp_ms.is_some() && self.model_call_id.is_none()
    }
}

contract_object! {
    /// Another model takes over, because a model was overloaded or a quota was exhausted. Only in streams of ibeam.
    pub struct ModelFallbackEvent<S: Default = String> type "ibeam" {
        /// The subtype of the event.
        required subtype("subtype"): FallbackSubtype,
        /// The model that was unavailable, as `PROVIDER/ID`.
        required from_model("from_model"): S,
        /// The model that takes over, as `PROVIDER/ID`.
        required to_model("to_model"): S,
        /// The class of the last failure of the unavailable model.
        required code("code", shape: Shape::FailureCode): S,
        /// The failure for people: one English sentence.
        required message("message"): S,
        /// The id of the session.
        required session_id("session_id", shape: Shape::Uuid): S,
        /// The time of the event, since 1970-01-01 UTC.
        required timestamp_ms("timestamp_ms", unit: "ms"): u64,
    }
}

/// The `subtype` of [`ModelFallbackEvent`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FallbackSubtype {
    /// Another model takes over.
    #[default]
    ModelFallback,
}

impl Describe for FallbackSubtype {
    const SHAPE: Shape = Shape::Enum(&["model_fallback"]);
}

contract_object! {
    /// A message of the user or of the model.
    pub struct Message<S: Default = String> {
        /// The author of the message.
        required role("role", shape: Shape::Enum(&["user", "assistant"])): S,
        /// The blocks of the message.
        required content("content", shape: Shape::NonEmptyList(&TextBlock::<String>::SHAPE)): Vec<TextBlock<S>>,
    }
}

contract_object! {
    /// A block of text.
    pub struct TextBlock<S: Default = String> {
        /// The type of the object.
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

/// The keys that identify the event of a line.
#[derive(Deserialize)]
struct TypeKeys<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    /// Any value, because the subtype of an unknown event may be no string.
    subtype: Option<Value>,
}

impl Event {
    /// Parses the event of one line, with or without its line end.
    ///
    /// # Errors
    /// The line is not JSON, or a key that readers rely on is missing or of another type.
    pub fn from_line(line: &str) -> Result<Self, serde_json::Error> {
        let TypeKeys { kind, subtype } = scan::parse(line)?;
        Ok(match (kind.as_ref(), subtype.as_ref().and_then(Value::as_str)) {
            ("system", Some("init")) => Self::Init(scan::parse(line)?),
            ("user", _) => Self::User(scan::parse(line)?),
            ("assistant", _) => Self::Assistant(scan::parse(line)?),
            ("tool_call", Some("started" | "completed")) => Self::ToolCall(scan::parse(line)?),
            ("ibeam", Some("model_fallback")) => Self::ModelFallback(scan::parse(line)?),
            ("result", Some("success")) => Self::Result(scan::parse(line)?),
            ("error", _) => Self::Error(scan::parse(line)?),
            _ => Self::Other(scan::parse(line)?),
        })
    }

    /// Returns the id of the session, or `None` if the event has none.
    pub fn session_id(&self) -> Option<&str> {
        match self {
            Self::Init(event) => Some(&event.session_id),
            Self::User(event) => Some(&event.session_id),
            Self::Assistant(event) => Some(&event.session_id),
            Self::ToolCall(event) => Some(&event.session_id),
            Self::ModelFallback(event) => Some(&event.session_id),
            Self::Result(event) => Some(&event.session_id),
            Self::Error(event) => event.session_id.as_deref(),
            Self::Other(event) => event.get("session_id")?.as_str(),
        }
    }
}
