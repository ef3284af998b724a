//! A command and its descendants, on the client's side.

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

/// A running process tree. Dropping it kills the tree without waiting.
#[derive(Debug)]
pub struct SupervisedTree {
    pid: i32,
    socket: UnixStream,
    /// The frame that is being read, and the number of its bytes that were read.
    partial_frame: [u8; FRAME_LENGTH],
    partial_length: usize,
    status: Option<ExitStatus>,
    is_gone: bool,
    /// A clone of the server's reference count of trees.
    _server: Arc<()>,
}

impl SupervisedTree {
    /// Creates the tree of the command `pid` with the supervisor at the other end of `socket`.
    pub(crate) fn new(pid: i32, socket: UnixStream, server: &Arc<()>) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let partial_frame = [0; FRAME_LENGTH];
        Ok(Self {
            pid,
            socket,
            partial_frame,
            partial_length: 0,
            status: None,
            is_gone: false,
            _server: server.clone(),
        })
    }

    /// Returns the process id of the command as other commands see it, which is also its session id and group id.
    /// Returns 0 if the command ended its supervisor too early.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Returns the status of the command, once it has ended. Its descendants may still run.
    ///
    /// If the supervisor was killed, the command was killed with it, and the status is that of a killed process.
    pub fn status(&self) -> Option<ExitStatus> {
        self.status
    }

    /// Whether all processes of the tree have ended.
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Sends TERM to all processes of the tree. `kill` must follow for those that do not end.
    pub fn terminate(&self) {
        // If this fails, the supervisor has ended or already has such a request.
        let _ = (&self.socket).write(b"T");
    }

    /// Kills all processes of the tree. Returns before they have ended; see `is_gone`.
    pub fn kill(&self) {
        // The reading half stays open for the last messages of the supervisor.
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Reads events of the tree, without waiting.
    ///
    /// # Errors
    /// Only `WouldBlock`, when there are no events. The descriptor becomes readable when there are.
    pub fn read_events(&mut self) -> io::Result<()> {
        if self.is_gone {
            return Ok(());
        }
        let free = self.partial_frame.get_mut(self.partial_length..).unwrap_or_default();
        match self.socket.read(free) {
            Ok(count @ 1..) => self.partial_length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            // A reset also means the end: the supervisor left a request unread.
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

    /// Waits until all processes of the tree have ended, for at most `time`. Returns whether they have.
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
