//! The lines of a stream, one at a time, none longer than memory allows.

use std::io::{self, BufRead};

/// The longest line that is kept, in bytes. The last line repeats the whole answer, so it is generous.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// Cuts what it reads at `\n`.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    number: u64,
    bytes: Vec<u8>,
}

/// A line without its `\n`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// From 1.
    pub(crate) number: u64,
    /// At most `MOST_BYTES` of it.
    pub(crate) bytes: &'a [u8],
    /// A `\n` ended it.
    pub(crate) ended: bool,
    /// It was longer than `bytes`.
    pub(crate) cut: bool,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, number: 0, bytes: Vec::new() }
    }

    /// The next line; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.bytes.clear();
        let (mut ended, mut begun, mut cut) = (false, false, false);
        while !ended {
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break;
            }
            begun = true;
            let mut parts = chunk.splitn(2, |byte| *byte == b'\n');
            let part = parts.next().unwrap_or_default();
            ended = parts.next().is_some();
            let room = MOST_BYTES.saturating_sub(self.bytes.len()).min(part.len());
            cut |= room < part.len();
            self.bytes.extend_from_slice(part.get(..room).unwrap_or_default());
            let used = part.len() + usize::from(ended);
            self.reader.consume(used);
        }
        if !begun {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(Line { number: self.number, bytes: &self.bytes, ended, cut }))
    }

    /// Lines so far.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}
