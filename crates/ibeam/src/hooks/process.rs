//! A hook as a process: one document in, bounded output, bounded time, and nothing left of it afterwards.
//!
//! It runs in a session of its own, so that it has no terminal, below a supervisor that ends everything it
//! started: when the hook itself ends, when its time is up, when its future is dropped, when this process dies.

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
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe::{Receiver, Sender};

use super::buffer::BoundedBuffer;

/// The most that a hook may say on stdout.
pub(super) const LARGEST_ANSWER: usize = 1 << 20;
/// What is kept of the end of stderr.
const KEPT_OF_STDERR: usize = 64 << 10;
/// How long the end of a tree that was killed is waited for.
const LAST: Duration = Duration::from_secs(2);

/// Starts hooks. The first one starts the process from which all are forked.
pub(super) struct Launcher {
    bash: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    launcher: ibeam_sandbox::Launcher,
}

/// How a hook ended.
#[derive(Debug)]
pub(super) enum End {
    /// By itself, or by a signal.
    Exited(ExitStatus),
    /// It was ended when its time was up.
    TimedOut,
}

/// A hook that has ended, and what it said.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) end: End,
    /// The first `LARGEST_ANSWER` bytes.
    pub(super) stdout: Vec<u8>,
    /// All bytes of stdout, also those that were not kept.
    pub(super) stdout_length: u64,
    /// The end of stderr.
    pub(super) stderr: String,
}

impl Launcher {
    /// `bash` runs them. They get `environment` as it is, but for variables that make bash read a file, and together may have so many
    /// `processes`.
    pub(super) fn new(
        bash: Option<PathBuf>,
        mut environment: Vec<(OsString, OsString)>,
        processes: u32,
    ) -> Self {
        environment.retain(|(name, _)| name != "BASH_ENV" && name != "ENV");
        Self { bash, environment, launcher: ibeam_sandbox::Launcher::new(processes) }
    }

    /// Runs `command` in `directory` with `document` as its stdin, for at most `time`. Dropping the future ends
    /// it and everything it started.
    ///
    /// # Errors
    /// Why it could not be started, in words.
    pub(super) async fn run(
        &self,
        command: &str,
        directory: &Path,
        document: &[u8],
        time: Duration,
    ) -> Result<Ended, String> {
        let (mut tree, [stdin, stdout, stderr]) = self.start(command, directory)?;
        let stdin = Sender::from_owned_fd(stdin).map_err(failed)?;
        let stdout = Receiver::from_owned_fd(stdout).map_err(failed)?;
        let stderr = Receiver::from_owned_fd(stderr).map_err(failed)?;
        let (mut answer, mut noise) =
            (BoundedBuffer::head(LARGEST_ANSWER), BoundedBuffer::tail(KEPT_OF_STDERR));
        let end = {
            let mut talk = pin!(join3(feed(stdin, document), answer.take(stdout), noise.take(stderr)));
            let mut time_up = pin!(tokio::time::sleep(time));
            let mut silent = false;
            let end = loop {
                tokio::select! {
                    status = tree.ended() => break End::Exited(status),
                    () = &mut time_up => break End::TimedOut,
                    _ = &mut talk, if !silent => silent = true,
                }
            };
            tree.kill();
            // With the tree go all who write, and what they wrote can be read to its end.
            let rest = async {
                tree.gone().await;
                if !silent {
                    talk.await;
                }
            };
            let _ = tokio::time::timeout(LAST, rest).await;
            end
        };
        let stdout_length = answer.total;
        let stderr = String::from_utf8_lossy(&noise.bytes()).into_owned();
        Ok(Ended { end, stdout: answer.bytes(), stdout_length, stderr })
    }

    fn start(&self, command: &str, directory: &Path) -> Result<(ProcessTree, [OwnedFd; 3]), String> {
        let bash = self.bash.as_ref().ok_or("`bash` is not installed, and hooks need it")?;
        let mut environment = self.environment.clone();
        environment.push(("PWD".into(), directory.into()));
        let (their_stdin, stdin) = io::pipe().map_err(failed)?;
        let (stdout, their_stdout) = io::pipe().map_err(failed)?;
        let (stderr, their_stderr) = io::pipe().map_err(failed)?;
        let launch = LaunchSpec {
            program: bash,
            arguments: &["bash", "--norc", "--noprofile", "-c", command].map(OsStr::new),
            environment: &environment,
            directory,
            stdio: [their_stdin.as_fd(), their_stdout.as_fd(), their_stderr.as_fd()],
        };
        let tree =
            self.launcher.spawn(&launch).map_err(|error| format!("it could not be started: {error}"))?;
        let tree = ProcessTree::new(tree).map_err(failed)?;
        Ok((tree, [stdin.into(), stdout.into(), stderr.into()]))
    }
}

/// Writes the document, as far as somebody reads it, and ends the stream.
async fn feed(mut stdin: Sender, document: &[u8]) {
    // A hook need not read what it is told.
    let _ = stdin.write_all(document).await;
}

fn failed(error: io::Error) -> String {
    format!("it could not be started: {error}")
}
