//! A buffer that passes complete lines to a writer.
//!
//! After an error nothing more is written, because a complete line must not follow an incomplete one.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::json_line::write_line;

/// The number of pending bytes above which lines are written without waiting for `flush`. A longer line stays complete.
const MAX_PENDING_BYTES: usize = 64 * 1024;

/// Collects lines and writes them with one `write_all` per batch.
pub(crate) struct LineBuffer<W> {
    out: W,
    pending: Vec<u8>,
    /// The kind of the first error of the inner writer.
    broken: Option<io::ErrorKind>,
}

impl<W: Write> LineBuffer<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, pending: Vec::new(), broken: None }
    }

    /// Appends the complete lines that `fill` writes. If it fails, its bytes are removed.
    pub(crate) fn append(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        if let Some(kind) = self.broken {
            return Err(kind.into());
        }
        let before = self.pending.len();
        if let Err(error) = fill(&mut self.pending) {
            self.pending.truncate(before);
            return Err(error);
        }
        if self.pending.len() >= MAX_PENDING_BYTES { self.write_out() } else { Ok(()) }
    }

    /// Writes all lines and flushes the inner writer.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(kind) = self.broken {
            return Err(kind.into());
        }
        self.write_out()?;
        let flushed = self.out.flush();
        self.record_error(flushed)
    }

    /// Writes all lines, and then `value` as a line in small pieces, which needs little memory.
    pub(crate) fn write_in_pieces(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.flush()?;
        let mut pieces = BufWriter::with_capacity(MAX_PENDING_BYTES, &mut self.out);
        let written = write_line(&mut pieces, value).and_then(|()| pieces.flush());
        // What a failed writer holds is written nowhere.
        drop(pieces.into_parts());
        self.record_error(written)
    }

    fn write_out(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let written = self.out.write_all(&self.pending);
        self.pending.clear();
        self.pending.shrink_to(2 * MAX_PENDING_BYTES);
        self.record_error(written)
    }

    fn record_error(&mut self, result: io::Result<()>) -> io::Result<()> {
        if let Err(error) = &result {
            self.broken = Some(error.kind());
        }
        result
    }
}
