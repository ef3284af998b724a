//! The language of `--help`. The English texts are the doc comments of the flags and commands;
//! `ibeam-output/locales/sentences.txt` has their translations.

use super::help::Language;

impl Language<'_> {
    /// Returns a text of help in the language, or else in English.
    pub(super) fn translate(&self, english: &str) -> String {
        self.catalogue.text(english)
    }

    /// Returns the paragraphs of a text, which are translated one by one, on one line.
    pub(super) fn paragraphs(&self, english: &str) -> String {
        english.split("\n\n").map(|paragraph| self.translate(paragraph)).collect::<Vec<_>>().join(" ")
    }

    /// Returns a text of several lines, each of which is translated.
    pub(super) fn lines(&self, english: &str) -> String {
        english.lines().map(|line| self.translate(line)).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::io;
    use std::path::{Path, PathBuf};

    use clap::{Command, CommandFactory as _};
    use serde_json::Value;

    use crate::cli::Cli;
    use crate::cli::help::OWN_TEXTS;
    use crate::command::{CommandFacts, GROUPS};

    /// The translations of sentences.
    const SENTENCES: &str = include_str!("../../../ibeam-output/locales/sentences.txt");

    /// Returns the files of the program below a directory.
    fn source_files(directory: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => source_files(&path, files),
                false if path.extension().is_some_and(|extension| extension == "rs") => files.push(path),
                false => {}
            }
        }
    }

    /// The marks before a template, and before a text that becomes a sentence as a whole.
    const MARKS: [&str; 3] = ["sentence!(", "sentence_text!(", "Unanalyzable("];

    /// Returns the templates in a source file without its unit tests.
    fn templates(source: &str) -> Vec<String> {
        let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let after_marks = MARKS.iter().flat_map(|mark| source.split(mark).skip(1));
        let literals = after_marks.filter_map(|rest| rest.trim_start().strip_prefix('"'));
        let template = |literal: &str| {
            let mut text = String::new();
            let mut characters = literal.chars().peekable();
            loop {
                match characters.next().unwrap_or_else(|| panic!("no end: {text}")) {
                    '"' => return text,
                    '\\' => match characters.next() {
                        Some('\n') => {
                            while characters.next_if(|character| character.is_whitespace()).is_some() {}
                        }
                        Some(quoted @ ('"' | '\\')) => text.push(quoted),
                        other => panic!("unknown escape {other:?} after {text}"),
                    },
                    character => text.push(character),
                }
            }
        };
        literals.map(template).collect()
    }

    /// Returns the texts of the system, of the parser of JSON and of its attributes that have translations.
    fn texts_of_libraries() -> Vec<String> {
        let attribute =
            "`workspace` should be a path, or an object with `git` and `ref`, or with `from`".to_owned();
        let system =
            [2, 13, 20, 21, 28, 30, 111].map(|number| io::Error::from_raw_os_error(number).to_string());
        let invalid = ["", "[", "{", "\"", "x", "{1", "1 1", "[1,]", "[1 2]", "{\"a\":1 2}", "{\"a\" 1}"];
        let json = invalid.map(|text| {
            let error = serde_json::from_str::<Value>(text).unwrap_err().to_string();
            error.split_once(" at line ").unwrap().0.to_owned()
        });
        [&[attribute], &system[..], &json[..]].concat()
    }

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
    fn every_text_of_the_code_and_of_help_is_translated_into_every_language() {
        let mut files = Vec::new();
        for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()).unwrap() {
            source_files(&entry.unwrap().path().join("src"), &mut files);
        }
        let mut written: BTreeSet<String> =
            files.iter().flat_map(|path| templates(&fs::read_to_string(path).unwrap())).collect();
        assert!(written.len() > 100, "{}", written.len());
        written.extend(texts_of_libraries());
        written.extend(OWN_TEXTS.iter().map(|text| (*text).to_owned()));
        for group in GROUPS {
            written.insert(group.title.to_owned());
            add_facts(group.commands, &mut written);
        }
        add_texts(&Cli::command(), false, &mut written);
        let mut used = written.clone();
        add_texts(&Cli::command(), true, &mut used);
        let mut known = BTreeSet::new();
        let blocks = SENTENCES.trim().split("\n\n").filter(|block| !block.starts_with('#'));
        for lines in blocks.map(|block| block.lines().collect::<Vec<_>>()) {
            let (english, translations) = lines.split_first().unwrap();
            assert!(known.insert((*english).to_owned()), "{english} occurs twice");
            let codes = ["es", "id", "ja", "fr", "pt"];
            assert_eq!(translations.len(), codes.len(), "{english}");
            for (line, code) in translations.iter().zip(codes) {
                let text = line.strip_prefix(code).and_then(|text| text.strip_prefix(' '));
                let text = text.unwrap_or_else(|| panic!("{english}: no `{code}` in {line}"));
                for (open, close) in [('{', '}'), ('`', '`')] {
                    assert_eq!(quoted(text, open, close), quoted(english, open, close), "{text}");
                }
            }
        }
        let missing: Vec<&String> = written.difference(&known).collect();
        let unused: Vec<&String> = known.difference(&used).collect();
        assert_eq!((missing, unused), (Vec::new(), Vec::new()), "not in, or only in locales/sentences.txt");
    }

    /// Returns the texts between `open` and `close`.
    fn quoted(text: &str, open: char, close: char) -> BTreeSet<&str> {
        let mut quoted = BTreeSet::new();
        let mut rest = text;
        while let Some((inner, after)) =
            rest.split_once(open).and_then(|(_, inside)| inside.split_once(close))
        {
            quoted.insert(inner);
            rest = after;
        }
        quoted
    }
}
