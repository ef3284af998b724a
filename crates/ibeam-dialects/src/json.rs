//! JSON objects: taking keys out, reading by pointer, writing lines.

use serde_json::{Map, Value};

/// A JSON object.
pub(crate) type Object = Map<String, Value>;

/// Returns an object with these members, in this order; members that are `null` are left out.
pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(
        members.into_iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.to_owned(), v)).collect(),
    )
}

/// Returns the object in `value`; an empty one for any other value.
pub(crate) fn into_object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

/// Removes a key and returns its value; `null` if the key is missing. The other keys keep their order.
pub(crate) fn take(object: &mut Object, key: &str) -> Value {
    object.shift_remove(key).unwrap_or_default()
}

/// Removes a key and returns its value, if the value is a text.
pub(crate) fn take_text(object: &mut Object, key: &str) -> Option<String> {
    match object.get(key) {
        Some(Value::String(_)) => match object.shift_remove(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Removes a key and returns its value, if the value is an object.
pub(crate) fn take_object(object: &mut Object, key: &str) -> Option<Object> {
    match object.get(key) {
        Some(Value::Object(_)) => Some(into_object(take(object, key))),
        _ => None,
    }
}

/// Removes a key and returns its value, if the value is a list.
pub(crate) fn take_list(object: &mut Object, key: &str) -> Option<Vec<Value>> {
    match object.get(key) {
        Some(Value::Array(_)) => match object.shift_remove(key) {
            Some(Value::Array(items)) => Some(items),
            _ => None,
        },
        _ => None,
    }
}

pub(crate) fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

/// Returns the text at a JSON pointer; an empty text if the value is missing or not a string.
pub(crate) fn text_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the whole number at a JSON pointer; 0 if the value is missing or not a whole number.
pub(crate) fn count_at(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

/// Adds the members of `extra` that `object` does not have.
pub(crate) fn add_missing(object: &mut Object, extra: Object) {
    for (key, value) in extra {
        if !object.contains_key(&key) {
            object.insert(key, value);
        }
    }
}

/// Appends `value` as one line. Escapes characters that some readers take for a line end or that control terminals.
pub fn write_line(value: &Value, out: &mut Vec<u8>) {
    let line = value.to_string();
    let is_escaped = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}');
    let mut rest = line.as_str();
    while let Some((before, c)) = rest.find(is_escaped).and_then(|at| rest.split_at_checked(at)) {
        out.extend_from_slice(before.as_bytes());
        let mut chars = c.chars();
        if let Some(c) = chars.next() {
            out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
        }
        rest = chars.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
    out.push(b'\n');
}
