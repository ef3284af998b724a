//! A server's process and everything it starts, as a supervised tree.
//!
//! Ended in three steps: stdin closed, TERM, KILL; killed at once when it is dropped, and when we are.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use ibeam_sandbox::{LaunchSpec, SpawnError, SupervisedTree};
use rustix::fs::{Access, access};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::ServerConfig;

/// How long the end of a killed tree is waited for.
const KILLED: Duration = Duration::from_millis(500);

/// A server that was started.
pub(crate) struct Process {
    tree: SupervisedTree,
    /// The socket of the tree once more, for the runtime to watch.
    news: UnixStream,
}

/// Our ends of its pipes.
pub(crate) struct Pipes {
    pub(crate) stdin: Sender,
    pub(crate) stdout: Receiver,
    pub(crate) stderr: Receiver,
}

impl Process {
    /// Starts the server. Must be called within an async runtime.
    pub(crate) fn start(config: &ServerConfig) -> io::Result<(Self, Pipes)> {
        let program = find(config)?;
        let command = OsStr::new(&config.command);
        let arguments: Vec<&OsStr> =
            std::iter::once(command).chain(config.args.iter().map(OsStr::new)).collect();
        let (theirs, stdin) = io::pipe()?;
        let (stdout, theirs_too) = io::pipe()?;
        let (stderr, theirs_three) = io::pipe()?;
        let launch = LaunchSpec {
            program: &program,
            arguments: &arguments,
            environment: &config.environment,
            directory: &config.directory,
            stdio: [theirs.as_fd(), theirs_too.as_fd(), theirs_three.as_fd()],
        };
        let tree = config.launcher.spawn(&launch).map_err(|error| match error {
            SpawnError::Refused(errno) => io::Error::from(errno),
            SpawnError::NulByte | SpawnError::ServerLost | SpawnError::Sandbox(_) => {
                io::Error::other(error.to_string())
            }
        })?;
        let news = std::os::unix::net::UnixStream::from(tree.as_fd().try_clone_to_owned()?);
        let pipes = Pipes {
            stdin: Sender::from_owned_fd(stdin.into())?,
            stdout: Receiver::from_owned_fd(stdout.into())?,
            stderr: Receiver::from_owned_fd(stderr.into())?,
        };
        Ok((Self { tree, news: UnixStream::from_std(news)? }, pipes))
    }

    /// How the server itself ended, if it does so within `patience`.
    pub(crate) async fn exit_status_within(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let ended = async {
            while self.tree.status().is_none() {
                self.changed().await;
            }
        };
        let _in_time = tokio::time::timeout(timeout, ended).await;
        self.tree.status()
    }

    /// Ends it and everything it started. Its stdin is closed already; it gets `grace` to take the hint, and as
    /// long again after TERM.
    pub(crate) async fn shut_down(&mut self, grace: Duration) {
        if tokio::time::timeout(grace, self.gone()).await.is_err() {
            self.tree.terminate();
            let _in_time = tokio::time::timeout(grace, self.gone()).await;
        }
        self.tree.kill();
        let _in_time = tokio::time::timeout(KILLED, self.gone()).await;
    }

    /// Ends it and everything it started, soon after this call.
    pub(crate) fn kill(&self) {
        self.tree.kill();
    }

    async fn gone(&mut self) {
        while !self.tree.is_gone() {
            self.changed().await;
        }
    }

    /// Waits until there may be news of the tree. Cancel safe.
    async fn changed(&mut self) {
        if self.news.readable().await.is_err() {
            // The runtime ends, and this future with it.
            return std::future::pending().await;
        }
        let _ = self.news.try_io(Interest::READABLE, || self.tree.read_events());
    }
}

/// The program: a path as it is, from the server's directory; a name as it is found in the directories given.
fn find(config: &ServerConfig) -> io::Result<PathBuf> {
    if config.command.contains('/') {
        return Ok(config.directory.join(&config.command));
    }
    let candidates = config.programs.iter().map(|directory| directory.join(&config.command));
    let mut found = candidates.filter(|candidate| is_program(candidate));
    found.next().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such program in PATH"))
}

fn is_program(candidate: &Path) -> bool {
    candidate.is_file() && access(candidate, Access::EXEC_OK).is_ok()
}
