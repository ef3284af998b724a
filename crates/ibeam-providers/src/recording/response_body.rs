//! The body of a response: from the network, possibly recorded, or from a recording.

use std::time::Duration;

use bytes::Bytes;
use ibeam_core::ProviderError;
use ibeam_protocol::Answer;
use reqwest::Response;
use tokio::time::Instant;

use super::exchange::{BodyEnd, RecordedResponse, TimedChunk};
use super::http_recording::HttpRecording;
use super::player::ReplaySpeed;
use crate::provider_errors::ResponseHead;
use crate::websocket::SocketBody;
use ibeam_http::framing::FramingError;

/// The reason why no further chunk arrives before the end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// The connection broke.
    Lost,
    /// The bytes of a WebSocket connection are not messages.
    Framing(FramingError),
    /// The recorded run reached its timeout between two chunks.
    IdleTimeout(Duration),
    /// The recorded run reached its timeout for the complete answer.
    TotalTimeout(Duration),
}

pub(crate) enum ResponseBody {
    /// The body comes from the network.
    Live { body: LiveBody, recording: Option<Box<HttpRecording>> },
    /// The body comes from a recording.
    Replayed(ReplayedBody),
}

/// A response from the network.
pub(crate) struct LiveResponse {
    pub(crate) head: ResponseHead,
    pub(crate) content_type: Option<String>,
    pub(crate) body: LiveBody,
}

impl LiveResponse {
    pub(crate) fn new(head: ResponseHead, content_type: &str, body: LiveBody) -> Self {
        Self { head, content_type: Some(content_type.to_owned()), body }
    }
}

/// A body from the network.
pub(crate) enum LiveBody {
    Http(Response),
    Socket(Box<SocketBody>),
    /// The complete body; `None` after it was read.
    Buffered(Option<Bytes>),
}

impl LiveBody {
    async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        match self {
            Self::Http(response) => response.chunk().await.map_err(|_| BodyError::Lost),
            Self::Socket(body) => body.chunk().await,
            Self::Buffered(body) => Ok(body.take()),
        }
    }
}

/// A recorded body. Its chunks arrive at their recorded times, or at once.
pub(crate) struct ReplayedBody {
    chunks: std::vec::IntoIter<TimedChunk>,
    end: BodyEnd,
    /// The time of the request; `None` for a replay at full speed.
    since: Option<Instant>,
}

impl ReplayedBody {
    pub(crate) fn new(response: &RecordedResponse, speed: ReplaySpeed) -> Self {
        let since = match speed {
            ReplaySpeed::Full => None,
            ReplaySpeed::Recorded => Some(Instant::now()),
        };
        Self { chunks: response.chunks.clone().into_iter(), end: response.end, since }
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        let Some(TimedChunk { at_ms, content }) = self.chunks.next() else {
            return match self.end {
                BodyEnd::Complete | BodyEnd::Open => Ok(None),
                BodyEnd::Lost | BodyEnd::Cancelled | BodyEnd::Withheld => Err(BodyError::Lost),
                BodyEnd::IdleTimeout { waited_ms } => {
                    Err(BodyError::IdleTimeout(Duration::from_millis(waited_ms)))
                }
                BodyEnd::TotalTimeout { waited_ms } => {
                    Err(BodyError::TotalTimeout(Duration::from_millis(waited_ms)))
                }
            };
        };
        if let Some(since) = self.since {
            tokio::time::sleep_until(since + Duration::from_millis(at_ms)).await;
        }
        Ok(Some(content.to_bytes().into()))
    }
}

impl ResponseBody {
    /// Returns the next chunk, or `None` at the end of the body.
    ///
    /// # Errors
    /// See [`BodyError`]. Chunks that were returned before remain valid.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        let (body, recording) = match self {
            Self::Live { body, recording } => (body, recording),
            Self::Replayed(body) => return body.chunk().await,
        };
        let chunk = body.chunk().await;
        if let Some(recording) = recording {
            match &chunk {
                Ok(Some(bytes)) => recording.add_chunk(bytes),
                Ok(None) => recording.set_end(BodyEnd::Complete),
                Err(_) => recording.set_end(BodyEnd::Lost),
            }
        }
        chunk
    }

    /// Ends the body after its complete answer.
    pub(crate) fn complete(&mut self, answer: &Answer) {
        if let Self::Live { body: LiveBody::Socket(body), .. } = self {
            body.complete(answer);
        }
    }

    /// Records how the body ended for the reader.
    pub(crate) fn record_end(&mut self, end: BodyEnd) {
        if let Self::Live { recording: Some(recording), .. } = self {
            recording.set_end(end);
        }
    }

    /// Records a timeout of the reader.
    pub(crate) fn record_timeout(&mut self, error: BodyError) {
        let millis = |waited: Duration| u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        self.record_end(match error {
            BodyError::Lost | BodyError::Framing(_) => BodyEnd::Lost,
            BodyError::IdleTimeout(waited) => BodyEnd::IdleTimeout { waited_ms: millis(waited) },
            BodyError::TotalTimeout(waited) => BodyEnd::TotalTimeout { waited_ms: millis(waited) },
        });
    }

    /// Records that the server kept the connection open after the answer.
    pub(crate) fn record_open_connection(&mut self) {
        self.record_end(BodyEnd::Open);
    }

    /// Whether the body is being recorded.
    pub(crate) fn is_recorded(&self) -> bool {
        matches!(self, Self::Live { recording: Some(_), .. })
    }

    /// Stores the recording, if there is one. `answer` is the JSON of the decoded answer.
    ///
    /// # Errors
    /// `Io` if the file cannot be written.
    pub(crate) fn store_recording(&mut self, answer: Option<&str>) -> Result<(), ProviderError> {
        match self {
            Self::Live { recording: Some(recording), .. } => recording.store(answer),
            Self::Live { recording: None, .. } | Self::Replayed(_) => Ok(()),
        }
    }
}
