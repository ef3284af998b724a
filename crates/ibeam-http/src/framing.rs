//! Frames: the units in which a server streams its answer, whatever the encoding of the stream.

use std::fmt;

/// The maximum size of one frame. A longer one ends the answer, so that a broken server cannot fill the memory.
pub const FRAME_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// One complete unit of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The name of the event; empty if the stream gives none.
    pub event: String,
    /// The payload.
    pub data: String,
}

/// The reason why a stream cannot be split into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramingError {
    /// A frame is longer than [`FRAME_LIMIT_BYTES`].
    TooLong,
    /// A field is not UTF-8.
    NotUtf8,
    /// A message is binary, and the API has only text.
    Binary,
    /// The checksum of a binary message does not match its bytes.
    WrongChecksum,
    /// The parts of a binary message contradict its lengths or types.
    Malformed,
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "an event is longer than {FRAME_LIMIT_BYTES} bytes"),
            Self::NotUtf8 => f.write_str("the stream is not UTF-8"),
            Self::Binary => f.write_str("the service sent a binary message"),
            Self::WrongChecksum => f.write_str("a message of the stream has a wrong checksum"),
            Self::Malformed => f.write_str("a message of the stream is malformed"),
        }
    }
}

/// Splits the bytes of a stream into frames, however the bytes are chunked.
pub trait FrameParser: fmt::Debug + Send {
    /// Whether a body whose first byte, white space aside, is `first` is a stream. Any other body is one document:
    /// servers that do not stream, and servers that report an error, often send it under the same content type.
    fn is_stream(&self, first: u8) -> bool;

    /// Appends the frames that `bytes` complete to `frames`.
    ///
    /// # Errors
    /// See [`FramingError`]. The parser must not be used after an error.
    fn feed(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), FramingError>;

    /// Whether a frame has started and is not complete.
    fn is_within_frame(&self) -> bool;

    /// Ends the stream and returns a last frame that lacks only its terminator.
    fn finish(&mut self) -> Result<Option<Frame>, FramingError>;
}
