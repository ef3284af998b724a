//! An emulated terminal with a scrollback.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use vt100::Parser;

/// A terminal that the display writes to.
#[derive(Clone)]
pub(crate) struct Terminal(Arc<Mutex<Parser>>);

impl Terminal {
    /// Returns an empty terminal, sizes in cells.
    pub(crate) fn new(width: u16, height: u16) -> Self {
        Self(Arc::new(Mutex::new(Parser::new(height, width, 1_000_000))))
    }

    /// Changes the size as xterm does: rows that no longer fit go to the scrollback, so that the cursor stays visible.
    pub(crate) fn resize(&self, width: u16, height: u16) {
        let mut parser = self.0.lock().unwrap();
        let (row, column) = parser.screen().cursor_position();
        let lost = (row + 1).saturating_sub(height);
        if lost > 0 {
            let (bottom, _) = parser.screen().size();
            parser.process(format!("\u{1b}[{bottom};1H{}", "\n".repeat(lost.into())).as_bytes());
            parser.process(format!("\u{1b}[{};{}H", row - lost + 1, column + 1).as_bytes());
        }
        parser.screen_mut().set_size(height, width);
    }

    /// Calls a function with the screen.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.0.lock().unwrap().screen())
    }

    /// Returns all rows: the scrollback, then the screen.
    pub(crate) fn rows(&self) -> Vec<String> {
        let mut parser = self.0.lock().unwrap();
        let (height, width) = parser.screen().size();
        parser.screen_mut().set_scrollback(usize::MAX);
        let hidden = parser.screen().scrollback();
        let mut rows = Vec::new();
        for offset in (1..=hidden).rev() {
            parser.screen_mut().set_scrollback(offset);
            rows.extend(parser.screen().rows(0, width).next());
        }
        parser.screen_mut().set_scrollback(0);
        rows.extend(parser.screen().rows(0, width).take(height.into()));
        rows.iter().map(|row| row.trim_end().to_owned()).collect()
    }
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().process(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
