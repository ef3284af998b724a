//! Moves stdout to a private duplicate: after `take`, fd 1 is stderr, so no library and no child process can write to
//! the stream of this program.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use ibeam_protocol::Reason;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;

use crate::progress_line;
use crate::pump::CurrentStop;

/// The number of bytes that a pipe or socket accepts without blocking once a poll reports it writable (PIPE_BUF on
/// Linux).
const MIN_ROOM: usize = 4096;
/// The time between two checks for a stop while the reader reads nothing.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// The time between two writes to a terminal that accepted nothing although a poll reported it writable.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Returns a private duplicate of stdout and makes fd 1 a duplicate of stderr. Call once, before any thread starts.
///
/// # Errors
/// The system's error if stdout is closed or no descriptor is left.
pub fn take() -> io::Result<File> {
    if ibeam_sandbox::was_stdout_closed() {
        return Err(Errno::BADF.into());
    }
    let private = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(File::from(private))
}

/// Returns the reason for a failed write to stdout.
pub fn write_reason(error: &io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Reason::OutputClosed,
        _ => Reason::Io { what: "stdout".to_owned(), detail: error.to_string() },
    }
}

/// Requests `stop` when the reader of stdout closes it, even while there is nothing to write.
///
/// If stdout is a regular file, which has no reader, the thread waits until the process ends.
///
/// # Errors
/// The system's error when no thread can be started.
pub(crate) fn watch_reader(stdout: File, stop: &CurrentStop) -> io::Result<()> {
    let stop = stop.clone();
    let wait_for_hang_up = move || loop {
        // With no events requested, poll reports only errors and hang-ups.
        match poll(&mut [PollFd::new(&stdout, PollFlags::empty())], None) {
            Ok(_) => return stop.request(Reason::OutputClosed),
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    };
    thread::Builder::new().name("stdout-watch".to_owned()).spawn(wait_for_hang_up).map(drop)
}

/// stdout with backpressure: a write waits for the reader. After a stop was requested, the wait has a timeout.
///
/// A reader that is blocked forever delays the run, but neither its end nor its journal.
pub struct BackpressuredStdout {
    stdout: File,
    /// False for a regular file, which is always writable.
    has_reader: bool,
    /// The number of bytes that an empty pipe accepts without blocking.
    capacity: usize,
    stop: CurrentStop,
    /// The longest time for which the reader may read nothing after a stop was requested.
    timeout: Duration,
}

impl BackpressuredStdout {
    /// Returns a writer to `stdout`.
    pub(crate) fn new(stdout: File, stop: &CurrentStop, timeout: Duration) -> Self {
        let kind = fstat(stdout.as_fd()).map(|stat| FileType::from_raw_mode(stat.st_mode));
        let capacity = if kind == Ok(FileType::Fifo) { capacity_of(&stdout) } else { MIN_ROOM };
        let is_terminal = rustix::termios::isatty(&stdout);
        let stdout = if is_terminal { reopen_nonblocking(stdout) } else { stdout };
        let has_reader = kind != Ok(FileType::RegularFile);
        Self { stdout, has_reader, capacity, stop: stop.clone(), timeout }
    }

    /// Returns how many bytes can be written without blocking: the capacity of an empty pipe, so that complete lines
    /// arrive in one piece, else [`MIN_ROOM`].
    fn writable_bytes(&self) -> usize {
        let is_empty = || rustix::io::ioctl_fionread(&self.stdout).is_ok_and(|unread| unread == 0);
        if self.capacity > MIN_ROOM && is_empty() { self.capacity } else { MIN_ROOM }
    }

    /// Waits until a write should succeed; after a stop, no longer than the timeout. `idle_since` is the first time
    /// after the stop at which the reader read nothing.
    fn wait_for_reader(&self, idle_since: &mut Option<Instant>) -> io::Result<()> {
        loop {
            match poll(&mut [PollFd::new(&self.stdout, PollFlags::OUT)], Some(&POLL_INTERVAL)) {
                Ok(0) => self.check_timeout(idle_since)?,
                Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Fails with `TimedOut` if the reader has read nothing for too long after a stop.
    fn check_timeout(&self, idle_since: &mut Option<Instant>) -> io::Result<()> {
        if self.stop.get().reason().is_none() {
            return Ok(());
        }
        let since = *idle_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.timeout { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }
}

/// Opens a terminal again in non-blocking mode, because it may accept less than a poll promises. Another file
/// description is needed: the mode applies to all processes that share one.
#[cfg(target_os = "linux")]
fn reopen_nonblocking(terminal: File) -> File {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let path = format!("/proc/self/fd/{}", terminal.as_raw_fd());
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    File::options().write(true).custom_flags(flags).open(path).unwrap_or(terminal)
}

#[cfg(not(target_os = "linux"))]
fn reopen_nonblocking(terminal: File) -> File {
    terminal
}

#[cfg(target_os = "linux")]
fn capacity_of(pipe: &File) -> usize {
    rustix::pipe::fcntl_getpipe_size(pipe).unwrap_or(MIN_ROOM)
}

/// Returns the minimum: other systems do not report the capacity.
#[cfg(not(target_os = "linux"))]
fn capacity_of(_: &File) -> usize {
    MIN_ROOM
}

impl Write for BackpressuredStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.has_reader {
            return self.stdout.write(bytes);
        }
        let mut hidden = progress_line::hide_for_stdout();
        let mut idle_since = None;
        loop {
            self.wait_for_reader(&mut idle_since)?;
            match self.stdout.write(bytes.get(..self.writable_bytes()).unwrap_or(bytes)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.check_timeout(&mut idle_since)?;
                    thread::sleep(RETRY_INTERVAL);
                }
                Ok(count) => {
                    if let Some(hidden) = &mut hidden {
                        hidden.wrote(bytes.get(..count).unwrap_or_default());
                    }
                    return Ok(count);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}
