//! Decoding of a response body, in whatever form and in whatever chunks it arrives.
//!
//! Uses no socket and no clock: [`AnswerReader`](crate::answer_reader::AnswerReader) has both.

use ibeam_core::ModelEvent;
use ibeam_protocol::Usage;

use crate::answer_limits::BodyLimits;
use crate::response_error::ResponseError;
use crate::wire_protocol::{AnswerDecoder, WireProtocol};
use ibeam_http::framing::{FRAME_LIMIT_BYTES, Frame, FrameParser, FramingError};

/// A response body that is arriving.
#[derive(Debug)]
pub struct BodyDecoder {
    protocol: &'static dyn WireProtocol,
    decoder: Box<dyn AnswerDecoder>,
    body: Body,
    frames: Vec<Frame>,
    limits: BodyLimits,
}

/// The body so far. Its first byte decides its kind, because servers send wrong content types.
#[derive(Debug)]
enum Body {
    /// No byte other than white space has arrived.
    Empty,
    Stream(Box<dyn FrameParser>),
    /// One JSON document: an answer from a server that does not stream, or an error with a status of success.
    Document(Vec<u8>),
}

impl BodyDecoder {
    /// Creates a decoder for one response body. `decoder` is a decoder of `protocol` for one answer.
    pub fn new(protocol: &'static dyn WireProtocol, decoder: Box<dyn AnswerDecoder>) -> Self {
        Self { protocol, decoder, body: Body::Empty, frames: Vec::new(), limits: BodyLimits::default() }
    }

    /// Decodes the next bytes and appends their events to `out`. Returns whether the bytes complete a piece of content;
    /// comments, pings, empty deltas and unknown events are none.
    ///
    /// # Errors
    /// See [`ResponseError`]. The answer is lost; events that were appended before remain valid.
    pub fn decode_chunk(&mut self, chunk: &[u8], out: &mut Vec<ModelEvent>) -> Result<bool, ResponseError> {
        if matches!(self.body, Body::Empty) {
            let parser = self.protocol.frame_parser();
            match chunk.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None => {
                    self.limits.count(chunk.len(), false)?;
                    return Ok(false);
                }
                Some(first) if parser.is_stream(*first) => self.body = Body::Stream(parser),
                Some(_) => self.body = Body::Document(Vec::new()),
            }
        }
        match &mut self.body {
            Body::Empty => Ok(false),
            Body::Document(body) => {
                body.extend_from_slice(chunk);
                if body.len() > FRAME_LIMIT_BYTES {
                    Err(framing_error(FramingError::TooLong))
                } else {
                    Ok(true)
                }
            }
            Body::Stream(parser) => {
                self.frames.clear();
                let parsed = parser.feed(chunk, &mut self.frames);
                let has_event = self.frames.iter().any(|frame| frame.event != "ping");
                let before = self.decoder.content_size();
                // A long event arrives in many chunks and has a limit of its own.
                self.limits.count(chunk.len(), has_event || parser.is_within_frame())?;
                for frame in &self.frames {
                    self.decoder.decode_frame(frame, out)?;
                }
                parsed.map_err(framing_error)?;
                Ok(self.decoder.content_size() > before || self.decoder.has_stopped())
            }
        }
    }

    /// Ends the body. Call it once, after the last chunk.
    ///
    /// # Errors
    /// [`ResponseError::Truncated`] unless the answer is logically complete.
    pub fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        match std::mem::replace(&mut self.body, Body::Empty) {
            Body::Empty => Err(ResponseError::Truncated),
            Body::Stream(mut parser) => {
                // An incomplete character at the end belongs to the truncation.
                let last = parser.finish().ok().flatten();
                self.decoder.finish_stream(last.as_ref(), out)
            }
            Body::Document(body) => {
                let body = String::from_utf8(body).map_err(|_| framing_error(FramingError::NotUtf8))?;
                if body.trim_start().starts_with('<') {
                    return Err(ResponseError::Protocol(body));
                }
                self.decoder.decode_document(&body, out)
            }
        }
    }

    /// Returns the tokens that the service has reported so far.
    pub fn reported_usage(&self) -> Option<Usage> {
        self.decoder.reported_usage()
    }

    /// Whether the model has stopped, so that only token counts and the terminal event may follow.
    pub fn has_stopped(&self) -> bool {
        self.decoder.has_stopped()
    }
}

fn framing_error(error: FramingError) -> ResponseError {
    ResponseError::Protocol(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ibeam_core::ModelRequest;

    use super::*;
    use crate::protocols::{ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES};
    use crate::wire_protocol::Quirks;

    /// Checks for each event whether it has content.
    #[track_caller]
    fn check(protocol: &'static dyn WireProtocol, events: &[(&str, bool)]) {
        let request = ModelRequest {
            system: Arc::default(),
            tools: Arc::new([]),
            messages: Vec::new(),
            max_output_tokens: None,
            answer_schema: None,
            effort: None,
        };
        let mut decoder = BodyDecoder::new(protocol, protocol.decoder(&request, Quirks::DEFAULT));
        for (event, expect) in events {
            let has_content = decoder.decode_chunk(format!("data: {event}\n\n").as_bytes(), &mut Vec::new());
            assert_eq!(has_content, Ok(*expect), "{event}");
        }
    }

    #[test]
    fn empty_deltas_pings_and_unknown_events_are_no_content() {
        check(
            OPENAI_CHAT,
            &[
                (r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#, false),
                (r#"{"choices":[{"delta":{"content":"a"}}]}"#, true),
                (r#"{"choices":[{"delta":{"content":""}}]}"#, false),
                (r#"{"choices":[]}"#, false),
                (r#"{"choices":[{"delta":{"content":"b"}}]}"#, true),
            ],
        );
        let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
        let delta = |text: &str| {
            let delta = format!(r#"{{"type":"text_delta","text":"{text}"}}"#);
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#)
        };
        check(
            ANTHROPIC,
            &[
                (r#"{"type":"message_start","message":{}}"#, false),
                (start, true),
                (r#"{"type":"ping"}"#, false),
                (&delta(""), false),
                (r#"{"type":"hologram"}"#, false),
                (&delta("a"), true),
            ],
        );
        check(
            OPENAI_RESPONSES,
            &[
                (r#"{"type":"response.created","response":{"id":"r"}}"#, false),
                (r#"{"type":"response.in_progress","response":{"id":"r"}}"#, false),
                (r#"{"type":"response.output_text.delta","output_index":0,"delta":"a"}"#, true),
                (r#"{"type":"response.output_text.delta","output_index":0,"delta":""}"#, false),
                (r#"{"type":"keepalive"}"#, false),
            ],
        );
    }
}
