//! The process of a server over stdio, with everything that it started, and the end of its stderr.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use ibeam_process::{CommandSpec, PipeReader, PipedProcess, ProcessTree, SpawnError, StartProcessError};
use rustix::fs::{Access, access};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::StdioConfig;
use crate::stderr_tail::{StderrBuffer, StderrTail};

/// The time limit for the exit status, and for the rest of stderr, after stdout has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);
/// The time limit for the end of a process tree that was killed.
const KILL_TIMEOUT: Duration = Duration::from_millis(500);

/// The processes of a server. Dropping them kills them.
pub(crate) struct ServerProcess {
    tree: Mutex<ProcessTree>,
    stderr: Arc<StderrBuffer>,
    stderr_reader: Mutex<Option<JoinHandle<()>>>,
}

impl ServerProcess {
    /// Starts the program and returns it with the pipes to its stdin and stdout. Must be called within an async runtime.
    pub(crate) fn start(
        config: &StdioConfig,
        stderr: &Arc<StderrBuffer>,
    ) -> Result<(Self, Sender, Receiver), String> {
        let (process, stdin) = start_process(config)?;
        let buffer = Arc::clone(stderr);
        let reader = PipeReader::new(process.stderr);
        let reader = tokio::spawn(async move { buffer.read_all(reader).await });
        let started = Self {
            tree: Mutex::new(process.tree),
            stderr: Arc::clone(stderr),
            stderr_reader: Mutex::new(Some(reader)),
        };
        Ok((started, stdin, process.stdout))
    }

    /// Returns the exit status if the first process ends by itself within `DRAIN_TIMEOUT`.
    pub(crate) async fn wait_for_exit(&self) -> Option<ExitStatus> {
        self.tree.lock().await.wait_for_exit_within(DRAIN_TIMEOUT).await
    }

    /// Returns the end of stderr, after waiting at most `DRAIN_TIMEOUT` for the rest: another process may still hold the
    /// pipe, or write without end. Call it after the process was killed.
    pub(crate) async fn read_stderr_tail(&self) -> StderrTail {
        if let Some(reader) = self.stderr_reader.lock().await.take() {
            let _ = tokio::time::timeout(DRAIN_TIMEOUT, reader).await;
        }
        self.stderr.tail()
    }

    /// Kills the process and everything that it started, without waiting for their end.
    pub(crate) async fn kill(&self) {
        self.tree.lock().await.kill();
    }

    /// Ends the process, whose stdin is closed, and everything that it started: after `grace` with TERM, after another
    /// `grace` with KILL.
    pub(crate) async fn shut_down(&self, grace: Duration) {
        let mut tree = self.tree.lock().await;
        if !tree.wait_until_gone_within(grace).await {
            tree.terminate();
            tree.wait_until_gone_within(grace).await;
        }
        tree.kill();
        tree.wait_until_gone_within(KILL_TIMEOUT).await;
    }
}

/// Starts the program of a server and returns it with the pipe to its stdin. Must be called within an async runtime.
fn start_process(config: &StdioConfig) -> Result<(PipedProcess, Sender), String> {
    let program = find_program(config)?;
    let command = std::iter::once(&config.command).chain(&config.args);
    let command = CommandSpec {
        program: &program,
        arguments: &command.map(OsStr::new).collect::<Vec<_>>(),
        environment: &config.environment,
        directory: &config.directory,
    };
    PipedProcess::spawn(&config.launcher, &command).map_err(|error| match error {
        StartProcessError::Spawn(SpawnError::System(errno)) => errno.to_string(),
        StartProcessError::Spawn(SpawnError::NulByte | SpawnError::ServerLost | SpawnError::Sandbox(_))
        | StartProcessError::Pipe(_) => error.to_string(),
    })
}

/// Returns the path of the program. A relative path starts in the server's directory; a name is looked up in
/// `program_directories`.
fn find_program(config: &StdioConfig) -> Result<PathBuf, String> {
    if config.command.contains('/') {
        return Ok(config.directory.join(&config.command));
    }
    let candidates = config.program_directories.iter().map(|directory| directory.join(&config.command));
    let mut found = candidates.filter(|candidate| is_program(candidate));
    found.next().ok_or_else(|| "no such program in PATH".to_owned())
}

fn is_program(candidate: &Path) -> bool {
    candidate.is_file() && access(candidate, Access::EXEC_OK).is_ok()
}
