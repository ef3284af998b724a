//! A terminal for the program, to detect commands that write input to it.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

/// Maximum time until input that a command wrote to the terminal can be read.
const INPUT_DELAY: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Both ends of a pseudoterminal.
pub(crate) struct Terminal {
    _controller: OwnedFd,
    device: File,
    name: CString,
}

impl Terminal {
    /// Opens a terminal in raw mode, without echo.
    pub(crate) fn open() -> io::Result<Self> {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&controller)?;
        unlockpt(&controller)?;
        let name = ptsname(&controller, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let device = rustix::fs::open(&name, flags, Mode::empty())?;
        let mut modes = tcgetattr(&device)?;
        modes.make_raw();
        tcsetattr(&device, OptionalActions::Now, &modes)?;
        Ok(Self { _controller: controller, device: device.into(), name })
    }

    /// Returns the path of the program's end.
    pub(crate) fn path(&self) -> &str {
        self.name.to_str().unwrap_or("/dev/null")
    }

    /// Makes `user` the owner of the program's end.
    pub(crate) fn give_to(&self, user: rustix::process::Uid) -> io::Result<()> {
        Ok(rustix::fs::fchown(&self.device, Some(user), None)?)
    }

    /// Whether there is unread input. Waits a moment for it.
    pub(crate) fn has_input(&self) -> bool {
        poll(&mut [PollFd::new(&self.device, PollFlags::IN)], Some(&INPUT_DELAY)).is_ok_and(|ready| ready > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_input_is_detected() {
        let terminal = Terminal::open().unwrap();
        assert!(!terminal.has_input());
        rustix::io::write(&terminal._controller, b"x").unwrap();
        assert!(terminal.has_input());
    }
}
