//! The chunks of InvokeModelWithResponseStream: events of the model's own API, in base64, inside of a binary event stream.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::lenient_json::Text;
use crate::protocols::bedrock::event_stream::EventStreamParser;
use ibeam_http::framing::{Frame, FrameParser, FramingError};

/// Parses the event stream, and replaces each chunk by the event inside of it.
#[derive(Debug, Default)]
pub(super) struct ChunkParser {
    inner: EventStreamParser,
    messages: Vec<Frame>,
}

#[derive(Debug, Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    bytes: Text<'a>,
}

impl FrameParser for ChunkParser {
    fn is_stream(&self, first: u8) -> bool {
        self.inner.is_stream(first)
    }

    fn feed(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), FramingError> {
        let parsed = self.inner.feed(bytes, &mut self.messages);
        for message in self.messages.drain(..) {
            frames.push(unwrap_chunk(message)?);
        }
        parsed
    }

    fn is_within_frame(&self) -> bool {
        self.inner.is_within_frame()
    }

    fn finish(&mut self) -> Result<Option<Frame>, FramingError> {
        self.inner.finish()
    }
}

/// Returns the event in a chunk; any other message unchanged.
fn unwrap_chunk(message: Frame) -> Result<Frame, FramingError> {
    if message.event != "chunk" {
        return Ok(message);
    }
    let chunk: Chunk<'_> = serde_json::from_str(&message.data).map_err(|_| FramingError::Malformed)?;
    let data = STANDARD.decode(chunk.bytes.as_str()).map_err(|_| FramingError::Malformed)?;
    let data = String::from_utf8(data).map_err(|_| FramingError::NotUtf8)?;
    Ok(Frame { event: String::new(), data })
}
