//! The lines that an edit changed, and their unified diff.
//!
//! The lines are compared as numbers, with a single algorithm. The text interface of the library includes every
//! algorithm for every kind of text, which made the program half a megabyte larger.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Duration, Instant};

use ibeam_protocol::Elision;
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, group_diff_ops};

/// Maximum bytes of a diff.
const MAX_BYTES: usize = 256 << 10;
/// A diff that takes longer is less precise.
const TIME_LIMIT: Duration = Duration::from_millis(500);
/// Lines of context before and after a change.
const CONTEXT_LINES: usize = 3;

/// The difference of two texts.
pub(crate) struct Diff {
    pub(crate) lines_added: u64,
    pub(crate) lines_removed: u64,
    /// At most [`MAX_BYTES`] bytes; empty where nothing changed.
    pub(crate) unified: String,
}

/// Compares two texts; bytes that are not UTF-8 are replaced.
pub(crate) fn diff(name: &str, old: &[u8], new: &[u8]) -> Diff {
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let operations = compare(&old, &new);
    let count = |lines: fn(&DiffOp) -> Range<usize>| {
        let changed = operations.iter().filter(|operation| !matches!(operation, DiffOp::Equal { .. }));
        changed.map(|operation| lines(operation).len() as u64).sum()
    };
    let (lines_added, lines_removed) = (count(DiffOp::new_range), count(DiffOp::old_range));
    let unified = format_unified(name, &old, &new, operations);
    Diff {
        lines_added,
        lines_removed,
        unified: Elision::mostly_head(MAX_BYTES).at_line_ends().apply(&unified).into_owned(),
    }
}

fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut numbers = HashMap::new();
    let (old, new) = (number_lines(old, &mut numbers), number_lines(new, &mut numbers));
    let mut hook = Compact::new(Replace::new(Capture::new()), &old, &new);
    let until = Instant::now().checked_add(TIME_LIMIT);
    let Ok(()) = myers::diff_deadline(&mut hook, &old, 0..old.len(), &new, 0..new.len(), until);
    hook.into_inner().into_inner().into_ops()
}

/// Replaces lines by numbers; equal lines have equal numbers.
fn number_lines<'t>(lines: &[&'t str], numbers: &mut HashMap<&'t str, usize>) -> Vec<usize> {
    let number = |line: &&'t str| {
        let next = numbers.len();
        *numbers.entry(*line).or_insert(next)
    };
    lines.iter().map(number).collect()
}

fn format_unified(name: &str, old: &[&str], new: &[&str], operations: Vec<DiffOp>) -> String {
    let mut text = String::new();
    for hunk in group_diff_ops(operations, CONTEXT_LINES) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        if text.is_empty() {
            let _ = writeln!(text, "--- a/{name}\n+++ b/{name}");
        }
        let before = hunk_range(first.old_range().start..last.old_range().end);
        let after = hunk_range(first.new_range().start..last.new_range().end);
        let _ = writeln!(text, "@@ -{before} +{after} @@");
        for operation in &hunk {
            let mut lines = |mark: char, of: &[&str], range: Range<usize>| {
                for line in of.get(range).unwrap_or_default() {
                    text.push(mark);
                    text.push_str(line);
                    if !line.ends_with('\n') {
                        text.push_str("\n\\ No newline at end of file\n");
                    }
                }
            };
            if let DiffOp::Equal { .. } = operation {
                lines(' ', old, operation.old_range());
            } else {
                lines('-', old, operation.old_range());
                lines('+', new, operation.new_range());
            }
        }
    }
    text
}

/// Returns the range of lines of one side for the header of a hunk: counted from one, without a count of one. An empty
/// range names the line before.
fn hunk_range(lines: Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, counts: (u64, u64), hunks: &str) {
        let Diff { lines_added, lines_removed, unified } = diff("f", old.as_bytes(), new.as_bytes());
        assert_eq!((lines_added, lines_removed), counts, "{unified}");
        let head = if hunks.is_empty() { "" } else { "--- a/f\n+++ b/f\n" };
        assert_eq!(unified, format!("{head}{hunks}"));
    }

    #[test]
    fn hunks_are_formatted_like_those_of_diff() {
        check("a\n", "a\n", (0, 0), "");
        check("", "a\nb\n", (2, 0), "@@ -0,0 +1,2 @@\n+a\n+b\n");
        check("a\n", "", (0, 1), "@@ -1 +0,0 @@\n-a\n");
        let no_end = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n";
        check("a", "a\n", (1, 1), no_end);
        check("a\rb\n", "a\rc\n", (1, 1), "@@ -1 +1 @@\n-a\rb\n+a\rc\n");
    }

    #[test]
    fn distant_changes_are_separate_hunks() {
        let lines = |first: &str, last: &str| format!("{first}\n1\n2\n3\n4\n5\n6\n7\n{last}\n");
        let hunks = "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n";
        check(&lines("a", "b"), &lines("A", "B"), (2, 2), hunks);
    }
}
