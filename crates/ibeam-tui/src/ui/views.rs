//! The full-screen views of the display. While one is open, finished lines wait for its end.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crossterm::event::KeyEvent;

use super::{Action, Ui};
use crate::pager::{Pager, PagerStart};
use crate::picker::{Picker, PickerOptions};
use crate::styled::Line;
use crate::view::{Size, View, ViewEnd, is_control};

impl<W: Write> Ui<W> {
    /// Opens the picker of a session.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn show_picker(&mut self, options: PickerOptions, now: Instant) -> io::Result<()> {
        self.open_view(View::Picker(Picker::new(options)), now)
    }

    /// Opens a view of lines.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn show_pager(
        &mut self,
        title: String,
        lines: Vec<Line>,
        start: PagerStart,
        now: Instant,
    ) -> io::Result<()> {
        self.open_view(View::Pager(Pager::new(title, lines, start)), now)
    }

    /// Whether a view loads its content with the next draws, which should follow soon.
    pub fn is_loading_view(&self) -> bool {
        self.view.as_ref().is_some_and(View::is_loading)
    }

    /// Returns the width of the screen in cells.
    pub fn width(&self) -> usize {
        self.screen.width()
    }

    /// Returns whether the alternate screen is shown, for an end of the process that cannot wait for the display.
    pub fn full_screen_flag(&self) -> Arc<AtomicBool> {
        self.screen.full_screen_flag()
    }

    fn open_view(&mut self, view: View, now: Instant) -> io::Result<()> {
        self.view = Some(view);
        self.completion = None;
        if !self.is_stopped {
            self.screen.enter_full()?;
        }
        self.draw(now)
    }

    /// Closes a view of lines, so that a question is seen.
    pub(super) fn close_pager(&mut self) -> io::Result<()> {
        match &self.view {
            Some(View::Pager(_)) => self.close_view(),
            Some(View::Picker(_)) | None => Ok(()),
        }
    }

    fn close_view(&mut self) -> io::Result<()> {
        self.view = None;
        self.screen.leave_full()
    }

    /// Handles a key of the open view.
    pub(super) fn on_view_key(&mut self, key: KeyEvent) -> io::Result<Option<Action>> {
        if is_control(key, 'z') {
            return Ok(Some(Action::Suspend));
        }
        match self.view.as_mut().map(|view| view.on_key(key)) {
            Some(ViewEnd::Closes) => self.close_view().map(|()| None),
            Some(ViewEnd::StaysOpen) | None => Ok(None),
        }
    }

    /// Draws the open view; returns whether there is one.
    pub(super) fn draw_view(&mut self) -> io::Result<bool> {
        let size = Size { width: self.screen.width(), height: self.screen.height() };
        let Some(view) = &mut self.view else { return Ok(false) };
        let frame = view.compose(&self.catalogue, size);
        self.screen.draw_full(frame).map(|()| true)
    }
}
