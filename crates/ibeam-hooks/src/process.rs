//! Runs a hook as a process with a payload on stdin, bounded output and bounded time.
//!
//! The process has a session of its own, so it has no terminal. A supervisor ends everything that it started when the hook
//! ends, when its time is up, when the future is dropped and when this process dies.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use futures_util::future::join3;
use ibeam_sandbox::LaunchSpec;
use ibeam_tools::ProcessTree;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};

/// The size limit of a hook's stdout in bytes.
pub(crate) const MAX_RESPONSE_BYTES: usize = 1 << 20;
/// The number of bytes that are retained of the end of stderr.
const STDERR_TAIL_BYTES: usize = 64 << 10;
/// How long to wait for the end of a process tree that was killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// Starts hooks. The first hook starts the process from which all hooks are forked.
pub(crate) struct ProcessRunner {
    bash: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    launcher: ibeam_sandbox::Launcher,
}

/// How a hook ended.
#[derive(Debug)]
pub(crate) enum ProcessEnd {
    /// By itself, or by a signal.
    Exited(ExitStatus),
    /// Its time was up.
    TimedOut,
}

/// The end and the output of a hook.
#[derive(Debug)]
pub(crate) struct ProcessOutput {
    pub(crate) end: ProcessEnd,
    /// The first `MAX_RESPONSE_BYTES` bytes of stdout.
    pub(crate) stdout: Vec<u8>,
    /// The number of bytes of the complete stdout.
    pub(crate) stdout_length: u64,
    /// The end of stderr.
    pub(crate) stderr: String,
}

impl ProcessRunner {
    /// Returns a runner that starts hooks with `bash` and `environment`, without the variables that make bash read a
    /// file. All hooks together may have `process_limit` processes.
    pub(crate) fn new(
        bash: Option<PathBuf>,
        mut environment: Vec<(OsString, OsString)>,
        process_limit: u32,
    ) -> Self {
        environment.retain(|(name, _)| name != "BASH_ENV" && name != "ENV");
        Self { bash, environment, launcher: ibeam_sandbox::Launcher::new(process_limit) }
    }

    /// Runs `command` in `directory` with `payload` on stdin, for at most `timeout`. Dropping the future ends the hook and
    /// everything that it started.
    ///
    /// # Errors
    /// The message why it could not be started.
    pub(crate) async fn run(
        &self,
        command: &str,
        directory: &Path,
        payload: &[u8],
        timeout: Duration,
    ) -> Result<ProcessOutput, String> {
        let (mut tree, [stdin, stdout, stderr]) = self.start(command, directory)?;
        let stdin = Sender::from_owned_fd(stdin).map_err(start_error)?;
        let stdout = Receiver::from_owned_fd(stdout).map_err(start_error)?;
        let stderr = Receiver::from_owned_fd(stderr).map_err(start_error)?;
        let (mut stdout_head, mut stderr_tail) =
            (BoundedBuffer::head(MAX_RESPONSE_BYTES), BoundedBuffer::tail(STDERR_TAIL_BYTES));
        let end = {
            let mut streams =
                pin!(join3(write_all(stdin, payload), stdout_head.read(stdout), stderr_tail.read(stderr)));
            let mut time_up = pin!(tokio::time::sleep(timeout));
            let mut is_closed = false;
            let end = loop {
                tokio::select! {
                    status = tree.ended() => break ProcessEnd::Exited(status),
                    () = &mut time_up => break ProcessEnd::TimedOut,
                    _ = &mut streams, if !is_closed => is_closed = true,
                }
            };
            tree.kill();
            // With the tree, all writers have ended: the pipes can be read to their end.
            let rest = async {
                tree.gone().await;
                if !is_closed {
                    streams.await;
                }
            };
            let _ = tokio::time::timeout(KILL_TIMEOUT, rest).await;
            end
        };
        let stdout_length = stdout_head.total;
        let stderr = String::from_utf8_lossy(&stderr_tail.into_bytes()).into_owned();
        Ok(ProcessOutput { end, stdout: stdout_head.into_bytes(), stdout_length, stderr })
    }

    fn start(&self, command: &str, directory: &Path) -> Result<(ProcessTree, [OwnedFd; 3]), String> {
        let bash = self.bash.as_ref().ok_or("`bash` is not installed, and hooks need it")?;
        let mut environment = self.environment.clone();
        environment.push(("PWD".into(), directory.into()));
        let (hook_stdin, stdin) = io::pipe().map_err(start_error)?;
        let (stdout, hook_stdout) = io::pipe().map_err(start_error)?;
        let (stderr, hook_stderr) = io::pipe().map_err(start_error)?;
        let launch = LaunchSpec {
            program: bash,
            arguments: &["bash", "--norc", "--noprofile", "-c", command].map(OsStr::new),
            environment: &environment,
            directory,
            stdio: [hook_stdin.as_fd(), hook_stdout.as_fd(), hook_stderr.as_fd()],
        };
        let tree =
            self.launcher.spawn(&launch).map_err(|error| format!("it could not be started: {error}"))?;
        let tree = ProcessTree::new(tree).map_err(start_error)?;
        Ok((tree, [stdin.into(), stdout.into(), stderr.into()]))
    }
}

/// Writes the payload, as far as the hook reads it, and closes the pipe.
async fn write_all(mut stdin: Sender, payload: &[u8]) {
    // A hook does not have to read its stdin.
    let _ = stdin.write_all(payload).await;
}

fn start_error(error: io::Error) -> String {
    format!("it could not be started: {error}")
}

/// The number of bytes of one read: the size of a Linux pipe.
const CHUNK: usize = 64 << 10;

/// The head or the tail of a stream, and the length of the stream.
struct BoundedBuffer {
    retained: Vec<u8>,
    limit_bytes: usize,
    is_tail: bool,
    /// The number of bytes of the complete stream.
    total: u64,
}

impl BoundedBuffer {
    /// Returns a buffer that retains the first `limit_bytes` bytes.
    fn head(limit_bytes: usize) -> Self {
        Self { retained: Vec::new(), limit_bytes, is_tail: false, total: 0 }
    }

    /// Returns a buffer that retains the last `limit_bytes` bytes.
    fn tail(limit_bytes: usize) -> Self {
        Self { retained: Vec::new(), limit_bytes, is_tail: true, total: 0 }
    }

    /// Reads a pipe to its end or to an error.
    async fn read(&mut self, mut pipe: Receiver) {
        let mut chunk = vec![0; CHUNK];
        while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
            self.append(chunk.get(..count).unwrap_or_default());
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let free = self.limit_bytes.saturating_sub(self.retained.len());
        let added = if self.is_tail { bytes } else { bytes.get(..free).unwrap_or(bytes) };
        self.retained.extend_from_slice(added);
        // Cutting only at twice the limit moves each byte once on average.
        if self.retained.len() > 2 * self.limit_bytes {
            self.retained.drain(..self.retained.len() - self.limit_bytes);
        }
    }

    /// Returns the retained bytes.
    fn into_bytes(mut self) -> Vec<u8> {
        self.retained.drain(..self.retained.len().saturating_sub(self.limit_bytes));
        self.retained
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_and_a_tail_are_bounded_and_counted() {
        let (mut head, mut tail) = (BoundedBuffer::head(4), BoundedBuffer::tail(4));
        for piece in [&b"ab"[..], b"cdef", b"", b"ghijklmnopq"] {
            head.append(piece);
            tail.append(piece);
        }
        assert_eq!((head.total, tail.total), (17, 17));
        assert_eq!((head.into_bytes(), tail.into_bytes()), (b"abcd".to_vec(), b"nopq".to_vec()));
    }
}
