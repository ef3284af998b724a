//! Ordinary arguments: the type of the tables that list, for each program, the options that only do what the program is
//! for.
//!
//! An option is ordinary if, according to the program's manual, it neither runs a program, nor writes a file that is
//! not an operand, nor opens a connection. Options that are not listed are not ordinary, so new options are refused.
//! Long options must match exactly; an abbreviation is a different word.

use ibeam_protocol::{Sentence, sentence};

use super::wrapper::Call;

/// The operands that a program accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operands {
    /// Files and texts. Rules and protected paths are checked separately.
    Any,
    /// At most this many.
    AtMost(usize),
    /// One of these words first, then any words.
    First(&'static [&'static str]),
    /// One of these words first, then words that are neither addresses nor assignments.
    FirstPlain(&'static [&'static str]),
    /// Words without `=`: an assignment sets a variable of the program.
    NoAssignments,
    /// Words without `:`, which would name another machine.
    NoMachines,
    /// Words that begin with `+`.
    Formats,
    /// Words of letters, digits and dashes: names of pages, not of files.
    Names,
    /// Words that do not begin with `+` or `@`, which are pager commands or files with more options.
    Files,
    /// Web addresses.
    Addresses,
    /// Options of `ps` without a dash, but not `e`, which prints the environment of processes.
    ProcessOptions,
}

/// The ordinary arguments of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramOptions {
    pub(crate) names: &'static [&'static str],
    /// Letters of options without a value.
    pub(crate) flags: &'static str,
    /// Letters of options whose value is the rest of the word or the next word.
    pub(crate) valued: &'static str,
    /// Long options without their dashes: `name`, `name=` with a value in this word or the next, `name==` with two
    /// values in the next words, `name?` with a value only in this word. An entry with a leading `-` is a whole word
    /// that the program writes with one dash.
    pub(crate) long: &'static str,
    pub(crate) operands: Operands,
    /// Whether no option of the program is harmful, so that a file name that looks like an option does not matter.
    pub(crate) any_file_name: bool,
    /// Whether the program runs code of its working directory, such as tests and build scripts.
    pub(crate) runs_code: bool,
    /// Whether the value of the option `-m` or `--message` may be any text.
    pub(crate) takes_message: bool,
}

/// Creates an entry for programs that accept any operands.
pub(crate) const fn program(
    names: &'static [&'static str],
    flags: &'static str,
    valued: &'static str,
    long: &'static str,
) -> ProgramOptions {
    ProgramOptions {
        names,
        flags,
        valued,
        long,
        operands: Operands::Any,
        any_file_name: false,
        runs_code: false,
        takes_message: false,
    }
}

impl ProgramOptions {
    /// Sets the operands that the program accepts.
    pub(crate) const fn with_operands(mut self, operands: Operands) -> Self {
        self.operands = operands;
        self
    }

    /// Marks a program without harmful options.
    pub(crate) const fn harmless(mut self) -> Self {
        self.any_file_name = true;
        self
    }

    /// Marks a program with a message of any text.
    pub(crate) const fn with_message(mut self) -> Self {
        self.takes_message = true;
        self
    }

    /// Marks a program that runs code of its working directory.
    pub(crate) const fn running_code(mut self) -> Self {
        self.runs_code = true;
        self
    }

    /// Returns why the arguments are not ordinary, as the end of a sentence "it …".
    pub(crate) fn objection(&self, call: &Call) -> Option<Sentence> {
        let words: Vec<(&str, bool)> =
            call.args.iter().map(|arg| (arg.text.as_str(), arg.has_glob)).collect();
        self.objection_to(&words)
    }

    /// Like [`Self::objection`], for words that may be patterns.
    pub(crate) fn objection_to(&self, words: &[(&str, bool)]) -> Option<Sentence> {
        let mut operands = Vec::new();
        let (mut values, mut is_message) = (0, false);
        let mut only_operands = false;
        for (text, is_glob) in words.iter().copied() {
            // A pattern may expand to several words, and one of them may be an option: `sort *` in a directory with a
            // file named `-o`.
            if is_glob && !only_operands && text.starts_with(['*', '?', '[']) && !self.any_file_name {
                return Some(sentence!(
                    "has the pattern `{pattern}`, which may become an option; write `{replacement}`",
                    pattern = text,
                    replacement = format!("./{text}")
                ));
            }
            if values > 0 {
                values -= 1;
                // Some programs do not accept an option as a value and read it as an option, so it must be an ordinary
                // one.
                let is_number =
                    text.get(1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
                if is_message || is_number || text == "-" || !text.starts_with('-') {
                    continue;
                }
            }
            if only_operands || text == "-" || !text.starts_with('-') {
                operands.push(text);
                continue;
            }
            if text == "--" {
                only_operands = true;
                continue;
            }
            match self.value_count(text) {
                Some(count) => {
                    values = count;
                    let is_short = !text.starts_with("--") && text.ends_with('m');
                    is_message = self.takes_message && (is_short || text == "--message");
                }
                None => return Some(argument_objection(text)),
            }
        }
        self.objection_to_operands(&operands)
    }

    /// Returns how many of the next words are values of the option `text`; `None` if it is not in the table.
    fn value_count(&self, text: &str) -> Option<usize> {
        if let Some(count) = self.single_dash_option(text) {
            return Some(count);
        }
        if let Some(long) = text.strip_prefix("--") {
            return match long.split_once('=') {
                Some((name, _)) => {
                    self.long_option_kind(name).filter(|kind| matches!(*kind, "=" | "?")).map(|_| 0)
                }
                None => match (self.long_option_kind(long), long) {
                    (Some(kind), _) => Some(kind.matches('=').count()),
                    (None, "help" | "version") => Some(0),
                    (None, _) => None,
                },
            };
        }
        let cluster = text.strip_prefix('-')?;
        for (at, letter) in cluster.char_indices() {
            if self.flags.contains(letter) {
                continue;
            }
            let is_last = at + letter.len_utf8() == cluster.len();
            return self.valued.contains(letter).then_some(usize::from(is_last));
        }
        Some(0)
    }

    /// Returns the number of values of a long option that the program writes with one dash.
    fn single_dash_option(&self, text: &str) -> Option<usize> {
        let single = text.strip_prefix("--").map(|rest| format!("-{rest}"));
        self.long.split_ascii_whitespace().filter(|entry| entry.starts_with('-')).find_map(|entry| {
            let name = entry.trim_end_matches(['=', '?']);
            let kind = entry.get(name.len()..).unwrap_or("");
            let matches_option = |text: &str| match text.split_once('=') {
                Some((option, _)) if !kind.is_empty() => (option == name).then_some(0),
                Some(_) | None => (text == name).then_some(kind.matches('=').count()),
            };
            matches_option(text).or_else(|| matches_option(single.as_deref()?))
        })
    }

    /// Returns the kind of a long option: the suffix of its name in the table.
    fn long_option_kind(&self, name: &str) -> Option<&'static str> {
        self.long.split_ascii_whitespace().find_map(|entry| {
            let kind = entry.strip_prefix(name)?;
            matches!(kind, "" | "=" | "==" | "?").then_some(kind)
        })
    }

    fn objection_to_operands(&self, operands: &[&str]) -> Option<Sentence> {
        let objection_if = |is_objectionable: &dyn Fn(&str) -> bool| {
            operands.iter().find(|text| is_objectionable(text)).map(|text| argument_objection(text))
        };
        let first = |known: &[&str]| match operands.first() {
            Some(first) if !known.contains(first) => Some(argument_objection(first)),
            Some(_) | None => None,
        };
        match self.operands {
            Operands::Any => None,
            Operands::AtMost(most) => operands.get(most).map(|text| argument_objection(text)),
            Operands::First(known) => first(known),
            Operands::FirstPlain(known) => first(known).or_else(|| {
                objection_if(&|text| {
                    text.contains("://") || text.starts_with("git+") || text.contains("@git")
                })
            }),
            Operands::NoAssignments => objection_if(&|text| text.contains('=')),
            Operands::NoMachines => objection_if(&|text| text.contains(':')),
            Operands::Formats => objection_if(&|text| !text.starts_with('+')),
            Operands::Names => objection_if(&|text| {
                !text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | ':' | '['))
            }),
            Operands::Files => objection_if(&|text| text.starts_with(['+', '@'])),
            Operands::ProcessOptions => objection_if(&|text| text.contains('e')),
            Operands::Addresses => objection_if(&|text| text.starts_with('@') || !is_web_address(text)),
        }
    }
}

pub(crate) fn argument_objection(text: &str) -> Sentence {
    let argument: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(60).collect();
    sentence!("has the argument `{argument}`, which is not one of its ordinary arguments", argument)
}

fn is_web_address(address: &str) -> bool {
    let lower = address.to_ascii_lowercase();
    match lower.split_once("://") {
        Some((scheme, _)) => matches!(scheme, "http" | "https"),
        // `file:/x` has a scheme too.
        None => !lower.contains(":/"),
    }
}
