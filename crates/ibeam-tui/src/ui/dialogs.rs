//! The dialogs of the display, and the work of the program that it shows.

use std::io::{self, Write};
use std::time::Instant;

use crossterm::event::KeyEvent;

use super::{Action, Ui};
use crate::dialog::{DialogKeyEffect, DialogOptions, DialogReply, OpenDialog};
use crate::view::is_control;

/// Work of the program that is shown above the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The name of the work.
    pub text: String,
    /// Whether Esc and Ctrl-C end the work.
    pub is_cancellable: bool,
}

/// An activity with its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownActivity {
    pub(crate) activity: Activity,
    pub(crate) since: Instant,
}

impl<W: Write> Ui<W> {
    /// Shows a dialog, and waits for its answer, which goes to the dialog.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn show_dialog(&mut self, options: DialogOptions, now: Instant) -> io::Result<()> {
        self.close_pager()?;
        self.completion = None;
        self.end_search();
        self.dialog = Some(OpenDialog::new(options, now));
        self.draw(now)
    }

    /// Shows what the program does, or that it does nothing. The seconds count from the first of several texts on.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn set_activity(&mut self, activity: Option<Activity>, now: Instant) -> io::Result<()> {
        let since = self.activity.as_ref().map_or(now, |shown| shown.since);
        self.activity = activity.map(|activity| ShownActivity { activity, since });
        self.draw(now)
    }

    /// Replaces the text of an activity. Without one, nothing is shown: the work may have ended meanwhile.
    ///
    /// # Errors
    /// The inner writer failed.
    pub fn update_activity(&mut self, text: String, now: Instant) -> io::Result<()> {
        if let Some(shown) = &mut self.activity {
            shown.activity.text = text;
        }
        self.draw(now)
    }

    /// Whether the program does something that a key ends.
    pub(super) fn has_cancellable_activity(&self) -> bool {
        self.activity.as_ref().is_some_and(|shown| shown.activity.is_cancellable)
    }

    /// Handles a key while a dialog is open.
    pub(super) fn on_dialog_key(&mut self, key: KeyEvent, now: Instant) -> Option<Action> {
        if is_control(key, 'z') {
            return Some(Action::Suspend);
        }
        match self.dialog.as_mut().map(|dialog| dialog.on_key(key, now)) {
            Some(DialogKeyEffect::Answers(reply)) => self.close_dialog(reply),
            Some(DialogKeyEffect::IsText { held }) => {
                self.editor.insert(&String::from_iter(held));
                if self.close_dialog_that_gives_way() {
                    return self.on_key(key, now);
                }
                self.edit(key.code, key.modifiers);
            }
            Some(DialogKeyEffect::StaysOpen) | None => {}
        }
        None
    }

    /// Answers with the character that was typed, once it is certain that it is not text.
    pub(super) fn settle_dialog(&mut self, now: Instant) {
        if let Some(reply) = self.dialog.as_mut().and_then(|dialog| dialog.settled(now)) {
            self.close_dialog(reply);
        }
    }

    /// Closes a dialog that text closes. Returns whether there was one.
    pub(super) fn close_dialog_that_gives_way(&mut self) -> bool {
        let gives_way = self.dialog.as_ref().is_some_and(|dialog| dialog.gives_way);
        if gives_way {
            self.close_dialog(DialogReply::Back);
        }
        gives_way
    }

    fn close_dialog(&mut self, reply: DialogReply) {
        if let Some(dialog) = self.dialog.take() {
            (dialog.reply)(reply);
        }
    }
}
