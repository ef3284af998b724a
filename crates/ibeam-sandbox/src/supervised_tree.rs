//! A command and all it started, as its client holds it.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::frame::{FRAME_LENGTH, Frame};

/// A running tree. Dropping it kills the tree, without waiting for that.
#[derive(Debug)]
pub struct SupervisedTree {
    pid: i32,
    socket: UnixStream,
    partial_frame: [u8; FRAME_LENGTH],
    partial_length: usize,
    status: Option<ExitStatus>,
    is_gone: bool,
    /// Counts the trees of a server.
    _server: Arc<()>,
}

impl SupervisedTree {
    /// The tree of the command `pid`, whose supervisor is at the other end of `socket`.
    pub(crate) fn new(pid: i32, socket: UnixStream, server: &Arc<()>) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let begun = [0; FRAME_LENGTH];
        Ok(Self {
            pid,
            socket,
            partial_frame: begun,
            partial_length: 0,
            status: None,
            is_gone: false,
            _server: server.clone(),
        })
    }

    /// The process id of the command as other commands see it; of its session and its group too. 0 if the
    /// command ended its supervisor before that could tell.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// How the command itself ended, once it has; others of its tree may live on.
    ///
    /// A command whose supervisor was killed by force was killed with it, and counts as killed.
    pub fn status(&self) -> Option<ExitStatus> {
        self.status
    }

    /// Nothing of the tree is left.
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Asks everything in the tree to end, with TERM. `kill` must follow for what does not.
    pub fn terminate(&self) {
        // A supervisor that cannot be told has ended, or has a wish like this waiting.
        let _ = (&self.socket).write(b"T");
    }

    /// Kills everything in the tree, soon after this call; `is_gone` tells when it is done.
    pub fn kill(&self) {
        // The other half stays open for the last words of the supervisor.
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Takes news of the tree, without waiting.
    ///
    /// # Errors
    /// `WouldBlock` when there is none; the descriptor is readable as soon as there is. Nothing else.
    pub fn read_events(&mut self) -> io::Result<()> {
        if self.is_gone {
            return Ok(());
        }
        let free = self.partial_frame.get_mut(self.partial_length..).unwrap_or_default();
        match self.socket.read(free) {
            Ok(count @ 1..) => self.partial_length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            // A reset is an end too: the supervisor left a wish of ours unread.
            Ok(0) | Err(_) => {
                self.is_gone = true;
                self.status.get_or_insert(ExitStatus::from_raw(rustix::process::Signal::KILL.as_raw()));
            }
        }
        if self.partial_length == FRAME_LENGTH {
            self.partial_length = 0;
            if let Some(Frame::Ended(status)) = Frame::decode(self.partial_frame) {
                self.status = Some(ExitStatus::from_raw(status));
            }
        }
        Ok(())
    }

    /// Waits until nothing of the tree is left, for at most `time`. Gives whether that is so.
    pub fn wait_until_gone(&mut self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        while !self.is_gone {
            if self.read_events().is_ok() {
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 60, tv_nsec: 0 });
            if poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&left)) == Ok(0) {
                return false;
            }
        }
        true
    }
}

impl AsFd for SupervisedTree {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
