//! Analysis of a task by its words, without a model.
//!
//! Finds the files that a task names, and whether it creates, changes or runs something. If the words do not decide, the model
//! does. The analysis never permits more than the words of the task.

mod language;
mod lexicon;
mod mention;

use crate::WorkspaceFiles;
pub(crate) use language::Language;
use lexicon::WordList;
use mention::Mention;

/// The result of the analysis.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Task {
    /// Existing files that the task names, in order.
    pub(crate) existing: Vec<String>,
    /// Names of files that do not exist yet, in order.
    pub(crate) missing: Vec<String>,
    /// Files to move or delete. They may not exist any more.
    pub(crate) removed: Vec<String>,
    /// Existing files that are destinations of the result.
    pub(crate) destinations: Vec<String>,
    pub(crate) create: bool,
    pub(crate) change: bool,
    /// The task runs a command before anything else.
    pub(crate) run_first: bool,
    pub(crate) run: bool,
    /// The task asks for a summary.
    pub(crate) summary: bool,
    /// The task names files or mentions the workspace.
    pub(crate) about_files: bool,
    pub(crate) language: Language,
}

impl Task {
    /// Analyses `text` with the files of `workspace`. `written` are files that steps for this task have created.
    pub(crate) fn parse(text: &str, workspace: &dyn WorkspaceFiles, written: &[String]) -> Self {
        let files: Vec<String> =
            workspace.files().into_iter().filter(|file| !written.contains(file)).collect();
        let mentions = mention::find_mentions(text, &files);
        let mut task = Self { language: Language::detect(text), ..Self::default() };
        let mut earliest = None;
        for sentence in sentences(text, &mentions) {
            task.parse_sentence(text, sentence, &mentions, &mut earliest);
        }
        task.run_first = earliest == Some(Verb::Run);
        for mention in &mentions {
            let is_exact = files.contains(&mention.name)
                || (workspace.exists(&mention.name) && !written.contains(&mention.name));
            let name = match &mention.unique_path {
                Some(unique_path) if !is_exact && !task.create => unique_path.clone(),
                Some(_) | None => mention.name.clone(),
            };
            let exists = is_exact || files.contains(&name);
            if !exists && task.removed.contains(&name) {
                continue;
            }
            if exists && task.create && is_destination(text, mention) && !task.destinations.contains(&name) {
                task.destinations.push(name.clone());
            }
            let list = if exists { &mut task.existing } else { &mut task.missing };
            if !list.contains(&name) {
                list.push(name);
            }
        }
        task.about_files = !mentions.is_empty()
            || task.create
            || task.change
            || task.run
            || words(text).any(|(_, word)| lexicon::WORKSPACE.contains(&word))
            || lexicon::WORKSPACE.iter().any(|word| !word.is_ascii() && text.contains(word));
        task
    }

    fn parse_sentence(
        &mut self,
        text: &str,
        (start, end): (usize, usize),
        mentions: &[Mention],
        earliest: &mut Option<Verb>,
    ) {
        let sentence = blank_mentions(text, (start, end), mentions);
        let found = |list: &WordList| positions(&sentence, list);
        self.summary |= !found(&lexicon::SUMMARY).is_empty();
        if !found(&lexicon::HOW_MANY).is_empty() && !found(&lexicon::COUNTABLE).is_empty() {
            earliest.get_or_insert(Verb::Run);
            self.run = true;
        }
        if is_question(&sentence) {
            return;
        }
        let mut verbs: Vec<(usize, Verb)> = Vec::new();
        verbs.extend(found(&lexicon::CREATE).into_iter().map(|(at, _)| (at, Verb::Create)));
        verbs.extend(found(&lexicon::RUN).into_iter().map(|(at, _)| (at, Verb::Run)));
        let mut moved_or_deleted = Vec::new();
        for (at, length) in found(&lexicon::MOVE_OR_DELETE) {
            if let Some(file) =
                mentions.iter().find(|mention| mention.is_object(text, (start + at, length), mentions))
            {
                verbs.push((at, Verb::Run));
                moved_or_deleted.push(at);
                self.removed.push(file.name.clone());
            }
        }
        verbs.extend(
            found(&lexicon::CHANGE)
                .into_iter()
                .filter(|(at, _)| !moved_or_deleted.contains(at))
                .map(|(at, _)| (at, Verb::Change)),
        );
        verbs.sort();
        for (_, verb) in verbs {
            earliest.get_or_insert(verb);
            match verb {
                Verb::Create => self.create = true,
                Verb::Change => self.change = true,
                Verb::Run => self.run = true,
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verb {
    Run,
    Create,
    Change,
}

/// Returns start and end of each sentence. A full stop within a file name does not end a sentence.
fn sentences(text: &str, mentions: &[Mention]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let is_before_space = letters.peek().is_none_or(|(_, next)| next.is_whitespace());
        let ends = matches!(letter, '。' | '？' | '！' | '\n' | ';' | '；')
            || (matches!(letter, '.' | '?' | '!') && is_before_space);
        if ends && !mentions.iter().any(|mention| mention.start <= at && at < mention.end) {
            found.push((start, at + letter.len_utf8()));
            start = at + letter.len_utf8();
        }
    }
    found.push((start, text.len()));
    found
}

/// Returns the sentence with blanks in place of file names, so that `resume.txt` does not ask for a summary.
fn blank_mentions(text: &str, (start, end): (usize, usize), mentions: &[Mention]) -> String {
    let is_in_name = |at: usize| mentions.iter().any(|mention| mention.start <= at && at < mention.end);
    let sentence = text.get(start..end).unwrap_or_default();
    sentence
        .char_indices()
        .flat_map(|(at, letter)| {
            let (shown, count) = if is_in_name(start + at) { (' ', letter.len_utf8()) } else { (letter, 1) };
            std::iter::repeat_n(shown, count)
        })
        .collect()
}

/// Returns the words of `text` in lower case, each with its position.
fn words(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut position = 0;
    text.split(|letter: char| !letter.is_alphanumeric()).map(move |word| {
        let at = position;
        position += word.len();
        // The separator after the word may be longer than one byte.
        position += text.get(position..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        (at, word.to_lowercase())
    })
}

/// Returns the positions and lengths, in bytes, of the words of `list`. Each position occurs once.
fn positions(sentence: &str, list: &WordList) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> =
        words(sentence).filter(|(_, word)| list.contains(word)).map(|(at, word)| (at, word.len())).collect();
    let requests = lexicon::STATE_DESCRIPTION_JA
        .iter()
        .fold(sentence.to_owned(), |text, phrase| text.replace(phrase, &" ".repeat(phrase.len())));
    for word in list.iter().filter(|word| is_japanese(word)) {
        found.extend(requests.match_indices(word).map(|(at, word)| (at, word.len())));
    }
    found.sort_unstable();
    found.dedup_by_key(|spot| spot.0);
    found
}

fn is_japanese(text: &str) -> bool {
    text.chars().any(|letter| matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'))
}

fn is_question(sentence: &str) -> bool {
    if is_japanese(sentence) {
        return !sentence.contains(lexicon::PLEASE_JA)
            && (sentence.trim_end_matches(['。', '？', ' ']).ends_with('か')
                || lexicon::QUESTION_JA.iter().any(|word| sentence.contains(word)));
    }
    words(sentence)
        .find(|(_, word)| !word.is_empty())
        .is_some_and(|(_, first)| lexicon::QUESTION.contains(&first))
}

/// Whether the words around the name mark it as the destination of the result.
fn is_destination(text: &str, mention: &Mention) -> bool {
    let before = text.get(..mention.start).unwrap_or_default();
    let after = text.get(mention.end..).unwrap_or_default().trim_start_matches(['`', '"', '\'', ' ', '」']);
    let last = words(before).filter(|(_, word)| !word.is_empty() && !lexicon::FILLERS.contains(word)).last();
    // Spanish and French `a`/`à` are both filler and destination: the last word itself counts too.
    let very_last = words(before).filter(|(_, word)| !word.is_empty()).last();
    [last, very_last].into_iter().flatten().any(|(_, word)| lexicon::DESTINATION.contains(&word))
        || lexicon::DESTINATION_JA.iter().any(|particle| after.starts_with(particle))
}

#[cfg(test)]
mod tests;
