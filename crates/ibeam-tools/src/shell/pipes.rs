//! Reads the stdout and stderr of a command as they arrive, and stores a limited part.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;

use super::bounded_buffer::{BoundedBuffer, incomplete_end};

/// Bytes of one read: the size of a Linux pipe.
const READ_SIZE: usize = 64 << 10;
/// Maximum bytes of a log; further output is read but not logged.
const LOG_LIMIT: usize = 10 << 20;

/// The read ends of a command's stdout and stderr, and their output.
#[derive(Debug)]
pub(super) struct Pipes {
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    stdout_capture: StreamCapture,
    stderr_capture: StreamCapture,
    interleaved: BoundedBuffer,
    log: Option<Log>,
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

#[derive(Debug)]
struct StreamCapture {
    buffer: Vec<u8>,
    bounded_buffer: BoundedBuffer,
    /// The first bytes of a character, held back so that output of the other pipe does not split it.
    incomplete_char: Vec<u8>,
}

#[derive(Debug)]
struct Log {
    file: File,
    remaining: usize,
}

impl Pipes {
    /// Takes ownership of the read ends.
    pub(super) fn new(stdout: Receiver, stderr: Receiver) -> Self {
        let (stdout_capture, stderr_capture) = (StreamCapture::new(), StreamCapture::new());
        Self {
            stdout: Some(stdout),
            stderr: Some(stderr),
            stdout_capture,
            stderr_capture,
            interleaved: BoundedBuffer::default(),
            log: None,
        }
    }

    /// Whether a process may still write.
    pub(super) fn is_open(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    /// Waits for the next chunk of output and stores it. Cancel safe. Returns at once when both pipes are closed.
    pub(super) async fn read(&mut self) {
        let Self { stdout, stderr, stdout_capture, stderr_capture, interleaved, log } = self;
        tokio::select! {
            count = read_chunk(stdout, &mut stdout_capture.buffer), if stdout.is_some() => {
                process_chunk(stdout_capture, count, interleaved, log.as_mut());
                if count == 0 { *stdout = None; }
            }
            count = read_chunk(stderr, &mut stderr_capture.buffer), if stderr.is_some() => {
                process_chunk(stderr_capture, count, interleaved, log.as_mut());
                if count == 0 { *stderr = None; }
            }
            else => {}
        }
    }

    /// Returns the output so far.
    pub(super) fn texts(&mut self) -> OutputTexts {
        for source in [&mut self.stdout_capture, &mut self.stderr_capture] {
            self.interleaved.feed(&std::mem::take(&mut source.incomplete_char));
        }
        OutputTexts {
            stdout: self.stdout_capture.bounded_buffer.text(),
            stderr: self.stderr_capture.bounded_buffer.text(),
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

impl StreamCapture {
    fn new() -> Self {
        Self {
            buffer: vec![0; READ_SIZE],
            bounded_buffer: BoundedBuffer::default(),
            incomplete_char: Vec::new(),
        }
    }
}

/// Returns the number of bytes read into `buffer`; 0 at the end, and after an error.
async fn read_chunk(pipe: &mut Option<Receiver>, buffer: &mut [u8]) -> usize {
    match pipe {
        Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
        None => 0,
    }
}

fn process_chunk(
    source: &mut StreamCapture,
    count: usize,
    interleaved: &mut BoundedBuffer,
    log: Option<&mut Log>,
) {
    let StreamCapture { buffer, bounded_buffer, incomplete_char } = source;
    let bytes = buffer.get(..count).unwrap_or_default();
    bounded_buffer.feed(bytes);
    if incomplete_char.is_empty() {
        let (whole, begin) = bytes.split_at(bytes.len() - incomplete_end(bytes));
        interleaved.feed(whole);
        incomplete_char.extend_from_slice(begin);
    } else {
        incomplete_char.extend_from_slice(bytes);
        let begin = incomplete_char.split_off(incomplete_char.len() - incomplete_end(incomplete_char));
        interleaved.feed(incomplete_char);
        *incomplete_char = begin;
    }
    if let Some(log) = log {
        let part = bytes.get(..log.remaining.min(bytes.len())).unwrap_or_default();
        // The command continues when its log cannot be written.
        let _ = log.file.write_all(part);
        log.remaining -= part.len();
    }
}
