//! Texts and values as fixed sizes, so that long ones can be compared without being kept. FNV-1a, 128 bits.

use serde_json::Value;

const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;

/// A text that was given in pieces: equal for equal texts, however they were cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest {
    hash: u128,
    pub(crate) chars: u64,
}

impl Digest {
    pub(crate) const EMPTY: Self = Self { hash: BASIS, chars: 0 };

    /// It may have been given empty pieces.
    pub(crate) fn is_empty(&self) -> bool {
        self.chars == 0
    }

    pub(crate) fn of(text: &str) -> Self {
        let mut digest = Self::EMPTY;
        digest.push(text);
        digest
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.hash = text.bytes().fold(self.hash, step);
        self.chars += text.chars().count() as u64;
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::EMPTY
    }
}

fn step(hash: u128, byte: u8) -> u128 {
    (hash ^ u128::from(byte)).wrapping_mul(PRIME)
}

fn text(tag: u8, text: &str) -> u128 {
    text.bytes().fold(step(BASIS, tag), step)
}

/// Equal for equal values; the order of keys makes no difference, as in JSON.
pub(crate) fn of_value(value: &Value) -> u128 {
    match value {
        Value::Null => step(BASIS, b'n'),
        Value::Bool(flag) => step(step(BASIS, b'b'), u8::from(*flag)),
        Value::Number(number) => text(b'd', &number.to_string()),
        Value::String(string) => text(b's', string),
        Value::Array(items) => items
            .iter()
            .fold(step(BASIS, b'a'), |hash, item| of_value(item).to_le_bytes().into_iter().fold(hash, step)),
        Value::Object(members) => members.iter().fold(step(BASIS, b'o'), |sum, (key, value)| {
            let member = of_value(value).to_le_bytes().into_iter().fold(text(b'k', key), step);
            sum.wrapping_add(member)
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_do_not_matter_and_texts_do() {
        let mut pieces = Digest::EMPTY;
        ["né", "", "😀x"].iter().for_each(|piece| pieces.push(piece));
        assert_eq!(pieces, Digest::of("né😀x"));
        assert_eq!(pieces.chars, 4);
        assert_ne!(pieces, Digest::of("né😀y"));
    }

    #[test]
    fn keys_have_no_order_and_items_have_one() {
        assert_eq!(of_value(&json!({"a": 1, "b": [2]})), of_value(&json!({"b": [2], "a": 1})));
        assert_ne!(of_value(&json!([1, 2])), of_value(&json!([2, 1])));
        assert_ne!(of_value(&json!({"a": "1"})), of_value(&json!({"a": 1})));
        assert_ne!(of_value(&json!({"a": {}})), of_value(&json!({"a": []})));
    }
}
