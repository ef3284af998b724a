use serde_json::{Value, json};

use crate::fixture::{Fixture, success};

#[track_caller]
fn evidence(fixture: &Fixture, tool: &str, arguments: Value) -> String {
    let canonical = fixture.prepare(tool, arguments).arguments;
    fixture.tools[tool].evidence(&canonical).unwrap()
}

#[track_caller]
fn check_write(before: impl AsRef<[u8]>, text: &str, expect: &str) {
    let fixture = Fixture::with("f", before);
    assert_eq!(evidence(&fixture, "write", json!({"path": "f", "fileText": text})), expect);
}

#[track_caller]
fn check_edit(before: impl AsRef<[u8]>, mut change: Value, expect: &str) {
    let fixture = Fixture::with("f", before);
    change["path"] = json!("f");
    assert_eq!(evidence(&fixture, "edit", change), expect);
}

/// Checks the evidence just before the call and just after it.
#[track_caller]
fn around(old: impl AsRef<[u8]>, tool: &str, mut arguments: Value, before: &str, after: &str) {
    let fixture = Fixture::with("f", old);
    arguments["path"] = json!("f");
    assert_eq!(evidence(&fixture, tool, arguments.clone()), before);
    success(fixture.call(tool, arguments.clone()));
    assert_eq!(evidence(&fixture, tool, arguments), after);
}

fn replace(old: &str, new: &str) -> Value {
    json!({"oldText": old, "newText": new})
}

#[test]
fn a_write_is_compared_with_the_present_file() {
    check_write("one\ntwo\n", "one\ntwo\n", "`f` now holds exactly what this call was to write");
    check_write("one\n", "one\ntwo\n", "`f` has 4 bytes now, which are not what this call was to write");
    let fixture = Fixture::new();
    let call = json!({"path": "d/f", "fileText": "x"});
    assert_eq!(evidence(&fixture, "write", call), "`d/f` does not exist now");
}

#[test]
fn a_write_has_no_effect_until_its_text_is_in_the_file() {
    let fixture = Fixture::with("f", "old\n");
    for path in ["f", "new"] {
        let call = json!({"path": path, "fileText": "text\n"});
        let canonical = fixture.prepare("write", call.clone()).arguments;
        let tool = &fixture.tools["write"];
        assert!(tool.has_no_effect_yet(&canonical), "{path}");
        if path == "f" {
            success(fixture.call("read", json!({"path": "f"})));
        }
        success(fixture.call("write", call));
        assert!(!tool.has_no_effect_yet(&canonical), "{path}");
    }
    std::fs::create_dir(fixture.root().join("d")).unwrap();
    let canonical = fixture.prepare("write", json!({"path": "d", "fileText": "x"})).arguments;
    assert!(!fixture.tools["write"].has_no_effect_yet(&canonical), "nothing is known about a directory");
}

#[test]
fn a_write_in_the_conventions_of_the_old_file_is_recognized() {
    for old in [b"a\r\nb\r\n".as_slice(), b"\xef\xbb\xbfold", b"\xff\xfea\0\r\0\n\0", b"old\n"] {
        let before = format!("`f` has {} bytes now, which are not what this call was to write", old.len());
        let after = "`f` now holds exactly what this call was to write";
        around(old, "write", json!({"fileText": "one\ntwo\n"}), &before, after);
    }
}

#[test]
fn evidence_of_an_edit_states_which_text_the_file_has() {
    let made = "`f` holds the new text and no longer the old text";
    let not_made = "`f` still holds the old text and not the new text";
    around("let x = 1;\r\nend\r\n", "edit", replace("x = 1;\nend", "x = 2;\nend"), not_made, made);
    around("a\nb\n", "edit", replace("b", "b\nc"), not_made, "`f` holds the new text");
    around(
        "a\nb\n",
        "edit",
        replace("b\n", ""),
        "`f` still holds the old text",
        "`f` no longer holds the old text",
    );
    around("foo bar", "edit", replace("foo bar", "foo"), "`f` still holds the old text", made);
    check_edit("else", replace("a", "b"), "`f` holds neither the old text nor the new text");
    check_edit("a b", replace("a", "b"), "`f` holds both the old text and the new text");
    check_edit(b"\x7fELF\0", replace("a", "b"), "`f` is an ELF binary now");
}

#[test]
fn evidence_of_several_equal_edits_is_one_sentence() {
    let edits = json!({"edits": [replace("a", "x"), replace("b", "y")]});
    let made = "`f` holds the new text and no longer the old text";
    around("a b", "edit", edits.clone(), "`f` still holds the old text and not the new text", made);
    check_edit(
        "x b",
        edits,
        "`f` (edit 1) holds the new text and no longer the old text; \
         (edit 2) still holds the old text and not the new text",
    );
}

#[test]
fn a_patch_is_tried_forward_and_in_reverse() {
    let patch = json!({"patch": "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"});
    let before = "`f` is as it was before the patch, which still fits";
    around("a\nb\nc\n", "edit", patch.clone(), before, "`f` holds what the patch makes of it");
    check_edit("z\n", patch, "`f` fits neither the patch nor its reverse");
}

#[test]
fn evidence_of_a_delete_states_whether_the_file_exists() {
    around("four", "delete", json!({}), "`f` still exists (4 bytes)", "`f` does not exist now");
    let fixture = Fixture::new();
    fixture.link("gone", "link");
    assert_eq!(evidence(&fixture, "delete", json!({"path": "link"})), "`link` still exists (4 bytes)");
}

#[test]
fn evidence_does_not_block_and_is_limited() {
    let fixture = Fixture::new();
    fixture.fifo("pipe");
    let write = |path: &str| json!({"path": path, "fileText": "x"});
    assert!(evidence(&fixture, "write", write("pipe")).contains("named pipe"));
    assert!(evidence(&fixture, "write", write(".")).contains("is a directory"));
    let sparse = std::fs::File::create(fixture.path("huge")).unwrap();
    sparse.set_len(10 << 30).unwrap();
    assert_eq!(
        evidence(&fixture, "write", write("huge")),
        "`huge` exists (10737418240 bytes) and is too large to compare"
    );
    let change = json!({"path": "pipe", "oldText": "a", "newText": "b"});
    assert!(evidence(&fixture, "edit", change).contains("named pipe"));
    assert_eq!(evidence(&fixture, "delete", json!({"path": "pipe"})), "`pipe` still exists (0 bytes)");
}

#[test]
fn f103_a_temporary_file_of_a_killed_write_is_removed() {
    let fixture = Fixture::with("d/.ibeam-0123456789abcdef.tmp", "half");
    fixture.put("d/f", "old");
    evidence(&fixture, "write", json!({"path": "d/f", "fileText": "new"}));
    assert!(!fixture.path("d/.ibeam-0123456789abcdef.tmp").exists());
}

#[test]
fn read_only_tools_have_no_evidence() {
    let fixture = Fixture::with("f", "x");
    let arguments = json!({"path": "f"});
    assert_eq!(fixture.tools["read"].evidence(&arguments), None);
}
