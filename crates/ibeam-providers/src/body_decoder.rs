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

    /// Decodes the next bytes and appends their events to `out`. Returns whether the bytes have content; pings, comments
    /// and blanks have none.
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
                let has_content = self.frames.iter().any(|frame| frame.event != "ping");
                // A long event arrives in many chunks and has a limit of its own.
                self.limits.count(chunk.len(), has_content || parser.is_within_frame())?;
                for frame in &self.frames {
                    self.decoder.decode_frame(frame, out)?;
                }
                parsed.map_err(framing_error)?;
                Ok(has_content)
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
