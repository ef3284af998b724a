//! The supervisor, a process between the server and a command. Everything that the command starts stays below it.
//!
//! The supervisor is a subreaper, so that orphans become its children. It ends when it has no descendants left, and
//! kills all of them when the other side of its socket is closed. It makes no decisions: the client decides when the
//! tree is ended.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, getppid, set_child_subreaper, set_parent_process_death_signal};

use crate::call_answers::{self, CallRules};
use crate::command::become_command;
use crate::connections;
use crate::descendants::{kill_descendants, reap, signal_descendants};
use crate::frame::Frame;
use crate::launch_request;
use crate::raw::{self, ForkMode, SharedRequest};

/// The descriptor of the socket to the client, after setup.
const SESSION_FD: i32 = 0;
/// The descriptor from which signals are read; inherited from the server.
pub(crate) const SIGNAL_FD: i32 = 1;
/// The descriptor on which calls of the command are announced, until a child answers them.
const LISTENER_FD: i32 = 2;
/// Pause between two passes over a tree that does not end.
pub(crate) const PASS_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Number of passes in which a tree that got TERM may end by itself.
const GRACE_PASSES: u32 = 25;

/// The way in which a tree is ended that the client wants to kill, or whose client has died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeEnd {
    Kill,
    /// TERM, and half a second later KILL.
    TermFirst,
}

impl TreeEnd {
    /// Returns the number of passes before the tree is killed.
    pub(crate) fn grace_passes(self) -> u32 {
        match self {
            Self::Kill => 0,
            Self::TermFirst => GRACE_PASSES,
        }
    }
}

/// Starts the command and waits until its tree has ended. Returns the exit code of the process.
///
/// With `rules`, has the calls of the command answered.
pub(crate) fn run(
    server: Pid,
    session: OwnedFd,
    stdio: [OwnedFd; 3],
    mut request: SharedRequest,
    rules: Option<&CallRules>,
    end: TreeEnd,
) -> i32 {
    // The command must not outlive the server.
    let _ = set_parent_process_death_signal(Some(Signal::HUP));
    // `server` is the pid of the server in its own pid namespace. Another parent means that the server has ended.
    if getppid() != Some(server) {
        return 0;
    }
    let own_pid = getpid();
    let _ = set_child_subreaper(Some(own_pid));
    let _ = rustix::thread::set_name(c"ibeam-watch");
    let channel = match rules.map(|_| connections::listener_channel()).transpose() {
        Ok(channel) => channel,
        Err(errno) => {
            Frame::SpawnFailed(errno.raw_os_error()).send(&session);
            return 0;
        }
    };
    let forked = raw::fork(ForkMode::Vfork, || {
        let rules = rules.zip(channel.as_ref().map(|(_, sender)| sender.as_fd()));
        become_command(&mut request, &stdio, own_pid, rules)
    });
    let command = match (forked, launch_request::read_error(request.bytes())) {
        (Ok(command), 0) => command,
        (Err(errno), _) => {
            Frame::SpawnFailed(errno.raw_os_error()).send(&session);
            return 0;
        }
        (Ok(_), errno) => {
            Frame::SpawnFailed(errno).send(&session);
            return 0;
        }
    };
    let listener = channel.as_ref().and_then(|(receiver, _)| connections::receive_listener(receiver.as_fd()));
    Frame::Started(command.as_raw_pid()).send(&session);
    if keep_descriptors(&session, listener.as_ref()).is_ok() {
        drop(request);
        let rules = rules.filter(|_| listener.is_some());
        // `keep_descriptors` has closed all of these.
        std::mem::forget((session, stdio, channel, listener));
        supervise(command, rules, end);
    }
    0
}

/// Keeps the socket, the signals and the listener, and closes everything else, because inherited descriptors would keep
/// pipes open.
fn keep_descriptors(session: &OwnedFd, listener: Option<&OwnedFd>) -> Result<(), Errno> {
    raw::dup_to(session.as_fd(), SESSION_FD)?;
    if let Some(listener) = listener {
        raw::dup_to(listener.as_fd(), LISTENER_FD)?;
        raw::close_from(3);
    } else {
        raw::close_from(2);
    }
    Ok(())
}

/// Waits for the end of the tree. `rules` are set if calls are announced.
fn supervise(command: Pid, mut rules: Option<&CallRules>, end: TreeEnd) {
    let mut killing = false;
    let mut grace_passes = 0;
    loop {
        let left = reap(|pid, status| {
            if pid == command {
                Frame::Ended(status.as_raw()).send(raw::fixed_fd(SESSION_FD));
            }
        });
        if !left {
            return;
        }
        if killing {
            let has_signal = wait_for_signal(&PASS_INTERVAL);
            match grace_passes {
                0 if !has_signal => kill_descendants(|_| false),
                0 => {}
                _ => grace_passes -= 1,
            }
            continue;
        }
        match wait_for_request(&mut rules) {
            StopRequest::None => {}
            StopRequest::Terminate => {
                // A stopped process handles TERM only after CONT.
                signal_descendants(|_| false, &[Signal::TERM, Signal::CONT]);
            }
            StopRequest::Kill => {
                killing = true;
                grace_passes = end.grace_passes();
                match end {
                    TreeEnd::Kill => kill_descendants(|_| false),
                    TreeEnd::TermFirst => {
                        signal_descendants(|_| false, &[Signal::TERM, Signal::CONT]);
                    }
                }
            }
        }
    }
}

/// A request of the client to end the tree.
enum StopRequest {
    None,
    Terminate,
    Kill,
}

/// Waits for a signal, a request of the client, or a call of the command that has to be answered.
fn wait_for_request(rules: &mut Option<&CallRules>) -> StopRequest {
    let (session, signals) = (raw::fixed_fd(SESSION_FD), raw::fixed_fd(SIGNAL_FD));
    let listener = if rules.is_some() { raw::fixed_fd(LISTENER_FD) } else { signals };
    let mut all =
        [session, signals, listener].map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
    let _ = poll(&mut all, None);
    let [from_session, from_signals, from_listener] = all.map(|descriptor| descriptor.revents());
    if let Some(given) = *rules {
        if from_listener.contains(PollFlags::IN) {
            start_answering(listener, given, rules);
        } else if !from_listener.is_empty() {
            // All processes that could make such a call have ended.
            *rules = None;
        }
    }
    let [from_session, from_signals] = [from_session, from_signals].map(|events| !events.is_empty());
    if from_signals {
        match read_signals() {
            StopRequest::None => {}
            request @ (StopRequest::Terminate | StopRequest::Kill) => return request,
        }
    }
    if !from_session {
        return StopRequest::None;
    }
    // Any byte requests termination; the end of the socket requests a kill.
    match rustix::io::read(session, &mut [0; 16]) {
        Ok(1..) => StopRequest::Terminate,
        Ok(0) => StopRequest::Kill,
        Err(Errno::INTR | Errno::AGAIN) => StopRequest::None,
        Err(_) => StopRequest::Kill,
    }
}

/// Answers the first call. Starts the child that answers this one and the others, if it may take longer; there may be
/// too many processes at the moment.
fn start_answering(listener: BorrowedFd<'_>, given: &CallRules, rules: &mut Option<&CallRules>) {
    let Ok(call) = raw::receive_notification(listener) else { return };
    if call_answers::opens_device(&call) {
        // Every shell opens its terminal, so most commands need no such child.
        return raw::allow(listener, &call);
    }
    let own_pid = getpid();
    match raw::fork(ForkMode::Plain, || given.answer_all(own_pid, listener, &call)) {
        Ok(_) => {
            *rules = None;
            // The listener is closed here, so that the calls fail if the child is killed.
            let signals = raw::fixed_fd(SIGNAL_FD);
            let _ = raw::dup_to(signals, LISTENER_FD);
        }
        Err(errno) => raw::answer(listener, &call, Err(errno)),
    }
}

/// Reads all pending signals.
pub(crate) fn drain_signals() {
    let _ = read_signals();
}

fn read_signals() -> StopRequest {
    // One `signalfd_siginfo`, which begins with the signal number.
    let mut info = [0; 128];
    let mut request = StopRequest::None;
    while let Ok(128) = rustix::io::read(raw::fixed_fd(SIGNAL_FD), &mut info) {
        let number = info.first_chunk().map_or(0, |word| i32::from_ne_bytes(*word));
        if number == Signal::HUP.as_raw() {
            return StopRequest::Kill;
        }
        if number == Signal::TERM.as_raw() {
            request = StopRequest::Terminate;
        }
    }
    request
}

/// Waits for a signal and reads it. Returns whether one arrived in time.
pub(crate) fn wait_for_signal(time: &Timespec) -> bool {
    let signals = raw::fixed_fd(SIGNAL_FD);
    let arrived = poll(&mut [PollFd::new(&signals, PollFlags::IN)], Some(time)).is_ok_and(|count| count > 0);
    drain_signals();
    arrived
}
