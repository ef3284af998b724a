//! stdout as a private duplicate: after `take`, fd 1 is stderr, so no library and no child can spoil the stream.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use ibeam_protocol::Reason;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;

use crate::pump::CurrentStop;

/// A pipe or socket that says it takes something takes this much without waiting (POSIX's PIPE_BUF on Linux).
const PIECE: usize = 4096;
/// How often a reader that does not read is compared with the wish to stop.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Takes stdout away from everybody else. Call once, before any thread starts.
///
/// # Errors
/// The system's error when stdout is closed or there are no descriptors left.
pub(crate) fn take() -> io::Result<File> {
    let private = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(File::from(private))
}

/// Asks the run to stop when the reader goes away, also while there is nothing to write.
///
/// The thread ends with the process: a file has no reader that could go.
///
/// # Errors
/// The system's error when no thread can be had.
pub(crate) fn watch_reader(stdout: File, stop: &CurrentStop) -> io::Result<()> {
    let stop = stop.clone();
    let watch = move || loop {
        // Asked for nothing, poll tells errors and hang-ups alone.
        match poll(&mut [PollFd::new(&stdout, PollFlags::empty())], None) {
            Ok(_) => return stop.request(Reason::OutputClosed),
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    };
    thread::Builder::new().name("stdout-watch".to_owned()).spawn(watch).map(drop)
}

/// stdout at its reader's pace, until the run is to stop: then a reader that takes nothing is given up.
///
/// So a reader that is blocked for ever holds up the run, but neither its end nor the journal of it.
pub(crate) struct BackpressuredStdout {
    stdout: File,
    /// A file never waits for a reader.
    has_reader: bool,
    /// What a pipe takes without waiting when it is empty.
    capacity: usize,
    stop: CurrentStop,
    /// How long a reader may take nothing once a stop was asked for.
    patience: Duration,
}

impl BackpressuredStdout {
    /// Writes to `stdout`.
    pub(crate) fn new(stdout: File, stop: &CurrentStop, patience: Duration) -> Self {
        let kind = fstat(stdout.as_fd()).map(|stat| FileType::from_raw_mode(stat.st_mode));
        let capacity = if kind == Ok(FileType::Fifo) { capacity_of(&stdout) } else { PIECE };
        Self { stdout, has_reader: kind != Ok(FileType::RegularFile), capacity, stop: stop.clone(), patience }
    }

    /// What can be written now without waiting, once the reader takes something: whole lines, where it keeps pace.
    fn room(&self) -> usize {
        let is_empty = || rustix::io::ioctl_fionread(&self.stdout).is_ok_and(|unread| unread == 0);
        if self.capacity > PIECE && is_empty() { self.capacity } else { PIECE }
    }

    fn wait_for_reader(&self) -> io::Result<()> {
        let mut idle_since = None;
        loop {
            match poll(&mut [PollFd::new(&self.stdout, PollFlags::OUT)], Some(&LOOK)) {
                Ok(0) if self.stop.get().requested().is_some() => {
                    let since: Instant = *idle_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= self.patience {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn capacity_of(pipe: &File) -> usize {
    rustix::pipe::fcntl_getpipe_size(pipe).unwrap_or(PIECE)
}

/// Elsewhere nobody tells.
#[cfg(not(target_os = "linux"))]
fn capacity_of(_: &File) -> usize {
    PIECE
}

impl Write for BackpressuredStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.has_reader {
            return self.stdout.write(bytes);
        }
        self.wait_for_reader()?;
        self.stdout.write(bytes.get(..self.room()).unwrap_or(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}
