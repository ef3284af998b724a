//! What of a value is not there in another.

use serde_json::Value;

use crate::losses::LossKind;

/// Calls `tell` with the path of each part of `value` that `back` lacks or has otherwise.
///
/// What says nothing (`null`, `false`, `0`, an empty text, list or object) may be missing. Keys that `back` adds are
/// nothing lost.
pub(crate) fn difference(
    value: &Value,
    back: Option<&Value>,
    path: &mut String,
    tell: &mut impl FnMut(&str, LossKind),
) {
    match (value, back) {
        (value, None) => {
            if !says_nothing(value) {
                tell(path, LossKind::Dropped);
            }
        }
        (Value::Object(object), Some(Value::Object(back))) => {
            for (key, value) in object {
                let end = path.len();
                if end > 0 {
                    path.push('.');
                }
                path.push_str(key);
                difference(value, back.get(key), path, tell);
                path.truncate(end);
            }
        }
        (Value::Array(items), Some(Value::Array(back))) if items.len() == back.len() => {
            let end = path.len();
            path.push_str("[]");
            for (item, back) in items.iter().zip(back) {
                difference(item, Some(back), path, tell);
            }
            path.truncate(end);
        }
        (value, Some(back)) => {
            if !(same(value, back) || value.is_null() && says_nothing(back)) {
                tell(path, LossKind::Changed);
            }
        }
    }
}

/// Equal, however a number is written.
fn same(value: &Value, back: &Value) -> bool {
    let written = |number: &Value| number.is_f64().then(|| number.as_f64()).flatten();
    value == back
        || (written(value).is_some() && written(value) == back.as_f64())
        || (written(back).is_some() && written(back) == value.as_f64())
}

/// It is what a key means that is not there.
pub(crate) fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.values().all(says_nothing),
    }
}
