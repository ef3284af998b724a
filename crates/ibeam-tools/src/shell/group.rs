//! A process group that ends when nobody holds it any more.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

/// The group led by a command. Dropping it kills the group.
#[derive(Debug)]
pub(super) struct Group {
    leader: Pid,
    /// The last signal was sent: the number may soon belong to somebody else.
    over: bool,
}

impl Group {
    /// The group of `leader`, a child that is not yet waited for.
    pub(super) fn new(leader: Pid) -> Self {
        Self { leader, over: false }
    }

    /// The leader's process id, which is the group's too.
    pub(super) fn pid(&self) -> i32 {
        self.leader.as_raw_pid()
    }

    /// Asks the group to end.
    pub(super) fn terminate(&self) {
        self.send(Signal::TERM);
        // A stopped process takes TERM only when it goes on.
        self.send(Signal::CONT);
    }

    /// Ends the group.
    pub(super) fn kill(&mut self) {
        self.send(Signal::KILL);
        self.over = true;
    }

    /// Lets the group live on.
    pub(super) fn release(&mut self) {
        self.over = true;
    }

    /// Some process of the group exists.
    pub(super) fn is_alive(&self) -> bool {
        !self.over && test_kill_process_group(self.leader) != Err(Errno::SRCH)
    }

    fn send(&self, signal: Signal) {
        if !self.over && kill_process_group(self.leader, signal) == Err(Errno::SRCH) {
            // In its first moments the leader has not made its group yet.
            let _ = kill_process(self.leader, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
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
