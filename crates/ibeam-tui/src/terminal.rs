//! The terminal: raw mode, and its events. Everything that touches the device is here.

use std::io;
use std::time::Duration;

use crossterm::event::{Event, KeyEvent, KeyEventKind};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use crate::screen::LEAVE_FULL;

/// Enables bracketed paste.
pub(crate) const PASTE_ON: &str = "\u{1b}[?2004h";
/// Disables bracketed paste, and shows the cursor.
pub(crate) const PASTE_OFF: &str = "\u{1b}[?2004l\u{1b}[?25h";

/// Rings the bell.
pub(crate) const BELL: &str = "\u{7}";
/// Keeps the title of the terminal, so that [`TITLE_OFF`] restores it.
pub(crate) const TITLE_ON: &str = "\u{1b}[22;2t";
/// Restores the title that the terminal had.
pub(crate) const TITLE_OFF: &str = "\u{1b}[23;2t";

/// Returns the bytes that set the title of the terminal.
pub(crate) fn title_bytes(title: &str) -> String {
    let title: String = title.chars().filter(|character| !character.is_control()).collect();
    format!("\u{1b}]2;{title}\u{7}")
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalEvent {
    /// A key was pressed.
    Key(KeyEvent),
    Paste(String),
    /// The size changed.
    Resize {
        /// The width in cells.
        width: usize,
        /// The height in rows.
        height: usize,
    },
}

/// The terminal in raw mode, until it is dropped.
#[derive(Debug)]
pub struct RawTerminal(());

impl RawTerminal {
    /// Switches the terminal to raw mode: keys arrive at once and without an echo.
    pub fn start() -> io::Result<Self> {
        enable_raw_mode().map(|()| Self(()))
    }

    /// Returns the bytes that show the normal screen and the cursor again, for an end that cannot wait for the display.
    pub fn leave_full_screen_bytes() -> &'static [u8] {
        LEAVE_FULL.as_bytes()
    }

    /// Restores the mode of the terminal, from any thread.
    pub fn restore() {
        // A terminal that was closed has no mode.
        let _ = disable_raw_mode();
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        Self::restore();
    }
}

/// Waits for the next event; `None` after `timeout`.
///
/// # Errors
/// The system's error, e.g. of a terminal that was closed.
pub fn next_event(timeout: Duration) -> io::Result<Option<TerminalEvent>> {
    if !crossterm::event::poll(timeout)? {
        return Ok(None);
    }
    Ok(match crossterm::event::read()? {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(TerminalEvent::Key(key)),
        Event::Paste(text) => Some(TerminalEvent::Paste(text)),
        Event::Resize(width, height) => {
            Some(TerminalEvent::Resize { width: width.into(), height: height.into() })
        }
        _ => None,
    })
}

/// Returns the width and the height of the terminal in cells; 80 by 24 where the system does not know them.
pub fn terminal_size() -> (usize, usize) {
    match crossterm::terminal::size() {
        Ok((width, height)) if width > 0 && height > 0 => (width.into(), height.into()),
        Ok(_) | Err(_) => (80, 24),
    }
}
