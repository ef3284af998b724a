//! Bytes to text across token borders: a character may arrive in pieces.

/// Holds the first bytes of a character until the rest arrives.
#[derive(Default)]
pub(crate) struct Utf8Buffer {
    pending: Vec<u8>,
}

impl Utf8Buffer {
    /// Takes the next bytes and returns the text they complete; bytes that can never be text become `U+FFFD`.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let complete = match self.pending.utf8_chunks().last() {
            // A broken tail of up to three bytes may be the start of a character.
            Some(chunk) if !chunk.invalid().is_empty() && is_start(chunk.invalid()) => {
                self.pending.len() - chunk.invalid().len()
            }
            _ => self.pending.len(),
        };
        let rest = self.pending.split_off(complete);
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending = rest;
        text
    }
}

fn is_start(bytes: &[u8]) -> bool {
    let needed = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => 0,
    };
    bytes.len() < needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_is_the_same_however_its_bytes_are_cut(text in "\\PC{0,20}", cut in 1usize..5) {
            let mut buffer = Utf8Buffer::default();
            let joined: String = text.as_bytes().chunks(cut).map(|bytes| buffer.push(bytes)).collect();
            prop_assert_eq!(joined, text);
        }
    }

    #[test]
    fn a_byte_that_is_no_text_does_not_block_what_follows() {
        let mut buffer = Utf8Buffer::default();
        assert_eq!(buffer.push(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(buffer.push(b"\xe3\x81"), "");
        assert_eq!(buffer.push(b"x"), "\u{fffd}x");
    }
}
