//! The binary event stream of AWS, from bytes to frames.
//!
//! Accepts any chunking of the byte stream. Checks both checksums of every message. Rejects messages over
//! [`FRAME_LIMIT_BYTES`] and payloads that are not UTF-8.
//! Source: "Amazon event stream specification" of Smithy, `application/vnd.amazon.eventstream`.

use serde_json::json;

use ibeam_http::framing::{FRAME_LIMIT_BYTES, Frame, FrameParser, FramingError};

/// The size of the prelude: the total length, the length of the headers, and the checksum of both.
const PRELUDE_BYTES: usize = 12;

/// The size of a checksum.
const CHECKSUM_BYTES: usize = 4;

/// Collects bytes until a message is complete.
///
/// The `event` of a frame is the header `:event-type`, its `data` is the payload. An exception becomes a frame with the
/// event `error`, whose `data` is `{"error": {"type": …, "message": …}}`.
#[derive(Debug, Default)]
pub struct EventStreamParser {
    /// The start of a message whose end has not arrived. A message within one chunk is not copied here.
    partial: Vec<u8>,
}

impl FrameParser for EventStreamParser {
    fn is_stream(&self, first: u8) -> bool {
        !matches!(first, b'{' | b'[' | b'<')
    }

    fn feed(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), FramingError> {
        if self.partial.is_empty() {
            let rest = parse_messages(bytes, frames)?;
            self.partial.extend_from_slice(rest);
            return Ok(());
        }
        self.partial.extend_from_slice(bytes);
        let rest = parse_messages(&self.partial, frames)?.len();
        self.partial.drain(..self.partial.len().saturating_sub(rest));
        Ok(())
    }

    fn is_within_frame(&self) -> bool {
        !self.partial.is_empty()
    }

    /// An incomplete message is not returned, because its checksum is missing.
    fn finish(&mut self) -> Result<Option<Frame>, FramingError> {
        self.partial.clear();
        Ok(None)
    }
}

/// Appends the frames of all complete messages and returns the bytes after them.
fn parse_messages<'a>(mut bytes: &'a [u8], frames: &mut Vec<Frame>) -> Result<&'a [u8], FramingError> {
    while let Some(total) = message_length(bytes)? {
        let Some((message, rest)) = bytes.split_at_checked(total) else { break };
        frames.extend(parse_message(message)?);
        bytes = rest;
    }
    Ok(bytes)
}

/// Returns the length of the message at the start of `bytes`; `None` if its prelude is incomplete.
fn message_length(bytes: &[u8]) -> Result<Option<usize>, FramingError> {
    let Some((prelude, _)) = bytes.split_at_checked(PRELUDE_BYTES) else { return Ok(None) };
    let mut reader = Reader(prelude);
    let total = reader.read_length()?;
    let header_length = reader.read_length()?;
    verify_checksum(prelude)?;
    if total > FRAME_LIMIT_BYTES {
        return Err(FramingError::TooLong);
    }
    if total < PRELUDE_BYTES + CHECKSUM_BYTES || header_length > total - PRELUDE_BYTES - CHECKSUM_BYTES {
        return Err(FramingError::Malformed);
    }
    Ok(Some(total))
}

/// Checks the checksum in the last bytes of `bytes`.
fn verify_checksum(bytes: &[u8]) -> Result<(), FramingError> {
    let (content, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(FramingError::Malformed)?;
    if crc32fast::hash(content) == u32::from_be_bytes(*checksum) {
        Ok(())
    } else {
        Err(FramingError::WrongChecksum)
    }
}

/// Parses a complete message. An unknown kind of message has no frame.
fn parse_message(message: &[u8]) -> Result<Option<Frame>, FramingError> {
    verify_checksum(message)?;
    let mut reader = Reader(message);
    reader.read_length()?;
    let header_length = reader.read_length()?;
    reader.take(CHECKSUM_BYTES)?;
    let headers = Headers::parse(reader.take(header_length)?)?;
    let payload = reader.0.split_last_chunk::<CHECKSUM_BYTES>().ok_or(FramingError::Malformed)?.0;
    let payload = std::str::from_utf8(payload).map_err(|_| FramingError::NotUtf8)?;
    Ok(match headers.message_type {
        "event" => Some(Frame { event: headers.event_type.to_owned(), data: payload.to_owned() }),
        "exception" => Some(error_frame(headers.exception_type, &exception_message(payload))),
        "error" => Some(error_frame(headers.error_code, headers.error_message)),
        _ => None,
    })
}

fn error_frame(kind: &str, message: &str) -> Frame {
    let data = json!({ "error": { "type": kind, "message": message } });
    Frame { event: "error".to_owned(), data: data.to_string() }
}

/// Returns the message in the payload of an exception.
fn exception_message(payload: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(payload).unwrap_or_default();
    let message =
        ["message", "Message", "originalMessage"].into_iter().find_map(|key| value.get(key)?.as_str());
    message.unwrap_or(payload).to_owned()
}

/// The headers that this parser needs; a header that the message lacks is empty.
#[derive(Debug, Default)]
struct Headers<'a> {
    message_type: &'a str,
    event_type: &'a str,
    exception_type: &'a str,
    error_code: &'a str,
    error_message: &'a str,
}

impl<'a> Headers<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, FramingError> {
        let mut headers = Self::default();
        let mut reader = Reader(bytes);
        while !reader.0.is_empty() {
            let name_length = reader.read_byte()?;
            let name = reader.take(name_length.into())?;
            let value = reader.read_header_value()?;
            let field = match name {
                b":message-type" => &mut headers.message_type,
                b":event-type" => &mut headers.event_type,
                b":exception-type" => &mut headers.exception_type,
                b":error-code" => &mut headers.error_code,
                b":error-message" => &mut headers.error_message,
                _ => continue,
            };
            *field = std::str::from_utf8(value).map_err(|_| FramingError::NotUtf8)?;
        }
        Ok(headers)
    }
}

/// Reads values from the front of a byte slice. Contains the bytes that were not read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], FramingError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(FramingError::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn read_array<const N: usize>(&mut self) -> Result<[u8; N], FramingError> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(FramingError::Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn read_byte(&mut self) -> Result<u8, FramingError> {
        let [byte] = self.read_array()?;
        Ok(byte)
    }

    fn read_length(&mut self) -> Result<usize, FramingError> {
        usize::try_from(u32::from_be_bytes(self.read_array()?)).map_err(|_| FramingError::TooLong)
    }

    /// Returns the bytes of a header value of any type.
    fn read_header_value(&mut self) -> Result<&'a [u8], FramingError> {
        let length = match self.read_byte()? {
            // true and false
            0 | 1 => 0,
            // byte
            2 => 1,
            // short
            3 => 2,
            // integer
            4 => 4,
            // long and timestamp
            5 | 8 => 8,
            // bytes and string
            6 | 7 => usize::from(u16::from_be_bytes(self.read_array()?)),
            // UUID
            9 => 16,
            _ => return Err(FramingError::Malformed),
        };
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
        let mut encoded = Vec::new();
        for (name, value) in headers {
            encoded.push(u8::try_from(name.len()).unwrap());
            encoded.extend_from_slice(name.as_bytes());
            encoded.push(7);
            encoded.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
            encoded.extend_from_slice(value.as_bytes());
        }
        raw_message(&encoded, payload)
    }

    fn raw_message(headers: &[u8], payload: &[u8]) -> Vec<u8> {
        let total = PRELUDE_BYTES + headers.len() + payload.len() + CHECKSUM_BYTES;
        let mut message = u32::try_from(total).unwrap().to_be_bytes().to_vec();
        message.extend_from_slice(&u32::try_from(headers.len()).unwrap().to_be_bytes());
        message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
        message.extend_from_slice(headers);
        message.extend_from_slice(payload);
        message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
        message
    }

    fn event(name: &str, payload: &str) -> Vec<u8> {
        let headers =
            [(":event-type", name), (":content-type", "application/json"), (":message-type", "event")];
        message(&headers, payload.as_bytes())
    }

    fn parse(chunks: &[&[u8]]) -> Result<Vec<Frame>, FramingError> {
        let mut parser = EventStreamParser::default();
        let mut frames = Vec::new();
        for chunk in chunks {
            parser.feed(chunk, &mut frames)?;
        }
        frames.extend(parser.finish()?);
        Ok(frames)
    }

    /// Cuts the stream at every byte; every cut must give the same frames.
    #[track_caller]
    fn check_stream(stream: &[u8], expect: &[(&str, &str)]) {
        let expect: Vec<_> = expect
            .iter()
            .map(|(event, data)| Frame { event: (*event).into(), data: (*data).into() })
            .collect();
        for cut in 0..=stream.len() {
            let (head, tail) = stream.split_at(cut);
            assert_eq!(parse(&[head, tail]), Ok(expect.clone()), "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(parse(&bytes), Ok(expect), "byte by byte");
    }

    #[test]
    fn messages_parse_in_every_chunking() {
        let stream = [event("a", "{\"x\":\"é\"}"), event("b", ""), event("c", "{}")].concat();
        check_stream(&stream, &[("a", "{\"x\":\"é\"}"), ("b", ""), ("c", "{}")]);
    }

    #[test]
    fn exceptions_and_errors_become_error_frames() {
        let exception = [(":exception-type", "throttlingException"), (":message-type", "exception")];
        let error = [(":error-code", "Internal"), (":error-message", "Oh"), (":message-type", "error")];
        let stream = [message(&exception, b"{\"message\":\"Slow\"}"), message(&error, b"")].concat();
        check_stream(
            &stream,
            &[
                ("error", r#"{"error":{"type":"throttlingException","message":"Slow"}}"#),
                ("error", r#"{"error":{"type":"Internal","message":"Oh"}}"#),
            ],
        );
    }

    #[test]
    fn headers_of_every_type_are_skipped() {
        let mut headers = Vec::new();
        for (kind, length) in [(0, 0), (1, 0), (2, 1), (3, 2), (4, 4), (5, 8), (8, 8), (9, 16)] {
            headers.extend_from_slice(&[1, b'x', kind]);
            headers.extend(std::iter::repeat_n(0, length));
        }
        headers.extend_from_slice(&[1, b'x', 6, 0, 2, 0xFF, 0xFF]);
        headers.extend_from_slice(b"\x0d:message-type\x07\x00\x05event");
        check_stream(&raw_message(&headers, b"{}"), &[("", "{}")]);
        assert_eq!(parse(&[&raw_message(&[1, b'x', 10], b"")]), Err(FramingError::Malformed));
    }

    #[test]
    fn a_message_of_an_unknown_kind_has_no_frame() {
        check_stream(
            &[message(&[(":message-type", "future")], b"?"), event("a", "{}")].concat(),
            &[("a", "{}")],
        );
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let stream = event("a", "{\"x\":1}");
        for index in 0..stream.len() {
            let mut damaged = stream.clone();
            damaged[index] ^= 1;
            let frames = parse(&[&damaged]);
            assert!(frames.is_err(), "byte {index}: {frames:?}");
        }
    }

    #[test]
    fn an_incomplete_message_has_no_frame() {
        let stream = event("a", "{}");
        assert_eq!(parse(&[&stream[..stream.len() - 1]]), Ok(Vec::new()));
    }

    #[test]
    fn lengths_beyond_the_limits_are_errors() {
        let prelude = |total: u32, headers: u32| {
            let mut bytes = [total.to_be_bytes(), headers.to_be_bytes()].concat();
            bytes.extend_from_slice(&crc32fast::hash(&bytes).to_be_bytes());
            bytes
        };
        assert_eq!(parse(&[&prelude(u32::MAX, 0)]), Err(FramingError::TooLong));
        assert_eq!(parse(&[&prelude(15, 0)]), Err(FramingError::Malformed));
        assert_eq!(parse(&[&prelude(20, 5)]), Err(FramingError::Malformed));
        assert_eq!(parse(&[&message(&[(":message-type", "event")], b"\xFF")]), Err(FramingError::NotUtf8));
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_chunking_parse_the_same(
            bytes in prop::collection::vec(any::<u8>(), 0..60),
            messages in 0usize..3,
            cut in 0usize..200,
        ) {
            let mut stream = event("a", "{}").repeat(messages);
            stream.extend(bytes);
            let (head, tail) = stream.split_at(cut.min(stream.len()));
            prop_assert_eq!(parse(&[head, tail]), parse(&[&stream]));
        }
    }
}
