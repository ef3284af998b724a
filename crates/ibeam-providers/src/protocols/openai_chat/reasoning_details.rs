//! The details of reasoning that OpenRouter sends in pieces and wants back unchanged.
//!
//! Pure. Source: "Reasoning tokens" of its documentation, "Preserving reasoning".

use serde_json::Value;

/// The field of a message, and of a recorded block of thinking, with the details.
pub(super) const REASONING_DETAILS: &str = "reasoning_details";
/// The fields whose pieces make up one text.
const TEXT_FIELDS: [&str; 2] = ["text", "summary"];

/// Adds the details of a delta: a piece continues the last detail if both have the same type and place.
pub(super) fn add_details(details: &mut Vec<Value>, pieces: Vec<Value>) {
    for piece in pieces {
        match details.last_mut() {
            Some(last) if continues(last, &piece) => extend(last, piece),
            Some(_) | None => details.push(piece),
        }
    }
}

fn continues(last: &Value, piece: &Value) -> bool {
    let is_same = |field: &str| last.get(field).is_some() && last.get(field) == piece.get(field);
    let is_compatible = |field: &str| {
        let known = |value: &Value| value.get(field).filter(|value| !value.is_null()).cloned();
        known(last).zip(known(piece)).is_none_or(|(last, piece)| last == piece)
    };
    // An encrypted detail arrives as a whole.
    let is_text =
        TEXT_FIELDS.iter().any(|field| piece.get(*field).is_some()) || piece.get("signature").is_some();
    is_text && is_same("type") && is_same("index") && is_compatible("id") && is_compatible("format")
}

fn extend(last: &mut Value, piece: Value) {
    let (Some(last), Value::Object(fields)) = (last.as_object_mut(), piece) else { return };
    for (name, value) in fields {
        match (last.get_mut(&name), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more)) if TEXT_FIELDS.contains(&name.as_str()) => {
                text.push_str(&more);
            }
            (_, value) => drop(last.insert(name, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_of_one_detail_are_joined() {
        let mut details = Vec::new();
        let text = |index: u32, text: &str| json!({ "type": "reasoning.text", "text": text, "index": index, "format": "f" });
        let signature = json!({ "type": "reasoning.text", "signature": "s", "index": 0, "text": null });
        let encrypted = |data: &str| json!({ "type": "reasoning.encrypted", "data": data, "index": 1 });
        add_details(&mut details, vec![text(0, "I "), text(0, "think")]);
        add_details(&mut details, vec![signature, encrypted("a"), encrypted("b"), text(2, "so")]);
        let joined = json!({ "type": "reasoning.text", "text": "I think", "index": 0, "format": "f", "signature": "s" });
        assert_eq!(details, [joined, encrypted("a"), encrypted("b"), text(2, "so")]);
    }
}
