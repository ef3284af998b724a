//! The interface between an API's wire protocol and the rest of this crate.
//!
//! Every API implements [`WireProtocol`] in a separate module below `protocols/`. The traits are pure: no sockets, no
//! clock, no environment.

use std::fmt;
use std::sync::Arc;

use ibeam_core::{JsonSchema, ModelEvent, ModelRequest};
use ibeam_protocol::{Block, Message, Usage};
use serde::Serialize;
use serde_json::Value;

use crate::answer_state::AnswerState;
use crate::call_id::CallIdForm;
use crate::listed_model::{ListedModel, parse_model_list};
use crate::model_traits::ModelTraits;
use crate::reasoning::Reasoning;
use crate::response_error::{
    FailureClass, ReportedError, ResponseError, ignore_incomplete_frame, parse_error_object, status_from_kind,
};
use ibeam_http::framing::{Frame, FrameParser};
use ibeam_http::sse::SseParser;

/// An API through which models are used.
///
/// The default methods are what most APIs have in common.
pub trait WireProtocol: fmt::Debug + Send + Sync {
    /// Returns the name, as configuration files (`providers.*.wire`) and recorded thinking blocks spell it.
    fn name(&self) -> &'static str;

    /// Returns the path for a base URL that has none, such as `/v1`; empty if the base URL needs no path.
    fn default_path(&self) -> &'static str;

    /// Returns the URL for requests to `model`.
    fn request_url(&self, base_url: &str, model: &str) -> String;

    /// Returns the URL of the list of models.
    fn models_url(&self, base_url: &str) -> String;

    /// Returns the headers that every request carries in addition to the common ones.
    fn fixed_headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Returns a header that a request to the model needs with these settings. `request` is `None` for a request about
    /// others, such as a batch.
    fn model_header(
        &self,
        _request: Option<&ModelRequest>,
        _settings: &RequestSettings<'_>,
    ) -> Option<(&'static str, String)> {
        None
    }

    /// Whether a message can add tools to those of the request.
    fn appends_tools(&self, _settings: &RequestSettings<'_>) -> bool {
        false
    }

    /// Whether a message can change the level of reasoning.
    fn appends_effort(&self, _settings: &RequestSettings<'_>) -> bool {
        false
    }

    /// Whether the service makes the answer match a schema, so that the model needs no instruction about it.
    fn enforces_schema(&self, _schema: &JsonSchema, _settings: &RequestSettings<'_>) -> bool {
        false
    }

    /// Returns the headers that authorise `request` with `key`. Their values are secret.
    fn auth_headers(&self, request: &OutgoingRequest<'_>, key: &str) -> Vec<(&'static str, String)>;

    /// Returns the value of the `Accept` header.
    fn accept(&self) -> &'static str {
        "text/event-stream, application/json"
    }

    /// Whether the API has a documented form of a request for reasoning, for a model with these traits.
    fn accepts_reasoning(&self, _traits: ModelTraits) -> bool {
        true
    }

    /// Returns the writer of request bodies.
    fn request_writer(&self) -> RequestWriter;

    /// Whether requests can have documents. All of them can have images.
    fn accepts_documents(&self) -> bool {
        true
    }

    /// Returns a parser for the encoding of the stream.
    fn frame_parser(&self) -> Box<dyn FrameParser> {
        Box::new(SseParser::default())
    }

    /// Returns the WebSocket mode of the API; `None` if the API has none.
    fn websocket_mode(&self) -> Option<&'static dyn WebSocketMode> {
        None
    }

    /// Returns the batch API for the requests of this protocol; `None` if there is none.
    fn batch_kind(&self) -> Option<BatchKind> {
        None
    }

    /// Returns a decoder for the answer to `request`.
    fn decoder(&self, request: &ModelRequest, quirks: Quirks) -> Box<dyn AnswerDecoder>;

    /// Parses the list of models.
    ///
    /// # Errors
    /// `Reported` for an error object, `Protocol` for anything else that is not a list.
    fn parse_models(&self, body: &str) -> Result<Vec<ListedModel>, ResponseError> {
        parse_model_list(body)
    }

    /// Reads the error in the JSON body of a response whose status is not success.
    fn parse_error(&self, body: &Value) -> ReportedError {
        ReportedError::recognise(body).unwrap_or_else(|| ReportedError::from_object(body))
    }

    /// Reads the error in the body of a response whose status is not success. The message of a body that is not a JSON
    /// object is the body.
    fn parse_error_body(&self, body: &str) -> ReportedError {
        match parse_error_object(body) {
            Some(value) => self.parse_error(&value),
            None => ReportedError { message: body.to_owned(), ..ReportedError::default() },
        }
    }

    /// Whether a response to a request to the model says that the service has no such API, or that the model needs another
    /// one. `body` is that of the error.
    fn is_api_refusal(&self, _status: u16, _body: &str) -> bool {
        false
    }

    /// Returns the pause that the JSON body of an error asks for, in milliseconds. The headers of the response take
    /// precedence.
    fn retry_after_ms(&self, _body: &Value) -> Option<u64> {
        None
    }

    /// Classifies an error. `status` is `None` for an error inside a stream that names no status.
    fn classify_error(&self, status: Option<u16>, error: &ReportedError, model: &str) -> FailureClass {
        let status = status.or_else(|| status_from_kind(&error.kind)).unwrap_or(500);
        FailureClass::from_error(status, error, model)
    }
}

/// The functions that write the two parts of a request body. Their errors are those of the serialiser; a conversation
/// cannot cause them.
#[derive(Clone, Copy, Debug)]
pub struct RequestWriter {
    /// Returns a request body as JSON, without the messages of the conversation. Its last key is the list of messages,
    /// so that the body ends in `]}`.
    pub write_request: fn(&ModelRequest, &RequestSettings<'_>) -> Result<Vec<u8>, serde_json::Error>,
    pub write_messages: WriteMessages,
}

/// Appends messages to a body, which ends inside its list of messages, and returns the part that later requests can reuse.
type WriteMessages =
    fn(&[Arc<Message>], &RequestSettings<'_>, &mut Vec<u8>) -> Result<StablePrefix, serde_json::Error>;

/// A batch API, which [`batch_api`](crate::batch::batch_api) implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchKind {
    Anthropic,
    Gemini,
    OpenAiChat,
    OpenAiResponses,
}

/// The WebSocket mode of an API: one connection serves many requests, and a request that continues the last response has
/// only the new messages. The events of a response are the data of the events over HTTP.
pub trait WebSocketMode: fmt::Debug + Send + Sync {
    /// Returns the message for a request with this JSON body.
    fn write_message(&self, body: &[u8]) -> Vec<u8>;

    /// Returns the message for a request that continues a response. `body` is the JSON body without messages, as
    /// [`RequestWriter::write_request`] returns it; `messages` is a JSON list of the messages after the response.
    fn write_continuation(&self, body: &[u8], response_id: &str, messages: &[u8]) -> Vec<u8>;

    /// Reads an error of the service; `None` for any other message.
    fn parse_error(&self, text: &str) -> Option<WebSocketError>;

    /// Whether the message reports that the connection has reached its maximum age.
    fn is_connection_limit(&self, text: &str) -> bool;
}

/// The parts of an error over WebSocket that HTTP has in the head of the response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSocketError {
    /// The HTTP status, from 400 to 599; `None` if the service gives none.
    pub status: Option<u16>,
    pub headers: Vec<(String, String)>,
}

/// The decoder of one answer. An API implements what differs: the form of its frames and documents.
pub trait AnswerDecoder: fmt::Debug + Send {
    /// Returns the state that all APIs have.
    fn state(&self) -> &AnswerState;

    /// Adds a frame to an answer that is not complete, and appends its events to `out`.
    ///
    /// # Errors
    /// See [`ResponseError`]. The answer cannot be completed; events that were appended before remain valid.
    fn add_frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError>;

    /// Decodes an answer that is one JSON document, from a server that does not stream.
    ///
    /// # Errors
    /// See [`ResponseError`].
    fn decode_document(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError>;

    /// Whether the model has stopped, so that only token counts and the terminal event may follow.
    fn has_stopped(&self) -> bool {
        self.state().is_finished()
    }

    /// Completes the answer at the end of a stream without a terminal event, if the model has stopped.
    ///
    /// # Errors
    /// `Truncated` for services whose streams always have one.
    fn complete(&mut self, _out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        Err(ResponseError::Truncated)
    }

    /// Returns the tokens that the service has reported so far; they count even if the answer fails. `None` for services
    /// that report tokens only with the end of an answer.
    fn reported_usage(&self) -> Option<Usage> {
        None
    }

    /// Returns the size of the content so far. It grows with each piece of text, thinking and calls, and with nothing else.
    fn content_size(&self) -> usize {
        self.state().content_size()
    }

    /// Decodes the next frame and appends its events to `out`. Frames after `Finished` are ignored.
    ///
    /// # Errors
    /// See [`add_frame`](Self::add_frame).
    fn decode_frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        if self.state().is_finished() { Ok(()) } else { self.add_frame(frame, out) }
    }

    /// Ends the stream. `last` is a frame that lacks its terminator.
    ///
    /// # Errors
    /// [`ResponseError::Truncated`] unless the answer is logically complete.
    fn finish_stream(
        &mut self,
        last: Option<&Frame>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        if let Some(last) = last {
            ignore_incomplete_frame(self.decode_frame(last, out))?;
        }
        match (self.state().is_finished(), self.has_stopped()) {
            (true, _) => Ok(()),
            (false, true) => self.complete(out),
            (false, false) => Err(ResponseError::Truncated),
        }
    }
}

/// A request as it is about to be sent, for protocols that sign requests.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingRequest<'a> {
    /// `GET` or `POST`.
    pub method: &'a str,
    pub url: &'a str,
    /// The body; empty for `GET`.
    pub body: &'a [u8],
}

/// The parameters of a request that are not part of the conversation.
#[derive(Clone, Copy, Debug)]
pub struct RequestSettings<'a> {
    /// The id of the model at the service.
    pub model: &'a str,
    /// The maximum number of tokens to generate, if the request does not limit them itself.
    pub max_output_tokens: Option<u32>,
    /// The deviations of the service.
    pub quirks: Quirks,
    /// A key that all requests of a session share. The service sends requests with the same key to the same cache.
    pub cache_key: Option<&'a str>,
    /// The reasoning to ask the model for.
    pub reasoning: Reasoning,
    /// The parts and settings that the model accepts.
    pub traits: ModelTraits,
}

impl<'a> RequestSettings<'a> {
    /// Returns the settings for a model that is not in the model table.
    pub const fn for_unknown_model(model: &'a str) -> Self {
        Self {
            model,
            traits: ModelTraits::UNKNOWN,
            max_output_tokens: None,
            quirks: Quirks::DEFAULT,
            cache_key: None,
            reasoning: Reasoning::DEFAULT,
        }
    }

    /// Returns the cache key if the service accepts one in the body.
    pub(crate) fn prompt_cache_key(&self) -> Option<&'a str> {
        self.cache_key.filter(|_| self.quirks.prompt_cache_key)
    }

    /// Returns the ids of calls that the service accepts. `of_protocol` are those that most services with the protocol
    /// accept.
    pub(crate) fn call_ids(&self, of_protocol: CallIdForm) -> CallIdForm {
        self.quirks.call_ids.unwrap_or(of_protocol)
    }
}

/// The part of a request body that every later request of the same conversation repeats.
#[derive(Clone, Copy, Debug)]
pub struct StablePrefix {
    pub messages: usize,
    /// Its length in bytes.
    pub bytes: usize,
}

/// The deviations of a service from its wire protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// The name of the field with the output limit.
    pub max_tokens_field: MaxTokensField,
    /// Whether the service accepts `stream_options.include_usage`. Other services report usage without it, or reject
    /// the key.
    pub stream_usage: bool,
    /// Whether the service requires its `reasoning_content` in later requests.
    pub echo_reasoning: bool,
    /// Whether the models of the service may write tool calls as text.
    pub text_tool_calls: bool,
    /// Whether the service accepts a JSON Schema for the answer, also together with tools.
    pub answer_schema: bool,
    /// The name of the header that carries the key alone, instead of the headers of the protocol.
    pub key_header: Option<&'static str>,
    /// Whether the service accepts `prompt_cache_key` in the body. Some services reject unknown keys.
    pub prompt_cache_key: bool,
    /// The name of the header that carries the cache key.
    pub cache_key_header: Option<&'static str>,
    /// Whether the service accepts the explicit cache breakpoints of the model in an API of OpenAI.
    pub cache_breakpoints: bool,
    /// The form in which a Chat Completions request asks for reasoning.
    pub reasoning_form: ReasoningForm,
    /// The ids of calls that the service accepts; `None` for those of the protocol.
    pub call_ids: Option<CallIdForm>,
    /// Whether the service accepts messages that change fields of the request, where its protocol and the model have them.
    pub updates: bool,
}

impl Quirks {
    /// The most likely values for an unknown service.
    pub const DEFAULT: Self = Self {
        max_tokens_field: MaxTokensField::MaxTokens,
        stream_usage: true,
        echo_reasoning: false,
        text_tool_calls: false,
        answer_schema: false,
        key_header: None,
        prompt_cache_key: false,
        cache_key_header: None,
        cache_breakpoints: false,
        reasoning_form: ReasoningForm::Effort,
        call_ids: None,
        updates: true,
    };

    /// Removes what only the service at its own address is known to accept for its cache.
    pub fn forget_cache(&mut self) {
        self.prompt_cache_key = false;
        self.cache_key_header = None;
        self.cache_breakpoints = false;
    }
}

/// The form in which a Chat Completions request asks for reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningForm {
    /// `reasoning_effort`, as OpenAI defines it and most services accept it.
    Effort,
    /// `reasoning` with `effort` or `max_tokens`, as OpenRouter defines it.
    Object,
    /// `thinking`, and `reasoning_effort` if it is enabled, as DeepSeek defines it.
    Switch,
}

/// The name of the output limit in a Chat Completions request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxTokensField {
    /// `max_tokens`, the older name. Every service accepts it, except for newer models of OpenAI.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// Appends one more element to the JSON list that `body` ends in.
pub(crate) fn push_element(element: &impl Serialize, body: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    if body.last() != Some(&b'[') {
        body.push(b',');
    }
    serde_json::to_writer(body, element)
}

/// Returns the number of tool calls in the conversation. Generated call ids continue from there, so that an id is unique
/// in the session.
pub(crate) fn count_calls(request: &ModelRequest) -> usize {
    request
        .messages
        .iter()
        .map(|message| match message.as_ref() {
            Message::Assistant(blocks) => {
                blocks.iter().filter(|block| matches!(block, Block::ToolCall(_))).count()
            }
            Message::User(_) | Message::Instructions(_) | Message::Update(_) | Message::ToolResults(_) => 0,
        })
        .sum()
}
