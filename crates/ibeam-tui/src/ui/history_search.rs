//! The search in the history of prompts.

use std::io::Write;

use crossterm::event::{KeyCode, KeyEvent};

use super::Ui;
use ibeam_output::TuiLine;

/// A search in the history.
pub(super) struct Search {
    query: String,
    skipped: usize,
    has_match: bool,
    /// The text of the input before the search.
    draft: String,
}

impl Search {
    /// Returns the text for the status row.
    pub(super) fn line(&self) -> TuiLine<'_> {
        match self.has_match {
            true => TuiLine::Search { text: &self.query },
            false => TuiLine::SearchNoMatch { text: &self.query },
        }
    }
}

impl<W: Write> Ui<W> {
    pub(super) fn start_search(&mut self) {
        let draft = self.editor.full_text();
        self.search = Some(Search { query: String::new(), skipped: 0, has_match: true, draft });
    }

    /// Ends the search without a choice: the input is as it was before.
    pub(super) fn end_search(&mut self) {
        if let Some(search) = self.search.take() {
            self.editor.set(&search.draft);
        }
    }

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
        let is_empty = search.query.is_empty() && search.skipped == 0;
        let found = self.history.search(&search.query, search.skipped).filter(|_| !is_empty);
        match found.map(str::to_owned) {
            Some(found) => {
                search.has_match = true;
                self.editor.set(&found);
            }
            // The oldest match stays.
            None if search.skipped > 0 => search.skipped -= 1,
            None => {
                search.has_match = is_empty;
                self.editor.set(&search.draft);
            }
        }
        true
    }
}
