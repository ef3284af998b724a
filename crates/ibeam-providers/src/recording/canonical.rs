//! The canonical form of a request, by which a recording is found again.
//!
//! Keys are sorted. What differs between two runs of one command is replaced: secrets, the directories of the user, the
//! date, UUIDs.

use ibeam_core::Redactor;
use serde_json::{Map, Value};

/// The replacement of a UUID. Session ids are UUIDs.
const UUID_PLACEHOLDER: &str = "${UUID}";
const UUID_BYTES: usize = 36;
/// The number of characters of a text in the description of a difference.
const EXCERPT_CHARS: usize = 60;

/// Replaces what differs between two runs of one command.
#[derive(Clone, Debug, Default)]
pub struct Normalizer {
    redactor: Redactor,
    /// Texts and their placeholders, the longest text first.
    replacements: Vec<(String, &'static str)>,
}

impl Normalizer {
    /// `replacements` are texts with their placeholders. A text is not replaced where it is the beginning of a longer
    /// name.
    pub fn new(redactor: Redactor, replacements: impl IntoIterator<Item = (String, &'static str)>) -> Self {
        let mut replacements: Vec<_> = replacements.into_iter().filter(|(text, _)| text.len() > 1).collect();
        replacements.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        Self { redactor, replacements }
    }

    /// Returns the redactor of the secrets.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Returns the canonical form of `value`.
    pub(crate) fn canonical(&self, value: &Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.canonical(item)).collect()),
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_by_key(|(key, _)| key.as_str());
                let entry = |(key, value): (&String, &Value)| (self.text(key), self.canonical(value));
                Value::Object(fields.into_iter().map(entry).collect::<Map<_, _>>())
            }
        }
    }

    /// Returns the canonical form of a text.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = self.redactor.redact(text).into_owned();
        for (wanted, placeholder) in &self.replacements {
            if text.contains(wanted.as_str()) {
                text = replace_name(&text, wanted, placeholder);
            }
        }
        replace_uuids(&text)
    }
}

/// Replaces `wanted` unless it is the beginning of a longer name: `/home/ann` in `/home/ann/x`, but not in
/// `/home/anna`.
fn replace_name(text: &str, wanted: &str, placeholder: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(wanted) {
        let continues =
            after.chars().next().is_some_and(|next| next.is_alphanumeric() || "_-".contains(next));
        replaced.push_str(before);
        replaced.push_str(if continues { wanted } else { placeholder });
        rest = after;
    }
    replaced.push_str(rest);
    replaced
}

fn replace_uuids(text: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = find_uuid(rest) {
        replaced.push_str(rest.get(..start).unwrap_or_default());
        replaced.push_str(UUID_PLACEHOLDER);
        rest = rest.get(start + UUID_BYTES..).unwrap_or_default();
    }
    replaced.push_str(rest);
    replaced
}

/// Returns the offset of the first UUID.
fn find_uuid(text: &str) -> Option<usize> {
    const FIRST_DASH: usize = 8;
    let dashes = memchr::memchr_iter(b'-', text.as_bytes());
    let mut starts = dashes.filter_map(|dash| dash.checked_sub(FIRST_DASH));
    starts.find(|start| {
        let candidate = text.as_bytes().get(*start..start + UUID_BYTES);
        candidate.is_some_and(|candidate| {
            candidate.iter().enumerate().all(|(index, byte)| match index {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
        })
    })
}

/// Returns how similar two texts are: the length of their common beginning and end.
pub(crate) fn similarity(a: &str, b: &str) -> usize {
    let equal = |(a, b): &(u8, u8)| a == b;
    let beginning = a.bytes().zip(b.bytes()).take_while(equal).count();
    let end = a.bytes().rev().zip(b.bytes().rev()).take_while(equal).count();
    beginning + end
}

/// Describes the first difference between a recorded request and this one.
pub(crate) fn difference(recorded: &Value, sent: &Value) -> String {
    let mut path = String::new();
    let (recorded, sent) = first_difference(Some(recorded), Some(sent), &mut path);
    let path = if path.is_empty() { "request" } else { path.trim_start_matches('.') };
    let (recorded, sent) = (to_text(recorded), to_text(sent));
    let start = common_start(&recorded, &sent);
    format!("{path}: recorded {}, now {}", excerpt(&recorded, start), excerpt(&sent, start))
}

/// Returns the first values that differ, and appends their path to `path`.
fn first_difference<'a>(
    recorded: Option<&'a Value>,
    sent: Option<&'a Value>,
    path: &mut String,
) -> (Option<&'a Value>, Option<&'a Value>) {
    match (recorded, sent) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
            for key in keys {
                if old.get(key) != new.get(key) {
                    path.push('.');
                    path.push_str(key);
                    return first_difference(old.get(key), new.get(key), path);
                }
            }
            (recorded, sent)
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            for index in 0..old.len().max(new.len()) {
                if old.get(index) != new.get(index) {
                    path.push_str(&format!("[{index}]"));
                    return first_difference(old.get(index), new.get(index), path);
                }
            }
            (recorded, sent)
        }
        (recorded, sent) => (recorded, sent),
    }
}

fn to_text(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), Value::to_string)
}

fn common_start(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// Returns the part of `text` around the character at `start`, the first that differs.
fn excerpt(text: &str, start: usize) -> String {
    let first = start.saturating_sub(EXCERPT_CHARS / 3);
    let part: String = text.chars().skip(first).take(EXCERPT_CHARS).collect();
    let (before, after) = (first > 0, text.chars().count() > first + EXCERPT_CHARS);
    format!("`{}{part}{}`", if before { "…" } else { "" }, if after { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn normalizer() -> Normalizer {
        let replacements = [
            ("/home/ann".to_owned(), "${HOME}"),
            ("/home/ann/project".to_owned(), "${WORKSPACE}"),
            ("2026-11-22".to_owned(), "${DATE}"),
        ];
        Normalizer::new(Redactor::new(["sk-secret-0123456789".to_owned()]), replacements)
    }

    #[test]
    fn what_differs_between_two_runs_is_replaced() {
        let text = "/home/ann/project/a /home/ann/.b /home/anna 2026-11-22 sk-secret-0123456789 \
                    0f0e0d0c-0b0a-4908-8706-050403020100-4";
        let expected = "${WORKSPACE}/a ${HOME}/.b /home/anna ${DATE} *** ${UUID}-4";
        assert_eq!(normalizer().text(text), expected);
        for text in ["é-é", "0f0e0d0c-0b0a", "-", "12345678-1234-1234-1234-12345678901é"] {
            assert_eq!(normalizer().text(text), text);
        }
    }

    #[test]
    fn the_canonical_form_has_sorted_keys() {
        let value = json!({ "b": [{ "d": 1, "c": "2026-11-22" }], "a": null });
        assert_eq!(normalizer().canonical(&value).to_string(), r#"{"a":null,"b":[{"c":"${DATE}","d":1}]}"#);
    }

    #[track_caller]
    fn check_difference(recorded: Value, sent: Value, expected: &str) {
        assert_eq!(difference(&recorded, &sent), expected);
    }

    #[test]
    fn a_difference_names_the_place_and_both_texts() {
        let old = json!({ "body": { "messages": [{ "text": "do it" }], "model": "a" } });
        let mut new = old.clone();
        new["body"]["messages"][0]["text"] = "do it now".into();
        check_difference(
            old.clone(),
            new,
            "body.messages[0].text: recorded `\"do it\"`, now `\"do it now\"`",
        );
        check_difference(
            old,
            json!({}),
            "body: recorded `{\"messages\":[{\"text\":\"do it\"}],\"model\":\"a\"}`, now `nothing`",
        );
        let (old, new) = (json!("x".repeat(100) + "a"), json!("x".repeat(100) + "b"));
        let part = "x".repeat(20);
        check_difference(old, new, &format!("request: recorded `…{part}a\"`, now `…{part}b\"`"));
    }
}
