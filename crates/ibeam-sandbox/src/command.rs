//! The last steps of a child before it executes the command.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Signal, chdir, getppid, set_dumpable_behavior, set_parent_process_death_signal,
    setsid,
};

use crate::call_answers::CallRules;
use crate::launch_request::{self, Layout};
use crate::raw::{self, SharedRequest};

/// Executes the command of `request`. With `rules`, a process of the sandbox answers some
/// of its calls. Returns only on failure:
/// stores the error in the request and returns the exit code of the child.
pub(crate) fn become_command(
    request: &mut SharedRequest,
    stdio: &[OwnedFd; 3],
    supervisor: Pid,
    rules: Option<(&CallRules, BorrowedFd<'_>)>,
) -> i32 {
    let errno = exec_command(request, stdio, supervisor, rules);
    launch_request::set_error(request.bytes(), errno.raw_os_error());
    127
}

fn exec_command(
    request: &mut SharedRequest,
    stdio: &[OwnedFd; 3],
    supervisor: Pid,
    rules: Option<(&CallRules, BorrowedFd<'_>)>,
) -> Errno {
    let Some(layout) = Layout::parse(request.bytes()) else { return Errno::INVAL };
    if let Err(errno) = prepare_process(request, layout.directory, stdio, supervisor) {
        return errno;
    }
    if let Some((rules, listener_channel)) = rules
        && let Err(errno) = rules.restrict(listener_channel)
    {
        return errno;
    }
    raw::unblock_signals();
    request.exec(&layout)
}

fn prepare_process(
    request: &SharedRequest,
    directory: usize,
    stdio: &[OwnedFd; 3],
    supervisor: Pid,
) -> Result<(), Errno> {
    // The command gets its own session: no controlling terminal, and signals to its process group stay in it.
    setsid()?;
    // If the supervisor is killed, the command is killed with it. The server ends the rest of the tree.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(supervisor) {
        return Err(Errno::SRCH);
    }
    // If memory runs out, the system should kill the command, not ibeam. Failure is harmless. A process that hides its
    // memory does not own its files in /proc; the program to be executed sets this flag again.
    let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
    if let Ok(score) =
        openat(CWD, c"/proc/self/oom_score_adj", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
    {
        let _ = rustix::io::write(score, b"1000");
    }
    for (number, descriptor) in (0..).zip(stdio) {
        raw::dup_to(descriptor.as_fd(), number)?;
    }
    chdir(request.text(directory).ok_or(Errno::INVAL)?)
}
