//! One message a line: bytes to lines, none longer than the cap.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// The longest line that is read; a page of results is far below it.
pub(crate) const LINE_LIMIT: usize = 16 << 20;
const CHUNK: usize = 64 << 10;

/// Why no further line comes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    /// More than the cap without a line end.
    #[error("it wrote a line of more than {} MB", LINE_LIMIT >> 20)]
    TooLong,
    /// The pipe failed.
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
        Self { reader: BufReader::with_capacity(CHUNK, reader), line: Vec::new() }
    }

    /// The next line without its end; `None` after the last. Dropping the future loses what was read of the line.
    pub(crate) async fn next(&mut self) -> Result<Option<&[u8]>, LineError> {
        let Self { reader, line } = self;
        line.clear();
        line.shrink_to(CHUNK);
        loop {
            let chunk = reader.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(if line.is_empty() { None } else { Some(line) });
            }
            let end = memchr::memchr(b'\n', chunk);
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or(chunk);
            if line.len() + part.len() > LINE_LIMIT {
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

    /// Writes `chunks` one by one and gives the lines that are read.
    fn lines_of(chunks: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut ours, theirs) = duplex(64);
            tokio::spawn(async move {
                for chunk in chunks {
                    ours.write_all(&chunk).await.unwrap();
                }
            });
            let mut lines = Lines::new(theirs);
            let mut read = Vec::new();
            while let Some(line) = lines.next().await.unwrap() {
                read.push(line.to_vec());
            }
            read
        })
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_lines(
            lines in prop::collection::vec("[a-z]{1,90}", 0..6),
            cuts in prop::collection::vec(1_usize..40, 1..20),
            ends in any::<bool>(),
        ) {
            let mut bytes = lines.join("\n").into_bytes();
            if ends && !bytes.is_empty() {
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
            prop_assert_eq!(lines_of(chunks), expect);
        }
    }

    #[test]
    fn a_line_of_just_the_cap_is_read_and_one_byte_more_is_refused() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let read = |length: usize| {
            runtime.block_on(async {
                let text = [vec![b'x'; length], b"\n".to_vec()].concat();
                Lines::new(text.as_slice()).next().await.map(|line| line.map(<[u8]>::len))
            })
        };
        assert_eq!(read(LINE_LIMIT).unwrap(), Some(LINE_LIMIT));
        assert!(matches!(read(LINE_LIMIT + 1), Err(LineError::TooLong)));
    }
}
