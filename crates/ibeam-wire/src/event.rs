//! The events of a stream as types. Lenient: what a reader does not need may be absent or new.

mod call;
mod ending;
mod init;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

pub use self::call::{CallPhase, ToolCallBody, ToolCallEvent};
pub use self::ending::{DenialEntry, ErrorEvent, ResultEvent, RunSummary, TokenUsage};
pub use self::init::{ApiKeySource, InitEvent, InitExtras, LimitValues, SandboxEntry, ServerEntry};
use crate::scan;

/// One line of a stream.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// `system`/`init`: the head of the run. Once, first. Published.
    Init(Box<InitEvent>),
    /// `user`: the prompt. Once, second. Published.
    User(UserEvent),
    /// `assistant`: a piece of the answer. Published.
    Assistant(AssistantEvent),
    /// `tool_call`: a call begins or has ended. Published.
    ToolCall(Box<ToolCallEvent>),
    /// `result`: the end of a run that succeeded. Last. Published.
    Result(Box<ResultEvent>),
    /// `error`: the end of a run that failed. Last. Since 0.1.0.
    Error(Box<ErrorEvent>),
    /// An event that this version does not know, as it stands.
    Other(Value),
}

/// The prompt.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct UserEvent {
    /// The prompt verbatim; context from stdin and from hooks stands in further blocks. Published.
    pub message: Message,
    /// A UUID, the same in every event of the run; what `--resume` takes. Published.
    pub session_id: String,
}

/// A piece of the answer.
///
/// Under contract 1 a delta: all of them together, with nothing in between, are the answer. Under contract 2 a segment,
/// which is the whole text between two calls, or a delta of one: [`NewText`](crate::NewText) adds up either.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct AssistantEvent {
    /// The piece. Published.
    pub message: Message,
    /// As in [`UserEvent`]. Published.
    pub session_id: String,
    /// Under contract 2, with a segment before a call: the answer of the model that both belong to. Since 0.1.0.
    pub model_call_id: Option<String>,
    /// Milliseconds since 1970-01-01 UTC. Since 0.1.0; absent in the last segment under contract 2.
    pub timestamp_ms: Option<u64>,
}

impl AssistantEvent {
    /// It has a time and nothing else, as deltas do. A stream of another program may have deltas without.
    pub fn is_delta(&self) -> bool {
        self.timestamp_ms.is_some() && self.model_call_id.is_none()
    }
}

/// What somebody said.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Message {
    /// `user` or `assistant`. Published.
    pub role: String,
    /// What was said, in order. Published.
    pub content: Vec<TextBlock>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct TextBlock {
    /// `text`. Published.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text; empty in a block of another kind. Published.
    #[serde(default)]
    pub text: String,
}

impl Message {
    /// The texts of all blocks, put together.
    pub fn text(&self) -> String {
        self.content.iter().map(|block| block.text.as_str()).collect()
    }
}

/// What decides which event a line is.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    /// No string where an event has none and the key is new.
    subtype: Option<Value>,
}

impl Event {
    /// The event of one line, with or without its end.
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

    /// The id of the session, where the event has one.
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
