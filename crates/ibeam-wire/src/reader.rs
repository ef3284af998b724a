//! Events from bytes. Passes over empty lines and `\r`; `check` is for those who want to know of them.

use std::error::Error;
use std::fmt;
use std::io::{self, BufRead};

use crate::event::Event;
use crate::lines::{Line, Lines};

/// The events of a stream, as they come.
///
/// After a line that cannot be read the next one is; after an error of the input nothing comes.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    over: bool,
}

/// Why an event could not be read, and where.
#[derive(Debug)]
pub struct ReadError {
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
    /// What is wrong.
    pub kind: ReadErrorKind,
}

/// What is wrong with a line.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The input failed; nothing follows.
    Io(io::Error),
    /// It is longer than [`MAX_LINE_BYTES`](crate::MAX_LINE_BYTES).
    TooLong,
    /// It is not UTF-8.
    NotUtf8,
    /// It is not JSON, or lacks what every such event has: what is said of it.
    NotAnEvent(serde_json::Error),
}

impl<R: BufRead> Reader<R> {
    /// A reader from the first line on.
    pub fn new(stream: R) -> Self {
        Self::from_lines(Lines::new(stream))
    }

    pub(crate) fn from_lines(lines: Lines<R>) -> Self {
        Self { lines, over: false }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Event, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.over {
            let line = self.lines.number() + 1;
            match self.lines.next() {
                Ok(None) => self.over = true,
                Ok(Some(Line { bytes, cut: false, .. })) if bytes.trim_ascii().is_empty() => {}
                Ok(Some(line)) => return Some(event(line)),
                Err(error) => {
                    self.over = true;
                    return Some(Err(ReadError { line, column: 1, kind: ReadErrorKind::Io(error) }));
                }
            }
        }
        None
    }
}

fn event(line: Line<'_>) -> Result<Event, ReadError> {
    let wrong = |column: usize, kind| ReadError { line: line.number, column: column as u64, kind };
    if line.cut {
        return Err(wrong(1, ReadErrorKind::TooLong));
    }
    let text = std::str::from_utf8(line.bytes).map_err(|error| {
        let valid = line.bytes.get(..error.valid_up_to()).unwrap_or_default();
        wrong(String::from_utf8_lossy(valid).chars().count() + 1, ReadErrorKind::NotUtf8)
    })?;
    Event::from_line(text)
        .map_err(|error| wrong(crate::scan::column_of(text, &error), ReadErrorKind::NotAnEvent(error)))
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: ", self.line, self.column)?;
        match &self.kind {
            ReadErrorKind::Io(error) => write!(f, "cannot be read: {error}"),
            ReadErrorKind::TooLong => f.write_str("longer than 1 GiB"),
            ReadErrorKind::NotUtf8 => f.write_str("not UTF-8"),
            ReadErrorKind::NotAnEvent(error) => f.write_str(&crate::scan::without_place(error)),
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
