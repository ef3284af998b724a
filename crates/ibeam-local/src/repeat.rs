//! The brake on a model that runs in circles.

/// A circle is at least this many tokens long in total …
const LEAST_TOKENS: usize = 48;
/// … and at least this many rounds.
const LEAST_ROUNDS: usize = 4;
/// Longer rounds are taken for meant repetition.
const LONGEST_ROUND: usize = 24;

/// The token that would go on with a circle at the end of `written`, if it ends in one.
pub(crate) fn continuation(written: &[u32]) -> Option<u32> {
    (1..=LONGEST_ROUND).find_map(|round| {
        let length = LEAST_TOKENS.max(round * LEAST_ROUNDS);
        let tail = written.get(written.len().checked_sub(length)?..)?;
        let circles = tail.iter().zip(tail.get(round..)?).all(|(before, after)| before == after);
        if circles { tail.get(tail.len() - round).copied() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &[u32], expect: Option<u32>) {
        assert_eq!(continuation(written), expect);
    }

    #[test]
    fn a_circle_is_broken_at_the_token_that_would_go_on() {
        check(&[7; 60], Some(7));
        check(&[1, 2, 3].repeat(20), Some(1));
    }

    #[test]
    fn repetition_of_ordinary_length_is_meant() {
        check(&[7; 40], None);
        check(&(0..100).collect::<Vec<_>>(), None);
    }
}
