//! The answers of the scripted model, independent of an API.

use std::time::Duration;

use ibeam_protocol::{StopReason, Usage};
use serde_json::Value;

/// An answer to one request.
///
/// The initial answer is empty, has status 200 and ends its turn. Steps are sent in the order in which they are added.
/// The stop reason follows from the calls unless it is set.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// The delay before the status and the headers are sent.
    pub(crate) head_delay: Duration,
    pub(crate) content: Content,
}

/// The content of a response.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// A stream in the format of the requested API.
    Steps { steps: Vec<Step>, usage: Usage, stop: Option<StopReason> },
    /// A body of this media type, without a stream.
    Body { mime: &'static str, text: String },
    /// An error in the format of the requested API.
    Error { kind: String, message: String },
    /// No response, not even a status and headers.
    Silence,
}

/// A step of a streamed answer.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// One delta of text.
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    /// A tool call. `arguments` is the text that the model wrote, which may be invalid JSON.
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    /// A pause before the next step.
    Pause(Duration),
    /// Bytes of the body that are sent unchanged.
    Raw(Vec<u8>),
    /// The connection breaks.
    Cut,
    /// The connection stays open without further data.
    Stall,
}

impl Default for Answer {
    fn default() -> Self {
        Self::new()
    }
}

impl Answer {
    /// Returns an empty answer.
    pub fn new() -> Self {
        let usage = Usage { input: 100, output: 10, cache_read: 0, cache_write: 0, ..Usage::default() };
        Self {
            status: 200,
            headers: Vec::new(),
            head_delay: Duration::ZERO,
            content: Content::Steps { steps: Vec::new(), usage, stop: None },
        }
    }

    /// Returns a failing status with a body of plain text.
    pub fn status(status: u16, body: impl Into<String>) -> Self {
        let content = Content::Body { mime: "text/plain", text: body.into() };
        Self { status, headers: Vec::new(), head_delay: Duration::ZERO, content }
    }

    /// Returns a web page under any status, as proxies and portals answer.
    pub fn html(status: u16, body: impl Into<String>) -> Self {
        let content = Content::Body { mime: "text/html", text: body.into() };
        Self { status, headers: Vec::new(), head_delay: Duration::ZERO, content }
    }

    /// Returns a failing status with the error object of the requested API, e.g. `not_found_error`.
    pub fn error(status: u16, kind: &str, message: &str) -> Self {
        let content = Content::Error { kind: kind.to_owned(), message: message.to_owned() };
        Self { status, headers: Vec::new(), head_delay: Duration::ZERO, content }
    }

    /// Returns an answer that is never sent, not even its status and headers.
    pub fn silence() -> Self {
        Self { status: 200, headers: Vec::new(), head_delay: Duration::ZERO, content: Content::Silence }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Delays the response, including its status and headers, by this time.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.head_delay = delay;
        self
    }

    /// Adds one delta of text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.step(Step::Text(text.into()))
    }

    /// Adds a block of thinking. The signature is sent only by APIs that have signatures.
    #[must_use]
    pub fn thinking(self, text: &str, signature: &str) -> Self {
        self.step(Step::Thinking { text: text.to_owned(), signature: signature.to_owned() })
    }

    /// Adds a call with its arguments as an object.
    #[must_use]
    pub fn call(self, id: &str, name: &str, arguments: &Value) -> Self {
        self.call_as_written(id, name, &arguments.to_string())
    }

    /// Adds a call with its arguments as the text that the model wrote, valid JSON or not.
    #[must_use]
    pub fn call_as_written(self, id: &str, name: &str, arguments: &str) -> Self {
        let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_owned());
        self.step(Step::Call { id, name, arguments })
    }

    /// Adds a pause before the next step.
    #[must_use]
    pub fn pause(self, pause: Duration) -> Self {
        self.step(Step::Pause(pause))
    }

    /// Adds raw bytes to the body.
    #[must_use]
    pub fn raw(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.step(Step::Raw(bytes.into()))
    }

    /// Breaks the connection after the previous step.
    #[must_use]
    pub fn cut(self) -> Self {
        self.step(Step::Cut)
    }

    /// Sends nothing more, and keeps the connection open.
    #[must_use]
    pub fn stall(self) -> Self {
        self.step(Step::Stall)
    }

    /// Sets the usage; the default is 100 input and 10 output tokens.
    #[must_use]
    pub fn usage(mut self, given: Usage) -> Self {
        if let Content::Steps { usage, .. } = &mut self.content {
            *usage = given;
        }
        self
    }

    /// Sets the stop reason, if it does not follow from the calls.
    #[must_use]
    pub fn stop(mut self, given: StopReason) -> Self {
        if let Content::Steps { stop, .. } = &mut self.content {
            *stop = Some(given);
        }
        self
    }

    fn step(mut self, step: Step) -> Self {
        match &mut self.content {
            Content::Steps { steps, .. } => steps.push(step),
            Content::Body { .. } | Content::Error { .. } | Content::Silence => {
                panic!("only a stream has steps, not {step:?}")
            }
        }
        self
    }
}

/// Returns the stop reason that is sent: `stop`, or the reason that follows from the calls.
pub(crate) fn stop_reason(steps: &[Step], stop: Option<&StopReason>) -> StopReason {
    let calls = steps.iter().any(|step| matches!(step, Step::Call { .. }));
    let from_calls = if calls { StopReason::ToolUse } else { StopReason::EndTurn };
    stop.cloned().unwrap_or(from_calls)
}

/// A part of a body. Each part is sent separately.
#[derive(Clone, Debug)]
pub(crate) enum Frame {
    Bytes(Vec<u8>),
    Pause(Duration),
    /// The connection breaks.
    Cut,
    /// The connection stays open without further data.
    Stall,
}

impl Frame {
    /// Returns a server-sent event with a name, as the Anthropic API sends it.
    pub(crate) fn named_event(name: &str, data: &Value) -> Self {
        Self::Bytes(format!("event: {name}\ndata: {data}\n\n").into_bytes())
    }

    /// Returns a server-sent event without a name, as the OpenAI API sends it.
    pub(crate) fn unnamed_event(data: &str) -> Self {
        Self::Bytes(format!("data: {data}\n\n").into_bytes())
    }
}

/// Splits the text into `count` pieces, since models write arguments a few tokens at a time. No piece is empty unless
/// the text is.
pub(crate) fn pieces(text: &str, count: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let size = characters.len().div_ceil(count).max(1);
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
