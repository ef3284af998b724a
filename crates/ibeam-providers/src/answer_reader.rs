//! Reading of a response body under the timeouts of the endpoint.

use std::sync::Arc;
use std::time::Duration;

use ibeam_core::{ModelEvent, ProviderError, Retry};
use ibeam_protocol::StopReason;
use tokio::time::{Instant, timeout, timeout_at};

use crate::body_decoder::BodyDecoder;
use crate::provider_errors::ResponseHead;
use crate::recording::{BodyError, ResponseBody};
use crate::response_error::ResponseError;
use crate::transport::Transport;

/// The maximum wait for the end of the body after a complete answer. A connection whose body was read to the end serves the
/// next request; a server that keeps the body open costs one connection.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(5);

/// The maximum wait for the terminal event after the model has stopped. Some servers never send it and keep the connection
/// open.
const TERMINAL_EVENT_TIMEOUT: Duration = Duration::from_secs(2);

/// An answer that is arriving.
pub(crate) struct AnswerReader {
    transport: Arc<Transport>,
    response: ResponseBody,
    head: ResponseHead,
    body: BodyDecoder,
    started: Instant,
    last_content: Instant,
    /// The end of the last read. The time until the next one belongs to the caller, not to the service.
    idle_since: Instant,
}

/// The next timeout.
#[derive(Clone, Copy)]
enum NextTimeout {
    /// For the next chunk, or the next chunk with content.
    Idle(Duration),
    /// For the complete answer.
    Total(Duration),
}

impl AnswerReader {
    pub(crate) fn new(
        transport: Arc<Transport>,
        head: ResponseHead,
        response: ResponseBody,
        body: BodyDecoder,
    ) -> Self {
        let now = Instant::now();
        Self { transport, response, head, body, started: now, last_content: now, idle_since: now }
    }

    /// Reads until it can append at least one event to `out`. `Finished` is the last event.
    ///
    /// # Errors
    /// The answer cannot be completed. Events that were appended before remain valid.
    pub(crate) async fn read(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        let pause = self.idle_since.elapsed();
        self.started += pause;
        self.last_content += pause;
        let mut result = self.read_events(out).await;
        let answer = match out.last() {
            Some(ModelEvent::Finished(answer)) => Some(answer),
            Some(ModelEvent::TextDelta(_) | ModelEvent::ThinkingDelta(_) | ModelEvent::ToolCallStarted)
            | None => None,
        };
        if self.response.is_recorded() && (answer.is_some() || result.is_err()) {
            let answer = answer.and_then(|answer| serde_json::to_string(answer).ok());
            if let Err(error) = self.response.store_recording(answer.as_deref()) {
                out.retain(|event| !matches!(event, ModelEvent::Finished(_)));
                result = result.and(Err(error));
            }
        }
        self.idle_since = Instant::now();
        result
    }

    async fn read_events(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        while out.is_empty() {
            let (deadline, next_timeout) = self.deadline();
            let result = match timeout_at(deadline, self.response.chunk()).await {
                Ok(Ok(Some(chunk))) => match self.body.decode_chunk(&chunk, out) {
                    Ok(has_content) => {
                        if has_content {
                            self.last_content = Instant::now();
                        }
                        Ok(())
                    }
                    Err(error) => Err(self.invalid_response(error)),
                },
                // The decoder decides whether the answer is complete, however the connection ended.
                Ok(Ok(None)) => self.body.finish(out).map_err(|error| self.invalid_response(error)),
                Ok(Err(BodyError::Lost)) => {
                    self.transport.drop_connection();
                    self.body.finish(out).map_err(|error| self.invalid_response(error))
                }
                Ok(Err(BodyError::IdleTimeout(waited))) => {
                    self.end_by_timeout(NextTimeout::Idle(waited), out)
                }
                Ok(Err(BodyError::TotalTimeout(waited))) => {
                    self.end_by_timeout(NextTimeout::Total(waited), out)
                }
                Err(_) => self.end_by_timeout(next_timeout, out),
            };
            let finished = matches!(out.last(), Some(ModelEvent::Finished(_)));
            if !finished {
                result?;
            }
        }
        if let Some(ModelEvent::Finished(answer)) = out.last_mut() {
            // Service support needs the id in the head of the response, not the id in its body.
            if let Some(id) = self.head.request_id.take() {
                answer.request_id = Some(id);
            }
            let errors = self.transport.errors();
            answer.request_id = errors.sanitize_id(answer.request_id.take());
            if let StopReason::Unknown(word) = &mut answer.stop {
                *word = errors.sanitize(word);
            }
            Box::pin(self.drain()).await;
        }
        Ok(())
    }

    /// Ends the body after a timeout. The answer may be complete although the server keeps the connection open.
    fn end_by_timeout(
        &mut self,
        next_timeout: NextTimeout,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
        self.transport.drop_connection();
        self.response.set_timeout(match next_timeout {
            NextTimeout::Idle(waited) => BodyError::IdleTimeout(waited),
            NextTimeout::Total(waited) => BodyError::TotalTimeout(waited),
        });
        self.body.finish(out).map_err(|error| self.timed_out(error, next_timeout))
    }

    /// Returns the time by which the next chunk must arrive, and the timeout that sets it.
    fn deadline(&self) -> (Instant, NextTimeout) {
        let timeouts = self.transport.endpoint().timeouts;
        let idle =
            if self.body.has_stopped() { timeouts.idle.min(TERMINAL_EVENT_TIMEOUT) } else { timeouts.idle };
        let idle_from = |from: Instant, timeout: Duration| (from + timeout, NextTimeout::Idle(timeout));
        let idle = idle_from(Instant::now(), idle);
        let content_idle = idle_from(self.last_content, timeouts.content_idle);
        let total = (self.started + timeouts.total, NextTimeout::Total(timeouts.total));
        let earlier = if content_idle.0 < idle.0 { content_idle } else { idle };
        if total.0 < earlier.0 { total } else { earlier }
    }

    async fn drain(&mut self) {
        let rest = async { while let Ok(Some(_)) = self.response.chunk().await {} };
        if timeout(DRAIN_TIMEOUT, rest).await.is_err() {
            self.response.set_open();
        }
    }

    fn invalid_response(&self, error: ResponseError) -> ProviderError {
        self.transport.errors().invalid_response(error, self.head.clone())
    }

    /// Returns the error of an answer that was incomplete when `timeout` had passed.
    fn timed_out(&self, error: ResponseError, timeout: NextTimeout) -> ProviderError {
        let (errors, head) = (self.transport.errors(), self.head.clone());
        match (error, timeout) {
            (error @ (ResponseError::Reported(_) | ResponseError::TooLarge(_)), _) => {
                errors.invalid_response(error, head)
            }
            (ResponseError::Protocol(_) | ResponseError::Truncated, NextTimeout::Idle(waited)) => {
                errors.stalled(waited, Retry::Fast, head)
            }
            (ResponseError::Protocol(_) | ResponseError::Truncated, NextTimeout::Total(waited)) => {
                errors.too_slow(waited, head)
            }
        }
    }
}
