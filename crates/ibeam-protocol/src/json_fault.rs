//! The faults of a JSON text, for people: without the terms of the parser, and with an example where one helps.

use serde_json::error::Category;

use crate::{Sentence, sentence, sentence_text};

/// The beginnings of the messages of the parser about the form of a text, each with what it means.
const FORM_FAULTS: [(&str, &str); 9] = [
    (
        "expected value",
        sentence_text!("a value is missing or not valid JSON; a text is in double quotes, e.g. \"text\""),
    ),
    (
        "expected ident",
        sentence_text!("a value is missing or not valid JSON; a text is in double quotes, e.g. \"text\""),
    ),
    ("key must be a string", sentence_text!("a key must be in double quotes, e.g. \"name\": 1")),
    ("trailing comma", sentence_text!("the comma before a closing bracket is one too many")),
    ("trailing characters", sentence_text!("there is more text after the end of the JSON value")),
    ("expected `:`", sentence_text!("a colon is missing after a key, e.g. \"name\": 1")),
    ("expected `,`", sentence_text!("a comma or a closing bracket is missing")),
    (
        "control character",
        sentence_text!("a text has a line break or another control character; write \\n for a line break"),
    ),
    ("invalid escape", sentence_text!("a backslash in a text is written \\\\")),
];

/// Returns what is wrong with a JSON text, without the position.
pub fn json_fault(error: &serde_json::Error) -> Sentence {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    match error.classify() {
        Category::Eof => {
            sentence!(
                "the JSON text ends too early: a value, a closing bracket or a closing quote is missing"
            )
        }
        Category::Syntax => FORM_FAULTS
            .iter()
            .find(|(start, _)| message.starts_with(start))
            .map_or_else(|| sentence!("it is not valid JSON"), |(_, fault)| Sentence::from(*fault)),
        Category::Data => value_fault(message),
        Category::Io => message.into(),
    }
}

/// Returns what is wrong with a value, by the message of the parser.
fn value_fault(message: &str) -> Sentence {
    let quoted = |start: &str| message.strip_prefix(start)?.split('`').nth(1);
    if let Some(key) = quoted("missing field ") {
        return sentence!("the key `{key}` is missing", key);
    }
    if let Some(key) = quoted("duplicate field ") {
        return sentence!("the key `{key}` is there twice", key);
    }
    let expected = message.split_once(", expected ").map(|(_, expected)| expected);
    let names = || expected.map(|names| names.strip_prefix("one of ").unwrap_or(names));
    if let (Some(key), Some(names)) = (quoted("unknown field "), names()) {
        return sentence!("`{key}` is not a known key; use {names}", key, names);
    }
    if let (Some(value), Some(names)) = (quoted("unknown variant "), names()) {
        return sentence!("`{value}` is not a known value; use {names}", value, names);
    }
    let found = ["invalid type: ", "invalid value: "].iter().find_map(|start| message.strip_prefix(start));
    match found.and_then(|rest| rest.split_once(", expected ")) {
        Some((found, expected)) => {
            let (found, expected) = (kind(found), kind(expected));
            sentence!("there should be {expected}, not {found}", expected, found)
        }
        None => message.into(),
    }
}

/// Returns a kind of values, by the term of the parser.
fn kind(term: &str) -> Sentence {
    let is_number = |term: &str| {
        let bits = term.strip_prefix(['u', 'i']).unwrap_or_default();
        ["8", "16", "32", "64", "128", "size"].contains(&bits) || term.starts_with("nonzero")
    };
    match term {
        "map" | "a map" => sentence!("an object"),
        "sequence" | "a sequence" => sentence!("a list"),
        "a string" | "a borrowed string" => sentence!("a text"),
        "a boolean" => sentence!("`true` or `false`"),
        "f32" | "f64" => sentence!("a number"),
        term if term.starts_with("struct ") => sentence!("an object"),
        term if is_number(term) || term.starts_with("a nonzero") => sentence!("a whole number"),
        // `string "x"`, `integer `3`` and the like name the value itself.
        term => match term.split_once(' ') {
            Some(("string" | "integer" | "boolean", value)) => value.into(),
            Some(("floating", value)) => value.trim_start_matches("point ").into(),
            Some(_) | None => term.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::json_fault;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only their errors are read")]
    struct Sample {
        name: String,
        #[serde(default)]
        list: Vec<u32>,
        #[serde(default)]
        word: Option<Word>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        One,
        Two,
    }

    #[track_caller]
    fn check(json: &str, expect: &str) {
        let fault = json_fault(&serde_json::from_str::<Sample>(json).unwrap_err());
        assert_eq!(fault.as_str(), expect, "{json}");
    }

    #[test]
    fn faults_are_in_words_that_people_know() {
        const EARLY: &str =
            "the JSON text ends too early: a value, a closing bracket or a closing quote is missing";
        const VALUE: &str = "a value is missing or not valid JSON; a text is in double quotes, e.g. \"text\"";
        for (json, expect) in [
            ("", EARLY),
            ("{", EARLY),
            ("{\"name\": \"a", EARLY),
            ("{\"name\": a}", VALUE),
            ("{\"name\": nul}", VALUE),
            ("{name: 1}", "a key must be in double quotes, e.g. \"name\": 1"),
            ("{\"name\" 1}", "a colon is missing after a key, e.g. \"name\": 1"),
            ("{\"name\": \"a\",}", "the comma before a closing bracket is one too many"),
            ("{\"name\": \"a\"} x", "there is more text after the end of the JSON value"),
            ("{\"name\": \"a\" \"list\": []}", "a comma or a closing bracket is missing"),
            ("{\"name\": \"a\\d\"}", "a backslash in a text is written \\\\"),
            ("{\"name\": 3}", "there should be a text, not `3`"),
            ("{\"name\": []}", "there should be a text, not a list"),
            ("{\"name\": null}", "there should be a text, not null"),
            ("{\"name\": \"a\", \"list\": {}}", "there should be a list, not an object"),
            ("{\"name\": \"a\", \"list\": [\"b\"]}", "there should be a whole number, not \"b\""),
            ("[[]]", "there should be a text, not a list"),
            ("3", "there should be an object, not `3`"),
            ("{}", "the key `name` is missing"),
            ("{\"name\": \"a\", \"name\": \"b\"}", "the key `name` is there twice"),
            ("{\"nam\": \"a\"}", "`nam` is not a known key; use `name`, `list`, `word`"),
            ("{\"name\": \"a\", \"word\": \"three\"}", "`three` is not a known value; use `one` or `two`"),
        ] {
            check(json, expect);
        }
    }
}
