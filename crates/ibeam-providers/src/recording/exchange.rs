//! The file format of a recording.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ibeam_core::{ModelEvent, ProviderError, Retry};
use ibeam_protocol::{Answer, Failure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::provider_errors::ResponseHead;

/// The version of the format.
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

/// One recorded exchange with a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Exchange {
    /// The version of the format.
    ibeam_recording: u64,
    /// The time of the request in milliseconds since the Unix epoch.
    pub recorded_at_ms: u64,
    /// The name of the provider.
    pub provider: String,
    /// The id of the model.
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
    ///
    /// # Errors
    /// See [`RecordingError`].
    pub fn parse(content: &str) -> Result<Self, RecordingError> {
        let malformed = |error: serde_json::Error| RecordingError::Malformed(error.to_string());
        let value: Value = serde_json::from_str(content).map_err(malformed)?;
        match value.get("ibeam_recording").and_then(Value::as_u64) {
            Some(version) if version > VERSION => Err(RecordingError::LaterFormat(version)),
            Some(_) => serde_json::from_value(value).map_err(malformed),
            None => Err(RecordingError::Malformed("`ibeam_recording` is missing".to_owned())),
        }
    }
}

/// The outcome of an exchange.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
pub(crate) struct TimedChunk {
    /// The time since the request in milliseconds.
    pub(crate) at_ms: u64,
    #[serde(flatten)]
    pub(crate) content: ChunkContent,
}

/// The bytes of a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
pub(crate) struct TimedEvent {
    /// The time since the request in milliseconds.
    pub(crate) at_ms: u64,
    #[serde(flatten)]
    pub(crate) event: RecordedEvent,
}

/// The recorded form of a [`ModelEvent`] or of the error that ends a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RecordedEvent {
    TextDelta(String),
    ThinkingDelta(String),
    ToolCallStarted {},
    Finished(Box<Answer>),
    Failed(RecordedFailure),
}

impl From<&Result<ModelEvent, ProviderError>> for RecordedEvent {
    fn from(event: &Result<ModelEvent, ProviderError>) -> Self {
        match event {
            Ok(ModelEvent::TextDelta(text)) => Self::TextDelta(text.clone()),
            Ok(ModelEvent::ThinkingDelta(text)) => Self::ThinkingDelta(text.clone()),
            Ok(ModelEvent::ToolCallStarted) => Self::ToolCallStarted {},
            Ok(ModelEvent::Finished(answer)) => Self::Finished(answer.clone()),
            Err(error) => Self::Failed(RecordedFailure::from(error)),
        }
    }
}

impl From<RecordedEvent> for Result<ModelEvent, ProviderError> {
    fn from(event: RecordedEvent) -> Self {
        match event {
            RecordedEvent::TextDelta(text) => Ok(ModelEvent::TextDelta(text)),
            RecordedEvent::ThinkingDelta(text) => Ok(ModelEvent::ThinkingDelta(text)),
            RecordedEvent::ToolCallStarted {} => Ok(ModelEvent::ToolCallStarted),
            RecordedEvent::Finished(answer) => Ok(ModelEvent::Finished(answer)),
            RecordedEvent::Failed(failure) => Err(failure.into()),
        }
    }
}

/// The recorded form of a [`ProviderError`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordedFailure {
    #[serde(flatten)]
    failure: Failure,
    retry: RecordedRetry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedRetry {
    Never,
    Once,
    Fast,
    Backoff,
}

impl From<&ProviderError> for RecordedFailure {
    fn from(error: &ProviderError) -> Self {
        let retry = match error.retry {
            Retry::Never => RecordedRetry::Never,
            Retry::Once => RecordedRetry::Once,
            Retry::Fast => RecordedRetry::Fast,
            Retry::Backoff => RecordedRetry::Backoff,
        };
        Self { failure: error.failure.clone(), retry }
    }
}

impl From<RecordedFailure> for ProviderError {
    fn from(recorded: RecordedFailure) -> Self {
        let retry = match recorded.retry {
            RecordedRetry::Never => Retry::Never,
            RecordedRetry::Once => Retry::Once,
            RecordedRetry::Fast => Retry::Fast,
            RecordedRetry::Backoff => Retry::Backoff,
        };
        Self { failure: recorded.failure, retry }
    }
}
