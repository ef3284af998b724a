//! The translations of `--help`. The English texts are the doc comments of the flags and commands.
//!
//! `locales/help.txt` has a block for each English text: the text, then a line for each other language, which begins with
//! its code. A test fails if a text has no block or a block no text.

use std::collections::BTreeMap;

use ibeam_output::decompress;

/// The compressed blocks.
static BLOCKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/help.deflate"));

/// The texts of one language by their English form. Empty for English.
pub(super) struct Translations {
    texts: BTreeMap<String, String>,
}

impl Translations {
    /// Returns the texts of the language with this code.
    pub(super) fn new(code: &str) -> Self {
        if code == "en" {
            return Self { texts: BTreeMap::new() };
        }
        let blocks = decompress(BLOCKS);
        let texts = blocks.split("\n\n").filter_map(|block| {
            let mut lines = block.lines().filter(|line| !line.starts_with('#'));
            let english = lines.next()?;
            let translated = lines.find_map(|line| line.strip_prefix(code)?.strip_prefix(' '))?;
            Some((english.to_owned(), translated.to_owned()))
        });
        Self { texts: texts.collect() }
    }

    /// Returns the text in the language, or else in English.
    pub(super) fn get(&self, english: &str) -> String {
        self.texts.get(english).map_or(english, String::as_str).to_owned()
    }

    /// Returns the paragraphs of a text, which are translated one by one, on one line.
    pub(super) fn paragraphs(&self, english: &str) -> String {
        english.split("\n\n").map(|paragraph| self.get(paragraph)).collect::<Vec<_>>().join(" ")
    }

    /// Returns a text of several lines, each of which is translated.
    pub(super) fn lines(&self, english: &str) -> String {
        english.lines().map(|line| self.get(line)).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Command, CommandFactory as _};
    use ibeam_output::Locale;

    use super::*;
    use crate::cli::Cli;
    use crate::cli::help::OWN_TEXTS;
    use crate::command::{CommandFacts, GROUPS};

    /// Adds the English texts of a command and of those below it; with `with_hidden`, also of what help does not list.
    fn add_texts(command: &Command, with_hidden: bool, texts: &mut BTreeSet<String>) {
        let of_args = command.get_arguments().filter(|arg| with_hidden || !arg.is_hide_set());
        let of_args = of_args.filter_map(|arg| arg.get_long_help().or_else(|| arg.get_help()));
        let about = command.get_long_about().or_else(|| command.get_about());
        let mut all: Vec<String> = of_args.chain(about).map(ToString::to_string).collect();
        all.extend(command.get_after_help().map(ToString::to_string));
        texts.extend(
            all.iter().flat_map(|text| text.lines()).filter(|line| !line.is_empty()).map(str::to_owned),
        );
        for sub in command.get_subcommands().filter(|sub| with_hidden || !sub.is_hide_set()) {
            add_texts(sub, with_hidden, texts);
        }
    }

    /// Adds the English texts of facts and of those below them.
    fn add_facts(facts: &[CommandFacts], texts: &mut BTreeSet<String>) {
        for facts in facts {
            texts.extend(facts.flag_help.iter().map(|(_, help)| (*help).to_owned()));
            texts.extend(facts.feature.iter().map(|feature| feature.missing.to_owned()));
            add_facts(facts.below, texts);
        }
    }

    #[test]
    fn every_text_of_help_is_translated_into_every_language() {
        let mut texts: BTreeSet<String> = OWN_TEXTS.iter().map(|text| (*text).to_owned()).collect();
        for group in GROUPS {
            texts.insert(group.title.to_owned());
            add_facts(group.commands, &mut texts);
        }
        add_texts(&Cli::command(), false, &mut texts);
        let mut used = texts.clone();
        add_texts(&Cli::command(), true, &mut used);
        for locale in Locale::ALL.iter().filter(|locale| **locale != Locale::En) {
            let translations = Translations::new(locale.code());
            let known: BTreeSet<String> = translations.texts.keys().cloned().collect();
            let missing: Vec<&String> = texts.difference(&known).collect();
            let unused: Vec<&String> = known.difference(&used).collect();
            let report = missing.iter().map(|text| format!("{text}\n")).collect::<String>();
            assert!(missing.is_empty(), "{}: not in locales/help.txt:\n{report}", locale.code());
            assert!(unused.is_empty(), "no help has these texts of locales/help.txt: {unused:#?}");
        }
    }

    #[test]
    fn a_translation_keeps_the_flags_and_commands_of_the_text() {
        for locale in Locale::ALL {
            for (english, translated) in &Translations::new(locale.code()).texts {
                let quoted = |text: &str| -> BTreeSet<String> {
                    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
                };
                assert_eq!(quoted(english), quoted(translated), "{}: {translated}", locale.code());
            }
        }
    }
}
