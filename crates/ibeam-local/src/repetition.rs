//! Guards against repetition: verbatim copies of a source where the task requires the model's own words, and endless
//! loops.

use std::collections::HashMap;

/// The penalty for a token that copies: enough to change a choice between words, not enough to force a wrong one.
pub(crate) const COPY_PENALTY: f32 = 5.0;
/// The number of consecutive source tokens that count as a copy.
const COPY_TOKENS: usize = 12;

/// Finds the tokens that would complete a copy of the source. The default guard has no source.
#[derive(Default)]
pub(crate) struct CopyGuard {
    /// The tokens after each sequence of `COPY_TOKENS - 1` tokens of the source.
    next_tokens: HashMap<Box<[u32]>, Vec<u32>>,
    recent: Vec<u32>,
}

impl CopyGuard {
    /// Creates a guard for texts that are based on `source`.
    pub(crate) fn new(source: &[u32]) -> Self {
        let mut next_tokens: HashMap<Box<[u32]>, Vec<u32>> = HashMap::new();
        for window in source.windows(COPY_TOKENS) {
            if let Some((last, before)) = window.split_last() {
                next_tokens.entry(before.into()).or_default().push(*last);
            }
        }
        Self { next_tokens, recent: Vec::new() }
    }

    /// Records a generated token.
    pub(crate) fn add_token(&mut self, token: u32) {
        if self.next_tokens.is_empty() {
            return;
        }
        if self.recent.len() == COPY_TOKENS - 1 {
            self.recent.remove(0);
        }
        self.recent.push(token);
    }

    /// Returns the tokens that would continue a copy.
    pub(crate) fn copying_tokens(&self) -> Vec<u32> {
        self.next_tokens.get(self.recent.as_slice()).cloned().unwrap_or_default()
    }
}

/// The minimum total length of a loop, in tokens.
const MIN_LOOP_TOKENS: usize = 48;
/// The minimum number of rounds of a loop.
const MIN_LOOP_ROUNDS: usize = 4;
/// The maximum length of a round. Longer repetitions are intended.
const MAX_ROUND_TOKENS: usize = 24;

/// Returns the token that would continue the loop at the end of `written`; `None` if it does not end in a loop.
pub(crate) fn looping_token(written: &[u32]) -> Option<u32> {
    (1..=MAX_ROUND_TOKENS).find_map(|round| {
        let length = MIN_LOOP_TOKENS.max(round * MIN_LOOP_ROUNDS);
        let tail = written.get(written.len().checked_sub(length)?..)?;
        let is_loop = tail.iter().zip(tail.get(round..)?).all(|(before, after)| before == after);
        if is_loop { tail.get(tail.len() - round).copied() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_twelfth_token_completes_a_copy() {
        let source: Vec<u32> = (0..30).collect();
        let mut guard = CopyGuard::new(&source);
        for token in 5..16 {
            assert!(guard.copying_tokens().is_empty(), "before token {token}");
            guard.add_token(token);
        }
        assert_eq!(guard.copying_tokens(), [16]);
    }

    #[test]
    fn a_guard_without_source_finds_no_copy() {
        let mut guard = CopyGuard::default();
        (0..40).for_each(|token| guard.add_token(token));
        assert!(guard.copying_tokens().is_empty());
    }

    #[track_caller]
    fn check(written: &[u32], expect: Option<u32>) {
        assert_eq!(looping_token(written), expect);
    }

    #[test]
    fn a_loop_is_found_with_the_token_that_continues_it() {
        check(&[7; 60], Some(7));
        check(&[1, 2, 3].repeat(20), Some(1));
    }

    #[test]
    fn short_repetitions_are_allowed() {
        check(&[7; 40], None);
        check(&(0..100).collect::<Vec<_>>(), None);
    }
}
