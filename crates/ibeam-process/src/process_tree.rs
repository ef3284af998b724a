//! A supervised process tree with asynchronous waits.

use std::io;
use std::os::fd::AsFd as _;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::Interest;
use tokio::net::UnixStream;

/// A process and all processes that it started. Dropping it kills them.
#[derive(Debug)]
pub struct ProcessTree {
    tree: ibeam_sandbox::SupervisedTree,
    /// A duplicate of the tree's socket, which the runtime polls.
    events: UnixStream,
}

impl ProcessTree {
    /// Returns the tree. Must be called within an async runtime.
    ///
    /// # Errors
    /// The system has no file descriptor left.
    pub fn new(tree: ibeam_sandbox::SupervisedTree) -> io::Result<Self> {
        let events = std::os::unix::net::UnixStream::from(tree.as_fd().try_clone_to_owned()?);
        Ok(Self { events: UnixStream::from_std(events)?, tree })
    }

    /// Returns the process id of the first process, as other processes of the launcher see it. The process group has
    /// the same id.
    pub fn pid(&self) -> i32 {
        self.tree.pid()
    }

    /// Returns the exit status of the first process, once it is known.
    pub fn status(&self) -> Option<ExitStatus> {
        self.tree.status()
    }

    /// Whether no process of the tree is left.
    pub fn is_gone(&self) -> bool {
        self.tree.is_gone()
    }

    /// Asks every process of the tree to end.
    pub fn terminate(&self) {
        self.tree.terminate();
    }

    /// Kills every process of the tree; [`Self::wait_until_gone`] waits until that is done.
    pub fn kill(&self) {
        self.tree.kill();
    }

    /// Waits for the end of the first process. Cancel safe.
    pub async fn wait_for_exit(&mut self) -> ExitStatus {
        loop {
            if let Some(status) = self.status() {
                return status;
            }
            self.wait_for_change().await;
        }
    }

    /// Waits until no process of the tree is left. Cancel safe.
    pub async fn wait_until_gone(&mut self) {
        while !self.is_gone() {
            self.wait_for_change().await;
        }
    }

    /// Waits until no process of the tree is left, for at most `timeout`; returns whether none is left. Cancel safe.
    pub async fn wait_until_gone_within(&mut self, timeout: Duration) -> bool {
        let _ = tokio::time::timeout(timeout, self.wait_until_gone()).await;
        self.is_gone()
    }

    /// Waits for the exit status of the first process, for at most `timeout`. Cancel safe.
    pub async fn wait_for_exit_within(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let _ = tokio::time::timeout(timeout, self.wait_for_exit()).await;
        self.status()
    }

    /// Waits for a change of the tree. Cancel safe.
    pub async fn wait_for_change(&mut self) {
        if self.events.readable().await.is_err() {
            // The runtime is ending, and this future with it.
            return std::future::pending().await;
        }
        let _ = self.events.try_io(Interest::READABLE, || self.tree.read_events());
    }
}

/// Returns the name of a signal, e.g. `SIGKILL`.
pub fn signal_name(number: i32) -> String {
    let named = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::SYS, "SIGSYS"),
    ];
    named
        .iter()
        .find(|(signal, _)| signal.as_raw() == number)
        .map_or_else(|| format!("signal {number}"), |(_, name)| (*name).to_owned())
}
