//! Changes of files as coloured lines: unified diffs, and the changes that a call proposes.

use ibeam_output::hunk_lines;
use ibeam_protocol::{CallId, ToolCall, ToolOutcome, ToolOutput};
use serde_json::Value;

use crate::styled::{Color, Line, Style};

/// The spaces before a line of a change.
const INDENT: &str = "  ";

/// Returns the lines of a unified diff.
pub fn diff_lines(diff: &str) -> Vec<Line> {
    hunk_lines(diff).map(diff_line).collect()
}

fn diff_line(line: &str) -> Line {
    let style = match line.as_bytes().first() {
        Some(b'+') => Style::color(Color::Green),
        Some(b'-') => Style::color(Color::Red),
        Some(b'@') => Style::color(Color::Cyan),
        Some(_) | None => Style::DIM,
    };
    Line::new(Style::PLAIN, INDENT).with(style, line)
}

/// Returns the change of a file that a call would make; empty for other calls.
pub fn proposed_change(call: &ToolCall) -> Vec<Line> {
    let arguments = &call.arguments;
    if let Some(text) = arguments.get("fileText").and_then(Value::as_str) {
        return prefixed(text, '+');
    }
    if let Some(patch) = arguments.pointer("/applyPatch/patchContent").and_then(Value::as_str) {
        return diff_lines(patch);
    }
    let single = arguments.get("strReplace").into_iter();
    let several = arguments.pointer("/multiStrReplace/edits").and_then(Value::as_array).into_iter().flatten();
    single.chain(several).flat_map(replacement).collect()
}

/// Returns the lines of one replacement, without the lines that both texts start and end with.
fn replacement(edit: &Value) -> Vec<Line> {
    let text = |name: &str| edit.get(name).and_then(Value::as_str).unwrap_or_default();
    let (old, new): (Vec<&str>, Vec<&str>) =
        (text("oldText").lines().collect(), text("newText").lines().collect());
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let shorter = old.len().min(new.len());
    let ends = old.iter().rev().zip(new.iter().rev());
    let end = ends.take(shorter - start).take_while(|(old, new)| old == new).count();
    let changed = |lines: &[&str]| lines.get(start..lines.len() - end).unwrap_or_default().join("\n");
    let context = old.get(start.saturating_sub(1)..start).unwrap_or_default().join("\n");
    [prefixed(&context, ' '), prefixed(&changed(&old), '-'), prefixed(&changed(&new), '+')].concat()
}

fn prefixed(text: &str, sign: char) -> Vec<Line> {
    text.lines().map(|line| diff_line(&format!("{sign}{line}"))).collect()
}

/// Returns the change that a finished call has made to a file; empty for other calls.
pub(crate) fn finished_change(call: &ToolCall, outcome: &ToolOutcome) -> Vec<Line> {
    match outcome {
        ToolOutcome::Success { output: ToolOutput::Edit(edit), .. } => diff_lines(&edit.diff),
        ToolOutcome::Success { output: ToolOutput::Write(written), .. } => match written.created {
            true => proposed_change(call),
            false => diff_lines(&written.diff),
        },
        ToolOutcome::Success { .. } | ToolOutcome::Failure { .. } | ToolOutcome::Rejected { .. } => {
            Vec::new()
        }
    }
}

/// The changes that questions have shown, so that none is printed again after its call.
#[derive(Debug, Default)]
pub struct ShownChanges(Vec<(CallId, Vec<String>)>);

impl ShownChanges {
    /// Records the lines that the question about a call shows.
    pub fn add(&mut self, call: CallId, lines: &[Line]) {
        self.0.push((call, changed_lines(lines)));
    }

    /// Removes the record of a call, and returns whether its question has shown the change that the call has made. The
    /// file may have changed meanwhile, and a question may know no more than the arguments of the call.
    pub fn remove(&mut self, call: &ToolCall, outcome: &ToolOutcome) -> bool {
        let Some(at) = self.0.iter().position(|(id, _)| *id == call.id) else { return false };
        let (_, shown) = self.0.remove(at);
        shown == changed_lines(&finished_change(call, outcome))
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Returns the added and removed lines, without those around them.
fn changed_lines(lines: &[Line]) -> Vec<String> {
    let is_changed =
        |text: &String| text.get(INDENT.len()..).is_some_and(|line| line.starts_with(['+', '-']));
    lines.iter().map(Line::text).filter(is_changed).collect()
}

#[cfg(test)]
mod tests {
    use ibeam_protocol::tool_output::EditOutput;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(arguments: Value, expect: &[&str]) {
        let call = ToolCall { id: "c".into(), name: "edit".to_owned(), arguments };
        let lines: Vec<String> = proposed_change(&call).iter().map(Line::text).collect();
        assert_eq!(lines, expect);
    }

    #[test]
    fn a_change_was_shown_if_its_changed_lines_were() {
        let edit = json!({ "path": "f", "strReplace": { "oldText": "a", "newText": "b" } });
        let call = ToolCall { id: "c".into(), name: "edit".to_owned(), arguments: edit };
        let check = |diff: &str, expect: bool| {
            let mut shown = ShownChanges::default();
            shown.add(call.id.clone(), &proposed_change(&call));
            let output = EditOutput {
                path: "/w/f".into(),
                lines_added: 1,
                lines_removed: 1,
                diff: diff.to_owned(),
                message: String::new(),
            };
            let outcome = ToolOutcome::Success { output: ToolOutput::Edit(output), for_model: "".into() };
            assert_eq!(shown.remove(&call, &outcome), expect, "{diff}");
            assert!(!shown.remove(&call, &outcome), "nothing is recorded any more");
        };
        check("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n x\n-a\n+b\n", true);
        check("--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n-a\n+b\n x\n-a\n+b\n", false);
    }

    #[test]
    fn a_proposed_change_shows_what_would_be_replaced() {
        let edit = json!({ "oldText": "a\nb\nc", "newText": "a\nB\nc" });
        check(json!({ "path": "f", "strReplace": edit }), &["   a", "  -b", "  +B"]);
        check(json!({ "path": "f", "multiStrReplace": { "edits": [edit] } }), &["   a", "  -b", "  +B"]);
        check(json!({ "path": "f", "fileText": "x\ny\n" }), &["  +x", "  +y"]);
        check(
            json!({ "path": "f", "applyPatch": { "patchContent": "@@ -1 +1 @@\n-a\n+b" } }),
            &["  @@ -1 +1 @@", "  -a", "  +b"],
        );
        // A removed comment of SQL is not the name of a file.
        let patch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n--- a comment\n+b";
        check(
            json!({ "path": "f", "applyPatch": { "patchContent": patch } }),
            &["  @@ -1 +1 @@", "  --- a comment", "  +b"],
        );
        check(json!({ "command": "ls" }), &[]);
    }
}
