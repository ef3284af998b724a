//! The lines of a stream, one at a time, with a maximum length.

use std::io::{self, BufRead};

/// The maximum length of a line, in bytes: 1 GiB. The last line repeats the complete text of the run. One answer may have
/// 64 MiB, and the escape of a control character takes six bytes.
pub const MAX_LINE_BYTES: u64 = 1 << 30;

/// Reads lines that end with `\n`.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    /// The number of lines so far.
    number: u64,
    /// The bytes of the current line.
    bytes: Vec<u8>,
    /// The maximum length of a line, in bytes.
    limit: usize,
    /// Whether a line that is longer than the limit is the last one, instead of skipping its rest.
    ends_at_limit: bool,
}

/// A line without its `\n`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// The line number, from 1.
    pub(crate) number: u64,
    /// The bytes of the line, at most `MAX_LINE_BYTES`.
    pub(crate) bytes: &'a [u8],
    /// Whether a `\n` ended the line.
    pub(crate) has_end: bool,
    /// Whether the line was longer than `bytes`.
    pub(crate) is_cut: bool,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        let limit = usize::try_from(MAX_LINE_BYTES).unwrap_or(usize::MAX);
        Self { reader, number: 0, bytes: Vec::new(), limit, ends_at_limit: false }
    }

    /// Returns lines of at most `limit` bytes. The rest of a longer line is not read.
    pub(crate) fn with_limit(reader: R, limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self { limit, ends_at_limit: true, ..Self::new(reader) }
    }

    /// Returns the next line, or `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.bytes.clear();
        let (mut has_end, mut has_bytes, mut is_cut) = (false, false, false);
        while !(has_end || is_cut && self.ends_at_limit) {
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break;
            }
            has_bytes = true;
            let mut parts = chunk.splitn(2, |byte| *byte == b'\n');
            let part = parts.next().unwrap_or_default();
            has_end = parts.next().is_some();
            let count = self.limit.saturating_sub(self.bytes.len()).min(part.len());
            is_cut |= count < part.len();
            self.bytes.extend_from_slice(part.get(..count).unwrap_or_default());
            let used = part.len() + usize::from(has_end);
            self.reader.consume(used);
        }
        if !has_bytes {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(Line { number: self.number, bytes: &self.bytes, has_end, is_cut }))
    }

    /// Returns the number of lines so far.
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

    /// Returns lines of which the first has `bytes` bytes, with a limit of 100.
    fn limited(bytes: usize) -> Lines<io::Cursor<String>> {
        let text = format!("{:1$}\n{END}", "", bytes);
        Lines { limit: 100, ..Lines::new(io::Cursor::new(text)) }
    }

    #[test]
    fn the_rest_of_a_line_that_is_too_long_is_skipped() {
        for (bytes, expect_cut) in [(0, false), (100, false), (101, true), (5_000, true)] {
            let mut lines = limited(bytes);
            let first = lines.next().unwrap().unwrap();
            assert_eq!((first.is_cut, first.has_end, first.bytes.len()), (expect_cut, true, bytes.min(100)));
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
