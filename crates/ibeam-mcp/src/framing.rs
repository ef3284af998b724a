//! Splits a byte stream into lines with a length limit. Each line is one message.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Maximum length of a line; a page of results is far below it.
pub(crate) const MAX_LINE_BYTES: usize = 16 << 20;
const CHUNK_BYTES: usize = 64 << 10;

/// The reason why the next line cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    /// The line is longer than `MAX_LINE_BYTES`.
    #[error("it wrote a line of more than {} MB", MAX_LINE_BYTES >> 20)]
    TooLong,
    /// The pipe returned an error.
    #[error("its output cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// The lines of a pipe.
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(CHUNK_BYTES, reader), line: Vec::new() }
    }

    /// Returns the next line without its line end; `None` after the last line. Not cancel safe: dropping the future
    /// loses the part of the line that was read.
    pub(crate) async fn next(&mut self) -> Result<Option<&[u8]>, LineError> {
        let Self { reader, line } = self;
        line.clear();
        line.shrink_to(CHUNK_BYTES);
        loop {
            let chunk = reader.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(if line.is_empty() { None } else { Some(line) });
            }
            let end = memchr::memchr(b'\n', chunk);
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or(chunk);
            if line.len() + part.len() > MAX_LINE_BYTES {
                return Err(LineError::TooLong);
            }
            line.extend_from_slice(part);
            let used = part.len() + usize::from(end.is_some());
            reader.consume(used);
            if end.is_some() {
                return Ok(Some(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::{AsyncWriteExt as _, duplex};

    use super::*;

    /// Writes `chunks` one by one and returns the lines that are read.
    fn read_lines(chunks: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut writer, reader) = duplex(64);
            tokio::spawn(async move {
                for chunk in chunks {
                    writer.write_all(&chunk).await.unwrap();
                }
            });
            let mut lines = Lines::new(reader);
            let mut found = Vec::new();
            while let Some(line) = lines.next().await.unwrap() {
                found.push(line.to_vec());
            }
            found
        })
    }

    proptest! {
        #[test]
        fn the_lines_do_not_depend_on_the_chunks(
            lines in prop::collection::vec("[a-z]{1,90}", 0..6),
            cuts in prop::collection::vec(1_usize..40, 1..20),
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
            let expect: Vec<Vec<u8>> = lines.into_iter().map(String::into_bytes).collect();
            prop_assert_eq!(read_lines(chunks), expect);
        }
    }

    #[test]
    fn a_line_of_the_maximum_length_is_read_and_a_longer_one_is_an_error() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let read = |length: usize| {
            runtime.block_on(async {
                let text = [vec![b'x'; length], b"\n".to_vec()].concat();
                Lines::new(text.as_slice()).next().await.map(|line| line.map(<[u8]>::len))
            })
        };
        assert_eq!(read(MAX_LINE_BYTES).unwrap(), Some(MAX_LINE_BYTES));
        assert!(matches!(read(MAX_LINE_BYTES + 1), Err(LineError::TooLong)));
    }
}
