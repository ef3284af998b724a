//! Equality and order of JSON values as JSON Schema defines them: 1 and 1.0 are the same number.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// The length in characters of a value in a message.
const MAX_SHOWN_CHARS: usize = 80;

/// Returns the name of the type of a value.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if is_integer(number) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether a value has the type that a schema names.
pub(super) fn has_type(value: &Value, name: &str) -> bool {
    let found = type_name(value);
    found == name || (name == "number" && found == "integer")
}

fn is_integer(number: &Number) -> bool {
    as_integer(number).is_some() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

fn as_integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// Compares two numbers.
pub(super) fn compare(a: &Number, b: &Number) -> Ordering {
    match (as_integer(a), as_integer(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_) | None, _) => {
            let float = |number: &Number| number.as_f64().unwrap_or(f64::NAN);
            float(a).partial_cmp(&float(b)).unwrap_or(Ordering::Less)
        }
    }
}

/// Whether `number` is a multiple of `factor`, which is above 0.
pub(super) fn is_multiple(number: &Number, factor: &Number) -> bool {
    if let (Some(number), Some(factor)) = (as_integer(number), as_integer(factor)) {
        return number.checked_rem(factor) == Some(0);
    }
    let (Some(number), Some(factor)) = (number.as_f64(), factor.as_f64()) else { return false };
    let quotient = number / factor;
    // Decimal fractions are not exact: 0.0075 is a multiple of 0.0001.
    let tolerance = 4.0 * f64::EPSILON * quotient.abs().max(1.0);
    quotient.is_finite() && (quotient - quotient.round()).abs() <= tolerance
}

/// Whether two values are equal.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            let same = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| equal(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        (a, b) => a == b,
    }
}

/// Returns a value for a message, shortened.
pub(super) fn shortened_json(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
