//! Reading of a response body under the timeouts of the endpoint.

use std::sync::Arc;
use std::time::Duration;

use ibeam_core::{ModelEvent, ProviderError, Retry};
use ibeam_protocol::{RefusalDetails, StopReason};
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

pub(crate) struct AnswerReader {
    transport: Arc<Transport>,
    body: ResponseBody,
    head: ResponseHead,
    decoder: BodyDecoder,
    started: Instant,
    last_content: Instant,
    /// The time until the next read does not count for the timeouts, because the caller causes it.
    last_read_end: Instant,
}

/// A timeout of an answer, with its duration.
#[derive(Clone, Copy)]
enum AnswerTimeout {
    /// For the next chunk, or the next chunk with content.
    Idle(Duration),
    /// For the complete answer.
    Total(Duration),
}

impl AnswerReader {
    pub(crate) fn new(
        transport: Arc<Transport>,
        head: ResponseHead,
        body: ResponseBody,
        decoder: BodyDecoder,
    ) -> Self {
        let now = Instant::now();
        Self { transport, body, head, decoder, started: now, last_content: now, last_read_end: now }
    }

    /// Reads until it can append at least one event to `out`. `Finished` is the last event.
    ///
    /// # Errors
    /// The answer cannot be completed. Events that were appended before remain valid.
    pub(crate) async fn read(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        let pause = self.last_read_end.elapsed();
        self.started += pause;
        self.last_content += pause;
        let mut result = self.read_events(out).await;
        if let Err(error) = &mut result {
            error.usage = self.decoder.reported_usage().map(Box::new);
        }
        let answer = match out.last() {
            Some(ModelEvent::Finished(answer)) => Some(answer),
            Some(
                ModelEvent::TextDelta(_)
                | ModelEvent::ThinkingDelta(_)
                | ModelEvent::ToolCallAnnounced
                | ModelEvent::Notice(_),
            )
            | None => None,
        };
        if self.body.is_recorded() && (answer.is_some() || result.is_err()) {
            let answer = answer.and_then(|answer| serde_json::to_string(answer).ok());
            if let Err(error) = self.body.store_recording(answer.as_deref()) {
                out.retain(|event| !matches!(event, ModelEvent::Finished(_)));
                result = result.and(Err(error));
            }
        }
        self.last_read_end = Instant::now();
        result
    }

    async fn read_events(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        while out.is_empty() {
            let (deadline, next_timeout) = self.deadline();
            let result = match timeout_at(deadline, self.body.chunk()).await {
                Ok(Ok(Some(chunk))) => match self.decoder.decode_chunk(&chunk, out) {
                    Ok(has_content) => {
                        if has_content {
                            self.last_content = Instant::now();
                        }
                        Ok(())
                    }
                    Err(error) => Err(self.invalid_response(error)),
                },
                // The decoder decides whether the answer is complete, however the connection ended.
                Ok(Ok(None)) => self.decoder.finish(out).map_err(|error| self.invalid_response(error)),
                Ok(Err(BodyError::Lost)) => {
                    self.transport.drop_connection();
                    self.decoder.finish(out).map_err(|error| self.invalid_response(error))
                }
                Ok(Err(BodyError::Framing(error))) => {
                    Err(self.invalid_response(ResponseError::Protocol(error.to_string())))
                }
                Ok(Err(BodyError::IdleTimeout(waited))) => {
                    self.end_by_timeout(AnswerTimeout::Idle(waited), out)
                }
                Ok(Err(BodyError::TotalTimeout(waited))) => {
                    self.end_by_timeout(AnswerTimeout::Total(waited), out)
                }
                Err(_) => self.end_by_timeout(next_timeout, out),
            };
            let finished = matches!(out.last(), Some(ModelEvent::Finished(_)));
            if !finished {
                result?;
            }
        }
        if let Some(ModelEvent::Finished(answer)) = out.last_mut() {
            self.body.complete(answer);
            // The support of a service needs the id in the head of the response, not the id in its body.
            if let Some(id) = self.head.request_id.take() {
                answer.request_id = Some(id);
            }
            let builder = self.transport.error_builder();
            answer.request_id = builder.sanitize_id(answer.request_id.take());
            if let StopReason::Unknown(word) = &mut answer.stop {
                *word = builder.sanitize(word);
            }
            if let Some(RefusalDetails { category, explanation }) = &mut answer.refusal {
                category.iter_mut().chain(explanation).for_each(|text| *text = builder.sanitize(text));
            }
            Box::pin(self.drain()).await;
        }
        Ok(())
    }

    /// Ends the body after a timeout. The answer may be complete although the server keeps the connection open.
    fn end_by_timeout(
        &mut self,
        expired: AnswerTimeout,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ProviderError> {
        self.transport.drop_connection();
        self.body.record_timeout(match expired {
            AnswerTimeout::Idle(waited) => BodyError::IdleTimeout(waited),
            AnswerTimeout::Total(waited) => BodyError::TotalTimeout(waited),
        });
        self.decoder.finish(out).map_err(|error| self.timed_out(error, expired))
    }

    /// Returns the time by which the next chunk must arrive, and the timeout that sets it.
    fn deadline(&self) -> (Instant, AnswerTimeout) {
        let timeouts = self.transport.endpoint().timeouts;
        let idle = if self.decoder.has_stopped() {
            timeouts.idle.min(TERMINAL_EVENT_TIMEOUT)
        } else {
            timeouts.idle
        };
        let idle_from = |from: Instant, timeout: Duration| (from + timeout, AnswerTimeout::Idle(timeout));
        let idle = idle_from(Instant::now(), idle);
        let content_idle = idle_from(self.last_content, timeouts.content_idle);
        let total = (self.started + timeouts.total, AnswerTimeout::Total(timeouts.total));
        let earlier = if content_idle.0 < idle.0 { content_idle } else { idle };
        if total.0 < earlier.0 { total } else { earlier }
    }

    /// Reads the rest of the body, so that the connection can serve the next request.
    async fn drain(&mut self) {
        let rest = async { while let Ok(Some(_)) = self.body.chunk().await {} };
        if timeout(DRAIN_TIMEOUT, rest).await.is_err() {
            self.body.record_open_connection();
        }
    }

    fn invalid_response(&self, error: ResponseError) -> ProviderError {
        self.transport.error_builder().invalid_response(error, self.head.clone())
    }

    /// Returns the error of an answer that was incomplete when `timeout` had passed.
    fn timed_out(&self, error: ResponseError, timeout: AnswerTimeout) -> ProviderError {
        let (builder, head) = (self.transport.error_builder(), self.head.clone());
        match (error, timeout) {
            (
                error @ (ResponseError::Reported(_) | ResponseError::TooLarge(_) | ResponseError::Garbled(_)),
                _,
            ) => builder.invalid_response(error, head),
            (ResponseError::Protocol(_) | ResponseError::Truncated, AnswerTimeout::Idle(waited)) => {
                builder.stalled(waited, Retry::Fast, head)
            }
            (ResponseError::Protocol(_) | ResponseError::Truncated, AnswerTimeout::Total(waited)) => {
                builder.too_slow(waited, head)
            }
        }
    }
}
