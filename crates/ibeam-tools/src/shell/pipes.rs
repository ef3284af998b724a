//! Both outputs of a command, read as they come, kept in bounds.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;

use super::capture::{Capture, incomplete_end};

/// Bytes of one read: the size of a Linux pipe.
const CHUNK: usize = 64 << 10;
/// A log ends here; the output is still read.
const LOG_LIMIT: usize = 10 << 20;

/// The read ends of a command's stdout and stderr, and what came out of them.
#[derive(Debug)]
pub(super) struct Pipes {
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    from_stdout: Source,
    from_stderr: Source,
    interleaved: Capture,
    log: Option<Log>,
}

/// What the two outputs said, each bounded.
pub(super) struct Texts {
    /// Standard output.
    pub(super) stdout: String,
    /// Standard error.
    pub(super) stderr: String,
    /// Both, in the order in which they came.
    pub(super) interleaved: String,
}

#[derive(Debug)]
struct Source {
    buffer: Vec<u8>,
    capture: Capture,
    /// The begin of a character, held back so that the other output does not fall into it.
    begun: Vec<u8>,
}

#[derive(Debug)]
struct Log {
    file: File,
    left: usize,
}

impl Pipes {
    /// Takes over the read ends.
    pub(super) fn new(stdout: Receiver, stderr: Receiver) -> Self {
        let (from_stdout, from_stderr) = (Source::new(), Source::new());
        Self {
            stdout: Some(stdout),
            stderr: Some(stderr),
            from_stdout,
            from_stderr,
            interleaved: Capture::default(),
            log: None,
        }
    }

    /// Somebody may still write.
    pub(super) fn open(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    /// Waits for the next piece of output and takes it. Cancel safe. Returns at once when nothing is open.
    pub(super) async fn read(&mut self) {
        let Self { stdout, stderr, from_stdout, from_stderr, interleaved, log } = self;
        tokio::select! {
            got = next(stdout, &mut from_stdout.buffer), if stdout.is_some() => {
                take(from_stdout, got, interleaved, log.as_mut());
                if got == 0 { *stdout = None; }
            }
            got = next(stderr, &mut from_stderr.buffer), if stderr.is_some() => {
                take(from_stderr, got, interleaved, log.as_mut());
                if got == 0 { *stderr = None; }
            }
            else => {}
        }
    }

    /// What was said until now.
    pub(super) fn texts(&mut self) -> Texts {
        for source in [&mut self.from_stdout, &mut self.from_stderr] {
            self.interleaved.feed(&std::mem::take(&mut source.begun));
        }
        Texts {
            stdout: self.from_stdout.capture.text(),
            stderr: self.from_stderr.capture.text(),
            interleaved: self.interleaved.text(),
        }
    }

    /// Writes everything from here on to a new file at `path` as well, readable by its owner only.
    pub(super) fn log_to(&mut self, path: &Path) -> io::Result<()> {
        if let Some(directory) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        self.log = Some(Log { file, left: LOG_LIMIT });
        Ok(())
    }
}

impl Source {
    fn new() -> Self {
        Self { buffer: vec![0; CHUNK], capture: Capture::default(), begun: Vec::new() }
    }
}

/// Bytes read into `buffer`; 0 at the end, and an error is an end too.
async fn next(pipe: &mut Option<Receiver>, buffer: &mut [u8]) -> usize {
    match pipe {
        Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
        None => 0,
    }
}

fn take(source: &mut Source, got: usize, interleaved: &mut Capture, log: Option<&mut Log>) {
    let Source { buffer, capture, begun } = source;
    let bytes = buffer.get(..got).unwrap_or_default();
    capture.feed(bytes);
    if begun.is_empty() {
        let (whole, begin) = bytes.split_at(bytes.len() - incomplete_end(bytes));
        interleaved.feed(whole);
        begun.extend_from_slice(begin);
    } else {
        begun.extend_from_slice(bytes);
        let begin = begun.split_off(begun.len() - incomplete_end(begun));
        interleaved.feed(begun);
        *begun = begin;
    }
    if let Some(log) = log {
        let kept = bytes.get(..log.left.min(bytes.len())).unwrap_or_default();
        // A log that cannot be written is not worth the command.
        let _ = log.file.write_all(kept);
        log.left -= kept.len();
    }
}
