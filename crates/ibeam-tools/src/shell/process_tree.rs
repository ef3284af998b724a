//! A supervised process tree, waited for without blocking: of a command, and of a hook.

use std::io;
use std::os::fd::AsFd as _;
use std::process::ExitStatus;

use rustix::process::Signal;
use tokio::io::Interest;
use tokio::net::UnixStream;

/// A command and all it started. Dropping it kills them.
#[derive(Debug)]
pub struct ProcessTree {
    tree: ibeam_sandbox::SupervisedTree,
    /// The same socket once more, for the runtime to watch.
    news: UnixStream,
}

impl ProcessTree {
    /// Must be called within an async runtime.
    ///
    /// # Errors
    /// The system's, when it has no descriptor left.
    pub fn new(tree: ibeam_sandbox::SupervisedTree) -> io::Result<Self> {
        let news = std::os::unix::net::UnixStream::from(tree.as_fd().try_clone_to_owned()?);
        Ok(Self { news: UnixStream::from_std(news)?, tree })
    }

    /// The command's process id, which is its group's too, as other commands see it.
    pub fn pid(&self) -> i32 {
        self.tree.pid()
    }

    /// How the command itself ended, once that is known.
    pub fn status(&self) -> Option<ExitStatus> {
        self.tree.status()
    }

    /// Nothing of the tree is left.
    pub fn is_gone(&self) -> bool {
        self.tree.is_gone()
    }

    /// Asks every process of the tree to end.
    pub fn terminate(&self) {
        self.tree.terminate();
    }

    /// Ends every process of the tree; `gone` tells when that is done.
    pub fn kill(&self) {
        self.tree.kill();
    }

    /// Waits for the end of the command itself. Cancel safe.
    pub async fn ended(&mut self) -> ExitStatus {
        loop {
            if let Some(status) = self.status() {
                return status;
            }
            self.changed().await;
        }
    }

    /// Waits until nothing of the tree is left. Cancel safe.
    pub async fn gone(&mut self) {
        while !self.is_gone() {
            self.changed().await;
        }
    }

    /// Waits until there may be news. Cancel safe.
    pub async fn changed(&mut self) {
        if self.news.readable().await.is_err() {
            // The runtime ends, and this future with it.
            return std::future::pending().await;
        }
        let _ = self.news.try_io(Interest::READABLE, || self.tree.read_events());
    }
}

/// The name of a signal, e.g. `SIGKILL`.
pub(super) fn signal_name(number: i32) -> String {
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
