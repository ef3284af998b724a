//! The process between the server and a command: whatever the command starts stays below it.
//!
//! A subreaper, so that a process whose parent has ended falls to it and not to the system. It ends when
//! nothing is left below it, and ends all of it when the other side of its socket is closed. It decides
//! nothing: that the tree is ended after the command is its client's wish.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, getppid, set_child_subreaper, set_parent_process_death_signal};

use crate::command::become_command;
use crate::descendants::{kill_all, reap, signal_all};
use crate::frame::Frame;
use crate::raw::{self, Fork, Shared};
use crate::request;

/// The socket, once the supervisor has settled.
const SESSION: i32 = 0;
/// Where signals are read; taken over from the server.
pub(crate) const SIGNALS: i32 = 1;
/// Between two passes over a tree that does not end.
pub(crate) const PASS: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Starts the command and stays until its tree is gone. Gives the exit code of the process.
pub(crate) fn live(server: Pid, session: OwnedFd, stdio: [OwnedFd; 3], mut request: Shared) -> i32 {
    // The command must not outlive the server either.
    let _ = set_parent_process_death_signal(Some(Signal::HUP));
    // In a new namespace the first process has number 1 and so has its parent here.
    if getppid() != Some(server) {
        return 0;
    }
    let ours = getpid();
    let _ = set_child_subreaper(Some(ours));
    let _ = rustix::thread::set_name(c"ibeam-watch");
    let forked = raw::fork(Fork::Waiting, || become_command(&mut request, &stdio, ours));
    let command = match (forked, request::error(request.bytes())) {
        (Ok(command), 0) => command,
        (Err(errno), _) => {
            Frame::Failed(errno.raw_os_error()).send(&session);
            return 0;
        }
        (Ok(_), errno) => {
            Frame::Failed(errno).send(&session);
            return 0;
        }
    };
    Frame::Started(command.as_raw_pid()).send(&session);
    if settle(&session).is_ok() {
        drop(request);
        // Both are closed already, with all others.
        std::mem::forget((session, stdio));
        watch(command);
    }
    0
}

/// Keeps the socket and the signals, and closes everything else: what is inherited would hold pipes open.
fn settle(session: &OwnedFd) -> Result<(), Errno> {
    raw::place(session.as_fd(), SESSION)?;
    raw::close_from(2);
    Ok(())
}

fn watch(command: Pid) {
    let mut killing = false;
    loop {
        let left = reap(|pid, status| {
            if pid == command {
                Frame::Ended(status.as_raw()).send(raw::placed(SESSION));
            }
        });
        if !left {
            return;
        }
        if killing && !wait_for_signal(&PASS) {
            kill_all(|_| false);
        }
        if killing {
            continue;
        }
        match next_wish() {
            Wish::Nothing => {}
            Wish::Terminate => {
                // A stopped process takes TERM only when it goes on.
                signal_all(|_| false, &[Signal::TERM, Signal::CONT]);
            }
            Wish::Kill => {
                killing = true;
                kill_all(|_| false);
            }
        }
    }
}

enum Wish {
    Nothing,
    Terminate,
    Kill,
}

/// Waits for a signal or a word of the client.
fn next_wish() -> Wish {
    let (session, signals) = (raw::placed(SESSION), raw::placed(SIGNALS));
    let mut both = [PollFd::new(&session, PollFlags::IN), PollFd::new(&signals, PollFlags::IN)];
    let _ = poll(&mut both, None);
    let [from_session, from_signals] = both.map(|descriptor| !descriptor.revents().is_empty());
    if from_signals {
        match read_signals() {
            Wish::Nothing => {}
            wish @ (Wish::Terminate | Wish::Kill) => return wish,
        }
    }
    if !from_session {
        return Wish::Nothing;
    }
    // Every byte asks for the orderly end, whatever its value; the end of the socket for the other.
    match rustix::io::read(session, &mut [0; 16]) {
        Ok(1..) => Wish::Terminate,
        Ok(0) => Wish::Kill,
        Err(Errno::INTR | Errno::AGAIN) => Wish::Nothing,
        Err(_) => Wish::Kill,
    }
}

/// Takes what signals there are.
pub(crate) fn drain_signals() {
    let _ = read_signals();
}

fn read_signals() -> Wish {
    // One `signalfd_siginfo`; its first word is the number.
    let mut info = [0; 128];
    let mut wish = Wish::Nothing;
    while let Ok(128) = rustix::io::read(raw::placed(SIGNALS), &mut info) {
        let number = info.first_chunk().map_or(0, |word| i32::from_ne_bytes(*word));
        if number == Signal::HUP.as_raw() {
            return Wish::Kill;
        }
        if number == Signal::TERM.as_raw() {
            wish = Wish::Terminate;
        }
    }
    wish
}

/// Waits for a signal and takes it. Gives whether one came in time.
pub(crate) fn wait_for_signal(time: &Timespec) -> bool {
    let signals = raw::placed(SIGNALS);
    let came = poll(&mut [PollFd::new(&signals, PollFlags::IN)], Some(time)).is_ok_and(|count| count > 0);
    drain_signals();
    came
}
