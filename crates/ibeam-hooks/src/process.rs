//! Runs a hook as a process with a payload on stdin, bounded output and bounded time.
//!
//! The process is the leader of a new session, so it has no terminal. A supervisor ends the hook and all processes that
//! the hook started when the hook ends, when it reaches its time limit, when the future is dropped and when this process dies.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use futures_util::future::join3;
use ibeam_process::{BoundedBuffer, CommandSpec, Launcher, PipeReader, PipedProcess, bash_arguments};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe::{Receiver, Sender};

/// The size limit of a hook's stdout in bytes.
pub(crate) const MAX_RESPONSE_BYTES: usize = 1 << 20;
/// The number of bytes that are retained of the end of stderr.
const STDERR_TAIL_BYTES: usize = 64 << 10;
/// The time limit for the end of a process tree that was killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// Starts hooks. The first hook starts the process from which all hooks are forked.
pub(crate) struct ProcessRunner {
    bash: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    launcher: Launcher,
}

#[derive(Debug)]
pub(crate) enum ProcessEnd {
    /// The hook ended by itself or by a signal.
    Exited(ExitStatus),
    /// The hook reached its time limit.
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

impl ProcessOutput {
    /// Returns stdout without white space around it, and without the byte order mark that programs on Windows write.
    pub(crate) fn response(&self) -> &[u8] {
        let stdout = self.stdout.trim_ascii();
        stdout.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stdout).trim_ascii()
    }
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
        Self { bash, environment, launcher: Launcher::new(process_limit) }
    }

    /// Runs `command` in `directory` with `payload` on stdin, for at most `timeout`. Dropping the future ends the hook
    /// and everything that it started.
    ///
    /// # Errors
    /// The reason why the hook could not be started.
    pub(crate) async fn run(
        &self,
        command: &str,
        directory: &Path,
        payload: &[u8],
        timeout: Duration,
    ) -> Result<ProcessOutput, String> {
        let (PipedProcess { mut tree, stdout, stderr }, stdin) = self.start(command, directory)?;
        let mut stdout_head = BoundedBuffer::new(MAX_RESPONSE_BYTES, 0);
        let mut stderr_tail = BoundedBuffer::new(0, STDERR_TAIL_BYTES);
        let end = {
            let mut streams = pin!(join3(
                write_all(stdin, payload),
                read_all(stdout, &mut stdout_head),
                read_all(stderr, &mut stderr_tail),
            ));
            let mut time_up = pin!(tokio::time::sleep(timeout));
            let mut is_closed = false;
            let end = loop {
                tokio::select! {
                    status = tree.wait_for_exit() => break ProcessEnd::Exited(status),
                    () = &mut time_up => break ProcessEnd::TimedOut,
                    _ = &mut streams, if !is_closed => is_closed = true,
                }
            };
            tree.kill();
            // When the process tree has ended, no process can write any more: the pipes can be read to their end.
            let rest = async {
                tree.wait_until_gone().await;
                if !is_closed {
                    streams.await;
                }
            };
            let _ = tokio::time::timeout(KILL_TIMEOUT, rest).await;
            end
        };
        let stdout_length = stdout_head.total_bytes();
        let stderr = String::from_utf8_lossy(stderr_tail.tail()).into_owned();
        Ok(ProcessOutput { end, stdout: stdout_head.into_head(), stdout_length, stderr })
    }

    fn start(&self, command: &str, directory: &Path) -> Result<(PipedProcess, Sender), String> {
        let bash = self.bash.as_ref().ok_or("`bash` is not installed, and hooks need it")?;
        let mut environment = self.environment.clone();
        environment.push(("PWD".into(), directory.into()));
        let arguments = bash_arguments(command);
        let command =
            CommandSpec { program: bash, arguments: &arguments, environment: &environment, directory };
        PipedProcess::spawn(&self.launcher, &command)
            .map_err(|error| format!("it could not be started: {error}"))
    }
}

/// Writes the payload, as far as the hook reads it, and closes the pipe.
async fn write_all(mut stdin: Sender, payload: &[u8]) {
    // A hook does not have to read its stdin.
    let _ = stdin.write_all(payload).await;
}

/// Reads a pipe to its end or to an error.
async fn read_all(pipe: Receiver, buffer: &mut BoundedBuffer) {
    let mut reader = PipeReader::new(pipe);
    while let Some(bytes) = reader.next().await {
        buffer.feed(bytes);
    }
}
