//! What the two wires have in common: a request goes in as bytes, an answer comes out of events.
//!
//! Pure: no sockets, no clock, no environment; a fuzzer can drive it.

use std::sync::Arc;

use ibeam_core::{ModelEvent, ModelRequest};
use ibeam_protocol::{Block, Message};
use serde::Serialize;
use serde_json::Value;

use crate::body::{RequestBody, Settled};
use crate::provider_table::Quirks;
use crate::sse::SseEvent;
use crate::{anthropic, openai};

/// The protocol spoken with an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, which most services and local servers speak.
    OpenAi,
}

impl Wire {
    /// The word for the wire in `Provenance`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }

    /// The body of the request, as bytes of JSON.
    ///
    /// # Errors
    /// None that a request of ours can cause; the serializer's otherwise.
    pub fn request_body(
        self,
        request: &ModelRequest,
        settings: &RequestSettings<'_>,
    ) -> Result<Vec<u8>, serde_json::Error> {
        RequestBody::default().of(self, request, settings).map(Vec::from)
    }

    /// A body whose last key is the list of messages, with no message of the conversation.
    pub(crate) fn body_without_messages(
        self,
        request: &ModelRequest,
        settings: &RequestSettings<'_>,
    ) -> Result<Vec<u8>, serde_json::Error> {
        match self {
            Self::Anthropic => anthropic::request::body(request, settings),
            Self::OpenAi => openai::request::body(request, settings),
        }
    }

    /// Appends messages to the list that `body` ends in, and tells how many of them will stay as they are.
    pub(crate) fn write_messages(
        self,
        messages: &[Arc<Message>],
        settings: &RequestSettings<'_>,
        body: &mut Vec<u8>,
    ) -> Result<Settled, serde_json::Error> {
        match self {
            Self::Anthropic => anthropic::request::write(messages, body),
            Self::OpenAi => openai::request::write(messages, settings, body),
        }
    }

    /// A decoder for the answer to `request`.
    pub fn decoder(self, request: &ModelRequest, quirks: Quirks) -> Decoder {
        let calls_before = calls_in(request);
        match self {
            Self::Anthropic => Decoder::Anthropic(anthropic::response::Decoder::new(calls_before)),
            Self::OpenAi => {
                let tools = if quirks.text_tool_calls {
                    request.tools.iter().map(|tool| tool.name.to_string()).collect()
                } else {
                    Vec::new()
                };
                Decoder::OpenAi(openai::response::Decoder::new(calls_before, tools))
            }
        }
    }
}

/// What a request says beside the conversation.
#[derive(Clone, Copy, Debug)]
pub struct RequestSettings<'a> {
    /// The model's id at the service.
    pub model: &'a str,
    /// The most tokens to generate, where the request names no limit of its own.
    pub max_output_tokens: Option<u32>,
    /// The service's peculiarities.
    pub quirks: Quirks,
}

/// Why a body is no answer. Who said it and whether to ask again is decided by `Origin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireFault {
    /// The service reports an error instead of an answer.
    Reported(ReportedError),
    /// The answer breaks the wire's own rules; the text says how.
    Protocol(String),
    /// The answer is larger than we are willing to hold; the text says by what.
    TooLarge(String),
    /// The stream ended before its terminal event.
    Truncated,
}

/// An error object of a service, in its own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedError {
    /// A numeric code of the 400s or 500s inside the object.
    pub status: Option<u16>,
    /// Its `type` and `code`, separated by a space.
    pub kind: String,
    /// Its `message`.
    pub message: String,
}

impl ReportedError {
    /// The error that `value` is, if it is one: `{"error": …}` or `{"object": "error", …}`.
    pub fn recognise(value: &Value) -> Option<Self> {
        match value.get("error") {
            None | Some(Value::Null | Value::Bool(_)) => {
                let is_error = value.get("object").or_else(|| value.get("type"))? == "error";
                is_error.then(|| Self::from_object(value))
            }
            Some(Value::String(message)) => Some(Self { message: message.clone(), ..Self::default() }),
            Some(error) => Some(Self::from_object(error)),
        }
    }

    /// The error that any object is, where it is known to be one by other means.
    pub(crate) fn from_object(error: &Value) -> Self {
        let word = |key: &str| error.get(key).and_then(Value::as_str);
        let status = ["code", "status", "status_code"].into_iter().find_map(|key| {
            let code = error.get(key)?;
            let number = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
            u16::try_from(number).ok().filter(|status| (400..600).contains(status))
        });
        let kind = [word("type"), word("code")].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let message = ["message", "detail", "msg", "error"].into_iter().find_map(word);
        let message = message.map_or_else(|| error.to_string(), str::to_owned);
        Self { status, kind, message }
    }
}

/// The state of an answer as it arrives.
#[derive(Debug)]
pub enum Decoder {
    /// Anthropic Messages.
    Anthropic(anthropic::response::Decoder),
    /// OpenAI Chat Completions.
    OpenAi(openai::response::Decoder),
}

impl Decoder {
    /// Takes the next event of the stream and appends what it means; after `Finished` nothing means anything.
    ///
    /// # Errors
    /// The answer is lost; see [`WireFault`]. What was appended before stands.
    pub fn event(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        match self {
            Self::Anthropic(decoder) => decoder.event(event, out),
            Self::OpenAi(decoder) => decoder.event(event, out),
        }
    }

    /// True once the model has stopped and only figures and the terminal event may still come.
    pub fn has_stopped(&self) -> bool {
        match self {
            Self::Anthropic(decoder) => decoder.has_stopped(),
            Self::OpenAi(decoder) => decoder.has_stopped(),
        }
    }

    /// Takes the end of the stream: `last` is the event whose end did not come.
    ///
    /// # Errors
    /// [`WireFault::Truncated`] unless the answer was logically complete.
    pub fn end(&mut self, last: Option<&SseEvent>, out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        match self {
            Self::Anthropic(decoder) => decoder.end(last, out),
            Self::OpenAi(decoder) => decoder.end(last, out),
        }
    }

    /// Takes an answer that came as one JSON document, from a server that does not stream.
    ///
    /// # Errors
    /// See [`WireFault`].
    pub fn whole(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        match self {
            Self::Anthropic(decoder) => decoder.whole(body, out),
            Self::OpenAi(decoder) => decoder.whole(body, out),
        }
    }
}

/// Appends one more element to the list that `body` ends in.
pub(crate) fn push(element: &impl Serialize, body: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    if body.last() != Some(&b'[') {
        body.push(b',');
    }
    serde_json::to_writer(body, element)
}

/// A document that failed to parse: the error it reports, else the fault of being no JSON of this wire.
pub(crate) fn not_of_this_wire(text: &str, error: &serde_json::Error) -> WireFault {
    match serde_json::from_str::<Value>(text).ok().as_ref().and_then(ReportedError::recognise) {
        Some(reported) => WireFault::Reported(reported),
        None => WireFault::Protocol(format!("an event is not valid: {error}")),
    }
}

/// How many calls the conversation holds: made-up ids count on from there, so none comes twice in a session.
fn calls_in(request: &ModelRequest) -> usize {
    request
        .messages
        .iter()
        .map(|message| match message.as_ref() {
            Message::Assistant(blocks) => {
                blocks.iter().filter(|block| matches!(block, Block::ToolCall(_))).count()
            }
            Message::User(_) | Message::ToolResults(_) => 0,
        })
        .sum()
}
