//! Elides the middle of a text that is too long, and states how many bytes are missing.
//!
//! For complete texts; the output of a running command is bounded by [`crate::shell`] while it is read.

use std::borrow::Cow;

/// Shortens `text` to about `limit` bytes: two thirds from the head, the rest from the tail.
///
/// The cut falls between characters, and between lines where one ends within 200 bytes. The gap reads
/// `… 1234 bytes left out …` on a line of its own. Returns `text` unchanged when it fits.
pub(crate) fn elide_middle(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let head = head(text, limit / 3 * 2);
    let tail = tail(text, limit / 3);
    let left_out = text.len() - head.len() - tail.len();
    Cow::Owned(join_with_gap(head, left_out as u64, tail))
}

/// Joins head, note and tail.
pub(crate) fn join_with_gap(head: &str, left_out: u64, tail: &str) -> String {
    let before = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{before}… {left_out} bytes left out …\n{tail}")
}

/// Returns the first `limit` bytes or slightly fewer.
pub(crate) fn head(text: &str, limit: usize) -> &str {
    let end = text.floor_char_boundary(limit);
    let head = text.get(..end).unwrap_or(text);
    match head.rfind('\n') {
        Some(newline) if end - newline <= NEAR_LINE_END => head.get(..=newline).unwrap_or(head),
        Some(_) | None => head,
    }
}

/// Returns the last `limit` bytes or slightly fewer.
fn tail(text: &str, limit: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(limit));
    let tail = text.get(start..).unwrap_or_default();
    match tail.find('\n') {
        Some(newline) if newline < NEAR_LINE_END => tail.get(newline + 1..).unwrap_or(tail),
        Some(_) | None => tail,
    }
}

/// The most bytes that are given up so that the cut falls on a line end.
const NEAR_LINE_END: usize = 200;

#[cfg(test)]
mod tests {
    use super::elide_middle;

    #[track_caller]
    fn check(text: &str, limit: usize, expect: &str) {
        assert_eq!(elide_middle(text, limit), expect);
    }

    #[test]
    fn a_text_that_fits_is_unchanged() {
        check("abc", 3, "abc");
    }

    #[test]
    fn the_middle_is_left_out_and_counted() {
        check("aaaaaabbbbbbccc", 9, "aaaaaa\n… 6 bytes left out …\nccc");
    }

    #[test]
    fn a_character_is_not_cut() {
        check("ééééééé", 9, "ééé\n… 6 bytes left out …\né");
    }

    #[test]
    fn the_cut_prefers_line_ends() {
        check("one\ntwo\nthree\nfour\nfive\nsix\n", 18, "one\ntwo\n… 16 bytes left out …\nsix\n");
    }
}
