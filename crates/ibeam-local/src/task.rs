//! What a task asks for, read from its words without a model.
//!
//! It finds the files that a task names and whether it wants something created, changed or run. Where the words do
//! not tell, it says so and leaves the choice to the model; it never permits more than the task's own words.

mod language;
mod lexicon;
mod mention;

use crate::workspace::WorkspaceFiles;
pub(crate) use language::Language;
use lexicon::Words;
use mention::Mention;

/// A task, understood as far as its words go.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Task {
    /// Existing files that it names, in its order.
    pub(crate) existing: Vec<String>,
    /// Names of files that do not exist yet, in its order.
    pub(crate) missing: Vec<String>,
    /// Files that are to be moved or deleted; they may be gone already.
    pub(crate) removed: Vec<String>,
    /// Of the existing ones, those that the result is to go to.
    pub(crate) destinations: Vec<String>,
    /// Something is to be created.
    pub(crate) create: bool,
    /// Something is to be changed.
    pub(crate) change: bool,
    /// A command is wanted, and before anything else.
    pub(crate) run_first: bool,
    /// A command is wanted.
    pub(crate) run: bool,
    /// One's own words are wanted.
    pub(crate) summary: bool,
    /// It is about the workspace: it names files or speaks of them.
    pub(crate) about_files: bool,
    /// What it is written in.
    pub(crate) language: Language,
}

impl Task {
    /// Reads `text` against the files of `workspace`; `made` are files that exist only because of this task.
    pub(crate) fn read(text: &str, workspace: &dyn WorkspaceFiles, made: &[String]) -> Self {
        let files: Vec<String> = workspace.files().into_iter().filter(|file| !made.contains(file)).collect();
        let mentions = mention::find(text, &files);
        let mut task = Self { language: Language::of(text), ..Self::default() };
        let mut earliest = None;
        for sentence in sentences(text, &mentions) {
            task.read_sentence(text, sentence, &mentions, &mut earliest);
        }
        task.run_first = earliest == Some(Verb::Run);
        for mention in &mentions {
            let exact = files.contains(&mention.name)
                || (workspace.exists(&mention.name) && !made.contains(&mention.name));
            let name = match &mention.elsewhere {
                Some(elsewhere) if !exact && !task.create => elsewhere.clone(),
                Some(_) | None => mention.name.clone(),
            };
            let exists = exact || files.contains(&name);
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
            || words(text).any(|(_, word)| lexicon::WORKSPACE.has(&word))
            || lexicon::WORKSPACE.iter().any(|word| !word.is_ascii() && text.contains(word));
        task
    }

    fn read_sentence(
        &mut self,
        text: &str,
        (start, end): (usize, usize),
        mentions: &[Mention],
        earliest: &mut Option<Verb>,
    ) {
        let sentence = blank_mentions(text, (start, end), mentions);
        let found = |list: &Words| positions(&sentence, list);
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
        let mut relocated = Vec::new();
        for (at, length) in found(&lexicon::RELOCATE) {
            if let Some(file) =
                mentions.iter().find(|mention| mention.is_object(text, (start + at, length), mentions))
            {
                verbs.push((at, Verb::Run));
                relocated.push(at);
                self.removed.push(file.name.clone());
            }
        }
        verbs.extend(
            found(&lexicon::CHANGE)
                .into_iter()
                .filter(|(at, _)| !relocated.contains(at))
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

/// Start and end of each sentence; a full stop inside a file name ends none.
fn sentences(text: &str, mentions: &[Mention]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let spaced = letters.peek().is_none_or(|(_, next)| next.is_whitespace());
        let ends = matches!(letter, '。' | '？' | '！' | '\n' | ';' | '；')
            || (matches!(letter, '.' | '?' | '!') && spaced);
        if ends && !mentions.iter().any(|mention| mention.start <= at && at < mention.end) {
            found.push((start, at + letter.len_utf8()));
            start = at + letter.len_utf8();
        }
    }
    found.push((start, text.len()));
    found
}

/// The sentence with file names blanked out: `resume.txt` asks for no summary.
fn blank_mentions(text: &str, (start, end): (usize, usize), mentions: &[Mention]) -> String {
    let inside = |at: usize| mentions.iter().any(|mention| mention.start <= at && at < mention.end);
    let sentence = text.get(start..end).unwrap_or_default();
    sentence
        .char_indices()
        .flat_map(|(at, letter)| {
            let (shown, count) = if inside(start + at) { (' ', letter.len_utf8()) } else { (letter, 1) };
            std::iter::repeat_n(shown, count)
        })
        .collect()
}

/// The words of `text` in lower case, each with its position.
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

/// Where the words of `list` stand, as position and length in bytes, each position once.
fn positions(sentence: &str, list: &Words) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> =
        words(sentence).filter(|(_, word)| list.has(word)).map(|(at, word)| (at, word.len())).collect();
    let shown = lexicon::NO_ORDER_JA
        .iter()
        .fold(sentence.to_owned(), |text, turn| text.replace(turn, &" ".repeat(turn.len())));
    for word in list.iter().filter(|word| is_japanese(word)) {
        found.extend(shown.match_indices(word).map(|(at, word)| (at, word.len())));
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
    words(sentence).find(|(_, word)| !word.is_empty()).is_some_and(|(_, first)| lexicon::QUESTION.has(&first))
}

/// Whether the words around the name say that the result goes there.
fn is_destination(text: &str, mention: &Mention) -> bool {
    let before = text.get(..mention.start).unwrap_or_default();
    let after = text.get(mention.end..).unwrap_or_default().trim_start_matches(['`', '"', '\'', ' ', '」']);
    let last = words(before).filter(|(_, word)| !word.is_empty() && !lexicon::FILLERS.has(word)).last();
    // Spanish and French `a`/`à` are both filler and destination: the last word itself counts too.
    let very_last = words(before).filter(|(_, word)| !word.is_empty()).last();
    [last, very_last].into_iter().flatten().any(|(_, word)| lexicon::DESTINATION.has(&word))
        || lexicon::DESTINATION_JA.iter().any(|particle| after.starts_with(particle))
}

#[cfg(test)]
mod tests;
