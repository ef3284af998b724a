//! Server-sent events, from bytes to fields.
//!
//! Accepts any chunking of the byte stream. Rejects events over [`FRAME_LIMIT_BYTES`] and text that is not UTF-8.
//! Source: WHATWG HTML, §9.2 "Server-sent events".

use std::time::Duration;

use crate::framing::{FRAME_LIMIT_BYTES, Frame, FrameParser, FramingError};

/// Collects bytes until an event is complete.
///
/// The `data` of a frame joins the `data:` lines of an event with `\n`; its `event` is the `event:` field.
#[derive(Debug, Default)]
pub struct SseParser {
    /// The start of a line whose end has not arrived. A line within one chunk is not copied here.
    partial_line: Vec<u8>,
    event: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    first_line_seen: bool,
    /// Whether the last byte was CR. An LF right after a CR belongs to the same line end.
    after_cr: bool,
    last_event_id: Option<String>,
    retry: Option<Duration>,
}

impl SseParser {
    /// Returns the last `id:` of the stream, from which the stream can be resumed.
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref()
    }

    /// Returns the last `retry:` of the stream: the time to wait before a reconnection.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }
}

impl FrameParser for SseParser {
    fn is_stream(&self, first: u8) -> bool {
        !matches!(first, b'{' | b'[' | b'<')
    }

    fn feed(&mut self, mut bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), FramingError> {
        if !bytes.is_empty() && std::mem::take(&mut self.after_cr) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = bytes.split_at(end);
            if self.partial_line.is_empty() {
                self.parse_line(line, frames)?;
            } else {
                let mut complete = std::mem::take(&mut self.partial_line);
                complete.extend_from_slice(line);
                self.parse_line(&complete, frames)?;
            }
            bytes = match rest {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_cr = true;
                    return Ok(());
                }
                [_, rest @ ..] => rest,
                [] => rest,
            };
        }
        self.partial_line.extend_from_slice(bytes);
        self.check_limit()
    }

    fn is_within_frame(&self) -> bool {
        self.has_data || self.partial_line.starts_with(b"data")
    }

    /// The specification discards an event without its terminator. This parser returns it, because a server that closes
    /// the connection within its last event may have sent all of its content.
    fn finish(&mut self) -> Result<Option<Frame>, FramingError> {
        let rest = std::mem::take(&mut self.partial_line);
        let mut frames = Vec::new();
        if !rest.is_empty() {
            self.parse_line(&rest, &mut frames)?;
        }
        if self.has_data || !self.event.is_empty() {
            self.has_data = true;
            self.dispatch(&mut frames)?;
        }
        Ok(frames.pop())
    }
}

impl SseParser {
    fn parse_line(&mut self, line: &[u8], frames: &mut Vec<Frame>) -> Result<(), FramingError> {
        let line =
            if self.first_line_seen { line } else { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) };
        self.first_line_seen = true;
        if line.is_empty() {
            return self.dispatch(frames);
        }
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = match value {
            [b':', b' ', value @ ..] | [b':', value @ ..] => value,
            value => value,
        };
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => self.event = value.to_vec(),
            // The specification ignores an id with NUL, and a retry that is not a number.
            b"id" if !value.contains(&0) => {
                self.last_event_id = std::str::from_utf8(value).ok().map(str::to_owned);
            }
            b"retry" => {
                let number = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
                self.retry = number.map(Duration::from_millis).or(self.retry);
            }
            // An empty field name is a comment.
            _ => {}
        }
        self.check_limit()
    }

    fn dispatch(&mut self, frames: &mut Vec<Frame>) -> Result<(), FramingError> {
        let event = std::mem::take(&mut self.event);
        if !self.has_data {
            return Ok(());
        }
        self.has_data = false;
        let event = String::from_utf8(event).map_err(|_| FramingError::NotUtf8)?;
        let data = String::from_utf8(std::mem::take(&mut self.data)).map_err(|_| FramingError::NotUtf8)?;
        frames.push(Frame { event, data });
        Ok(())
    }

    fn check_limit(&self) -> Result<(), FramingError> {
        if self.partial_line.len().saturating_add(self.data.len()) > FRAME_LIMIT_BYTES {
            return Err(FramingError::TooLong);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(chunks: &[&[u8]]) -> Result<Vec<Frame>, FramingError> {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        for chunk in chunks {
            parser.feed(chunk, &mut events)?;
        }
        events.extend(parser.finish()?);
        Ok(events)
    }

    /// Cuts the stream at every byte; every cut must give the same events.
    #[track_caller]
    fn check(stream: &str, expect: &[(&str, &str)]) {
        let expect: Vec<_> = expect
            .iter()
            .map(|(event, data)| Frame { event: (*event).into(), data: (*data).into() })
            .collect();
        for cut in 0..=stream.len() {
            let (head, tail) = stream.as_bytes().split_at(cut);
            assert_eq!(parse(&[head, tail]), Ok(expect.clone()), "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(parse(&bytes), Ok(expect), "byte by byte");
    }

    #[test]
    fn a_comment_line_is_not_an_event() {
        check(": ping\n\ndata: x\n\n", &[("", "x")]);
    }

    #[test]
    fn the_last_id_and_retry_are_stored() {
        let mut parser = SseParser::default();
        assert_eq!((parser.last_event_id(), parser.retry()), (None, None));
        parser.feed(b"id: a-1\nretry: 500\ndata:\n\nretry: soon\ndata: x\n\n", &mut Vec::new()).unwrap();
        assert_eq!((parser.last_event_id(), parser.retry()), (Some("a-1"), Some(Duration::from_millis(500))));
        parser.feed(b"id: b\n\nid: c\0d\n\n", &mut Vec::new()).unwrap();
        assert_eq!(parser.last_event_id(), Some("b"));
    }

    #[test]
    fn data_lines_join_with_newlines() {
        check("data: a\ndata: b\ndata\n\n", &[("", "a\nb\n")]);
    }

    #[test]
    fn all_line_ends_and_a_byte_order_mark_parse_the_same() {
        for end in ["\n", "\r\n", "\r"] {
            let stream = "\u{feff}event: a\ndata: 1\n\ndata:2\n\n".replace('\n', end);
            check(&stream, &[("a", "1"), ("", "2")]);
        }
    }

    #[test]
    fn only_one_space_after_the_colon_is_dropped() {
        check("data:  a\n\ndata:b\n\n", &[("", " a"), ("", "b")]);
    }

    #[test]
    fn an_event_name_without_data_is_dispatched_only_at_the_end_of_the_stream() {
        check("event: a\n\ndata: x\n\nevent: last\n", &[("", "x"), ("last", "")]);
    }

    #[test]
    fn an_event_without_its_terminator_is_returned_at_the_end() {
        check("data: 1\n\ndata: 2", &[("", "1"), ("", "2")]);
    }

    #[test]
    fn characters_of_several_bytes_survive_every_cut() {
        check("data: \u{1f600}漢\n\n", &[("", "\u{1f600}漢")]);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_an_error() {
        assert_eq!(parse(&[b"data: \xFF\n\n"]), Err(FramingError::NotUtf8));
    }

    #[test]
    fn an_event_over_the_limit_is_an_error_in_one_line_and_in_many() {
        let chunk = vec![b'x'; 1024 * 1024];
        let mut one_line: Vec<&[u8]> = vec![b"data: "];
        one_line.extend(std::iter::repeat_n(chunk.as_slice(), 17));
        assert_eq!(parse(&one_line), Err(FramingError::TooLong));
        let mut many: Vec<&[u8]> = Vec::new();
        for _ in 0..17 {
            many.extend([b"data: ", chunk.as_slice(), b"\n"]);
        }
        assert_eq!(parse(&many), Err(FramingError::TooLong));
    }

    proptest! {
        #[test]
        fn any_chunking_parses_the_same(
            lines in prop::collection::vec("(data|event|id|)(:| |: )?[a-zé\u{1f600}]{0,6}(\n|\r|\r\n){1,2}", 0..20),
            cuts in prop::collection::vec(0usize..200, 0..12),
        ) {
            let stream = lines.concat().into_bytes();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(parse(&chunks), parse(&[&stream]));
        }
    }
}
