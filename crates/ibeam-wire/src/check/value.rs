//! Checks a value against the description of its key.

use serde_json::{Map, Value};

use super::finding::{LineContext, printable_excerpt};
use super::rule::Rule;
use crate::Contract;
use crate::describe::{Need, Object, Shape};
use crate::scan::PathStep;

/// Checks the value at `path` against the set of its valid values.
fn check_value<'a>(
    line: &mut LineContext<'_>,
    path: &mut Vec<PathStep<'a>>,
    shape: &Shape,
    value: &'a Value,
) {
    let expected = match shape {
        Shape::Any => return,
        // The class of a failure is checked with its exit code.
        Shape::Text | Shape::FailureCode => (!value.is_string()).then_some("a string"),
        Shape::Count => (!value.is_u64()).then_some("a whole number of 0 or more"),
        Shape::Integer => (!(value.is_i64() || value.is_u64())).then_some("a whole number"),
        Shape::Amount => {
            (!value.as_f64().is_some_and(|amount| amount >= 0.0)).then_some("a number of 0 or more")
        }
        Shape::Flag | Shape::True => (!value.is_boolean()).then_some("`true` or `false`"),
        Shape::AnyObject | Shape::UncheckedObject(_) | Shape::UncheckedMap(_) | Shape::ToolCall(_) => {
            (!value.is_object()).then_some("an object")
        }
        Shape::Between(first, last) => {
            let expected = format!("a whole number from {first} to {last}");
            let is_inside =
                |value: &Value| value.as_u64().is_some_and(|number| (*first..=*last).contains(&number));
            return check_choice(line, path, value, Value::is_u64, &expected, is_inside);
        }
        Shape::False => {
            return check_choice(line, path, value, Value::is_boolean, "`false`", |value| {
                value.as_bool() == Some(false)
            });
        }
        Shape::Uuid => {
            return check_choice(line, path, value, Value::is_string, "a UUID", |value| {
                value.as_str().is_some_and(is_uuid)
            });
        }
        Shape::AbsolutePath => {
            return check_choice(line, path, value, Value::is_string, "an absolute path", |value| {
                value.as_str().is_some_and(is_absolute)
            });
        }
        Shape::Enum(values) => return check_enum(line, path, values, value),
        Shape::ContractName => return check_enum(line, path, &Contract::ALL.map(Contract::as_str), value),
        Shape::OpenEnum(values) => match value.as_str() {
            Some(found) if !values.contains(&found) => {
                let message =
                    format!("{} has the unknown value `{}`", path_name(path), printable_excerpt(found));
                return line.add(path, Rule::UnknownValue, message);
            }
            Some(_) => None,
            None => Some("a string"),
        },
        Shape::Object(description) => match value.as_object() {
            Some(object) => return check_object(line, path, description(), object),
            None => Some("an object"),
        },
        Shape::ObjectWithConst(description, key, constant) => match value.as_object() {
            Some(object) => return check_keys(line, path, description(), Some((key, constant)), object),
            None => Some("an object"),
        },
        Shape::TextOrNonEmptyList(_) if value.is_string() => None,
        Shape::List(item) | Shape::NonEmptyList(item) | Shape::TextOrNonEmptyList(item) => {
            match value.as_array() {
                Some(items) => {
                    if items.is_empty() && !matches!(shape, Shape::List(_)) {
                        line.add(path, Rule::WrongValue, format!("{} is empty", path_name(path)));
                    }
                    for (index, value) in items.iter().enumerate() {
                        path.push(PathStep::Index(index));
                        check_value(line, path, item, value);
                        path.pop();
                    }
                    return;
                }
                None if matches!(shape, Shape::TextOrNonEmptyList(_)) => Some("a string or a list"),
                None => Some("a list"),
            }
        }
    };
    if let Some(expected) = expected {
        line.add(
            path,
            Rule::WrongType,
            format!("{} should be {expected}, and is {}", path_name(path), type_name(value)),
        );
    }
}

/// Checks a value with `is_valid`. If it is invalid, `has_type` decides whether its type or its value is reported.
fn check_choice<'a>(
    line: &mut LineContext<'_>,
    path: &[PathStep<'a>],
    value: &'a Value,
    has_type: impl Fn(&Value) -> bool,
    expected: &str,
    is_valid: impl Fn(&Value) -> bool,
) {
    if is_valid(value) {
        return;
    }
    let name = path_name(path);
    if !has_type(value) {
        return line.add(
            path,
            Rule::WrongType,
            format!("{name} should be {expected}, and is {}", type_name(value)),
        );
    }
    let found = value.as_str().map_or_else(|| value.to_string(), printable_excerpt);
    line.add(path, Rule::WrongValue, format!("{name} should be {expected}, and is `{found}`"));
}

/// Checks that all required keys of an object are present and in order, and that each value is valid. Unknown keys are
/// ignored, because later versions may add keys.
pub(super) fn check_object<'a>(
    line: &mut LineContext<'_>,
    path: &mut Vec<PathStep<'a>>,
    description: &'static Object,
    object: &'a Map<String, Value>,
) {
    check_keys(line, path, description, None, object);
}

/// Checks the keys of an object like [`check_object`]. The key `constant.0` must have the value `constant.1`.
fn check_keys<'a>(
    line: &mut LineContext<'_>,
    path: &mut Vec<PathStep<'a>>,
    description: &'static Object,
    constant: Option<(&str, &str)>,
    object: &'a Map<String, Value>,
) {
    for key in description.keys {
        match object.get(key.name) {
            Some(value) => {
                path.push(PathStep::Key(key.name));
                match constant {
                    Some((name, constant)) if name == key.name => check_enum(line, path, &[constant], value),
                    Some(_) | None => check_value(line, path, &key.shape, value),
                }
                path.pop();
            }
            None if is_required(key.need, line) => {
                let parent = if path.is_empty() { String::new() } else { format!(" in {}", path_name(path)) };
                line.add(path, Rule::MissingKey, format!("`{}` is missing{parent}", key.name));
            }
            None => {}
        }
    }
    check_order(line, path, description, object);
}

fn is_required(need: Need, line: &LineContext<'_>) -> bool {
    match need {
        Need::Always => true,
        Need::Ibeam | Need::IbeamPayload => line.findings.report.is_from_ibeam,
        Need::Optional => false,
    }
}

fn check_order<'a>(
    line: &mut LineContext<'_>,
    path: &mut Vec<PathStep<'a>>,
    description: &'static Object,
    object: &'a Map<String, Value>,
) {
    let names =
        || description.tag.map(|_| "type").into_iter().chain(description.keys.iter().map(|key| key.name));
    let mut last: Option<(usize, &str)> = None;
    for name in object.keys() {
        let Some((index, name)) = names().enumerate().find(|(_, known)| known == name) else { continue };
        if let Some((_, previous)) = last.filter(|(previous, _)| *previous > index) {
            path.push(PathStep::Key(name));
            line.add(path, Rule::KeyOrder, format!("`{name}` is after `{previous}`"));
            path.pop();
            return;
        }
        last = Some((index, name));
    }
}

fn check_enum<'a>(line: &mut LineContext<'_>, path: &[PathStep<'a>], values: &[&str], value: &'a Value) {
    let is_known = |value: &Value| value.as_str().is_some_and(|found| values.contains(&found));
    check_choice(line, path, value, Value::is_string, &format_alternatives(values), is_known);
}

/// Returns a path for a message: `` `message.content[0].text` ``.
pub(super) fn path_name(path: &[PathStep<'_>]) -> String {
    let mut name = String::new();
    for step in path {
        match step {
            PathStep::Key(key) if name.is_empty() => name.push_str(&printable_excerpt(key)),
            PathStep::Key(key) => name.push_str(&format!(".{}", printable_excerpt(key))),
            PathStep::Index(index) => name.push_str(&format!("[{index}]")),
        }
    }
    if name.is_empty() { "the event".to_owned() } else { format!("`{name}`") }
}

/// Returns the type of a value for a message.
pub(super) fn type_name(value: &Value) -> &'static str {
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

fn format_alternatives(values: &[&str]) -> String {
    match values {
        [] => "nothing".to_owned(),
        [value] => format!("`{value}`"),
        [values @ .., last] => format!("`{}` or `{last}`", values.join("`, `")),
    }
}

fn is_uuid(text: &str) -> bool {
    let groups = text.split('-').map(str::len);
    groups.eq([8, 4, 4, 4, 12]) && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

/// Whether the path is absolute on any operating system. The stream may come from another one.
fn is_absolute(path: &str) -> bool {
    let has_drive =
        matches!(path.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    path.starts_with(['/', '\\']) || has_drive
}
