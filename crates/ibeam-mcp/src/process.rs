//! A server's process and everything it starts, in a process group of its own.
//!
//! Ended in three steps: stdin closed, TERM, KILL; killed at once when it is dropped.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use crate::ServerConfig;

const POLL: Duration = Duration::from_millis(5);
/// How long the end of a killed process is waited for.
const REAPED: Duration = Duration::from_millis(500);

/// A server that was started.
pub(crate) struct Process {
    child: Child,
    group: Pid,
    /// The last signal was sent: the number may soon belong to somebody else.
    over: bool,
}

/// Our ends of its pipes.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl Process {
    /// Starts the server. Must be called within an async runtime.
    pub(crate) fn start(config: &ServerConfig) -> io::Result<(Self, Pipes)> {
        let mut command = Command::new(&config.command);
        command.args(&config.args).current_dir(&config.directory);
        command.env_clear().envs(config.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = tokio::process::Command::from(command).spawn()?;
        let group = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        let group = group.ok_or_else(|| io::Error::other("it has no process id"))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let process = Self { child, group, over: false };
        match pipes {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((process, Pipes { stdin, stdout, stderr })),
            _ => Err(io::Error::other("it has no pipes")),
        }
    }

    /// How it ended, if it does so within `patience`.
    pub(crate) async fn status(&mut self, patience: Duration) -> Option<ExitStatus> {
        tokio::time::timeout(patience, self.child.wait()).await.ok()?.ok()
    }

    /// Ends it and everything it started. Its stdin is closed already; it gets `grace` to take the hint, and as
    /// long again after TERM.
    pub(crate) async fn end(&mut self, grace: Duration) {
        let exited = self.status(grace).await.is_some();
        if !exited || self.is_alive() {
            self.signal(Signal::TERM);
            // A stopped process takes TERM only when it goes on.
            self.signal(Signal::CONT);
            let _in_time = tokio::time::timeout(grace, self.gone()).await;
        }
        self.kill();
        self.status(REAPED).await;
    }

    /// Ends it and everything it started at once.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.over = true;
    }

    async fn gone(&mut self) {
        // The status is taken first: until then a dead leader counts as a member of its group.
        let _status = self.child.wait().await;
        while self.is_alive() {
            tokio::time::sleep(POLL).await;
        }
    }

    fn is_alive(&self) -> bool {
        !self.over && test_kill_process_group(self.group) != Err(Errno::SRCH)
    }

    fn signal(&self, signal: Signal) {
        if !self.over {
            // Nobody is left to be told, or nobody who may be.
            let _ = kill_process_group(self.group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
