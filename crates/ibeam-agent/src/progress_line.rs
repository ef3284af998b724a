//! The status line of print mode: one line on the terminal of stderr, which shows what the run waits for.
//!
//! The line is removed before anything else is written to stdout or stderr, and drawn again afterwards. Nothing is drawn
//! after an incomplete line. A run without a terminal starts no thread.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use ibeam_output::{Catalogue, Progress};
use ibeam_protocol::Event;

use crate::clock::now_ms;
use crate::environment::variable;
use crate::stderr;

/// The time between two looks at the progress, and before the first line.
const INTERVAL: Duration = Duration::from_millis(250);
/// The time between two attempts to lock the line, and their number. A terminal that is stopped must not delay the end
/// of the process.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);
const LOCK_ATTEMPTS: u32 = 40;
/// Moves to the start of the line and erases it.
const ERASE: &str = "\r\u{1b}[K";
const DEFAULT_COLUMNS: usize = 80;
/// The number of rows of a terminal that does not report it.
const DEFAULT_ROWS: usize = 24;

static CURRENT: OnceLock<ProgressLine> = OnceLock::new();
/// Whether a line may be on the terminal.
static IS_DRAWING: AtomicBool = AtomicBool::new(false);

struct ProgressLine {
    catalogue: Arc<Catalogue>,
    state: Mutex<State>,
}

struct State {
    progress: Progress,
    /// The line on the terminal; empty if there is none.
    shown: String,
    /// The number of writers that use the terminal now.
    writers: u32,
    /// Whether the last writer left an incomplete line.
    is_mid_line: bool,
    is_drawn: bool,
}

/// Follows the progress of the run of this process.
pub(crate) fn follow(catalogue: &Arc<Catalogue>) {
    CURRENT.get_or_init(|| {
        let state = State {
            progress: Progress::new(now_ms()),
            shown: String::new(),
            writers: 0,
            is_mid_line: false,
            is_drawn: false,
        };
        ProgressLine { catalogue: Arc::clone(catalogue), state: Mutex::new(state) }
    });
}

/// Follows the progress, and shows it on the terminal of stderr until the end of the run.
///
/// # Errors
/// The system's error when no thread can be started.
pub fn draw(catalogue: &Arc<Catalogue>) -> io::Result<()> {
    follow(catalogue);
    let Some(mut state) = CURRENT.get().and_then(ProgressLine::lock) else { return Ok(()) };
    state.is_drawn = true;
    IS_DRAWING.store(true, Ordering::Release);
    thread::Builder::new().name("progress".to_owned()).spawn(draw_repeatedly).map(drop)
}

/// Whether stderr is a terminal on which a line can be erased, and the user does not want output that stays.
pub fn is_drawable() -> bool {
    rustix::termios::isatty(rustix::stdio::stderr())
        && variable("TERM").is_some_and(|term| term != "dumb")
        && variable("ACCESSIBLE").is_none_or(|value| value == "0")
}

/// Follows an event.
pub(crate) fn on_event(event: &Event) {
    let Some(line) = CURRENT.get() else { return };
    if let Some(mut state) = line.lock() {
        state.progress.on_event(event);
    }
}

/// Returns what the run waits for.
pub(crate) fn activity() -> Option<String> {
    let line = CURRENT.get()?;
    line.lock()?.progress.activity(&line.catalogue)
}

/// Removes the line for the rest of the process.
pub fn stop() {
    let Some(line) = CURRENT.get() else { return };
    if let Some(mut state) = line.lock() {
        state.erase();
        state.is_drawn = false;
    }
}

/// Removes the line while something else is written. The line may return when the guard is dropped.
pub(crate) fn hide() -> Hidden {
    let state = CURRENT.get().and_then(ProgressLine::lock);
    let is_counted = state.is_some_and(|mut state| {
        state.erase();
        state.writers += 1;
        true
    });
    Hidden { is_counted, ends_mid_line: None }
}

/// Removes the line while something is written to stdout, which may be the same terminal, also through another program
/// such as `tee`; `None` where no line is drawn.
pub(crate) fn hide_for_stdout() -> Option<Hidden> {
    IS_DRAWING.load(Ordering::Acquire).then(hide)
}

/// The time during which something else is written to the terminal.
pub(crate) struct Hidden {
    is_counted: bool,
    ends_mid_line: Option<bool>,
}

impl Hidden {
    /// Records the last bytes that were written.
    pub(crate) fn wrote(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.ends_mid_line = Some(*last != b'\n');
        }
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if !self.is_counted {
            return;
        }
        let Some(line) = CURRENT.get() else { return };
        // Without the lock, the writer stays counted, and the line does not return.
        let Some(mut state) = line.lock() else { return };
        state.writers = state.writers.saturating_sub(1);
        state.is_mid_line = self.ends_mid_line.unwrap_or(state.is_mid_line);
    }
}

impl ProgressLine {
    /// Locks the state; `None` if drawing takes too long.
    fn lock(&self) -> Option<MutexGuard<'_, State>> {
        for _ in 0..LOCK_ATTEMPTS {
            match self.state.try_lock() {
                Ok(state) => return Some(state),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_RETRY_INTERVAL),
            }
        }
        None
    }
}

impl State {
    fn erase(&mut self) {
        if !self.shown.is_empty() {
            self.shown.clear();
            stderr::write_to_terminal(ERASE);
        }
    }

    fn draw(&mut self, catalogue: &Catalogue) {
        if self.writers > 0 || self.is_mid_line || !is_foreground() {
            return;
        }
        let status = self.progress.status(catalogue, now_ms()).unwrap_or_default();
        let status = fit(&status, columns().saturating_sub(1));
        if status != self.shown {
            stderr::write_to_terminal(&format!("{ERASE}{status}"));
            self.shown = status;
        }
    }
}

/// Draws the line until it is stopped.
fn draw_repeatedly() {
    loop {
        thread::sleep(INTERVAL);
        let Some(line) = CURRENT.get() else { return };
        let mut state = line.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.is_drawn {
            return;
        }
        state.draw(&line.catalogue);
    }
}

/// Whether this process may use the terminal. A process in the background would draw over the shell's prompt.
fn is_foreground() -> bool {
    rustix::termios::tcgetpgrp(rustix::stdio::stderr())
        .map_or(true, |foreground| foreground == rustix::process::getpgrp())
}

/// Returns the numbers of rows and columns of the terminal.
pub fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stderr().as_fd());
    let rows = size.ok().map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0);
    (rows.unwrap_or(DEFAULT_ROWS), columns())
}

/// Returns the number of columns of the terminal.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stderr().as_fd());
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(DEFAULT_COLUMNS)
}

/// Shortens `text` so that it fits into `columns`. Characters after the Greek, Cyrillic and Semitic scripts count as
/// wide.
pub fn fit(text: &str, columns: usize) -> String {
    let width = |c: char| if c < '\u{1100}' { 1 } else { 2 };
    if text.chars().map(width).sum::<usize>() <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(2);
    let mut fitting = String::new();
    for c in text.chars() {
        let Some(rest) = room.checked_sub(width(c)) else { break };
        room = rest;
        fitting.push(c);
    }
    fitting.push('…');
    fitting
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn a_line_fits_into_the_terminal() {
        assert_eq!(fit("waiting for the model (3 s)", 79), "waiting for the model (3 s)");
        assert_eq!(fit("waiting for the model (3 s)", 10), "waiting …");
        assert_eq!(fit("モデルを待っています", 9), "モデル…");
        assert_eq!(fit("waiting", 1), "…");
    }
}
