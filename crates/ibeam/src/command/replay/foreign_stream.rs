//! Reads the stream of any agent as a stream of contract 1.
//!
//! The first line tells which agent wrote the stream. Lines of ibeam and of the Cursor CLI pass unchanged.

use std::io::{self, BufRead, Read};

use ibeam_dialects::{Converter, DialectName};
use ibeam_protocol::Reason;
use ibeam_wire::MAX_LINE_BYTES;
use serde_json::Value;

use crate::cli_error::CliError;

/// The lines of a stream, converted where another agent wrote them.
pub(super) struct ForeignStream<R> {
    lines: R,
    /// `None` for a stream that passes unchanged.
    converter: Option<Converter>,
    /// Bytes that were read or converted, and not yet consumed.
    ready: Vec<u8>,
    consumed: usize,
    is_ended: bool,
}

impl<R: BufRead> ForeignStream<R> {
    /// Reads the first line; messages name the stream `source`.
    ///
    /// # Errors
    /// `NoInput`; `StreamDamaged` for a first line that cannot be converted.
    pub(super) fn new(mut lines: R, source: &str) -> Result<Self, CliError> {
        let unread =
            |error: io::Error| Reason::NoInput { path: source.to_owned(), detail: error.to_string() };
        let mut first = Vec::new();
        while first.trim_ascii().is_empty() {
            let read = lines.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut first).map_err(unread)?;
            if read == 0 {
                break;
            }
        }
        let dialect = dialect_of(&first);
        let converter =
            (dialect != DialectName::Cursor).then(|| Converter::new(dialect, DialectName::Cursor));
        let mut stream = Self { lines, converter, ready: Vec::new(), consumed: 0, is_ended: false };
        stream.push(&first).map_err(|error| CliError::StreamDamaged {
            source: source.to_owned(),
            line: 1,
            detail: error.to_string(),
        })?;
        Ok(stream)
    }

    /// Adds a line of the source.
    fn push(&mut self, line: &[u8]) -> io::Result<()> {
        match &mut self.converter {
            None => self.ready.extend_from_slice(line),
            Some(converter) => {
                let converted = converter.convert_line(line.trim_ascii_start(), &mut self.ready);
                converted.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ForeignStream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for ForeignStream<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.consumed >= self.ready.len() && !self.is_ended {
            self.ready.clear();
            self.consumed = 0;
            let mut line = Vec::new();
            if self.lines.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? > 0 {
                self.push(&line)?;
                continue;
            }
            self.is_ended = true;
            if let Some(converter) = self.converter.take() {
                let finished = converter.finish(&mut self.ready);
                finished.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            }
        }
        Ok(self.ready.get(self.consumed..).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.consumed += count;
    }
}

/// Returns the agent that wrote a first line. An unknown line counts as one of the contract, whose reader reports it.
fn dialect_of(line: &[u8]) -> DialectName {
    let Ok(line) = serde_json::from_slice::<Value>(line) else { return DialectName::Cursor };
    let has = |key: &str| line.get(key).is_some();
    match line.get("type").and_then(Value::as_str).unwrap_or_default() {
        "thread.started" | "turn.started" => DialectName::Codex,
        "init" if has("session_id") => DialectName::Gemini,
        // Every line of Claude Code has an id of its own.
        "system" | "assistant" | "user" if has("uuid") => DialectName::Claude,
        _ if has("sessionID") => DialectName::Opencode,
        _ => DialectName::Cursor,
    }
}
