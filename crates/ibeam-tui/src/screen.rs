//! The inline screen: prints finished lines once and draws the live rows below them again.
//!
//! All positions are relative to the cursor, so the display does not depend on where the terminal starts it. A row is
//! never as wide as the terminal, so the terminal wraps no live row by itself. A full-screen view is drawn in the
//! alternate screen; after it, the normal screen is as before.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::palette::Palette;
use crate::styled::Line;
use crate::view::Frame;

/// The start of a synchronised update, with the cursor hidden.
const BEGIN: &str = "\u{1b}[?2026h\u{1b}[?25l";
/// The end of a synchronised update, with the cursor visible.
const END: &str = "\u{1b}[?25h\u{1b}[?2026l";
/// Clears from the start of the row to the end of the screen. In tmux, clearing the whole screen from its first cell on
/// moves the rows to the scrollback, so the first row is cleared alone, and the rest from its second cell on.
const CLEAR_BELOW: &str = "\r\u{1b}[K\u{1b}[C\u{1b}[J\r";
/// Clears from the cursor to the end of the row.
const CLEAR_ROW: &str = "\u{1b}[K";
/// Shows the alternate screen, empty.
const ENTER_FULL: &str = "\u{1b}[?1049h\u{1b}[2J";
/// Shows the normal screen again, with its cursor.
pub(crate) const LEAVE_FULL: &str = "\u{1b}[?1049l\u{1b}[?25h";

/// The properties of a terminal that the display depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalTraits {
    /// The colours of texts.
    pub palette: Palette,
    /// Whether a narrower terminal wraps the rows that it shows, as most do; otherwise it cuts them.
    pub reflows: bool,
}

/// The rows that are drawn again, and the position of the cursor in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Live {
    pub(crate) rows: Vec<Line>,
    /// The row of the cursor, from 0.
    pub(crate) cursor_row: usize,
    /// The cell of the cursor, from 0.
    pub(crate) cursor_column: usize,
}

/// The terminal as the display uses it.
pub struct Screen<W> {
    out: W,
    traits: TerminalTraits,
    width: usize,
    height: usize,
    /// The rows that the terminal shows.
    drawn: Live,
    /// Whether the terminal may show something else than `drawn`.
    is_stale: bool,
    /// The rows that the alternate screen shows.
    drawn_full: Frame,
    /// Whether the terminal shows the alternate screen.
    is_full: Arc<AtomicBool>,
}

impl<W: Write> Screen<W> {
    /// Returns a screen of `width` by `height` cells that shows no live row.
    pub fn new(out: W, traits: TerminalTraits, width: usize, height: usize) -> Self {
        let mut screen = Self {
            out,
            traits,
            width: 0,
            height: 0,
            drawn: Live::default(),
            is_stale: true,
            drawn_full: Frame::default(),
            is_full: Arc::default(),
        };
        screen.resize(width, height);
        screen
    }

    /// Returns the width in cells.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the height in rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Sets the size that the terminal has now.
    pub fn resize(&mut self, width: usize, height: usize) {
        self.width = width.max(4);
        self.height = height.max(2);
        self.is_stale = true;
    }

    /// Sets the colours of what is drawn from now on.
    pub(crate) fn set_palette(&mut self, palette: Palette) {
        self.traits.palette = palette;
    }

    /// Returns the number of live rows that fit.
    pub(crate) fn max_live_rows(&self) -> usize {
        self.height.saturating_sub(1).max(1)
    }

    /// Prints finished lines above the live rows, and draws the live rows.
    ///
    /// # Errors
    /// The inner writer failed.
    pub(crate) fn draw(&mut self, finished: &[Line], live: Live) -> io::Result<()> {
        let live = self.clipped(live);
        if finished.is_empty() && !self.is_stale && live == self.drawn {
            return Ok(());
        }
        let mut text = BEGIN.to_owned();
        self.move_to_first_row(&mut text);
        for line in finished {
            line.encode(&mut text, self.traits.palette);
            text.push_str("\r\n");
        }
        for (number, row) in live.rows.iter().enumerate() {
            text.push_str(if number > 0 { "\r\n" } else { "" });
            row.encode(&mut text, self.traits.palette);
        }
        let below = live.rows.len().saturating_sub(1).saturating_sub(live.cursor_row);
        if below > 0 {
            text.push_str(&format!("\u{1b}[{below}A"));
        }
        text.push('\r');
        if live.cursor_column > 0 {
            text.push_str(&format!("\u{1b}[{}C", live.cursor_column));
        }
        text.push_str(END);
        self.drawn = live;
        self.is_stale = false;
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Removes the live rows; the cursor is then below the finished lines.
    ///
    /// # Errors
    /// The inner writer failed.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        let mut text = String::new();
        self.move_to_first_row(&mut text);
        self.drawn = Live::default();
        self.is_stale = true;
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Returns whether the terminal shows the alternate screen.
    pub(crate) fn full_screen_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_full)
    }

    /// Removes the live rows, and shows the alternate screen.
    ///
    /// # Errors
    /// The inner writer failed.
    pub(crate) fn enter_full(&mut self) -> io::Result<()> {
        if self.is_full.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.clear()?;
        self.drawn_full = Frame::default();
        self.write_raw(ENTER_FULL)
    }

    /// Shows the normal screen again, if the alternate screen is shown.
    ///
    /// # Errors
    /// The inner writer failed.
    pub(crate) fn leave_full(&mut self) -> io::Result<()> {
        if !self.is_full.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        self.is_stale = true;
        self.write_raw(LEAVE_FULL)
    }

    /// Draws the rows of the alternate screen that have changed.
    ///
    /// # Errors
    /// The inner writer failed.
    pub(crate) fn draw_full(&mut self, mut frame: Frame) -> io::Result<()> {
        frame.rows.truncate(self.height);
        frame.rows.iter_mut().for_each(|row| *row = row.fit(self.width - 1));
        if frame == self.drawn_full && !self.is_stale {
            return Ok(());
        }
        let mut text = BEGIN.to_owned();
        if self.is_stale {
            text.push_str("\u{1b}[2J");
        }
        for (number, row) in frame.rows.iter().enumerate() {
            if self.is_stale || self.drawn_full.rows.get(number) != Some(row) {
                text.push_str(&format!("\u{1b}[{};1H", number + 1));
                row.encode(&mut text, self.traits.palette);
                text.push_str(CLEAR_ROW);
            }
        }
        match frame.cursor {
            Some((row, column)) => {
                let column = column.min(self.width - 1);
                text.push_str(&format!("\u{1b}[{};{}H{END}", row + 1, column + 1));
            }
            None => text.push_str("\u{1b}[?2026l"),
        }
        self.is_stale = false;
        self.drawn_full = frame;
        self.write_raw(&text)
    }

    /// Writes bytes unchanged, e.g. a bell.
    ///
    /// # Errors
    /// The inner writer failed.
    pub(crate) fn write_raw(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Moves the cursor to the first live row, as the terminal shows it now, and clears from there.
    fn move_to_first_row(&self, text: &mut String) {
        let rows_of = |row: &Line| match self.traits.reflows {
            true => row.width().div_ceil(self.width).max(1),
            false => 1,
        };
        let before: usize = self.drawn.rows.iter().take(self.drawn.cursor_row).map(rows_of).sum();
        let within = if self.traits.reflows { self.drawn.cursor_column / self.width } else { 0 };
        let up = (before + within).min(self.height.saturating_sub(1));
        if up > 0 {
            text.push_str(&format!("\u{1b}[{up}A"));
        }
        text.push_str(CLEAR_BELOW);
    }

    /// Returns the rows that fit, around the cursor, each narrower than the terminal.
    fn clipped(&self, live: Live) -> Live {
        let room = self.max_live_rows();
        let excess = live.rows.len().saturating_sub(room);
        // The cursor row must stay visible. Rows above it are left out first.
        let skipped = excess.min(live.cursor_row);
        let rows = live.rows.iter().skip(skipped).take(room).map(|row| row.fit(self.width - 1)).collect();
        Live {
            rows,
            cursor_row: live.cursor_row - skipped,
            cursor_column: live.cursor_column.min(self.width - 1),
        }
    }
}
