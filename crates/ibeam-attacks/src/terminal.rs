//! A terminal for the program, to see whether a command types on it.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

const SOON: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Both ends.
pub(crate) struct Terminal {
    _controller: OwnedFd,
    device: File,
    name: CString,
}

impl Terminal {
    /// A terminal that gives each byte as it is typed and shows none.
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

    /// The path of the program's end.
    pub(crate) fn path(&self) -> &str {
        self.name.to_str().unwrap_or("/dev/null")
    }

    /// Gives the program's end to the user it runs as.
    pub(crate) fn give_to(&self, user: rustix::process::Uid) -> io::Result<()> {
        Ok(rustix::fs::fchown(&self.device, Some(user), None)?)
    }

    /// Whether there is input that nobody has read; what is typed arrives a moment later.
    pub(crate) fn has_input(&self) -> bool {
        poll(&mut [PollFd::new(&self.device, PollFlags::IN)], Some(&SOON)).is_ok_and(|ready| ready > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_seen() {
        let terminal = Terminal::open().unwrap();
        assert!(!terminal.has_input());
        rustix::io::write(&terminal._controller, b"x").unwrap();
        assert!(terminal.has_input());
    }
}
