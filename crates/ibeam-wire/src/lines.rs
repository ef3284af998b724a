//! The lines of a stream, one at a time, none longer than memory allows.

use std::io::{self, BufRead};

/// The longest line that is read, in bytes: 1 GiB. The last line repeats the whole text of the run, of which one answer
/// alone may have 64 MiB, and a control character is written in six bytes.
pub const MAX_LINE_BYTES: u64 = 1 << 30;

/// Cuts what it reads at `\n`.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    number: u64,
    bytes: Vec<u8>,
    limit: usize,
}

/// A line without its `\n`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// From 1.
    pub(crate) number: u64,
    /// At most `MAX_LINE_BYTES` bytes of it.
    pub(crate) bytes: &'a [u8],
    /// A `\n` ended it.
    pub(crate) ended: bool,
    /// It was longer than `bytes`.
    pub(crate) cut: bool,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        let limit = usize::try_from(MAX_LINE_BYTES).unwrap_or(usize::MAX);
        Self { reader, number: 0, bytes: Vec::new(), limit }
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
            let room = self.limit.saturating_sub(self.bytes.len()).min(part.len());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Contract;
    use crate::check::{Rule, check_lines};
    use crate::reader::{ReadErrorKind, Reader};

    const END: &str = "{\"type\":\"note\"}\n";

    /// A first line of `bytes` bytes, read with a limit of 100.
    fn limited(bytes: usize) -> Lines<io::Cursor<String>> {
        let text = format!("{:1$}\n{END}", "", bytes);
        Lines { limit: 100, ..Lines::new(io::Cursor::new(text)) }
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_and_passed_over() {
        for (bytes, is_cut) in [(0, false), (100, false), (101, true), (5_000, true)] {
            let mut lines = limited(bytes);
            let first = lines.next().unwrap().unwrap();
            assert_eq!((first.cut, first.ended, first.bytes.len()), (is_cut, true, bytes.min(100)));
            assert_eq!(lines.next().unwrap().unwrap().bytes, END.trim_end().as_bytes());
            assert!(lines.next().unwrap().is_none());
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_by_the_checker_and_the_reader() {
        let report = check_lines(Contract::One, limited(101), 9).unwrap();
        assert_eq!((report.findings[0].rule, report.findings[0].line), (Rule::LineTooLong, 1));
        let mut reader = Reader::from_lines(limited(101));
        let first = reader.next().unwrap().unwrap_err();
        assert!(matches!(first.kind, ReadErrorKind::TooLong) && first.line == 1);
        assert!(reader.next().unwrap().is_ok());
    }
}
