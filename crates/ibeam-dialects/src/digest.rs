//! Whether a long text comes again, without keeping it.

/// A text that grows, told from others by length and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) bytes: u64,
    hash: u128,
}

impl Default for Digest {
    fn default() -> Self {
        Self { bytes: 0, hash: 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d }
    }
}

impl Digest {
    /// Adds a piece.
    pub(crate) fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            self.hash = (self.hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
        self.bytes += text.len() as u64;
    }

    /// Whether the pieces so far are this text.
    pub(crate) fn is(&self, text: &str) -> bool {
        *self == Self::of(text)
    }

    pub(crate) fn of(text: &str) -> Self {
        let mut digest = Self::default();
        digest.push(text);
        digest
    }
}
