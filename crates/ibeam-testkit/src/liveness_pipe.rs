//! A named pipe that detects whether a process still has its other end open, which proves that children have ended.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

use crate::workspace::Workspace;

/// The maximum wait. Longer than any program needs to start, or to end in an orderly way.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The reading end of a named pipe in a workspace.
pub struct LivenessPipe {
    name: String,
    pipe: File,
}

impl LivenessPipe {
    /// Creates the pipe in the workspace.
    pub fn new(workspace: &Workspace, name: &str) -> Self {
        Self::new_in(workspace.path(), name)
    }

    /// Creates the pipe in the directory where the command will run.
    pub fn new_in(directory: &Path, name: &str) -> Self {
        let path = directory.join(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a named pipe");
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).expect("flags of open");
        let pipe = OpenOptions::new().read(true).custom_flags(flags).open(path).expect("the reading end");
        Self { name: name.to_owned(), pipe }
    }

    /// Returns a command that opens the pipe, writes a line to it, and waits a minute. Its children inherit the pipe.
    pub fn command(&self) -> String {
        format!("exec 3>{}; echo held >&3; sleep 60", self.name)
    }

    /// Waits until a process holds the pipe.
    ///
    /// # Panics
    /// After 20 s.
    #[track_caller]
    pub fn wait_until_held(&mut self) {
        let mut message = [0; 5];
        assert!(self.is_readable(), "no process opened the pipe");
        self.pipe.read_exact(&mut message).expect("the line of the holder");
        assert_eq!(&message, b"held\n");
    }

    /// Waits until no process holds the pipe.
    ///
    /// # Panics
    /// After 20 s.
    #[track_caller]
    pub fn wait_until_gone(mut self) {
        assert!(self.is_readable(), "a process still holds the pipe");
        let count = self.pipe.read(&mut [0]).expect("the end of the pipe");
        assert_eq!(count, 0, "the holder wrote more");
    }

    fn is_readable(&self) -> bool {
        let timeout = Timespec::try_from(TIMEOUT).expect("a time that fits");
        poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], Some(&timeout)).expect("a pipe to wait for") > 0
    }
}
