//! The faults in the form of a TOML file, for people: without the terms of the parser, and with an example.

use ibeam_protocol::{Sentence, sentence_text};

/// The beginnings of the messages of the parser, each with what it means.
const FAULTS: [(&str, &str); 13] = [
    (
        "string values must be quoted",
        sentence_text!("a text must be in double quotes, e.g. model = \"sonnet\""),
    ),
    ("missing value", sentence_text!("a value is missing after `=`, e.g. model = \"sonnet\"")),
    ("key with no value", sentence_text!("`=` and a value are missing after a key, e.g. model = \"sonnet\"")),
    (
        "missing assignment",
        sentence_text!("`=` and a value are missing after a key, e.g. model = \"sonnet\""),
    ),
    ("unquoted keys cannot be empty", sentence_text!("a key is missing before `=`, e.g. model = \"sonnet\"")),
    ("unclosed array table", sentence_text!("a heading has no closing bracket, e.g. [limits]")),
    ("unclosed array", sentence_text!("a list has no closing bracket, e.g. allow = [\"Shell(ls)\"]")),
    ("unclosed table", sentence_text!("a heading has no closing bracket, e.g. [limits]")),
    ("unclosed inline table", sentence_text!("a table has no closing brace")),
    ("missing comma", sentence_text!("a comma is missing between two entries")),
    ("invalid basic string", sentence_text!("a text has no closing quote, or a wrong escape")),
    ("invalid literal string", sentence_text!("a text has no closing quote, or a wrong escape")),
    ("duplicate key", sentence_text!("this key is set twice")),
];

/// Returns what is wrong, by the message of the parser.
pub(crate) fn toml_fault(error: &toml_edit::TomlError) -> Sentence {
    let message = error.message();
    let found = FAULTS.iter().find(|(start, _)| message.starts_with(start));
    let fault = found.map_or(
        sentence_text!("it is not valid TOML; a line is a heading such as [limits], or a key and a value such as model = \"sonnet\""),
        |(_, fault)| fault,
    );
    fault.into()
}

#[cfg(test)]
mod tests {
    use toml_edit::DocumentMut;

    use super::toml_fault;

    #[test]
    fn faults_are_in_words_that_people_know() {
        for (toml, expect) in [
            ("model = sonnet", "a text must be in double quotes"),
            ("model = ", "double quotes"),
            ("timeout = 5x", "double quotes"),
            ("model", "`=` and a value are missing"),
            ("= 3", "a key is missing before `=`"),
            ("[a", "a heading has no closing bracket"),
            ("[[a]", "a heading has no closing bracket"),
            ("a = [1, 2", "a list has no closing bracket"),
            ("a = {b = 1", "a table has no closing brace"),
            ("model = \"a", "a text has no closing quote"),
            ("model = 'a", "a text has no closing quote"),
            ("a = 1\na = 2", "this key is set twice"),
            ("a = 1 b = 2", "it is not valid TOML"),
        ] {
            let fault = toml_fault(&toml.parse::<DocumentMut>().unwrap_err());
            assert!(fault.contains(expect), "{toml:?}: {fault}");
            assert!(!fault.contains("expected") && !fault.contains("literal"), "{toml:?}: {fault}");
        }
    }
}
