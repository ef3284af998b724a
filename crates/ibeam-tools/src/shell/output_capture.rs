//! Captures the stdout and stderr of a command as they arrive, and stores a limited part.

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use ibeam_core::OutputObserver;
use ibeam_process::{BoundedBuffer, PipeReader, incomplete_char_length};
use ibeam_protocol::CallId;
use tokio::net::unix::pipe::Receiver;

/// Bytes that are stored from the beginning of a stream.
const HEAD_BYTES: usize = 20 << 10;
/// Bytes that are stored from the end of a stream.
const TAIL_BYTES: usize = 10 << 10;
/// Maximum bytes of a log; further output is read but not logged.
const LOG_LIMIT: usize = 10 << 20;

/// Reads and stores the output of a command.
#[derive(Debug)]
pub(super) struct OutputCapture {
    stdout: PipeReader,
    stderr: PipeReader,
    stdout_text: StreamText,
    stderr_text: StreamText,
    interleaved: BoundedBuffer,
    log: Option<Log>,
    observer: Option<CallOutput>,
}

/// The call to which output belongs, and who watches it.
pub(super) struct CallOutput {
    pub(super) call: CallId,
    pub(super) observer: Arc<dyn OutputObserver>,
}

impl fmt::Debug for CallOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOutput").field("call", &self.call).finish_non_exhaustive()
    }
}

/// The texts of both outputs, each limited.
pub(super) struct OutputTexts {
    /// Standard output.
    pub(super) stdout: String,
    /// Standard error.
    pub(super) stderr: String,
    /// Both, in the order of arrival.
    pub(super) interleaved: String,
}

/// The bytes of one stream.
#[derive(Debug)]
struct StreamText {
    buffer: BoundedBuffer,
    /// The first bytes of a character, held back so that output of the other pipe does not split it.
    incomplete_char: Vec<u8>,
}

#[derive(Debug)]
struct Log {
    file: File,
    remaining: usize,
}

impl OutputCapture {
    /// Returns a capture that reads from the pipes of a command.
    pub(super) fn new(stdout: Receiver, stderr: Receiver) -> Self {
        Self {
            stdout: PipeReader::new(stdout),
            stderr: PipeReader::new(stderr),
            stdout_text: StreamText::new(),
            stderr_text: StreamText::new(),
            interleaved: BoundedBuffer::new(HEAD_BYTES, TAIL_BYTES),
            log: None,
            observer: None,
        }
    }

    /// Passes output on as it arrives.
    pub(super) fn observe(&mut self, observer: CallOutput) {
        self.observer = Some(observer);
    }

    /// Whether a process may still write.
    pub(super) fn is_open(&self) -> bool {
        self.stdout.is_open() || self.stderr.is_open()
    }

    /// Waits for the next chunk of output and stores it. Cancel safe. Returns at once when both pipes are closed.
    pub(super) async fn read(&mut self) {
        let Self { stdout, stderr, stdout_text, stderr_text, interleaved, log, observer } = self;
        let (chunk, stream) = tokio::select! {
            chunk = stdout.next(), if stdout.is_open() => (chunk, stdout_text),
            chunk = stderr.next(), if stderr.is_open() => (chunk, stderr_text),
            else => return,
        };
        let chunk = chunk.unwrap_or_default();
        if let Some(CallOutput { call, observer }) = observer {
            observer.on_output(call, chunk);
        }
        store(chunk, stream, interleaved, log.as_mut());
    }

    /// Returns the output so far.
    pub(super) fn texts(&mut self) -> OutputTexts {
        for stream in [&mut self.stdout_text, &mut self.stderr_text] {
            self.interleaved.feed(&std::mem::take(&mut stream.incomplete_char));
        }
        OutputTexts {
            stdout: self.stdout_text.buffer.text(),
            stderr: self.stderr_text.buffer.text(),
            interleaved: self.interleaved.text(),
        }
    }

    /// Also writes all output from now on to a new file at `path`, which only its owner can read.
    pub(super) fn log_to(&mut self, path: &Path) -> io::Result<()> {
        if let Some(directory) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        self.log = Some(Log { file, remaining: LOG_LIMIT });
        Ok(())
    }
}

impl StreamText {
    fn new() -> Self {
        Self { buffer: BoundedBuffer::new(HEAD_BYTES, TAIL_BYTES), incomplete_char: Vec::new() }
    }
}

fn store(bytes: &[u8], stream: &mut StreamText, interleaved: &mut BoundedBuffer, log: Option<&mut Log>) {
    let StreamText { buffer, incomplete_char } = stream;
    buffer.feed(bytes);
    if incomplete_char.is_empty() {
        let (complete, rest) = bytes.split_at(bytes.len() - incomplete_char_length(bytes));
        interleaved.feed(complete);
        incomplete_char.extend_from_slice(rest);
    } else {
        incomplete_char.extend_from_slice(bytes);
        let rest = incomplete_char.split_off(incomplete_char.len() - incomplete_char_length(incomplete_char));
        interleaved.feed(incomplete_char);
        *incomplete_char = rest;
    }
    if let Some(log) = log {
        let part = bytes.get(..log.remaining.min(bytes.len())).unwrap_or_default();
        // The command continues when its log cannot be written.
        let _ = log.file.write_all(part);
        log.remaining -= part.len();
    }
}
