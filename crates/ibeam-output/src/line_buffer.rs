//! Whole lines on their way to a descriptor.
//!
//! The inner writer is handed whole lines only. After an error it is never written to again: a torn line must
//! not be followed by a sound one.

use std::io::{self, Write};

/// Past this many bytes the lines go out without waiting for `flush`; one longer line is held whole.
const LIMIT_BYTES: usize = 64 * 1024;

/// Collects lines and hands them over in one `write_all` per batch.
pub(crate) struct LineBuffer<W> {
    out: W,
    waiting: Vec<u8>,
    broken: Option<io::ErrorKind>,
}

impl<W: Write> LineBuffer<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, waiting: Vec::new(), broken: None }
    }

    /// Appends what `fill` writes: whole lines. If it fails, nothing of it stays.
    pub(crate) fn append(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        if let Some(kind) = self.broken {
            return Err(kind.into());
        }
        let before = self.waiting.len();
        if let Err(error) = fill(&mut self.waiting) {
            self.waiting.truncate(before);
            return Err(error);
        }
        if self.waiting.len() >= LIMIT_BYTES { self.hand_over() } else { Ok(()) }
    }

    /// Hands everything over and flushes the inner writer.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(kind) = self.broken {
            return Err(kind.into());
        }
        self.hand_over()?;
        let flushed = self.out.flush();
        self.remember(flushed)
    }

    fn hand_over(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let written = self.out.write_all(&self.waiting);
        self.waiting.clear();
        self.waiting.shrink_to(2 * LIMIT_BYTES);
        self.remember(written)
    }

    fn remember(&mut self, result: io::Result<()>) -> io::Result<()> {
        if let Err(error) = &result {
            self.broken = Some(error.kind());
        }
        result
    }
}
