//! The body of a response, read under the bounds of time and fed to the decoder.

use std::sync::Arc;
use std::time::Duration;

use ibeam_core::{ModelEvent, ProviderError, Retry};
use ibeam_protocol::StopReason;
use reqwest::Response;
use tokio::time::{Instant, timeout, timeout_at};

use crate::bounds::BodyBounds;
use crate::failure::Head;
use crate::sse::{EVENT_LIMIT_BYTES, SseError, SseEvent, SseParser};
use crate::transport::Transport;
use crate::wire::{Decoder, WireFault};

/// How long the end of the body is waited for once the answer is complete: read to its end, the connection
/// serves the next request; a server that holds it open costs one connection, not a wait.
const DRAIN_LIMIT: Duration = Duration::from_millis(5);

/// How long the terminal event is waited for once the model has stopped: some servers never send it and hold the
/// line.
const LINGER_LIMIT: Duration = Duration::from_secs(2);

/// An answer on its way.
pub(crate) struct AnswerReader {
    transport: Arc<Transport>,
    response: Response,
    head: Head,
    decoder: Decoder,
    form: Form,
    events: Vec<SseEvent>,
    bounds: BodyBounds,
    started: Instant,
    last_content: Instant,
    /// When the caller last got something; the time until it asks for more is not the service's.
    left: Instant,
}

/// The bound of time that comes next.
#[derive(Clone, Copy)]
enum Bound {
    /// Until the next piece, or the next piece that says something.
    Silence(Duration),
    /// Until the end of the answer.
    Whole(Duration),
}

/// What the body turned out to be, told by its first byte: servers mislabel both.
enum Form {
    Unknown,
    Events(SseParser),
    /// One JSON document, from a server that does not stream, or an error under a status of success.
    Document(Vec<u8>),
}

impl AnswerReader {
    pub(crate) fn new(transport: Arc<Transport>, head: Head, response: Response, decoder: Decoder) -> Self {
        let now = Instant::now();
        Self {
            transport,
            response,
            head,
            decoder,
            form: Form::Unknown,
            events: Vec::new(),
            bounds: BodyBounds::default(),
            started: now,
            last_content: now,
            left: now,
        }
    }

    /// Reads on until at least one event, or the end, is known. `Finished` is the last of what is appended.
    ///
    /// What was appended before an error stands.
    pub(crate) async fn read(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        let away = self.left.elapsed();
        self.started += away;
        self.last_content += away;
        let read = self.read_on(out).await;
        self.left = Instant::now();
        read
    }

    async fn read_on(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        while out.is_empty() {
            let (deadline, bound) = self.deadline();
            let result = match timeout_at(deadline, self.response.chunk()).await {
                Ok(Ok(Some(chunk))) => self.take(&chunk, out).map_err(|fault| self.fault(fault)),
                // Clean or not: the decoder knows whether the answer is complete.
                Ok(Ok(None)) => self.end(out).map_err(|fault| self.fault(fault)),
                Ok(Err(_)) => {
                    self.transport.forget_connection();
                    self.end(out).map_err(|fault| self.fault(fault))
                }
                // A server that said its last word and holds the line is done all the same.
                Err(_) => {
                    self.transport.forget_connection();
                    let ended = self.end(out);
                    let (origin, head) = (self.transport.origin(), self.head.clone());
                    ended.map_err(|fault| match (fault, bound) {
                        (fault @ (WireFault::Reported(_) | WireFault::TooLarge(_)), _) => {
                            origin.fault(fault, head)
                        }
                        (WireFault::Protocol(_) | WireFault::Truncated, Bound::Silence(waited)) => {
                            origin.stalled(waited, Retry::Fast, head)
                        }
                        (WireFault::Protocol(_) | WireFault::Truncated, Bound::Whole(waited)) => {
                            origin.too_slow(waited, head)
                        }
                    })
                }
            };
            let finished = matches!(out.last(), Some(ModelEvent::Finished(_)));
            if !finished {
                result?;
            }
        }
        if let Some(ModelEvent::Finished(answer)) = out.last_mut() {
            // The id in the head is the one the provider's support asks for.
            if let Some(id) = self.head.request_id.take() {
                answer.request_id = Some(id);
            }
            let origin = self.transport.origin();
            answer.request_id = origin.shown_id(answer.request_id.take());
            if let StopReason::Unknown(word) = &mut answer.stop {
                *word = origin.said(word);
            }
            Box::pin(self.drain()).await;
        }
        Ok(())
    }

    /// Until when the next piece must come, and the bound it comes from.
    fn deadline(&self) -> (Instant, Bound) {
        let bounds = self.transport.endpoint().timeouts;
        let idle = if self.decoder.has_stopped() { bounds.idle.min(LINGER_LIMIT) } else { bounds.idle };
        let silence = |from: Instant, bound: Duration| (from + bound, Bound::Silence(bound));
        let idle = silence(Instant::now(), idle);
        let content_idle = silence(self.last_content, bounds.content_idle);
        let whole = (self.started + bounds.total, Bound::Whole(bounds.total));
        let earlier = if content_idle.0 < idle.0 { content_idle } else { idle };
        if whole.0 < earlier.0 { whole } else { earlier }
    }

    fn take(&mut self, chunk: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        if matches!(self.form, Form::Unknown) {
            match chunk.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None => return self.bounds.take(chunk.len(), false),
                Some(b'{' | b'[' | b'<') => self.form = Form::Document(Vec::new()),
                Some(_) => self.form = Form::Events(SseParser::default()),
            }
        }
        match &mut self.form {
            Form::Unknown => Ok(()),
            Form::Document(body) => {
                body.extend_from_slice(chunk);
                self.last_content = Instant::now();
                if body.len() > EVENT_LIMIT_BYTES { Err(sse_fault(SseError::TooLong)) } else { Ok(()) }
            }
            Form::Events(parser) => {
                self.events.clear();
                let parsed = parser.feed(chunk, &mut self.events);
                let has_content = self.events.iter().any(|event| event.event != "ping");
                if has_content {
                    self.last_content = Instant::now();
                }
                // A long event comes in many pieces and has a bound of its own.
                self.bounds.take(chunk.len(), has_content || parser.is_within_event())?;
                for event in &self.events {
                    self.decoder.event(event, out)?;
                }
                parsed.map_err(sse_fault)
            }
        }
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        match std::mem::replace(&mut self.form, Form::Unknown) {
            Form::Unknown => Err(WireFault::Truncated),
            Form::Events(parser) => {
                // Bytes that are no text at the cut are part of the cut.
                let last = parser.finish().ok().flatten();
                self.decoder.end(last.as_ref(), out)
            }
            Form::Document(body) => {
                let body = String::from_utf8(body).map_err(|_| sse_fault(SseError::NotUtf8))?;
                if body.trim_start().starts_with('<') {
                    return Err(WireFault::Protocol(body));
                }
                self.decoder.whole(&body, out)
            }
        }
    }

    async fn drain(&mut self) {
        let rest = async { while let Ok(Some(_)) = self.response.chunk().await {} };
        let _held_open = timeout(DRAIN_LIMIT, rest).await;
    }

    fn fault(&self, fault: WireFault) -> ProviderError {
        self.transport.origin().fault(fault, self.head.clone())
    }
}

fn sse_fault(error: SseError) -> WireFault {
    WireFault::Protocol(match error {
        SseError::TooLong => format!("an event is longer than {EVENT_LIMIT_BYTES} bytes"),
        SseError::NotUtf8 => "the stream is not UTF-8".to_owned(),
    })
}
