//! Writes to stderr. A stderr that is closed, full or not read never changes a result.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ibeam_output::escape_invisible;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::progress_line;

/// After the reader of stderr has read nothing for this time, no write waits for it again.
const READER_TIMEOUT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
const NO_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// The number of bytes that a pipe accepts without blocking once a poll reports it writable (PIPE_BUF on Linux).
const MIN_ROOM: usize = 4096;

/// Whether the reader has timed out. Later writes are dropped unless there is room for them.
static HAS_TIMED_OUT: AtomicBool = AtomicBool::new(false);

/// Prints lines on the screen of interactive mode.
type Sink = Arc<dyn Fn(&str) + Send + Sync>;
/// Set while the terminal shows live rows, which no other text may overwrite.
static SINK: Mutex<Option<Sink>> = Mutex::new(None);

/// Sends lines to `sink` from now on, or to stderr again. A stderr that is not the terminal gets them too.
pub fn set_sink(sink: Option<Sink>) {
    *SINK.lock().unwrap_or_else(PoisonError::into_inner) = sink;
}

/// Writes `text` as a line. Invisible characters are escaped, because paths and foreign text are part of it.
pub fn write_line(text: &str) {
    let sink = SINK.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(sink) = sink {
        sink(text);
        if rustix::termios::isatty(rustix::stdio::stderr()) {
            return;
        }
    }
    write(&format!("{}\n", escape_invisible(text)));
}

/// Writes `text` unchanged.
pub fn write(text: &str) {
    let mut hidden = progress_line::hide();
    write_to_terminal(text);
    hidden.wrote(text.as_bytes());
}

/// Writes `text` unchanged, for the status line itself.
pub(crate) fn write_to_terminal(text: &str) {
    let mut stderr = io::stderr().lock();
    for piece in text.as_bytes().chunks(MIN_ROOM) {
        if !is_writable() || stderr.write_all(piece).is_err() {
            return;
        }
    }
    drop(stderr.flush());
}

/// Whether more can be written. Waits for the reader until the timeout.
fn is_writable() -> bool {
    let wait = if HAS_TIMED_OUT.load(Ordering::Relaxed) { NO_WAIT } else { READER_TIMEOUT };
    loop {
        match poll(&mut [PollFd::new(&rustix::stdio::stderr(), PollFlags::OUT)], Some(&wait)) {
            Ok(ready) => {
                HAS_TIMED_OUT.store(ready == 0, Ordering::Relaxed);
                return ready > 0;
            }
            Err(Errno::INTR) => {}
            // The write then fails with the same error, which is ignored.
            Err(_) => return true,
        }
    }
}

/// Prints a line on stderr every `seconds` with what the run waits for, for people who watch a silent run. Ends with the runtime.
pub(crate) fn start_heartbeat(seconds: Option<u64>) {
    let Some(period) = seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs) else { return };
    let start = Instant::now();
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + period, period);
        loop {
            ticks.tick().await;
            let seconds = start.elapsed().as_secs();
            write_line(&match progress_line::activity() {
                Some(activity) => format!("heartbeat: {seconds} s: {activity}"),
                None => format!("heartbeat: {seconds} s"),
            });
        }
    });
}
