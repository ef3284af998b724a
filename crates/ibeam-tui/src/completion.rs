//! Completion of `@` paths and `/` commands before the cursor.

/// A text that can complete the word before the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The word with its `@` or `/`.
    pub word: String,
    /// The description; may be empty.
    pub description: String,
}

/// The candidates for a word, one of them selected.
#[derive(Clone, Debug)]
pub(crate) struct Completion {
    /// The byte at which the word starts.
    pub(crate) start: usize,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) selected: usize,
}

impl Completion {
    /// Returns the completion of the word at the end of `before`, which is all text before the cursor; `None` without
    /// candidates. `list_files` returns the paths that start with a text.
    pub(crate) fn find(
        before: &str,
        commands: &[Candidate],
        list_files: &dyn Fn(&str) -> Vec<String>,
    ) -> Option<Self> {
        let start = before.rfind(char::is_whitespace).map_or(0, |at| {
            at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
        });
        let word = before.get(start..)?;
        let is_command = before.starts_with('/') && !word.starts_with('@');
        let (start, word) = if is_command { (0, before) } else { (start, word) };
        let candidates: Vec<Candidate> = if is_command {
            // The words that may follow a command are offered only after the space.
            let has_space = word.contains(' ');
            let fits = |command: &&Candidate| {
                command.word.starts_with(word) && command.word.contains(' ') == has_space
            };
            commands.iter().filter(fits).cloned().collect()
        } else {
            let paths = list_files(word.strip_prefix('@')?);
            let candidate = |path| Candidate { word: format!("@{path}"), description: String::new() };
            paths.into_iter().map(candidate).collect()
        };
        let is_complete = candidates.first().is_some_and(|first| first.word == word) && candidates.len() == 1;
        let selected = candidates.iter().position(|candidate| candidate.word == word).unwrap_or_default();
        (!candidates.is_empty() && !is_complete).then_some(Self { start, candidates, selected })
    }

    /// Selects the next or the previous candidate.
    pub(crate) fn advance(&mut self, forward: bool) {
        let count = self.candidates.len();
        let step = if forward { 1 } else { count.saturating_sub(1) };
        self.selected = (self.selected + step).checked_rem(count).unwrap_or_default();
    }

    /// Returns the selected word. A space follows it, unless it is a directory.
    pub(crate) fn chosen(&self) -> Option<String> {
        let word = &self.candidates.get(self.selected)?.word;
        Some(if word.ends_with('/') { word.clone() } else { format!("{word} ") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(before: &str) -> Option<Completion> {
        let commands = ["/help", "/history", "/model", "/mode", "/mode agent", "/mode plan"];
        let commands = commands.map(|word| Candidate { word: word.to_owned(), description: String::new() });
        let files = |prefix: &str| vec![format!("{prefix}in.rs")];
        Completion::find(before, &commands, &files)
    }

    fn words(before: &str) -> Vec<String> {
        find(before)
            .map(|found| found.candidates.into_iter().map(|candidate| candidate.word).collect())
            .unwrap_or_default()
    }

    #[test]
    fn commands_are_completed_at_the_start_and_files_anywhere() {
        assert_eq!(words("/h"), ["/help", "/history"]);
        assert_eq!(words("/help"), Vec::<String>::new());
        assert_eq!(words("/mo"), ["/model", "/mode"]);
        assert_eq!(find("/mode").and_then(|found| found.chosen()).as_deref(), Some("/mode "));
        assert_eq!(words("/mode "), ["/mode agent", "/mode plan"]);
        assert_eq!(words("/mode p"), ["/mode plan"]);
        assert_eq!(words("/mode plan"), Vec::<String>::new());
        assert_eq!(words("/review @src/ma"), ["@src/main.rs"]);
        assert_eq!(words("see @src/ma"), ["@src/main.rs"]);
        assert_eq!(words("a /h"), Vec::<String>::new());
        assert_eq!(words("mail a@b"), Vec::<String>::new());
    }
}
