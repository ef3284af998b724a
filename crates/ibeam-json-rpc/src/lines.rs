//! Splits a byte stream into lines with a length limit. Each line is one message.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

const CHUNK_BYTES: usize = 64 << 10;

/// A line that was read, or the end of the attempt to read one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// A line without its line end.
    Complete(&'a [u8]),
    /// The line is longer than the limit. The next call skips the rest of it.
    TooLong,
}

/// The lines of a pipe.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    max_bytes: usize,
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is still to be skipped.
    skips: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Returns the lines of `reader`, each of at most `max_bytes`.
    pub(crate) fn new(reader: R, max_bytes: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(CHUNK_BYTES, reader),
            max_bytes,
            line: Vec::new(),
            skips: false,
        }
    }

    /// Returns the next line; `None` after the last line. Not cancel safe: dropping the future loses the part of the
    /// line that was read.
    ///
    /// # Errors
    /// The error of the pipe.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let Self { reader, max_bytes, line, skips } = self;
        line.clear();
        line.shrink_to(CHUNK_BYTES);
        loop {
            let chunk = reader.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(if line.is_empty() { None } else { Some(Line::Complete(line)) });
            }
            let end = memchr::memchr(b'\n', chunk);
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or(chunk);
            let is_too_long = !*skips && line.len() + part.len() > *max_bytes;
            if !*skips && !is_too_long {
                line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            reader.consume(used);
            if is_too_long {
                *skips = end.is_none();
                return Ok(Some(Line::TooLong));
            }
            if end.is_some() && !std::mem::take(skips) {
                return Ok(Some(Line::Complete(line)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::{AsyncWriteExt as _, duplex};

    use super::*;

    const MAX_BYTES: usize = 200;

    /// Writes `chunks` one by one and returns the lines that are read; `None` for a line that is too long.
    fn read_lines(chunks: Vec<Vec<u8>>) -> Vec<Option<Vec<u8>>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut writer, reader) = duplex(64);
            tokio::spawn(async move {
                for chunk in chunks {
                    writer.write_all(&chunk).await.unwrap();
                }
            });
            let mut lines = Lines::new(reader, MAX_BYTES);
            let mut found = Vec::new();
            while let Some(line) = lines.next().await.unwrap() {
                found.push(match line {
                    Line::Complete(line) => Some(line.to_vec()),
                    Line::TooLong => None,
                });
            }
            found
        })
    }

    proptest! {
        #[test]
        fn the_lines_do_not_depend_on_the_chunks(
            lines in prop::collection::vec("[a-z]{1,300}", 0..6),
            cuts in prop::collection::vec(1_usize..90, 1..20),
            has_line_end in any::<bool>(),
        ) {
            let mut bytes = lines.join("\n").into_bytes();
            if has_line_end && !bytes.is_empty() {
                bytes.push(b'\n');
            }
            let mut chunks = Vec::new();
            let mut rest = bytes.as_slice();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break }
                let (chunk, after) = rest.split_at((*cut).min(rest.len()));
                chunks.push(chunk.to_vec());
                rest = after;
            }
            let whole = |line: String| (line.len() <= MAX_BYTES).then(|| line.into_bytes());
            let expect: Vec<Option<Vec<u8>>> = lines.into_iter().map(whole).collect();
            prop_assert_eq!(read_lines(chunks), expect);
        }
    }

    #[test]
    fn a_line_of_the_maximum_length_is_read_and_a_longer_one_is_skipped() {
        let line = |length: usize| vec![b'x'; length];
        let text = [line(MAX_BYTES), b"\n".to_vec(), line(MAX_BYTES + 1), b"\nlast\n".to_vec()].concat();
        let expect = vec![Some(line(MAX_BYTES)), None, Some(b"last".to_vec())];
        assert_eq!(read_lines(vec![text]), expect);
    }
}
