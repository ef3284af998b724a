//! A named pipe that tells whether any process still holds its other end: proof that children are gone, not a guess.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

use crate::workspace::Workspace;

/// Longer than any program may take to begin, or to end in order.
const PATIENCE: Duration = Duration::from_secs(20);

/// The reading end of a named pipe in a workspace.
pub struct LivenessPipe {
    name: String,
    end: File,
}

impl LivenessPipe {
    /// Makes the pipe.
    pub fn new(workspace: &Workspace, name: &str) -> Self {
        Self::new_in(workspace.path(), name)
    }

    /// Makes the pipe in the directory where the command will run.
    pub fn new_in(directory: &Path, name: &str) -> Self {
        let path = directory.join(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a named pipe");
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).expect("flags of open");
        let end = OpenOptions::new().read(true).custom_flags(flags).open(path).expect("the reading end");
        Self { name: name.to_owned(), end }
    }

    /// A command that takes hold of the pipe, says so, and waits a minute; its children hold it too.
    pub fn command(&self) -> String {
        format!("exec 3>{}; echo held >&3; sleep 60", self.name)
    }

    /// Waits until a process holds the pipe.
    ///
    /// # Panics
    /// After 20 s.
    #[track_caller]
    pub fn wait_until_held(&mut self) {
        let mut word = [0; 5];
        assert!(self.ready(), "nobody took hold of the pipe");
        self.end.read_exact(&mut word).expect("the word of the holder");
        assert_eq!(&word, b"held\n");
    }

    /// Waits until no process holds it.
    ///
    /// # Panics
    /// After 20 s.
    #[track_caller]
    pub fn wait_until_gone(mut self) {
        assert!(self.ready(), "a process still holds the pipe");
        let count = self.end.read(&mut [0]).expect("the end of the pipe");
        assert_eq!(count, 0, "the holder said more");
    }

    fn ready(&self) -> bool {
        let patience = Timespec::try_from(PATIENCE).expect("a time that fits");
        poll(&mut [PollFd::new(&self.end, PollFlags::IN)], Some(&patience)).expect("a pipe to wait for") > 0
    }
}
