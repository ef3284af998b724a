//! JSON as models and services really write it.
//!
//! Repairs what can be repaired without guessing: lone surrogates in text. Everything else stays an error.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

/// Parses `text`; where that fails, parses it again with lone surrogate escapes replaced by U+FFFD.
///
/// The flag is true when something was replaced: such text may be shown, such arguments must not be executed.
///
/// # Errors
/// The parser's, when the text is no JSON of this shape even so.
pub(crate) fn parse<T: for<'de> Deserialize<'de>>(text: &str) -> Result<(T, bool), serde_json::Error> {
    match serde_json::from_str(text) {
        Ok(value) => Ok((value, false)),
        Err(error) => match replace_lone_surrogates(text) {
            Cow::Borrowed(_) => Err(error),
            Cow::Owned(repaired) => serde_json::from_str(&repaired).map(|value| (value, true)),
        },
    }
}

/// The arguments of a call: an object where the text is JSON, `{}` where it is blank, else the text as a string.
pub(crate) fn arguments(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    match serde_json::from_str::<Value>(text) {
        // `null` is how some services write "no arguments".
        Ok(Value::Null) => Value::Object(serde_json::Map::new()),
        Ok(value @ Value::Object(_)) => value,
        // A string is executed by nobody, so a list or a number stays visible as what was written.
        Ok(_) | Err(_) => Value::String(text.to_owned()),
    }
}

/// Arguments to send back: an object as it is; what was no JSON, wrapped, because services demand an object.
pub(crate) fn arguments_to_echo(arguments: &Value) -> Cow<'_, Value> {
    match arguments {
        Value::Object(_) => Cow::Borrowed(arguments),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Cow::Owned(serde_json::json!({ "invalid_json": arguments }))
        }
    }
}

/// Replaces each `\uD8xx` escape without its partner by `\ufffd`.
fn replace_lone_surrogates(json: &str) -> Cow<'_, str> {
    let mut repaired = String::new();
    let mut rest = json;
    let mut replaced = false;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        repaired.push_str(before);
        let unit = code_unit(escape);
        let (take, keep) = match unit {
            None => (escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end), true),
            Some(0xD800..=0xDBFF) => match escape.get(6..).and_then(code_unit) {
                Some(0xDC00..=0xDFFF) => (12, true),
                Some(_) | None => (6, false),
            },
            Some(0xDC00..=0xDFFF) => (6, false),
            Some(_) => (6, true),
        };
        let (escape, after) = escape.split_at(take);
        repaired.push_str(if keep { escape } else { "\\ufffd" });
        replaced |= !keep;
        rest = after;
    }
    repaired.push_str(rest);
    if replaced { Cow::Owned(repaired) } else { Cow::Borrowed(json) }
}

/// The code unit of a `\uXXXX` at the start of `text`.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u16::from_str_radix(digits, 16).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<(&str, bool)>) {
        let got = parse::<String>(text).ok();
        assert_eq!(got, expect.map(|(text, repaired)| (text.to_owned(), repaired)));
    }

    #[test]
    fn lone_surrogates_are_replaced_and_told() {
        check(r#""a\ud83d""#, Some(("a\u{fffd}", true)));
        check(r#""\ude00b""#, Some(("\u{fffd}b", true)));
        check(r#""\ud83d\ud83d\ude00""#, Some(("\u{fffd}\u{1f600}", true)));
        check(r#""\ud83dx\n""#, Some(("\u{fffd}x\n", true)));
    }

    #[test]
    fn whole_pairs_and_escaped_backslashes_are_left_alone() {
        check(r#""\ud83d\ude00""#, Some(("\u{1f600}", false)));
        check(r#""\\ud83d""#, Some(("\\ud83d", false)));
    }

    #[test]
    fn other_errors_stay_errors() {
        check("{oops", None);
        check(r#""\ud83d"#, None);
        check(r#""\"#, None);
    }

    #[test]
    fn arguments_are_an_object_or_the_text_itself() {
        assert_eq!(arguments(""), json!({}));
        assert_eq!(arguments(" null "), json!({}));
        assert_eq!(arguments(r#"{"a":1}"#), json!({"a": 1}));
        assert_eq!(arguments(r#"{"a":"#), json!(r#"{"a":"#));
        assert_eq!(arguments(r#"{"a":"\ud83d"}"#), json!(r#"{"a":"\ud83d"}"#));
        assert_eq!(arguments("[1]"), json!("[1]"));
    }

    proptest! {
        #[test]
        fn repairing_never_panics_and_is_idempotent(text in r#"(\\u[dD][89cC][0-9]{2}|\\|"|é|u|\\n){0,20}"#) {
            let once = replace_lone_surrogates(&text).into_owned();
            prop_assert_eq!(replace_lone_surrogates(&once).into_owned(), once);
        }
    }
}
