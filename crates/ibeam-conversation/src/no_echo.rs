//! A terminal that does not show what is typed.

use std::io::{self, Write as _};

use ibeam_protocol::{Failure, Reason};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

/// The terminal without echo, until dropped.
pub struct NoEcho {
    previous: rustix::termios::Termios,
}

impl NoEcho {
    /// Switches the echo off, and discards what was typed before.
    pub fn start() -> Result<Self, Failure> {
        let failed =
            |error: rustix::io::Errno| Reason::Io { what: "tty".to_owned(), detail: error.to_string() };
        let previous = tcgetattr(io::stdin()).map_err(failed)?;
        let mut settings = previous.clone();
        settings.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &settings).map_err(failed)?;
        Ok(Self { previous })
    }
}

impl Drop for NoEcho {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.previous);
        drop(writeln!(io::stderr()));
    }
}
