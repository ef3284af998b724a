//! A text seen with LF line ends only, and the way back to its own positions.

use std::borrow::Cow;

/// A text whose CRLF are folded to LF.
pub(super) struct Folded<'a> {
    /// The folded text.
    pub(super) text: Cow<'a, [u8]>,
    /// Positions in `text` of those LF that were CRLF, ascending.
    folded: Vec<usize>,
}

impl<'a> Folded<'a> {
    /// Folds every CRLF; borrows when there is none.
    pub(super) fn new(original: &'a [u8]) -> Self {
        let mut folded = Vec::new();
        let mut text = Vec::new();
        let mut taken = 0;
        for at in memchr::memmem::find_iter(original, b"\r\n") {
            text.extend_from_slice(original.get(taken..at).unwrap_or_default());
            folded.push(text.len());
            taken = at + 1;
        }
        if folded.is_empty() {
            return Self { text: Cow::Borrowed(original), folded };
        }
        text.extend_from_slice(original.get(taken..).unwrap_or_default());
        Self { text: Cow::Owned(text), folded }
    }

    /// Where `position` of the folded text lies in the original; before the CR of a CRLF, not inside.
    pub(super) fn original(&self, position: usize) -> usize {
        position + self.folded.partition_point(|folded| *folded < position)
    }

    /// Whether the LF at `position` of the folded text is a CRLF in the original.
    pub(super) fn is_crlf(&self, position: usize) -> bool {
        self.folded.binary_search(&position).is_ok()
    }

    /// No line end was folded.
    pub(super) fn is_same(&self) -> bool {
        self.folded.is_empty()
    }
}
