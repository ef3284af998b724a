//! Shows the arguments and the result of a call of any tool: names and values.

use ibeam_wire::tool::{edit, shell};
use serde_json::{Map, Value};

use super::markup::Markup;

/// The maximum length in characters of text that is shown in a line; longer text is shown as a block.
const MAX_INLINE_CHARACTERS: usize = 100;
/// The maximum nesting of objects that are shown as lists of keys; deeper objects are shown as JSON.
const MAX_DEPTH: usize = 4;

/// Shows `value`. Keys of an object that have the same value in `known` are left out.
pub(super) fn show(value: &Value, known: &Value, page: &mut Markup) {
    show_part(value, known, 0, page);
}

/// Shows a value at this nesting.
fn show_part(value: &Value, known: &Value, depth: usize, page: &mut Markup) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            page.raw("<code>").text(&value.to_string()).raw("</code>\n");
        }
        Value::String(text) if text.contains('\n') || text.chars().count() > MAX_INLINE_CHARACTERS => {
            page.block(text);
        }
        Value::String(text) => {
            page.raw("<code>").text(text).raw("</code>\n");
        }
        Value::Array(entries) => match entries.iter().map(Value::as_str).collect::<Option<Vec<_>>>() {
            Some(lines) => {
                page.block(&lines.join("\n"));
            }
            None => show_json(value, page),
        },
        Value::Object(_) if depth == MAX_DEPTH => show_json(value, page),
        Value::Object(object) => {
            page.raw("<dl>\n");
            for (name, value) in object.iter().filter(|(name, value)| is_shown(name, value, object, known)) {
                page.raw("<dt>").text(name).raw("</dt>\n<dd>");
                match value.as_str().filter(|_| name == edit::DIFF) {
                    Some(diff) => show_diff(diff, page),
                    None => show_part(value, known, depth + 1, page),
                }
                page.raw("</dd>\n");
            }
            page.raw("</dl>\n");
        }
    }
}

/// Whether a key is shown: its value is not empty, not in `known`, and not contained in the value of another key.
fn is_shown(name: &str, value: &Value, object: &Map<String, Value>, known: &Value) -> bool {
    let is_empty = value.as_str().is_some_and(str::is_empty) || value.as_array().is_some_and(Vec::is_empty);
    let has_interleaved =
        object.get(shell::INTERLEAVED_OUTPUT).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let is_part = has_interleaved && matches!(name, shell::STDOUT | shell::STDERR);
    !is_empty && !is_part && known.get(name) != Some(value)
}

/// Shows a value as a block of JSON.
fn show_json(value: &Value, page: &mut Markup) {
    // Every value can be serialized, because its keys are strings.
    page.block(&serde_json::to_string_pretty(value).unwrap_or_default());
}

/// Shows a diff with marks for added and removed lines.
fn show_diff(diff: &str, page: &mut Markup) {
    page.raw("<pre>\n");
    for line in diff.split_inclusive('\n') {
        match line.chars().next() {
            Some('+') => page.raw("<ins>").text(line).raw("</ins>"),
            Some('-') => page.raw("<del>").text(line).raw("</del>"),
            Some(_) | None => page.text(line),
        };
    }
    page.raw("</pre>\n");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: &Value, known: &Value, expect: &str) {
        let mut page = Markup::default();
        show(value, known, &mut page);
        assert_eq!(page.as_str(), expect);
    }

    #[test]
    fn values_are_shown_by_their_type() {
        let null = &Value::Null;
        check(&json!({ "a": 1 }), null, "<dl>\n<dt>a</dt>\n<dd><code>1</code>\n</dd>\n</dl>\n");
        check(&json!("one\ntwo"), null, "<pre>\none\ntwo</pre>\n");
        check(&json!(["one", "<two>"]), null, "<pre>\none\n&lt;two&gt;</pre>\n");
        check(&json!([1]), null, "<pre>\n[\n  1\n]</pre>\n");
    }

    #[test]
    fn values_that_are_shown_elsewhere_are_left_out() {
        let shell =
            json!({ "command": "ls", "stdout": "a", "stderr": "b", "interleavedOutput": "ab", "signal": "" });
        let expect = "<dl>\n<dt>interleavedOutput</dt>\n<dd><code>ab</code>\n</dd>\n</dl>\n";
        check(&shell, &json!({ "command": "ls" }), expect);
        let background = json!({ "stdout": "a", "interleavedOutput": "" });
        check(&background, &Value::Null, "<dl>\n<dt>stdout</dt>\n<dd><code>a</code>\n</dd>\n</dl>\n");
    }

    #[test]
    fn a_diff_marks_changed_lines() {
        let expect =
            "<dl>\n<dt>diffString</dt>\n<dd><pre>\n x\n<del>-a\n</del><ins>+b</ins></pre>\n</dd>\n</dl>\n";
        check(&json!({ "diffString": " x\n-a\n+b" }), &Value::Null, expect);
    }

    #[test]
    fn deeply_nested_values_are_json() {
        let mut value = json!("x");
        for _ in 0..150 {
            value = json!({ "a": value });
        }
        let mut page = Markup::default();
        show(&value, &Value::Null, &mut page);
        assert_eq!(page.as_str().matches("<dl>").count(), MAX_DEPTH);
    }
}
