//! What the model is to say, whatever the wire: an answer is a list of steps.

use std::time::Duration;

use ibeam_protocol::{StopReason, Usage};
use serde_json::Value;

/// One thing an answer does.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// One delta of visible text; neighbours make one block.
    Text(String),
    /// One delta of reasoning; neighbours make one block, which is signed where the wire signs.
    Thinking(String),
    /// A tool call; its arguments arrive in several pieces.
    Call {
        /// The provider's id.
        id: String,
        /// The tool.
        name: String,
        /// The arguments as text; not necessarily valid JSON.
        arguments: String,
    },
    /// The tokens told; without it 12 in and 3 out.
    Usage(Usage),
    /// Why the answer ends; without it `ToolUse` after a call and `EndTurn` else.
    Stop(StopReason),
    /// A pause.
    Delay(Duration),
    /// These bytes in the middle of the stream, whatever they are.
    Raw(Vec<u8>),
    /// The connection breaks here.
    Cut,
    /// Nothing more comes, and the connection stays open until the server is dropped.
    Stall,
    /// No stream at all: a response of its own. Only a `Delay` may stand before it.
    Status {
        /// HTTP status.
        code: u16,
        /// Headers; the content type is `application/json` unless given.
        headers: Vec<(String, String)>,
        /// The body.
        body: String,
    },
}

/// A delta of text.
pub fn text(text: &str) -> Step {
    Step::Text(text.to_owned())
}

/// A delta of reasoning.
pub fn thinking(text: &str) -> Step {
    Step::Thinking(text.to_owned())
}

/// A tool call; arguments that are a JSON string are sent as that text, to send what is not JSON.
pub fn call(id: &str, name: &str, arguments: Value) -> Step {
    let arguments = match arguments {
        Value::String(text) => text,
        other => other.to_string(),
    };
    Step::Call { id: id.to_owned(), name: name.to_owned(), arguments }
}

/// The tokens told.
pub fn usage(usage: Usage) -> Step {
    Step::Usage(usage)
}

/// Why the answer ends.
pub fn stop(reason: StopReason) -> Step {
    Step::Stop(reason)
}

/// A pause before what follows.
pub fn delay(ms: u64) -> Step {
    Step::Delay(Duration::from_millis(ms))
}

/// Bytes sent as they are.
pub fn raw(bytes: &[u8]) -> Step {
    Step::Raw(bytes.to_vec())
}

/// The connection breaks.
pub fn cut() -> Step {
    Step::Cut
}

/// Nothing more comes.
pub fn stall() -> Step {
    Step::Stall
}

/// A response with this status instead of a stream.
pub fn status(code: u16, headers: &[(&str, &str)], body: &str) -> Step {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Step::Status { code, headers, body: body.to_owned() }
}

/// A page for people with status 200, as a proxy or a portal answers.
pub fn html() -> Step {
    let page =
        "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Please sign in.</body></html>\n";
    status(200, &[("content-type", "text/html; charset=utf-8")], page)
}
