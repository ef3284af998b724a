//! The search in the history of prompts.

use std::io::Write;

use crossterm::event::{KeyCode, KeyEvent};

use super::Ui;

/// A search in the history.
#[derive(Default)]
pub(super) struct Search {
    pub(super) query: String,
    skipped: usize,
}

impl<W: Write> Ui<W> {
    /// Returns whether the key was one of the search.
    pub(super) fn on_search_key(&mut self, key: KeyEvent, is_control: bool) -> bool {
        let Some(search) = &mut self.search else { return false };
        match key.code {
            KeyCode::Char('r') if is_control => search.skipped += 1,
            KeyCode::Char(c) if !is_control => {
                search.query.push(c);
                search.skipped = 0;
            }
            KeyCode::Backspace => {
                search.query.pop();
                search.skipped = 0;
            }
            _ => {
                // Any other key edits what was found; Enter sends it.
                self.search = None;
                return false;
            }
        }
        match self.history.search(&search.query, search.skipped).map(str::to_owned) {
            Some(found) => self.editor.set(&found),
            None => search.skipped = search.skipped.saturating_sub(1),
        }
        true
    }
}
