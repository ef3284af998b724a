//! What a value may be, and whether it is.

use serde_json::{Map, Value};

use super::finding::{Here, shown};
use super::rule::Rule;
use crate::scan::Step;

/// What a value may be.
pub(super) enum Shape {
    Any,
    Text,
    /// A whole number of 0 or more.
    Count,
    /// A whole number from the first to the last.
    Between(u64, u64),
    /// A whole number.
    Integer,
    /// A number of 0 or more.
    Amount,
    Flag,
    False,
    Uuid,
    AbsolutePath,
    /// One of these words and no other.
    Word(&'static [&'static str]),
    /// One of these words, or one that comes to be.
    OpenWord(&'static [&'static str]),
    AnyObject,
    Object(&'static [Key]),
    List(&'static Shape),
    /// A list of one or more.
    Some(&'static Shape),
}

/// A key of an object; keys stand in the order of their table.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) need: Need,
    pub(super) shape: Shape,
}

/// Whether a key has to be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Always,
    /// In what ibeam prints; the published page does not have it.
    Ours,
    Maybe,
}

/// Holds `value`, which stands at the end of `path`, against `shape`.
pub(super) fn hold<'a>(here: &mut Here<'_>, path: &mut Vec<Step<'a>>, shape: &Shape, value: &'a Value) {
    let wanted = match shape {
        Shape::Any => return,
        Shape::Text => (!value.is_string()).then_some("a string"),
        Shape::Count => (!value.is_u64()).then_some("a whole number of 0 or more"),
        Shape::Integer => (!(value.is_i64() || value.is_u64())).then_some("a whole number"),
        Shape::Amount => {
            (!value.as_f64().is_some_and(|amount| amount >= 0.0)).then_some("a number of 0 or more")
        }
        Shape::Flag => (!value.is_boolean()).then_some("`true` or `false`"),
        Shape::AnyObject => (!value.is_object()).then_some("an object"),
        Shape::Between(first, last) => {
            let wanted = format!("a whole number from {first} to {last}");
            let inside = |value: &Value| value.as_u64().is_some_and(|it| (*first..=*last).contains(&it));
            return hold_choice(here, path, value, Value::is_u64, &wanted, inside);
        }
        Shape::False => {
            return hold_choice(here, path, value, Value::is_boolean, "`false`", |value| {
                value.as_bool() == Some(false)
            });
        }
        Shape::Uuid => {
            return hold_choice(here, path, value, Value::is_string, "a UUID", |value| {
                value.as_str().is_some_and(is_uuid)
            });
        }
        Shape::AbsolutePath => {
            return hold_choice(here, path, value, Value::is_string, "an absolute path", |value| {
                value.as_str().is_some_and(is_absolute)
            });
        }
        Shape::Word(words) => {
            let known = |value: &Value| value.as_str().is_some_and(|word| words.contains(&word));
            return hold_choice(here, path, value, Value::is_string, &one_of(words), known);
        }
        Shape::OpenWord(words) => match value.as_str() {
            Some(word) if !words.contains(&word) => {
                let message = format!("{} is `{}`, a word that is not known", name(path), shown(word));
                return here.add(path, Rule::UnknownValue, message);
            }
            Some(_) => None,
            None => Some("a string"),
        },
        Shape::Object(keys) => match value.as_object() {
            Some(object) => return hold_keys(here, path, keys, object),
            None => Some("an object"),
        },
        Shape::List(item) | Shape::Some(item) => match value.as_array() {
            Some(items) => {
                if items.is_empty() && matches!(shape, Shape::Some(_)) {
                    here.add(path, Rule::WrongValue, format!("{} is empty", name(path)));
                }
                for (index, value) in items.iter().enumerate() {
                    path.push(Step::Index(index));
                    hold(here, path, item, value);
                    path.pop();
                }
                return;
            }
            None => Some("a list"),
        },
    };
    if let Some(wanted) = wanted {
        here.add(path, Rule::WrongType, format!("{} should be {wanted}, and is {}", name(path), kind(value)));
    }
}

/// A value of the right type may still be a wrong one.
fn hold_choice<'a>(
    here: &mut Here<'_>,
    path: &[Step<'a>],
    value: &'a Value,
    of_type: impl Fn(&Value) -> bool,
    wanted: &str,
    right: impl Fn(&Value) -> bool,
) {
    if right(value) {
        return;
    }
    let name = name(path);
    if !of_type(value) {
        return here.add(path, Rule::WrongType, format!("{name} should be {wanted}, and is {}", kind(value)));
    }
    let said = value.as_str().map_or_else(|| value.to_string(), shown);
    here.add(path, Rule::WrongValue, format!("{name} should be {wanted}, and is `{said}`"));
}

/// Holds an object against its keys: all there, each as it should be, in their order. Others are passed over.
pub(super) fn hold_keys<'a>(
    here: &mut Here<'_>,
    path: &mut Vec<Step<'a>>,
    keys: &'static [Key],
    object: &'a Map<String, Value>,
) {
    for key in keys {
        match object.get(key.name) {
            Some(value) => {
                path.push(Step::Key(key.name));
                hold(here, path, &key.shape, value);
                path.pop();
            }
            None => {
                if key.need == Need::Always || key.need == Need::Ours && here.findings.report.is_from_ibeam {
                    let place = if path.is_empty() { String::new() } else { format!(" in {}", name(path)) };
                    here.add(path, Rule::MissingKey, format!("`{}` is missing{place}", key.name));
                }
            }
        }
    }
    let mut last: Option<(usize, &str)> = None;
    for name in object.keys() {
        let Some((place, key)) = keys.iter().enumerate().find(|(_, key)| key.name == name) else { continue };
        if let Some((_, before)) = last.filter(|(before, _)| *before > place) {
            path.push(Step::Key(key.name));
            here.add(path, Rule::KeyOrder, format!("`{}` stands after `{before}`", key.name));
            path.pop();
            return;
        }
        last = Some((place, key.name));
    }
}

/// A path as people write it: `` `message.content[0].text` ``.
pub(super) fn name(path: &[Step<'_>]) -> String {
    let mut name = String::new();
    for step in path {
        match step {
            Step::Key(key) if name.is_empty() => name.push_str(&shown(key)),
            Step::Key(key) => name.push_str(&format!(".{}", shown(key))),
            Step::Index(index) => name.push_str(&format!("[{index}]")),
        }
    }
    if name.is_empty() { "the event".to_owned() } else { format!("`{name}`") }
}

/// The type of a value, for people.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "`null`",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a fraction",
        Value::Number(number) if number.is_i64() && !number.is_u64() => "a negative number",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn one_of(words: &[&str]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [word] => format!("`{word}`"),
        [words @ .., last] => format!("`{}` or `{last}`", words.join("`, `")),
    }
}

fn is_uuid(text: &str) -> bool {
    let groups = text.split('-').map(str::len);
    groups.eq([8, 4, 4, 4, 12]) && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

/// As on the system that printed it, which need not be this one.
fn is_absolute(path: &str) -> bool {
    let drive = matches!(path.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    path.starts_with(['/', '\\']) || drive
}
