//! Where things stand in a line of JSON: what a parsed value no longer tells.
//!
//! Only for text that has parsed; of anything else it finds something or nothing, but it ends.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Deserializer;

/// The deepest nesting that is read; a stack holds it, and no call comes near it.
pub(crate) const MOST_DEPTH: usize = 512;

/// Parses the whole of a text of JSON, however deep a stream may nest it (512; deeper is refused).
///
/// # Errors
/// It is not JSON, it is nested too deep, or it is no `T`.
pub fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    let mut deserializer = Deserializer::from_str(text);
    if depth(text) <= MOST_DEPTH {
        deserializer.disable_recursion_limit();
    }
    let value = T::deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// How deep brackets are nested outside of strings.
pub(crate) fn depth(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut most) = (0, 0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = after_string(bytes, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
        at += 1;
    }
    most
}

/// The column of an error of serde_json in a text of one line: in characters, from 1.
pub(crate) fn column_of(text: &str, error: &serde_json::Error) -> usize {
    column(text, error.column().saturating_sub(1))
}

/// What an error of serde_json says, without its own line and column.
pub(crate) fn without_place(error: &serde_json::Error) -> String {
    let said = error.to_string();
    match said.rfind(" at line ") {
        Some(end) => said.get(..end).unwrap_or(&said).to_owned(),
        None => said,
    }
}

/// The column of a byte: in characters, from 1.
pub(crate) fn column(text: &str, at: usize) -> usize {
    text.char_indices().take_while(|(index, _)| *index < at).count() + 1
}

/// A way into a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// The byte at which the value at the end of `path` begins; where that is missing, the last that is there.
pub(crate) fn locate(text: &str, path: &[Step<'_>]) -> usize {
    let mut at = after_space(text.as_bytes(), 0);
    for step in path {
        let found = match *step {
            // The last of equal keys is the one that counts.
            Step::Key(name) => {
                Members::of(text, at).filter(|member| member.key.as_deref() == Some(name)).last()
            }
            Step::Index(index) => Members::of(text, at).nth(index),
        };
        match found {
            Some(member) => at = member.at,
            None => break,
        }
    }
    at
}

/// Keys that stand twice in one object, in the outer `levels` of objects: the byte of the second, and the key.
pub(crate) fn doubles(text: &str, at: usize, levels: usize, found: &mut Vec<(usize, String)>) {
    let mut keys: HashSet<String> = HashSet::new();
    for member in Members::of(text, at) {
        if levels > 1 {
            doubles(text, member.at, levels - 1, found);
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
    pub(crate) key: Option<String>,
    pub(crate) key_at: usize,
    /// Where the value begins.
    pub(crate) at: usize,
}

/// The members of the object or array that begins at a byte; none where something else does.
pub(crate) struct Members<'a> {
    text: &'a str,
    at: usize,
    keyed: bool,
}

impl<'a> Members<'a> {
    pub(crate) fn of(text: &'a str, at: usize) -> Self {
        match text.as_bytes().get(at) {
            Some(b'{') => Self { text, at: at + 1, keyed: true },
            Some(b'[') => Self { text, at: at + 1, keyed: false },
            _ => Self { text, at: text.len(), keyed: false },
        }
    }
}

impl Iterator for Members<'_> {
    type Item = Member;

    fn next(&mut self) -> Option<Member> {
        let bytes = self.text.as_bytes();
        let mut at = after_space(bytes, self.at);
        if bytes.get(at) == Some(&b',') {
            at = after_space(bytes, at + 1);
        }
        if matches!(bytes.get(at), None | Some(b'}' | b']')) {
            self.at = bytes.len();
            return None;
        }
        let key_at = at;
        let mut key = None;
        if self.keyed {
            let end = after_string(bytes, at);
            key = serde_json::from_str(self.text.get(at..end)?).ok();
            at = after_space(bytes, end);
            if bytes.get(at) == Some(&b':') {
                at = after_space(bytes, at + 1);
            }
        }
        self.at = after_value(bytes, at);
        Some(Member { key, key_at, at })
    }
}

fn after_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

/// The byte after the string that begins at `at`.
fn after_string(bytes: &[u8], at: usize) -> usize {
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

/// The byte after the value that begins at `at`; always further on.
fn after_value(bytes: &[u8], at: usize) -> usize {
    let mut depth = 0_usize;
    let mut next = at;
    while let Some(byte) = bytes.get(next) {
        match byte {
            b'"' => {
                next = after_string(bytes, next);
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
    fn check(text: &str, path: &[Step<'_>], expect: &str) {
        let at = locate(text, path);
        assert!(text[at..].starts_with(expect), "{}", &text[at..]);
    }

    #[test]
    fn values_are_found_where_they_stand() {
        use Step::{Index, Key};
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
    fn keys_that_stand_twice_are_found_at_any_of_the_outer_levels() {
        let mut found = Vec::new();
        doubles(r#"{"a":{"b":1,"b":2},"a":[{"c":1,"\u0063":2}]}"#, 0, 3, &mut found);
        let keys: Vec<&str> = found.iter().map(|(_, key)| key.as_str()).collect();
        assert_eq!(keys, ["b", "c", "a"]);
    }

    #[test]
    fn brackets_in_strings_are_not_nesting() {
        assert_eq!(depth(r#"{"a":["[[[\"[[",[1]]}"#), 3);
    }
}
