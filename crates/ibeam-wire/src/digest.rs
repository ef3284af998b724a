//! Hashes of texts and JSON values, to compare long values without storing them. The algorithm is 128-bit FNV-1a.

use serde_json::Value;

/// The multiplier of the hash.
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
/// The initial value of the hash.
const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;

/// The hash of a text that arrives in pieces. Equal texts have equal hashes, no matter how they are split into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextDigest {
    hash: u128,
    /// Length of the text in characters.
    pub chars: u64,
    /// Length of the text in bytes.
    pub len_bytes: u64,
}

impl TextDigest {
    /// The digest of the empty text.
    pub const EMPTY: Self = Self { hash: BASIS, chars: 0, len_bytes: 0 };

    /// Returns the digest of a text.
    pub fn from_text(text: &str) -> Self {
        let mut digest = Self::EMPTY;
        digest.push(text);
        digest
    }

    /// Adds a piece.
    pub fn push(&mut self, text: &str) {
        self.hash = text.bytes().fold(self.hash, add_byte);
        self.chars += text.chars().count() as u64;
        self.len_bytes += text.len() as u64;
    }

    /// Whether the text is empty. Empty pieces do not matter.
    pub fn is_empty(&self) -> bool {
        self.len_bytes == 0
    }

    /// Whether the pieces together equal `text`.
    pub fn matches(&self, text: &str) -> bool {
        self.len_bytes == text.len() as u64 && *self == Self::from_text(text)
    }
}

impl Default for TextDigest {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// Returns the hash after one more byte.
fn add_byte(hash: u128, byte: u8) -> u128 {
    (hash ^ u128::from(byte)).wrapping_mul(PRIME)
}

/// Returns the hash of a text. `tag` distinguishes texts from numbers and keys.
fn hash_text(tag: u8, text: &str) -> u128 {
    text.bytes().fold(add_byte(BASIS, tag), add_byte)
}

/// Returns the hash of a JSON value. The order of keys makes no difference.
pub(crate) fn hash_value(value: &Value) -> u128 {
    match value {
        Value::Null => add_byte(BASIS, b'n'),
        Value::Bool(flag) => add_byte(add_byte(BASIS, b'b'), u8::from(*flag)),
        Value::Number(number) => hash_text(b'd', &number.to_string()),
        Value::String(string) => hash_text(b's', string),
        Value::Array(items) => items.iter().fold(add_byte(BASIS, b'a'), |hash, item| {
            hash_value(item).to_le_bytes().into_iter().fold(hash, add_byte)
        }),
        Value::Object(members) => members.iter().fold(add_byte(BASIS, b'o'), |sum, (key, value)| {
            let member = hash_value(value).to_le_bytes().into_iter().fold(hash_text(b'k', key), add_byte);
            sum.wrapping_add(member)
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_text_matters_and_not_its_pieces() {
        let mut pieces = TextDigest::EMPTY;
        ["né", "", "😀x"].iter().for_each(|piece| pieces.push(piece));
        assert_eq!(pieces, TextDigest::from_text("né😀x"));
        assert_eq!((pieces.chars, pieces.len_bytes), (4, 8));
        assert!(pieces.matches("né😀x") && !pieces.matches("né😀y"));
        assert_ne!(pieces, TextDigest::from_text("né😀y"));
    }

    #[test]
    fn the_order_of_items_matters_and_that_of_keys_does_not() {
        assert_eq!(hash_value(&json!({"a": 1, "b": [2]})), hash_value(&json!({"b": [2], "a": 1})));
        assert_ne!(hash_value(&json!([1, 2])), hash_value(&json!([2, 1])));
        assert_ne!(hash_value(&json!({"a": "1"})), hash_value(&json!({"a": 1})));
        assert_ne!(hash_value(&json!({"a": {}})), hash_value(&json!({"a": []})));
    }
}
