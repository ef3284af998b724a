//! What the chunks of an answer have in common: nearly all of them differ in nothing but their piece of text.
//!
//! Pure. Gives nothing that the parser would not give: around a piece stands, byte for byte, what stood around the piece of
//! a chunk that was parsed, and the piece is one string of JSON. Whatever differs otherwise is left to the parser, which
//! takes as many instructions as all else that becomes of a delta.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::chunk::{Choice, Chunk, Content, Delta};

/// How often an answer is looked at for a pattern. Some services put something new into each chunk.
const LESSONS: u8 = 8;

/// The bytes around a piece of text.
#[derive(Debug)]
pub(crate) struct Pattern {
    around: Option<(String, String)>,
    lessons: u8,
}

impl Default for Pattern {
    fn default() -> Self {
        Self { around: None, lessons: LESSONS }
    }
}

/// A chunk, as far as its piece of text.
#[derive(Deserialize)]
struct Place<'a> {
    #[serde(borrow)]
    choices: [PlaceOfChoice<'a>; 1],
}

#[derive(Deserialize)]
struct PlaceOfChoice<'a> {
    #[serde(borrow)]
    delta: PlaceOfDelta<'a>,
}

#[derive(Deserialize)]
struct PlaceOfDelta<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
}

impl Pattern {
    /// The piece of text of a chunk that has nothing else to say than the one learned from; `None` for any other.
    pub(crate) fn piece(&self, chunk: &str) -> Option<String> {
        let (before, after) = self.around.as_ref()?;
        let piece = chunk.strip_prefix(before)?.strip_suffix(after)?;
        if piece.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
            return Some(piece.to_owned());
        }
        let quoted = chunk.get(before.len() - 1..=chunk.len() - after.len())?;
        serde_json::from_str(quoted).ok()
    }

    /// Learns from a chunk that was parsed.
    pub(crate) fn learn(&mut self, text: &str, chunk: &Chunk) {
        if self.lessons > 0 && has_text_alone(chunk) {
            self.lessons -= 1;
            self.around = around(text);
        }
    }
}

/// What stands before and after the piece of text, with its quotation marks.
fn around(text: &str) -> Option<(String, String)> {
    let Place { choices: [choice] } = serde_json::from_str(text).ok()?;
    let content = choice.delta.content.get();
    // It is a part of the text.
    let start = (content.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let (before, after) = (text.get(..=start)?, text.get(start + content.len() - 1..)?);
    (before.ends_with('"') && after.starts_with('"')).then(|| (before.to_owned(), after.to_owned()))
}

/// Whether the parser would take nothing but a text from it, the id of the answer aside.
fn has_text_alone(chunk: &Chunk) -> bool {
    let Chunk { id: _, object, choices: Some(choices), usage: None, x_groq: None, error: None } = chunk
    else {
        return false;
    };
    let [Choice { index: None | Some(0), delta: Some(delta), message: None, finish_reason: None }] =
        choices.as_slice()
    else {
        return false;
    };
    let Delta {
        content: Some(Content::Text(_)),
        refusal: None,
        reasoning_content: None,
        reasoning: None,
        tool_calls: None,
        function_call: None,
    } = delta
    else {
        return false;
    };
    object.as_deref() != Some("error")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CHUNK: &str =
        r#"{"id":"a","choices":[{"index":0,"delta":{"content":"one"},"finish_reason":null}]}"#;

    fn learned(chunk: &str) -> Pattern {
        let mut pattern = Pattern::default();
        pattern.learn(chunk, &serde_json::from_str(chunk).unwrap());
        pattern
    }

    #[track_caller]
    fn check(from: &str, chunk: &str, expect: Option<&str>) {
        assert_eq!(learned(from).piece(chunk).as_deref(), expect, "{chunk}");
    }

    #[test]
    fn chunks_that_differ_in_their_piece_only_are_not_parsed() {
        check(CHUNK, CHUNK, Some("one"));
        check(CHUNK, &CHUNK.replace("one", ""), Some(""));
        check(CHUNK, &CHUNK.replace("one", "zwei 漢"), Some("zwei 漢"));
        check(CHUNK, &CHUNK.replace("one", r#"a\n\"b\" \u00e9"#), Some("a\n\"b\" é"));
    }

    #[test]
    fn every_other_chunk_is_parsed() {
        check(CHUNK, &CHUNK.replace("null", "\"stop\""), None);
        check(CHUNK, &CHUNK.replace(r#""one""#, "null"), None);
        check(CHUNK, &CHUNK.replace(r#""one""#, r#""one","refusal":"no""#), None);
        check(CHUNK, &CHUNK.replace("one", r#"\ud83d"#), None);
        check(CHUNK, &CHUNK.replace("one", "a\u{1}"), None);
        check(CHUNK, &CHUNK.replace("one", r#"a\"#), None);
        check(CHUNK, CHUNK.get(..CHUNK.len() - 1).unwrap(), None);
        check(CHUNK, r#"{"id":"a","choices":[{"index":0,"delta":{"content":""#, None);
    }

    #[test]
    fn nothing_is_learned_from_a_chunk_that_says_more() {
        for more in [
            CHUNK.replace("null", "\"stop\""),
            CHUNK.replace(r#""one""#, r#""one","reasoning":"hm""#),
            CHUNK.replace(r#""one""#, "null"),
            CHUNK.replace(r#""index":0"#, r#""index":1"#),
            CHUNK.replace(r#""id":"a""#, r#""usage":{"prompt_tokens":1}"#),
        ] {
            check(&more, &more, None);
        }
    }

    #[test]
    fn it_is_given_up_where_each_chunk_brings_something_new() {
        let mut pattern = Pattern::default();
        for number in 0..100 {
            let chunk = CHUNK.replace(r#""a""#, &format!("\"{number}\""));
            pattern.learn(&chunk, &serde_json::from_str(&chunk).unwrap());
        }
        assert_eq!(pattern.lessons, 0);
    }

    proptest! {
        /// Whatever is taken without the parser is what the parser takes.
        #[test]
        fn a_piece_is_what_the_parser_finds(text in any::<String>(), at in 0..CHUNK.len(), byte in 0_u8..128) {
            let whole = CHUNK.replace("\"one\"", &serde_json::to_string(&text).unwrap());
            prop_assert_eq!(learned(CHUNK).piece(&whole), Some(text));
            let mut damaged = CHUNK.as_bytes().to_vec();
            damaged[at] = byte;
            let damaged = String::from_utf8(damaged).unwrap();
            if let Some(piece) = learned(CHUNK).piece(&damaged) {
                let chunk: Chunk = serde_json::from_str(&damaged).unwrap();
                prop_assert!(has_text_alone(&chunk));
                let found = chunk.choices.unwrap().remove(0).delta.unwrap().content;
                prop_assert!(matches!(found, Some(Content::Text(text)) if text == piece));
            }
        }
    }
}
