//! The file format of a recording.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ibeam_core::{ModelEvent, ProviderError, RefusedPart, Retry};
use ibeam_protocol::{Answer, Failure, Reason, Usage};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::provider_errors::ResponseHead;

const VERSION: u64 = 1;

/// The reason why a file is not a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// The content is not the JSON of a recording.
    #[error("not a recording: {0}")]
    Malformed(String),
    /// A later version wrote the file.
    #[error("the recording has format {0}; this version reads format {VERSION}")]
    LaterFormat(u64),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "ExchangeFields")]
pub struct Exchange {
    /// The version of the format.
    ibeam_recording: u64,
    /// The time of the request in milliseconds since the Unix epoch.
    pub recorded_at_ms: u64,
    pub provider: String,
    pub model: String,
    /// The name of the API, or `embedded`.
    pub(crate) api: String,
    /// The request in its canonical form.
    pub(crate) request: Value,
    #[serde(flatten)]
    pub(crate) outcome: ExchangeOutcome,
}

impl Exchange {
    pub(crate) fn new(
        recorded_at_ms: u64,
        provider: String,
        model: String,
        api: String,
        request: Value,
        outcome: ExchangeOutcome,
    ) -> Self {
        Self { ibeam_recording: VERSION, recorded_at_ms, provider, model, api, request, outcome }
    }

    /// Parses the content of a file.
    pub fn parse(content: &str) -> Result<Self, RecordingError> {
        let malformed = |error: serde_json::Error| RecordingError::Malformed(error.to_string());
        let Version { ibeam_recording } = serde_json::from_slice(content.as_bytes()).map_err(malformed)?;
        match ibeam_recording {
            Some(version) if version > VERSION => Err(RecordingError::LaterFormat(version)),
            Some(_) => serde_json::from_slice(content.as_bytes()).map_err(malformed),
            None => Err(RecordingError::Malformed("`ibeam_recording` is missing".to_owned())),
        }
    }

    /// Returns the content of a file.
    ///
    /// # Errors
    /// No error is possible in practice: every exchange is valid JSON.
    pub(crate) fn to_pretty_json(&self) -> Result<String, serde_json::Error> {
        // Through `Value`: code that writes every type of the program indented would only serve recordings.
        let value: Value = serde_json::from_slice(&serde_json::to_vec(self)?)?;
        serde_json::to_string_pretty(&value)
    }
}

/// The part of a file that is common to all versions.
#[derive(Deserialize)]
struct Version {
    ibeam_recording: Option<u64>,
}

/// The fields of an [`Exchange`], of whose outcomes one is present. Serde would read a flattened enum through a buffer,
/// with separate code for every type in it.
#[derive(Deserialize)]
struct ExchangeFields {
    ibeam_recording: u64,
    recorded_at_ms: u64,
    provider: String,
    model: String,
    api: String,
    request: Value,
    response: Option<RecordedResponse>,
    events: Option<Vec<TimedEvent>>,
    failure: Option<RecordedFailure>,
}

impl TryFrom<ExchangeFields> for Exchange {
    type Error = &'static str;

    fn try_from(fields: ExchangeFields) -> Result<Self, Self::Error> {
        let ExchangeFields { ibeam_recording, recorded_at_ms, provider, model, api, request, .. } = fields;
        let outcome = match (fields.response, fields.events, fields.failure) {
            (Some(response), None, None) => ExchangeOutcome::Response(response),
            (None, Some(events), None) => ExchangeOutcome::Events(events),
            (None, None, Some(failure)) => ExchangeOutcome::Failure(failure),
            _ => return Err("one of `response`, `events` and `failure` must be present"),
        };
        Ok(Self { ibeam_recording, recorded_at_ms, provider, model, api, request, outcome })
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExchangeOutcome {
    /// A response over HTTP.
    Response(RecordedResponse),
    /// The events of a model without a transport.
    Events(Vec<TimedEvent>),
    /// An error without a response, such as a refused connection.
    Failure(RecordedFailure),
}

/// A response over HTTP.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RecordedResponse {
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after_ms: Option<u64>,
    /// The scheme and host that a redirect points to.
    pub(crate) location: Option<String>,
    pub(crate) chunks: Vec<TimedChunk>,
    pub(crate) end: BodyEnd,
}

impl RecordedResponse {
    pub(crate) fn head(&self) -> ResponseHead {
        ResponseHead {
            status: Some(self.status),
            request_id: self.request_id.clone(),
            retry_after_ms: self.retry_after_ms,
            location: self.location.clone(),
        }
    }
}

/// A chunk of a response body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ChunkFields")]
pub(crate) struct TimedChunk {
    /// The time since the request in milliseconds.
    pub(crate) at_ms: u64,
    #[serde(flatten)]
    pub(crate) content: ChunkContent,
}

/// The fields of a [`TimedChunk`], of whose contents one is present.
#[derive(Deserialize)]
struct ChunkFields {
    at_ms: u64,
    text: Option<String>,
    base64: Option<String>,
}

impl TryFrom<ChunkFields> for TimedChunk {
    type Error = &'static str;

    fn try_from(ChunkFields { at_ms, text, base64 }: ChunkFields) -> Result<Self, Self::Error> {
        match (text, base64) {
            (Some(text), None) => Ok(Self { at_ms, content: ChunkContent::Text(text) }),
            (None, Some(base64)) => Ok(Self { at_ms, content: ChunkContent::Base64(base64) }),
            (Some(_), Some(_)) | (None, None) => Err("one of `text` and `base64` must be present"),
        }
    }
}

/// The bytes of a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChunkContent {
    Text(String),
    /// Bytes that are not UTF-8.
    Base64(String),
}

impl ChunkContent {
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(STANDARD.encode(bytes)),
        }
    }

    /// Returns the bytes; none for invalid base64.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.as_bytes().to_vec(),
            Self::Base64(text) => STANDARD.decode(text).unwrap_or_default(),
        }
    }
}

/// The end of a response body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BodyEnd {
    /// The body was read to its last byte.
    Complete,
    /// The server kept the connection open after the answer.
    Open,
    /// The connection broke.
    Lost,
    /// The program stopped reading.
    Cancelled,
    /// No chunk came in time.
    IdleTimeout { waited_ms: u64 },
    /// The answer was not complete in time.
    TotalTimeout { waited_ms: u64 },
    /// The body contained a secret, so it was not recorded.
    Withheld,
}

/// An event of a model without a transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "EventFields")]
pub(crate) struct TimedEvent {
    /// The time since the request in milliseconds.
    pub(crate) at_ms: u64,
    #[serde(flatten)]
    pub(crate) event: RecordedEvent,
}

/// The fields of a [`TimedEvent`], of whose events one is present.
#[derive(Deserialize)]
struct EventFields {
    at_ms: u64,
    text_delta: Option<String>,
    thinking_delta: Option<String>,
    tool_call_started: Option<IgnoredAny>,
    finished: Option<Box<Answer>>,
    failed: Option<RecordedFailure>,
}

impl TryFrom<EventFields> for TimedEvent {
    type Error = &'static str;

    fn try_from(fields: EventFields) -> Result<Self, Self::Error> {
        let EventFields { at_ms, text_delta, thinking_delta, tool_call_started, finished, failed } = fields;
        let event = text_delta
            .map(RecordedEvent::TextDelta)
            .or(thinking_delta.map(RecordedEvent::ThinkingDelta))
            .or(tool_call_started.map(|_| RecordedEvent::ToolCallStarted {}))
            .or(finished.map(RecordedEvent::Finished))
            .or(failed.map(RecordedEvent::Failed));
        Ok(Self { at_ms, event: event.ok_or("the event is missing")? })
    }
}

/// The recorded form of a [`ModelEvent`] or of the error that ends a stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RecordedEvent {
    TextDelta(String),
    ThinkingDelta(String),
    ToolCallStarted {},
    Finished(Box<Answer>),
    Failed(RecordedFailure),
}

impl RecordedEvent {
    /// Returns the recorded form of an event; `None` for an event that is not part of the answer.
    pub(crate) fn new(event: &Result<ModelEvent, ProviderError>) -> Option<Self> {
        match event {
            Ok(ModelEvent::TextDelta(text)) => Some(Self::TextDelta(text.clone())),
            Ok(ModelEvent::ThinkingDelta(text)) => Some(Self::ThinkingDelta(text.clone())),
            Ok(ModelEvent::ToolCallAnnounced) => Some(Self::ToolCallStarted {}),
            Ok(ModelEvent::Notice(_)) => None,
            Ok(ModelEvent::Finished(answer)) => Some(Self::Finished(answer.clone())),
            Err(error) => Some(Self::Failed(RecordedFailure::from(error))),
        }
    }
}

impl From<RecordedEvent> for Result<ModelEvent, ProviderError> {
    fn from(event: RecordedEvent) -> Self {
        match event {
            RecordedEvent::TextDelta(text) => Ok(ModelEvent::TextDelta(text)),
            RecordedEvent::ThinkingDelta(text) => Ok(ModelEvent::ThinkingDelta(text)),
            RecordedEvent::ToolCallStarted {} => Ok(ModelEvent::ToolCallAnnounced),
            RecordedEvent::Finished(answer) => Ok(ModelEvent::Finished(answer)),
            RecordedEvent::Failed(failure) => Err(failure.into()),
        }
    }
}

/// The recorded form of a [`ProviderError`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordedFailure {
    reason: Reason,
    http_status: Option<u16>,
    request_id: Option<String>,
    retry_after_ms: Option<u64>,
    retry: RecordedRetry,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Box<Usage>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_unavailable: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedRetry {
    Never,
    Once,
    Fast,
    Backoff,
    /// [`RefusedPart::Thinking`], in recordings of earlier versions too.
    WithoutThinking,
    WithoutPart(Box<RefusedPart>),
}

impl From<&ProviderError> for RecordedFailure {
    fn from(error: &ProviderError) -> Self {
        let retry = match &error.retry {
            Retry::Never => RecordedRetry::Never,
            Retry::Once => RecordedRetry::Once,
            Retry::Fast => RecordedRetry::Fast,
            Retry::Backoff => RecordedRetry::Backoff,
            Retry::WithoutPart(part) if **part == RefusedPart::Thinking => RecordedRetry::WithoutThinking,
            Retry::WithoutPart(part) => RecordedRetry::WithoutPart(part.clone()),
        };
        let Failure { reason, http_status, request_id, retry_after_ms } = error.failure.clone();
        let (usage, is_unavailable) = (error.usage.clone(), error.is_unavailable);
        Self { reason, http_status, request_id, retry_after_ms, retry, usage, is_unavailable }
    }
}

impl From<RecordedFailure> for ProviderError {
    fn from(recorded: RecordedFailure) -> Self {
        let retry = match recorded.retry {
            RecordedRetry::Never => Retry::Never,
            RecordedRetry::Once => Retry::Once,
            RecordedRetry::Fast => Retry::Fast,
            RecordedRetry::Backoff => Retry::Backoff,
            RecordedRetry::WithoutThinking => Retry::without(RefusedPart::Thinking),
            RecordedRetry::WithoutPart(part) => Retry::WithoutPart(part),
        };
        let RecordedFailure { reason, http_status, request_id, retry_after_ms, .. } = recorded;
        let failure = Failure { reason, http_status, request_id, retry_after_ms };
        Self { failure, retry, usage: recorded.usage, is_unavailable: recorded.is_unavailable }
    }
}
