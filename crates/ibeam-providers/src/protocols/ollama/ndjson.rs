//! Newline-delimited JSON, from bytes to values.
//!
//! Accepts any chunking of the byte stream. Rejects values over [`FRAME_LIMIT_BYTES`] and text that is not UTF-8. A value
//! ends with its last bracket and not with its line: a server that does not stream may send one document over many lines.

use ibeam_http::framing::{FRAME_LIMIT_BYTES, Frame, FrameParser, FramingError};

/// Collects bytes until a value is complete.
///
/// The `data` of a frame is the text of an object or a list, and its `event` is empty. Any other text is a frame up to the
/// end of its line.
#[derive(Debug, Default)]
pub struct NdjsonParser {
    /// The start of a value whose end has not arrived. A value within one chunk is not copied here.
    partial: Vec<u8>,
    state: State,
    /// Whether a byte order mark may follow.
    after_start: bool,
}

/// The position of the next byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Between two values.
    #[default]
    Between,
    /// In an object or a list, outside its strings. The number of open brackets.
    Value(usize),
    /// In a string of an object or a list. The number of open brackets.
    String(usize),
    /// After a backslash in a string.
    Escape(usize),
    /// In a line that is not an object or a list.
    OtherLine,
}

impl FrameParser for NdjsonParser {
    fn is_stream(&self, first: u8) -> bool {
        // The second one is the first byte of a byte order mark.
        matches!(first, b'{' | 0xEF)
    }

    fn feed(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), FramingError> {
        let mut start = 0;
        for (position, byte) in bytes.iter().enumerate() {
            let state = self.next_state(*byte);
            if self.state == State::Between {
                start = position;
            } else if state == State::Between {
                let end = bytes.get(start..=position).unwrap_or_default();
                if self.partial.is_empty() {
                    frames.push(frame(end.to_vec())?);
                } else {
                    self.partial.extend_from_slice(end);
                    frames.push(frame(std::mem::take(&mut self.partial))?);
                }
            }
            self.state = state;
        }
        if self.state != State::Between {
            self.partial.extend_from_slice(bytes.get(start..).unwrap_or_default());
        }
        if self.partial.len() > FRAME_LIMIT_BYTES { Err(FramingError::TooLong) } else { Ok(()) }
    }

    fn is_within_frame(&self) -> bool {
        self.state != State::Between
    }

    /// Returns a value that lacks its last bytes.
    fn finish(&mut self) -> Result<Option<Frame>, FramingError> {
        self.state = State::Between;
        let rest = std::mem::take(&mut self.partial);
        if rest.is_empty() { Ok(None) } else { frame(rest).map(Some) }
    }
}

impl NdjsonParser {
    /// Returns the state after `byte`.
    fn next_state(&mut self, byte: u8) -> State {
        match (self.state, byte) {
            (State::Between, b' ' | b'\t' | b'\r' | b'\n') => State::Between,
            (State::Between, 0xEF | 0xBB | 0xBF) if !self.after_start => State::Between,
            (State::Between, b'{' | b'[') => {
                self.after_start = true;
                State::Value(1)
            }
            (State::Between, _) => State::OtherLine,
            (State::Value(depth), b'{' | b'[') => State::Value(depth.saturating_add(1)),
            (State::Value(depth), b'}' | b']') if depth > 1 => State::Value(depth - 1),
            (State::Value(_), b'}' | b']') => State::Between,
            (State::Value(depth), b'"') => State::String(depth),
            (State::Value(depth), _) => State::Value(depth),
            (State::String(depth), b'"') => State::Value(depth),
            (State::String(depth), b'\\') => State::Escape(depth),
            // A string has no line end, so that a damaged line does not hide the lines after it.
            (State::String(_) | State::Escape(_) | State::OtherLine, b'\n') => State::Between,
            (State::String(depth) | State::Escape(depth), _) => State::String(depth),
            (State::OtherLine, _) => State::OtherLine,
        }
    }
}

fn frame(bytes: Vec<u8>) -> Result<Frame, FramingError> {
    let data = String::from_utf8(bytes).map_err(|_| FramingError::NotUtf8)?;
    Ok(Frame { event: String::new(), data })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(chunks: &[&[u8]]) -> Result<Vec<String>, FramingError> {
        let mut parser = NdjsonParser::default();
        let mut frames = Vec::new();
        for chunk in chunks {
            parser.feed(chunk, &mut frames)?;
        }
        frames.extend(parser.finish()?);
        Ok(frames.into_iter().map(|frame| frame.data).collect())
    }

    /// Cuts the stream at every byte; every cut must give the same values.
    #[track_caller]
    fn check(stream: &str, expect: &[&str]) {
        let expect: Vec<_> = expect.iter().map(|text| (*text).to_owned()).collect();
        for cut in 0..=stream.len() {
            let (head, tail) = stream.as_bytes().split_at(cut);
            assert_eq!(parse(&[head, tail]), Ok(expect.clone()), "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(parse(&bytes), Ok(expect), "byte by byte");
    }

    #[test]
    fn each_line_is_a_value_whatever_the_line_ends() {
        for end in ["\n", "\r\n", "\r", "\n\n", " ", ""] {
            check(&format!("{{\"a\":1}}{end}{{\"b\":[2]}}{end}"), &[r#"{"a":1}"#, r#"{"b":[2]}"#]);
        }
    }

    #[test]
    fn a_document_over_many_lines_is_one_value() {
        let document = "{\n  \"a\": {\n    \"b\": []\n  }\n}";
        check(&format!("\u{feff}\n{document}\n"), &[document]);
    }

    #[test]
    fn brackets_and_quotes_in_a_string_are_text() {
        let line = r#"{"a":"}\"]{\\","b":"漢\u007d"}"#;
        check(&format!("{line}\n{line}\n"), &[line, line]);
    }

    #[test]
    fn a_damaged_line_does_not_hide_the_next_one() {
        check("{\"a\":\"b\n{\"c\":1}\n", &["{\"a\":\"b\n", r#"{"c":1}"#]);
        check("error: x\n{\"c\":1}\n", &["error: x\n", r#"{"c":1}"#]);
    }

    #[test]
    fn an_incomplete_value_is_returned_at_the_end() {
        check("{\"a\":1}\n{\"b\":", &[r#"{"a":1}"#, "{\"b\":"]);
        assert_eq!(parse(&[b"{\"a\":\"\xF0\x9F"]), Err(FramingError::NotUtf8));
    }

    #[test]
    fn a_value_over_the_limit_is_an_error() {
        let chunk = vec![b'x'; 1024 * 1024];
        let mut chunks: Vec<&[u8]> = vec![b"{\"a\":\""];
        chunks.extend(std::iter::repeat_n(chunk.as_slice(), 17));
        assert_eq!(parse(&chunks), Err(FramingError::TooLong));
    }

    proptest! {
        #[test]
        fn any_chunking_parses_the_same(
            pieces in prop::collection::vec(r#"[{}\["\\\]:a \n]|é|\{"a":"b"\}\n"#, 0..40),
            cuts in prop::collection::vec(0usize..200, 0..12),
        ) {
            let stream = pieces.concat().into_bytes();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(parse(&chunks), parse(&[&stream]));
        }
    }
}
