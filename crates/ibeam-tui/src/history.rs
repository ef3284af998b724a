//! The earlier prompts: going back and forth through them, and searching them.

/// The earlier prompts of a directory, the oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    entries: Vec<String>,
    /// The entry that the editor shows; `None` for the draft.
    position: Option<usize>,
    /// The text of the editor before it showed an entry.
    draft: String,
}

impl History {
    pub(crate) fn new(entries: Vec<String>) -> Self {
        Self { entries, position: None, draft: String::new() }
    }

    /// Adds a prompt, unless it is the last one.
    pub(crate) fn add(&mut self, prompt: &str) {
        self.position = None;
        if self.entries.last().is_none_or(|last| last != prompt) {
            self.entries.push(prompt.to_owned());
        }
    }

    /// Returns the entry before the current one; `None` at the oldest. `current` is the text of the editor.
    pub(crate) fn previous(&mut self, current: &str) -> Option<String> {
        let position = self.position.unwrap_or(self.entries.len()).checked_sub(1)?;
        if self.position.is_none() {
            current.clone_into(&mut self.draft);
        }
        self.position = Some(position);
        self.entries.get(position).cloned()
    }

    /// Returns the entry after the current one, or the draft after the last; `None` at the draft.
    pub(crate) fn next(&mut self) -> Option<String> {
        let position = self.position? + 1;
        self.position = (position < self.entries.len()).then_some(position);
        Some(self.entries.get(position).cloned().unwrap_or_else(|| std::mem::take(&mut self.draft)))
    }

    /// Returns the newest entry that contains `query`, after leaving out `skipped` such entries.
    pub(crate) fn search(&self, query: &str, skipped: usize) -> Option<&str> {
        let query = query.to_lowercase();
        let mut found = self.entries.iter().rev().filter(|entry| entry.to_lowercase().contains(&query));
        found.nth(skipped).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_draft_is_kept_while_earlier_prompts_are_shown() {
        let mut history = History::new(vec!["one".to_owned(), "two".to_owned()]);
        assert_eq!(history.previous("draft").as_deref(), Some("two"));
        assert_eq!(history.previous("two").as_deref(), Some("one"));
        assert_eq!(history.previous("one"), None);
        assert_eq!(history.next().as_deref(), Some("two"));
        assert_eq!(history.next().as_deref(), Some("draft"));
        assert_eq!(history.next(), None);
    }

    #[test]
    fn the_newest_match_is_found_first() {
        let history = History::new(vec!["Fix a".to_owned(), "other".to_owned(), "fix b".to_owned()]);
        assert_eq!(history.search("fix", 0), Some("fix b"));
        assert_eq!(history.search("fix", 1), Some("Fix a"));
        assert_eq!(history.search("fix", 2), None);
    }
}
