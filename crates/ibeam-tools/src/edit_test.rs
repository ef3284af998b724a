use std::os::unix::fs::{MetadataExt as _, PermissionsExt};

use encoding_rs::SHIFT_JIS;
use ibeam_core::CallPreview;
use ibeam_protocol::tool_output::EditOutput;
use ibeam_protocol::{ToolOutcome, ToolOutput};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::{Fixture, failure, success};

fn replace(old: &str, new: &str) -> Value {
    json!({"oldText": old, "newText": new})
}

fn patch(patch: &str) -> Value {
    json!({"patch": patch})
}

fn outcome(fixture: &Fixture, mut change: Value) -> ToolOutcome {
    change["path"] = json!("f");
    fixture.call("edit", change)
}

#[track_caller]
fn check(before: impl AsRef<[u8]>, change: Value, after: impl AsRef<[u8]>) {
    let fixture = Fixture::with("f", before);
    success(outcome(&fixture, change));
    let (have, want) = (fixture.bytes("f"), after.as_ref());
    assert_eq!(have, want, "{:?} is not {:?}", String::from_utf8_lossy(&have), String::from_utf8_lossy(want));
}

#[track_caller]
fn refused(before: impl AsRef<[u8]>, change: Value, expect: &str) {
    let fixture = Fixture::with("f", &before);
    let (_, for_model) = failure(outcome(&fixture, change));
    assert!(for_model.contains(expect), "{for_model}");
    assert_eq!(for_model.lines().count(), 1, "{for_model}");
    assert_eq!(fixture.bytes("f"), before.as_ref());
}

#[test]
fn a_text_is_replaced_and_the_change_is_reported() {
    let fixture = Fixture::with("f", "a\nb\nc\n");
    let (output, for_model) = success(outcome(&fixture, replace("b\n", "B1\nB2\n")));
    let expect = EditOutput {
        path: fixture.path("f"),
        lines_added: 2,
        lines_removed: 1,
        diff: "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n a\n-b\n+B1\n+B2\n c\n".to_owned(),
        message: "edited `f`: 2 lines added, 1 removed".to_owned(),
    };
    assert_eq!(output, ToolOutput::Edit(expect));
    assert_eq!(for_model, "edited `f`: 2 lines added, 1 removed");
}

#[test]
fn a_preview_has_the_diff_or_the_failure_of_the_call_and_changes_nothing() {
    let content = "a\nb\nb\n";
    for (change, fits) in [(replace("a", "A"), true), (replace("b", "B"), false), (replace("c", "C"), false)]
    {
        let fixture = Fixture::with("f", content);
        let mut arguments = change.clone();
        arguments["path"] = json!("f");
        let preview = fixture.preview("edit", arguments);
        assert_eq!(fixture.bytes("f"), content.as_bytes());
        match (preview, outcome(&fixture, change)) {
            (CallPreview::Change { diff }, ToolOutcome::Success { output: ToolOutput::Edit(edit), .. }) => {
                assert!(fits && diff == edit.diff, "{diff}");
            }
            (CallPreview::Failure(before), after) => assert!(!fits && before == after, "{before:?}"),
            other => panic!("{other:?}"),
        }
    }
    let fixture = Fixture::with("f", content);
    let preview = fixture.preview("edit", json!({"path": "gone", "oldText": "a", "newText": "b"}));
    assert!(matches!(preview, CallPreview::Failure(_)), "{preview:?}");
}

#[test]
fn all_occurrences_are_replaced_on_request() {
    check("x x x", json!({"oldText": "x", "newText": "yy", "replaceAll": true}), "yy yy yy");
}

#[test]
fn several_edits_apply_in_order_or_not_at_all() {
    let edits = json!({"edits": [{"oldText": "a", "newText": "b c"}, {"oldText": "c", "newText": "d"}]});
    check("a", edits, "b d");
    let edits = json!({"edits": [{"oldText": "a", "newText": "b"}, {"oldText": "zz", "newText": "d"}]});
    refused("a", edits, "edit 2 of 2 does not fit, the file does not contain `oldText`");
}

#[test]
fn a_text_that_does_not_occur_exactly_once_is_refused_with_the_count() {
    refused("a\nb\n", replace("c", "d"), "(0 matches); read the file again");
    refused("x\ny\nx\n", replace("x", "z"), "has `oldText` 2 times (lines 1, 3)");
    refused("x", replace("", "z"), "empty `oldText`");
    refused("x", replace("x", "x"), "are equal");
    refused("a\n\tb\n", replace("  b", "c"), "at line 2 it differs only in white space");
    refused("a\nb\n", replace("    1\ta\n    2\tb", "c"), "leave out the line numbers");
}

#[test]
fn a_text_that_differs_only_in_the_form_of_characters_is_named() {
    for (before, old) in [
        ("a\ncafe\u{301} = 1\n", "caf\u{e9} = 1"),
        ("a\nsay \u{201c}it\u{2019}s\u{201d}\n", "say \"it's\""),
        ("a\n1 \u{2013}\u{a0}2\u{2026}\n", "1 - 2..."),
    ] {
        refused(before, replace(old, "x"), "at line 2 it differs only in how characters are composed");
    }
}

#[test]
fn crlf_survives_an_edit_written_with_lf() {
    check("a\r\nb\r\nc\r\n", replace("a\nb\n", "a\nX\nb\n"), "a\r\nX\r\nb\r\nc\r\n");
    check("a\r\nb\r\n", replace("b", "b\nc"), "a\r\nb\r\nc\r\n");
    check("a\r\nb", replace("b", "b\nc"), "a\r\nb\r\nc");
    check("a\r\nb\r\n", replace("\nb", "\nB"), "a\r\nB\r\n");
    check("a\r\nb\r\n", replace("a\n", ""), "b\r\n");
    check("a\r\nb\r\n", replace("a\nb\n", "x"), "x");
}

#[test]
fn mixed_line_ends_stay_where_they_are() {
    check("a\r\nb\nc\r\nd\n", replace("b\nc\n", "b\nC\n"), "a\r\nb\nC\r\nd\n");
    check("a\nb\r\nc\n", replace("b\n", "b\nX\n"), "a\nb\r\nX\nc\n");
    check(
        "a\r\nx\nb\r\nx\n",
        json!({"oldText": "\nx", "newText": "\ny", "replaceAll": true}),
        "a\r\ny\nb\r\ny\n",
    );
}

#[test]
fn a_carriage_return_in_the_call_is_written() {
    check("a\r\nb\r\n", replace("a\r\n", "a\n"), "a\nb\r\n");
    check("a\nb\n", replace("a\n", "a\r\n"), "a\r\nb\n");
    check("a\r\nb\r\n", replace("a", "x\r\ny\n"), "x\r\ny\n\r\nb\r\n");
}

#[test]
fn byte_order_mark_and_final_newline_survive() {
    check(b"\xef\xbb\xbfa\nb", replace("a", "x"), b"\xef\xbb\xbfx\nb");
    check("a", replace("a", "b"), "b");
    check(b"\xff\xfea\0\r\0\n\0b\0", replace("a\nb", "a\nc"), b"\xff\xfea\0\r\0\n\0c\0");
}

#[test]
fn other_encodings_survive() {
    check(b"caf\xe9 cr\xe8me br\xfbl\xe9e\n", replace("crème", "thé"), b"caf\xe9 th\xe9 br\xfbl\xe9e\n");
    let japanese = "これは日本語の文章です。エンコーディングを判定するには、ある程度の長さが必要です。\n";
    let encode = |text: &str| SHIFT_JIS.encode(text).0.into_owned();
    check(encode(japanese), replace("文章", "文字列"), encode(&japanese.replace("文章", "文字列")));
    refused(b"caf\xe9 cr\xe8me br\xfbl\xe9e\n", replace("crème", "😀"), "windows-1252, which has no `😀`");
    // Two byte sequences for one character: encoding would change the text far from the edit.
    let two_codes = [encode(japanese), b"\xee\xf9\n".to_vec()].concat();
    refused(two_codes, replace("文章", "文字列"), "changes when it is decoded and encoded again");
}

#[test]
fn invalid_bytes_outside_the_edit_survive() {
    check(
        b"n\xc3\xa9 \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xff old",
        replace("old", "new"),
        b"n\xc3\xa9 \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xff new",
    );
}

#[test]
fn a_file_that_is_not_text_is_refused() {
    refused(b"\x7fELFold", replace("old", "new"), "is an ELF binary, not text");
    refused(b"a\0old", replace("old", "new"), "is a binary file");
    let fixture = Fixture::with("d/x", "");
    fixture.fifo("pipe");
    for (path, expect) in
        [("pipe", "named pipe"), ("d", "is a directory"), ("none", "does not exist (ENOENT)")]
    {
        let call = json!({"path": path, "oldText": "a", "newText": "b"});
        let (_, for_model) = failure(fixture.call("edit", call));
        assert!(for_model.contains(expect), "{for_model}");
    }
}

#[test]
fn the_mode_survives() {
    let fixture = Fixture::with("f", "old");
    std::fs::set_permissions(fixture.path("f"), PermissionsExt::from_mode(0o755)).unwrap();
    success(outcome(&fixture, replace("old", "new")));
    assert_eq!(fixture.path("f").metadata().unwrap().mode() & 0o7777, 0o755);
}

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

#[test]
fn a_patch_is_applied() {
    check(
        TEN,
        patch("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n@@ -9,2 +9,3 @@\n 9\n 10\n+11\n"),
        "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n10\n11\n",
    );
    check("", patch("@@ -0,0 +1,2 @@\n+a\n+b\n"), "a\nb\n");
    check("a\nb\n", patch("@@ -1,2 +1 @@\n-a\n b\n"), "b\n");
}

#[test]
fn a_hunk_is_found_near_its_place() {
    check(TEN, patch("@@ -2,2 +2,2 @@\n 6\n-7\n+seven\n"), TEN.replace("7\n", "seven\n"));
    check(TEN, patch("@@\n 6\n-7\n+seven\n"), TEN.replace("7\n", "seven\n"));
    check("x\ny\nx\nz\nx\n", patch("@@ -4,1 +4,1 @@\n-x\n+X\n"), "x\ny\nX\nz\nx\n");
}

#[test]
fn miscounted_headers_and_bare_empty_lines_are_accepted() {
    check("a\n\nb\n", patch("@@ -1,9 +1,7 @@\n a\n\n-b\n+c\n\n"), "a\n\nc\n");
}

#[test]
fn the_other_patch_format_is_accepted() {
    let text = "*** Begin Patch\n*** Update File: f\n@@ fn main\n a\n-b\n+c\n*** End Patch\n";
    check("a\nb\n", patch(text), "a\nc\n");
}

#[test]
fn the_other_patch_format_needs_no_line_numbers() {
    let update = |hunks: &str| patch(&format!("*** Begin Patch\n*** Update File: f\n{hunks}\n*** End Patch"));
    check("x = 1\ny = 2\n", update("-x = 1\n+x = 10\n y = 2"), "x = 10\ny = 2\n");
    let two = "def a():\n  x = 1\n  y\n\ndef b():\n  x = 1\n  y\n";
    let changed = "def a():\n  x = 1\n  y\n\ndef b():\n  x = 2\n  y\n";
    check(two, update("@@ def b():\n-  x = 1\n+  x = 2\n   y"), changed);
    check(two, update("@@ def b():\n def b():\n-  x = 1\n+  x = 2"), changed);
    check(two, update("@@ def b(): @@\n+  # c"), two.replace("def b():\n", "def b():\n  # c\n"));
    check(two, update("-  x = 1\n+  x = 2\n   y\n*** End of File"), changed);
    check("a\n", update("+b\n*** End of File"), "a\nb\n");
    let nested = "class A\n  def f\n    1\nclass B\n  def f\n    1\n";
    let hunk = "@@ class B\n@@ def f\n-    1\n+    2";
    check(nested, update(hunk), "class A\n  def f\n    1\nclass B\n  def f\n    2\n");
    refused(nested, update("@@ def f\n-    1\n+    2"), "fits in several places");
    refused(two, update("@@ def gone():\n-  x = 1\n+  x = 2"), "fits in several places");
    check("a\nb\n", update("@@ gone\n-b\n+c"), "a\nc\n");
    refused("a\n", patch("*** Begin Patch\n*** Delete File: f\n*** End Patch"), "use `delete`");
    refused("a\n", update("*** Move to: g\n-a\n+b"), "move it with `shell`");
    check("a\n", patch("-a\n+b\n"), "b\n");
}

#[test]
fn a_patch_may_add_a_file() {
    let fixture = Fixture::with("f", "a");
    let add = patch("*** Begin Patch\n*** Add File: d/new\n+one\n+\n+two\n*** End Patch");
    let mut call = add.clone();
    call["path"] = json!("d/new");
    let created = fixture.call("edit", call);
    assert!(matches!(created, ToolOutcome::Success { .. }), "{created:?}");
    assert_eq!(fixture.bytes("d/new"), b"one\n\ntwo\n");
    refused("a\n", add, "exists already");
}

#[test]
fn all_hunks_fit_or_none_is_applied() {
    refused(TEN, patch("@@ -1 +1 @@\n-1\n+one\n@@ -5 +5 @@\n-five\n+5\n"), "hunk 2 of 2 does not fit");
    refused("x\nx\n", patch("@@\n-x\n+y\n"), "fits in several places");
    refused("a\n", patch("nothing"), "has no hunk");
    refused("a\n", patch("@@ -1 +1 @@\n*a\n"), "begins with none of");
    refused(
        "a\n",
        patch("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n"),
        "several files",
    );
    refused("a\n", patch("@@ -1 +1 @@\n a\n"), "changes nothing");
}

#[test]
fn a_patch_keeps_line_ends_and_the_open_end() {
    check("a\r\nb\r\n", patch("@@ -1,2 +1,3 @@\n a\n+x\n b\n"), "a\r\nx\r\nb\r\n");
    check("a\r\nb\n", patch("@@ -2 +2,2 @@\n b\n+x\n"), "a\r\nb\nx\n");
    check("a\nb", patch("@@ -2 +2,2 @@\n b\n+c\n"), "a\nb\nc");
    check("a\nb", patch("@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"), "a\nc\n");
    check("a\nb", patch("@@ -1,2 +1,2 @@\n a\n-b\n+c\n"), "a\nc");
    check("a\nb\n", patch("@@ -2 +2 @@\n-b\n+c\n\\ No newline at end of file\n"), "a\nc");
    check(b"\xef\xbb\xbfa\n", patch("@@ -1 +1 @@\n-a\n+b\n"), b"\xef\xbb\xbfb\n");
}

/// Lines with any line ends, a marker that occurs once, and more lines.
fn surroundings() -> impl Strategy<Value = (String, String)> {
    let line =
        ("[a-zé]{0,6}", prop_oneof![Just("\n"), Just("\r\n"), Just("\r")]).prop_map(|(text, end)| text + end);
    let lines = proptest::collection::vec(line, 0..6).prop_map(|lines| lines.concat());
    (lines.clone(), lines)
}

proptest! {
    #[test]
    fn bytes_outside_a_replacement_are_identical(
        (before, after) in surroundings(),
        bom in any::<bool>(),
        new in "[A-Z\n]{0,8}",
    ) {
        let mark = if bom { "\u{FEFF}" } else { "" };
        let (head, tail) = (format!("{mark}{before}"), after);
        let text = format!("{head}<MARKER>{tail}");
        let change = super::Change::StrReplace(super::edit_call::Replacement {
            old_text: "<MARKER>".to_owned(), new_text: new.clone(), replace_all: None,
        });
        let bytes = super::apply_change(text.as_bytes(), "f", &change).unwrap().bytes;
        prop_assert!(bytes.starts_with(head.as_bytes()));
        prop_assert!(bytes.ends_with(tail.as_bytes()));
        let middle = &bytes[head.len()..bytes.len() - tail.len()];
        prop_assert_eq!(String::from_utf8_lossy(middle).replace("\r\n", "\n"), new);
    }

    #[test]
    fn a_match_over_several_lines_changes_only_what_differs(
        (before, after) in surroundings(),
        first in prop_oneof![Just("\n"), Just("\r\n")],
        second in prop_oneof![Just("\n"), Just("\r\n")],
    ) {
        let text = format!("{before}<1>{first}<2>{second}<3>{after}");
        let change = super::Change::StrReplace(super::edit_call::Replacement {
            old_text: "<1>\n<2>\n<3>".to_owned(), new_text: "<1>\nTWO\n<3>".to_owned(), replace_all: None,
        });
        let bytes = super::apply_change(text.as_bytes(), "f", &change).unwrap().bytes;
        prop_assert_eq!(String::from_utf8(bytes).unwrap(), text.replace("<2>", "TWO"));
    }

    #[test]
    fn a_diff_of_two_texts_applied_as_a_patch_gives_the_second(
        old in proptest::collection::vec("[abc]{0,2}", 0..12),
        new in proptest::collection::vec("[abc]{0,2}", 0..12),
        open_old in any::<bool>(),
        open_new in any::<bool>(),
    ) {
        let join = |lines: &[String], open: bool| {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            if open { text.trim_end_matches('\n').to_owned() } else { text }
        };
        let (old, new) = (join(&old, open_old), join(&new, open_new));
        prop_assume!(old != new);
        let diff = super::diff("f", old.as_bytes(), new.as_bytes()).unified;
        let applied = super::patch::apply(old.as_bytes(), &diff);
        prop_assert_eq!(applied.map(|bytes| String::from_utf8(bytes).unwrap()), Ok(new), "{}", diff);
    }

    #[test]
    fn any_patch_text_is_applied_or_refused(text in "[ab\n\r]{0,20}", patch in "[-+ @\\\\ab0-9,\n*]{0,60}") {
        let _ = super::patch::apply(text.as_bytes(), &patch);
    }
}
