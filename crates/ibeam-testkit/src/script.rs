//! What the scripted model answers, apart from any wire.

use std::time::Duration;

use ibeam_protocol::{StopReason, Usage};
use serde_json::Value;

/// One answer to one request.
///
/// Begins as an empty answer with status 200 that ends its turn; the steps are sent in the order in which they are
/// added. The stop reason follows from the calls unless it is given.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// How long the head is held back.
    pub(crate) late: Duration,
    pub(crate) content: Content,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Steps {
        steps: Vec<Step>,
        usage: Usage,
        stop: Option<StopReason>,
    },
    Body {
        mime: &'static str,
        text: String,
    },
    /// An error in the words of whichever wire asks.
    Error {
        kind: String,
        message: String,
    },
    /// Not even a head.
    Silence,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    /// `arguments` is the text that the model wrote, which may be no JSON.
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    Pause(Duration),
    Raw(Vec<u8>),
    Cut,
    Stall,
}

impl Default for Answer {
    fn default() -> Self {
        Self::new()
    }
}

impl Answer {
    /// An empty answer.
    pub fn new() -> Self {
        let usage = Usage { input: 100, output: 10, cache_read: 0, cache_write: 0 };
        Self {
            status: 200,
            headers: Vec::new(),
            late: Duration::ZERO,
            content: Content::Steps { steps: Vec::new(), usage, stop: None },
        }
    }

    /// A failing status with a body of any kind.
    pub fn status(status: u16, body: impl Into<String>) -> Self {
        let content = Content::Body { mime: "text/plain", text: body.into() };
        Self { status, headers: Vec::new(), late: Duration::ZERO, content }
    }

    /// A web page, as proxies and portals answer, under any status.
    pub fn html(status: u16, body: impl Into<String>) -> Self {
        let content = Content::Body { mime: "text/html", text: body.into() };
        Self { status, headers: Vec::new(), late: Duration::ZERO, content }
    }

    /// A failing status with the error object of the wire that asks, e.g. `not_found_error`.
    pub fn error(status: u16, kind: &str, message: &str) -> Self {
        let content = Content::Error { kind: kind.to_owned(), message: message.to_owned() };
        Self { status, headers: Vec::new(), late: Duration::ZERO, content }
    }

    /// A connection on which nothing ever comes, not even a head.
    pub fn silence() -> Self {
        Self { status: 200, headers: Vec::new(), late: Duration::ZERO, content: Content::Silence }
    }

    /// A header of the answer.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Even the head comes only after this time.
    #[must_use]
    pub fn late(mut self, by: Duration) -> Self {
        self.late = by;
        self
    }

    /// One delta of text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.step(Step::Text(text.into()))
    }

    /// A block of thinking; its signature is its own on the wire that signs.
    #[must_use]
    pub fn thinking(self, text: &str, signature: &str) -> Self {
        self.step(Step::Thinking { text: text.to_owned(), signature: signature.to_owned() })
    }

    /// A call with its arguments as an object.
    #[must_use]
    pub fn call(self, id: &str, name: &str, arguments: &Value) -> Self {
        self.call_as_written(id, name, &arguments.to_string())
    }

    /// A call with its arguments as the text that the model wrote, be it JSON or not.
    #[must_use]
    pub fn call_as_written(self, id: &str, name: &str, arguments: &str) -> Self {
        let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_owned());
        self.step(Step::Call { id, name, arguments })
    }

    /// A pause before the next step.
    #[must_use]
    pub fn pause(self, pause: Duration) -> Self {
        self.step(Step::Pause(pause))
    }

    /// Bytes as they are, in place of what the wire would have.
    #[must_use]
    pub fn raw(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.step(Step::Raw(bytes.into()))
    }

    /// The connection breaks here.
    #[must_use]
    pub fn cut(self) -> Self {
        self.step(Step::Cut)
    }

    /// Nothing more comes, and the connection stays.
    #[must_use]
    pub fn stall(self) -> Self {
        self.step(Step::Stall)
    }

    /// What the answer cost; 100 in and 10 out unless given.
    #[must_use]
    pub fn usage(mut self, given: Usage) -> Self {
        if let Content::Steps { usage, .. } = &mut self.content {
            *usage = given;
        }
        self
    }

    /// Why the answer ends, where it is not what the calls say.
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
                panic!("an answer that is no stream has no step {step:?}")
            }
        }
        self
    }
}

/// The stop reason that goes over the wire.
pub(crate) fn stop_reason(steps: &[Step], stop: Option<&StopReason>) -> StopReason {
    let calls = steps.iter().any(|step| matches!(step, Step::Call { .. }));
    let natural = if calls { StopReason::ToolUse } else { StopReason::EndTurn };
    stop.cloned().unwrap_or(natural)
}
