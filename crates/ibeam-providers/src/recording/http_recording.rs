//! The recording of one exchange over HTTP while its body arrives.

use ibeam_core::ProviderError;

use super::exchange::{
    BodyEnd, ChunkContent, ExchangeOutcome, RecordedFailure, RecordedResponse, TimedChunk,
};
use super::recorder::ExchangeContext;
use crate::provider_errors::ResponseHead;

/// An exchange over HTTP that is being recorded. If it is dropped before its end, it is stored as cancelled.
#[derive(Debug)]
pub(crate) struct HttpRecording {
    context: ExchangeContext,
    response: RecordedResponse,
    is_stored: bool,
}

impl HttpRecording {
    /// Starts with the head of the response.
    pub(crate) fn new(context: ExchangeContext, head: &ResponseHead, content_type: Option<String>) -> Self {
        let response = RecordedResponse {
            status: head.status.unwrap_or_default(),
            content_type,
            request_id: head.request_id.clone(),
            retry_after_ms: head.retry_after_ms,
            location: head.location.clone(),
            chunks: Vec::new(),
            end: BodyEnd::Cancelled,
        };
        Self { context, response, is_stored: false }
    }

    /// Stores an exchange that ended without a response.
    ///
    /// # Errors
    /// `Io` if the file cannot be written.
    pub(crate) fn store_failure(
        context: &ExchangeContext,
        error: &ProviderError,
    ) -> Result<(), ProviderError> {
        context.store(ExchangeOutcome::Failure(RecordedFailure::from(error)))
    }

    pub(crate) fn add_chunk(&mut self, bytes: &[u8]) {
        let content = ChunkContent::from_bytes(bytes);
        self.response.chunks.push(TimedChunk { at_ms: self.context.elapsed_ms(), content });
    }

    pub(crate) fn set_end(&mut self, end: BodyEnd) {
        self.response.end = end;
    }

    /// Stores the exchange. `answer` is the JSON of the decoded answer, in which a secret is one text although the
    /// service sent it in pieces.
    ///
    /// # Errors
    /// `Io` if the file cannot be written.
    pub(crate) fn store(&mut self, answer: Option<&str>) -> Result<(), ProviderError> {
        if std::mem::replace(&mut self.is_stored, true) {
            return Ok(());
        }
        self.remove_secrets(answer);
        self.context.store(ExchangeOutcome::Response(self.response.clone()))
    }

    fn remove_secrets(&mut self, answer: Option<&str>) {
        let bytes: Vec<u8> = self.response.chunks.iter().flat_map(|chunk| chunk.content.to_bytes()).collect();
        let body = String::from_utf8_lossy(&bytes);
        let has_secret = self.context.has_secret(&body);
        let is_text = std::str::from_utf8(&bytes).is_ok();
        let clean = self.context.redact(&body);
        // If only the decoded answer contains a secret, the body contains the secret in pieces.
        let is_in_pieces = !has_secret && answer.is_some_and(|answer| self.context.has_secret(answer));
        if is_in_pieces || has_secret && !is_text {
            self.response.chunks.clear();
            self.response.end = BodyEnd::Withheld;
        } else if has_secret {
            // The secret may lie across chunks.
            let at_ms = self.response.chunks.first().map_or(0, |chunk| chunk.at_ms);
            self.response.chunks = vec![TimedChunk { at_ms, content: ChunkContent::Text(clean) }];
        }
        let redact = |text: &mut Option<String>| *text = text.take().map(|text| self.context.redact(&text));
        redact(&mut self.response.request_id);
        redact(&mut self.response.content_type);
    }
}

impl Drop for HttpRecording {
    fn drop(&mut self) {
        // The run has already ended, so an error cannot be reported.
        let _unreported = self.store(None);
    }
}
