//! A parser for the invalid JSON that some models and services write.
//!
//! Repairs lone surrogates in strings, which needs no guess. Every other defect is an error.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

/// A string that borrows from the document if it has no escapes.
///
/// serde borrows for `Cow<str>` itself, but not for the `Cow` in an `Option<Cow<str>>`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Text<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_string(self) -> String {
        self.0.into_owned()
    }
}

/// Returns the string in `text`, or an empty one.
pub(crate) fn string_or_empty(text: Option<Text<'_>>) -> String {
    text.map(Text::into_string).unwrap_or_default()
}

/// Parses `text`. If that fails, replaces lone surrogate escapes by U+FFFD, in `repaired`, and parses the result.
///
/// The flag is whether the text was repaired. Repaired text may be shown; repaired arguments must not be executed.
///
/// # Errors
/// Errors of the parser, if the repaired text does not parse either.
pub(crate) fn parse<'a, T: Deserialize<'a>>(
    text: &'a str,
    repaired: &'a mut String,
) -> Result<(T, bool), serde_json::Error> {
    match serde_json::from_str(text) {
        Ok(value) => Ok((value, false)),
        Err(error) => match replace_lone_surrogates(text) {
            Cow::Borrowed(_) => Err(error),
            Cow::Owned(text) => {
                *repaired = text;
                serde_json::from_str(repaired).map(|value| (value, true))
            }
        },
    }
}

/// Returns the arguments of a call: the object in `text`, `{}` if `text` is blank, else `text` as a JSON string.
pub(crate) fn parse_arguments(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    match serde_json::from_str::<Value>(text) {
        // `null` is how some services write "no arguments".
        Ok(Value::Null) => Value::Object(serde_json::Map::new()),
        Ok(value @ Value::Object(_)) => value,
        // No tool accepts a string, so a list or a number stays visible in the form in which the model wrote it.
        Ok(_) | Err(_) => Value::String(text.to_owned()),
    }
}

/// Returns arguments for a later request. Services require an object, so any other value is wrapped in one.
pub(crate) fn arguments_to_echo(arguments: &Value) -> Cow<'_, Value> {
    match arguments {
        Value::Object(_) => Cow::Borrowed(arguments),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Cow::Owned(serde_json::json!({ "invalid_json": arguments }))
        }
    }
}

/// Replaces each escape of a surrogate that is not part of a pair by `\ufffd`.
fn replace_lone_surrogates(json: &str) -> Cow<'_, str> {
    let mut repaired = String::new();
    let mut rest = json;
    let mut replaced = false;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        repaired.push_str(before);
        let unit = code_unit(escape);
        let (length, is_valid) = match unit {
            None => (escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end), true),
            Some(0xD800..=0xDBFF) => match escape.get(6..).and_then(code_unit) {
                Some(0xDC00..=0xDFFF) => (12, true),
                Some(_) | None => (6, false),
            },
            Some(0xDC00..=0xDFFF) => (6, false),
            Some(_) => (6, true),
        };
        let (escape, after) = escape.split_at(length);
        repaired.push_str(if is_valid { escape } else { "\\ufffd" });
        replaced |= !is_valid;
        rest = after;
    }
    repaired.push_str(rest);
    if replaced { Cow::Owned(repaired) } else { Cow::Borrowed(json) }
}

/// Returns the code unit of a `\uXXXX` at the start of `text`.
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
        let got = parse::<String>(text, &mut String::new()).ok();
        assert_eq!(got, expect.map(|(text, repaired)| (text.to_owned(), repaired)));
    }

    #[test]
    fn lone_surrogates_are_replaced_and_reported() {
        check(r#""a\ud83d""#, Some(("a\u{fffd}", true)));
        check(r#""\ude00b""#, Some(("\u{fffd}b", true)));
        check(r#""\ud83d\ud83d\ude00""#, Some(("\u{fffd}\u{1f600}", true)));
        check(r#""\ud83dx\n""#, Some(("\u{fffd}x\n", true)));
    }

    #[test]
    fn surrogate_pairs_and_escaped_backslashes_are_unchanged() {
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
        assert_eq!(parse_arguments(""), json!({}));
        assert_eq!(parse_arguments(" null "), json!({}));
        assert_eq!(parse_arguments(r#"{"a":1}"#), json!({"a": 1}));
        assert_eq!(parse_arguments(r#"{"a":"#), json!(r#"{"a":"#));
        assert_eq!(parse_arguments(r#"{"a":"\ud83d"}"#), json!(r#"{"a":"\ud83d"}"#));
        assert_eq!(parse_arguments("[1]"), json!("[1]"));
    }

    proptest! {
        #[test]
        fn repairing_never_panics_and_is_idempotent(text in r#"(\\u[dD][89cC][0-9]{2}|\\|"|é|u|\\n){0,20}"#) {
            let once = replace_lone_surrogates(&text).into_owned();
            prop_assert_eq!(replace_lone_surrogates(&once).into_owned(), once);
        }
    }
}
