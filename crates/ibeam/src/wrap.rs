//! Wraps lines for a person at the width of the terminal. Output to a pipe or a file keeps its lines.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::os::fd::AsFd;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The smallest width at which lines are wrapped.
const MIN_COLUMNS: usize = 20;
/// The position up to which a gap of several spaces starts the column below which further lines begin.
const MAX_GAP_COLUMN: usize = 32;
/// Characters that never begin a line.
const NEVER_FIRST: &str = "、。，．・：；？！）」』】〉》…ー";

/// Returns `text` with the long lines wrapped if `stdout` is a terminal. `indent` is the number of spaces before the
/// further lines of a line without columns.
pub(crate) fn for_terminal(stdout: impl AsFd, text: &str, indent: usize) -> Cow<'_, str> {
    if !rustix::termios::isatty(&stdout) {
        return Cow::Borrowed(text);
    }
    match rustix::termios::tcgetwinsize(&stdout).map(|size| usize::from(size.ws_col)) {
        Ok(columns) if columns >= MIN_COLUMNS => Cow::Owned(wrap(text, columns, indent)),
        Ok(_) | Err(_) => Cow::Borrowed(text),
    }
}

/// Wraps the lines that are too long.
fn wrap(text: &str, columns: usize, indent: usize) -> String {
    let mut wrapped = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches('\n');
        if content.width() <= columns {
            wrapped.push_str(content);
        } else {
            wrap_line(content, columns, hanging_indent(content, indent).min(columns / 2), &mut wrapped);
        }
        if content.len() < line.len() {
            wrapped.push('\n');
        }
    }
    wrapped
}

/// Returns the number of spaces before the further lines of a line.
fn hanging_indent(line: &str, indent: usize) -> usize {
    let rest = line.trim_start();
    let leading = line.len() - rest.len();
    let gap = rest.find("  ").map(|at| {
        let (head, tail) = rest.split_at(at);
        leading + head.width() + (tail.len() - tail.trim_start().len())
    });
    let marker = ["- ", "* "].iter().any(|marker| rest.starts_with(marker));
    match gap.filter(|gap| *gap <= MAX_GAP_COLUMN) {
        Some(gap) => gap,
        None if marker => leading + 2,
        None => leading + indent,
    }
}

/// Adds the words of a line, which keeps its spaces where it is not broken.
fn wrap_line(line: &str, columns: usize, indent: usize, out: &mut String) {
    let mut column = 0;
    let mut spaces = 0;
    for word in words(line) {
        if word == " " {
            spaces += 1;
            continue;
        }
        let width = word.width();
        if column > indent && column + spaces + width > columns {
            // Writing to a string does not fail.
            let _ = write!(out, "\n{:indent$}{word}", "");
            column = indent + width;
        } else {
            let _ = write!(out, "{:spaces$}{word}", "");
            column += spaces + width;
        }
        spaces = 0;
    }
}

/// Returns the parts between which a line may be broken: spaces, words, and characters of scripts without spaces.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut previous = ' ';
    for (at, c) in line.char_indices() {
        let is_wide = |c: char| c.width() == Some(2);
        let breaks = c == ' ' || previous == ' ' || is_wide(c) || is_wide(previous);
        if at > start && breaks && !NEVER_FIRST.contains(c) {
            words.extend(line.get(start..at));
            start = at;
        }
        previous = c;
    }
    words.extend(line.get(start..).filter(|rest| !rest.is_empty()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, columns: usize, expect: &str) {
        assert_eq!(wrap(text, columns, 4), expect);
    }

    #[test]
    fn a_long_line_is_wrapped_between_words_with_an_indent() {
        check("one two three four\nfive\n", 24, "one two three four\nfive\n");
        check("one two three four five six\n", 20, "one two three four\n    five six\n");
        check("- one two three four five\n", 20, "- one two three four\n  five\n");
        check("ok      model: a long text here\n", 20, "ok      model: a\n        long text\n        here\n");
        check(
            "see it at https://example.com/a/long/path b",
            20,
            "see it at\n    https://example.com/a/long/path\n    b",
        );
    }

    #[test]
    fn wide_characters_take_two_columns_and_may_be_parted() {
        check(
            "これは長い文章です。次の文もあります。",
            20,
            "これは長い文章です。\n    次の文もありま\n    す。",
        );
        check("一二三四五六七八九十。十一", 20, "一二三四五六七八九\n    十。十一");
    }
}
