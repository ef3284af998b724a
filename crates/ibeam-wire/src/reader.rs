//! Reads events from bytes. Empty lines and `\r` are skipped; [`check`](crate::check) reports them.

use std::error::Error;
use std::fmt;
use std::io::{self, BufRead};

use crate::digest::TextDigest;
use crate::event::{AssistantEvent, Event};
use crate::lines::{Line, Lines};

/// Iterates over the events of a stream.
///
/// After a line that cannot be read, the reader continues with the next line. After an I/O error it ends.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    is_finished: bool,
}

/// An error of one line, with its position.
#[derive(Debug)]
pub struct ReadError {
    /// The line number, from 1.
    pub line: u64,
    /// The column in characters, from 1.
    pub column: u64,
    /// The kind of the error.
    pub kind: ReadErrorKind,
}

/// The kind of an error of one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The input failed. No events follow.
    Io(io::Error),
    /// The line is longer than [`MAX_LINE_BYTES`](crate::MAX_LINE_BYTES).
    TooLong,
    /// The line is not UTF-8.
    NotUtf8,
    /// The line is not JSON, or lacks a key that every event of its type has.
    NotAnEvent(serde_json::Error),
}

impl<R: BufRead> Reader<R> {
    /// Returns a reader that starts at the first line.
    pub fn new(stream: R) -> Self {
        Self::from_lines(Lines::new(stream))
    }

    pub(crate) fn from_lines(lines: Lines<R>) -> Self {
        Self { lines, is_finished: false }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Event, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_finished {
            let line = self.lines.number() + 1;
            match self.lines.next() {
                Ok(None) => self.is_finished = true,
                Ok(Some(Line { bytes, is_cut: false, .. })) if bytes.trim_ascii().is_empty() => {}
                Ok(Some(line)) => return Some(parse_event(line)),
                Err(error) => {
                    self.is_finished = true;
                    return Some(Err(ReadError { line, column: 1, kind: ReadErrorKind::Io(error) }));
                }
            }
        }
        None
    }
}

fn parse_event(line: Line<'_>) -> Result<Event, ReadError> {
    let error_at = |column: usize, kind| ReadError { line: line.number, column: column as u64, kind };
    if line.is_cut {
        return Err(error_at(1, ReadErrorKind::TooLong));
    }
    let text = std::str::from_utf8(line.bytes).map_err(|error| {
        let valid = line.bytes.get(..error.valid_up_to()).unwrap_or_default();
        error_at(String::from_utf8_lossy(valid).chars().count() + 1, ReadErrorKind::NotUtf8)
    })?;
    Event::from_line(text)
        .map_err(|error| error_at(crate::scan::column_of(text, &error), ReadErrorKind::NotAnEvent(error)))
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: ", self.line, self.column)?;
        match &self.kind {
            ReadErrorKind::Io(error) => write!(f, "cannot be read: {error}"),
            ReadErrorKind::TooLong => f.write_str("longer than 1 GiB"),
            ReadErrorKind::NotUtf8 => f.write_str("not UTF-8"),
            ReadErrorKind::NotAnEvent(error) => f.write_str(&crate::scan::message_without_position(error)),
        }
    }
}

impl Error for ReadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            ReadErrorKind::Io(error) => Some(error),
            ReadErrorKind::NotAnEvent(error) => Some(error),
            ReadErrorKind::TooLong | ReadErrorKind::NotUtf8 => None,
        }
    }
}

/// A filter for the text of `assistant` events, which returns each piece of the answer once.
///
/// Under [contract 2](crate::Contract::Two) with partial output, a segment (the complete text before a tool call or the end)
/// follows its deltas and repeats them. In other streams every text is new.
///
/// ```
/// use ibeam_wire::{Event, NewText, ReadError, Reader};
///
/// fn answer(stream: impl std::io::BufRead) -> Result<String, ReadError> {
///     let (mut answer, mut new_text) = (String::new(), NewText::default());
///     for event in Reader::new(stream) {
///         if let Event::Assistant(message) = event? {
///             answer.extend(new_text.extract(&message));
///         }
///     }
///     Ok(answer)
/// }
/// # let stream = include_bytes!("../../ibeam-output/tests/samples/es.ndjson");
/// # assert!(answer(&stream[..]).unwrap().starts_with("Voy a le"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct NewText {
    /// The deltas since the last segment.
    deltas: TextDigest,
}

impl NewText {
    /// Returns the text of the next `assistant` event, or `None` if it repeats the deltas before it.
    pub fn extract(&mut self, event: &AssistantEvent) -> Option<String> {
        let text = event.message.text();
        if event.is_delta() {
            self.deltas.push(&text);
            return Some(text);
        }
        let deltas = std::mem::take(&mut self.deltas);
        (deltas.is_empty() || deltas != TextDigest::from_text(&text)).then_some(text)
    }
}
