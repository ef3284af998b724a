//! The guard against verbatim copies where a text in one's own words is asked for.

use std::collections::HashMap;

/// What a copied word loses: enough to turn a choice between words, not enough to force a wrong one.
pub(crate) const PENALTY: f32 = 5.0;
/// A run of this many tokens taken from the source is a copy.
const COPY_TOKENS: usize = 12;

/// Knows which tokens would complete a copy of the source; an empty guard knows none.
#[derive(Default)]
pub(crate) struct CopyGuard {
    /// What follows each run of `COPY_TOKENS - 1` tokens of the source.
    following: HashMap<Box<[u32]>, Vec<u32>>,
    recent: Vec<u32>,
}

impl CopyGuard {
    /// A guard for texts made from `source`.
    pub(crate) fn new(source: &[u32]) -> Self {
        let mut following: HashMap<Box<[u32]>, Vec<u32>> = HashMap::new();
        for run in source.windows(COPY_TOKENS) {
            if let Some((last, before)) = run.split_last() {
                following.entry(before.into()).or_default().push(*last);
            }
        }
        Self { following, recent: Vec::new() }
    }

    /// Takes note of a token just written.
    pub(crate) fn wrote(&mut self, token: u32) {
        if self.following.is_empty() {
            return;
        }
        if self.recent.len() == COPY_TOKENS - 1 {
            self.recent.remove(0);
        }
        self.recent.push(token);
    }

    /// The tokens that would go on with a copy.
    pub(crate) fn copies(&self) -> Vec<u32> {
        self.following.get(self.recent.as_slice()).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twelfth_token_of_a_copy_is_known_and_no_earlier_one() {
        let source: Vec<u32> = (0..30).collect();
        let mut guard = CopyGuard::new(&source);
        for token in 5..16 {
            assert!(guard.copies().is_empty(), "before token {token}");
            guard.wrote(token);
        }
        assert_eq!(guard.copies(), [16]);
    }

    #[test]
    fn an_empty_guard_knows_no_copy() {
        let mut guard = CopyGuard::default();
        (0..40).for_each(|token| guard.wrote(token));
        assert!(guard.copies().is_empty());
    }
}
