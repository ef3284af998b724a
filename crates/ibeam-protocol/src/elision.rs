//! Elides the middle of a text that is too long, and states how many bytes are missing.
//!
//! This module shortens complete texts. Code that reads a stream keeps only the two ends and joins them with
//! [`join_with_gap`].

use std::borrow::Cow;

/// The maximum distance in bytes between a limit and a line end at which the text is cut instead.
const MAX_LINE_END_DISTANCE: usize = 200;

/// The parts of a text that remain when it is shortened to a limit.
#[derive(Clone, Copy, Debug)]
pub struct Elision {
    limit: usize,
    head: usize,
    tail: usize,
    prefers_line_ends: bool,
}

impl Elision {
    /// Keeps about `limit` bytes: two thirds from the head, the rest from the tail.
    pub const fn mostly_head(limit: usize) -> Self {
        Self { limit, head: limit / 3 * 2, tail: limit / 3, prefers_line_ends: false }
    }

    /// Keeps about `limit` bytes: one fifth from the head, the rest from the tail.
    pub const fn mostly_tail(limit: usize) -> Self {
        Self { limit, head: limit / 5, tail: limit - limit / 5, prefers_line_ends: false }
    }

    /// Cuts between lines where a line ends within 200 bytes.
    pub const fn at_line_ends(mut self) -> Self {
        self.prefers_line_ends = true;
        self
    }

    /// Returns the shortened text, or `text` unchanged when it fits.
    ///
    /// The cut falls between characters. The gap reads `… 1234 bytes left out …` on its own line.
    pub fn apply(self, text: &str) -> Cow<'_, str> {
        if text.len() <= self.limit {
            return Cow::Borrowed(text);
        }
        let (head, tail) = if self.prefers_line_ends {
            (head_of_lines(text, self.head), tail_of_lines(text, self.tail))
        } else {
            (head(text, self.head), tail(text, self.tail))
        };
        let left_out = (text.len() - head.len() - tail.len()) as u64;
        Cow::Owned(match self.prefers_line_ends {
            true => join_with_gap(head, left_out, tail),
            false => format!("{head}\n… {left_out} bytes left out …\n{tail}"),
        })
    }
}

/// Joins the head and the tail of a text with a note about the bytes between them. The note begins on a new line.
pub fn join_with_gap(head: &str, left_out: u64, tail: &str) -> String {
    let before = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{before}… {left_out} bytes left out …\n{tail}")
}

/// Returns the first `limit` bytes, or the lines that are complete in them if the last one ends near the limit.
pub fn head_of_lines(text: &str, limit: usize) -> &str {
    let head = head(text, limit);
    match head.rfind('\n') {
        Some(newline) if head.len() - newline <= MAX_LINE_END_DISTANCE => {
            head.get(..=newline).unwrap_or(head)
        }
        Some(_) | None => head,
    }
}

fn tail_of_lines(text: &str, limit: usize) -> &str {
    let tail = tail(text, limit);
    match tail.find('\n') {
        Some(newline) if newline < MAX_LINE_END_DISTANCE => tail.get(newline + 1..).unwrap_or(tail),
        Some(_) | None => tail,
    }
}

fn head(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

fn tail(text: &str, limit: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(limit))..).unwrap_or_default()
}

/// Returns the first `limit` characters of `text`, followed by `…` if it is longer.
pub fn elide_end(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, limit: usize, expect: &str) {
        assert_eq!(Elision::mostly_head(limit).at_line_ends().apply(text), expect);
    }

    #[test]
    fn a_text_that_fits_is_unchanged() {
        check("abc", 3, "abc");
        assert_eq!(Elision::mostly_tail(3).apply("abc"), "abc");
    }

    #[test]
    fn the_middle_is_left_out_and_counted() {
        check("aaaaaabbbbbbccc", 9, "aaaaaa\n… 6 bytes left out …\nccc");
        let tail = Elision::mostly_tail(10).apply("aabbbbbbcccccccc");
        assert_eq!(tail, "aa\n… 6 bytes left out …\ncccccccc");
    }

    #[test]
    fn a_character_is_not_cut() {
        check("ééééééé", 9, "ééé\n… 6 bytes left out …\né");
        let text = "é".repeat(30 << 10);
        let elided = Elision::mostly_head(30 << 10).apply(&text).into_owned();
        assert!(elided.contains("\n… 30720 bytes left out …\n"), "{elided}");
        assert!(elided.starts_with('é') && elided.ends_with('é') && elided.len() < (30 << 10) + 60);
    }

    #[test]
    fn the_cut_prefers_line_ends() {
        check("one\ntwo\nthree\nfour\nfive\nsix\n", 18, "one\ntwo\n… 16 bytes left out …\nsix\n");
    }

    #[test]
    fn the_end_is_cut_between_characters() {
        assert_eq!(elide_end("é", 1), "é");
        assert_eq!(elide_end(&"é".repeat(401), 400), format!("{}…", "é".repeat(400)));
    }
}
