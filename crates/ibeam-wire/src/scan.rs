//! Positions in a line of JSON, which a parsed value does not have.
//!
//! The text must be valid JSON. For other text the positions are meaningless, but every function terminates.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Deserializer;

/// The maximum nesting that is parsed. The stack is large enough for this nesting, and real calls have far less.
pub(crate) const MAX_DEPTH: usize = 512;

/// Parses JSON that is nested up to 512 levels deep. serde_json alone accepts at most 128 levels.
///
/// # Errors
/// The text is not JSON, is nested too deeply, or is not a `T`.
pub fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    let mut deserializer = Deserializer::from_str(text);
    if depth(text) <= MAX_DEPTH {
        deserializer.disable_recursion_limit();
    }
    let value = T::deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Returns the maximum nesting of brackets outside strings.
pub(crate) fn depth(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut max) = (0, 0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = skip_string(bytes, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        max = max.max(depth);
        at += 1;
    }
    max
}

/// Returns the column of a serde_json error in a text of one line, in characters from 1.
pub(crate) fn column_of(text: &str, error: &serde_json::Error) -> usize {
    column(text, error.column().saturating_sub(1))
}

/// Returns the message of a serde_json error without its line and column.
pub(crate) fn message_without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rfind(" at line ") {
        Some(end) => message.get(..end).unwrap_or(&message).to_owned(),
        None => message,
    }
}

/// Returns the column of the byte offset `at`, in characters from 1.
pub(crate) fn column(text: &str, at: usize) -> usize {
    text.char_indices().take_while(|(index, _)| *index < at).count() + 1
}

/// A step of a path into a JSON value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PathStep<'a> {
    Key(&'a str),
    Index(usize),
}

/// Returns the offset of the value at `path`, or of the deepest existing value on the path.
pub(crate) fn locate(text: &str, path: &[PathStep<'_>]) -> usize {
    let mut at = skip_space(text.as_bytes(), 0);
    for step in path {
        let found = match *step {
            // The parser uses the last of equal keys.
            PathStep::Key(name) => {
                Members::new(text, at).filter(|member| member.key.as_deref() == Some(name)).last()
            }
            PathStep::Index(index) => Members::new(text, at).nth(index),
        };
        match found {
            Some(member) => at = member.at,
            None => break,
        }
    }
    at
}

/// Finds duplicate keys in the outer `levels` of objects. Adds the offset of each repetition and the key to `found`.
pub(crate) fn duplicate_keys(text: &str, at: usize, levels: usize, found: &mut Vec<(usize, String)>) {
    let mut keys: HashSet<String> = HashSet::new();
    for member in Members::new(text, at) {
        if levels > 1 {
            duplicate_keys(text, member.at, levels - 1, found);
        }
        let Some(key) = member.key else { continue };
        match keys.contains(&key) {
            true => found.push((member.key_at, key)),
            false => drop(keys.insert(key)),
        }
    }
}

/// A member of an object, or an item of an array.
pub(crate) struct Member {
    /// The key; `None` for an item of an array.
    pub(crate) key: Option<String>,
    /// The offset of the key; for an item of an array, the offset of the value.
    pub(crate) key_at: usize,
    /// The offset of the value.
    pub(crate) at: usize,
}

/// Iterates over the members of the object or array at an offset. Other values have no members.
pub(crate) struct Members<'a> {
    text: &'a str,
    at: usize,
    is_object: bool,
}

impl<'a> Members<'a> {
    pub(crate) fn new(text: &'a str, at: usize) -> Self {
        match text.as_bytes().get(at) {
            Some(b'{') => Self { text, at: at + 1, is_object: true },
            Some(b'[') => Self { text, at: at + 1, is_object: false },
            _ => Self { text, at: text.len(), is_object: false },
        }
    }
}

impl Iterator for Members<'_> {
    type Item = Member;

    fn next(&mut self) -> Option<Member> {
        let bytes = self.text.as_bytes();
        let mut at = skip_space(bytes, self.at);
        if bytes.get(at) == Some(&b',') {
            at = skip_space(bytes, at + 1);
        }
        if matches!(bytes.get(at), None | Some(b'}' | b']')) {
            self.at = bytes.len();
            return None;
        }
        let key_at = at;
        let mut key = None;
        if self.is_object {
            let end = skip_string(bytes, at);
            key = serde_json::from_str(self.text.get(at..end)?).ok();
            at = skip_space(bytes, end);
            if bytes.get(at) == Some(&b':') {
                at = skip_space(bytes, at + 1);
            }
        }
        self.at = skip_value(bytes, at);
        Some(Member { key, key_at, at })
    }
}

/// Returns the offset after the white space that starts at `at`.
fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

/// Returns the offset after the string that starts at `at`.
fn skip_string(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns the offset after the value that starts at `at`. The result is always greater than `at`.
fn skip_value(bytes: &[u8], at: usize) -> usize {
    let mut depth = 0_usize;
    let mut next = at;
    while let Some(byte) = bytes.get(next) {
        match byte {
            b'"' => {
                next = skip_string(bytes, next);
                if depth == 0 {
                    return next;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return next + usize::from(depth == 1),
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return next,
            _ => {}
        }
        next += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, path: &[PathStep<'_>], expect: &str) {
        let at = locate(text, path);
        assert!(text[at..].starts_with(expect), "{}", &text[at..]);
    }

    #[test]
    fn a_value_is_located_by_its_path() {
        use PathStep::{Index, Key};
        let text = r#" {"a":[1, {"b\n":"x\"}"} ,[]],"c":{"d":null},"e":-1.5}"#;
        check(text, &[], "{\"a\"");
        check(text, &[Key("a"), Index(0)], "1,");
        check(text, &[Key("a"), Index(1), Key("b\n")], "\"x");
        check(text, &[Key("a"), Index(2)], "[]");
        check(text, &[Key("c"), Key("d")], "null");
        check(text, &[Key("e")], "-1.5");
        check(text, &[Key("c"), Key("missing")], "{\"d\"");
    }

    #[test]
    fn columns_are_counted_in_characters() {
        assert_eq!(column("né😀x", 0), 1);
        assert_eq!(column("né😀x", 3), 3);
        assert_eq!(column("né😀x", 7), 4);
    }

    #[test]
    fn duplicate_keys_are_found_in_the_outer_levels() {
        let mut found = Vec::new();
        duplicate_keys(r#"{"a":{"b":1,"b":2},"a":[{"c":1,"\u0063":2}]}"#, 0, 3, &mut found);
        let keys: Vec<&str> = found.iter().map(|(_, key)| key.as_str()).collect();
        assert_eq!(keys, ["b", "c", "a"]);
    }

    #[test]
    fn brackets_in_strings_do_not_count_as_nesting() {
        assert_eq!(depth(r#"{"a":["[[[\"[[",[1]]}"#), 3);
    }
}
