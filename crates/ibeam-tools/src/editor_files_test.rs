//! Tools whose files an editor has open.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{EditorFileError, EditorFiles};
use crate::fixture::{Fixture, failure, runtime, success};
use crate::{CommandTimeouts, EditorLock};

/// An editor with buffers that are not saved. It writes files, unless it only reads.
#[derive(Debug, Default)]
struct FakeEditor {
    buffers: Mutex<HashMap<PathBuf, String>>,
    is_read_only: bool,
    is_silent: bool,
    writes: Mutex<Vec<PathBuf>>,
    lock: EditorLock,
}

impl FakeEditor {
    fn unanswered(&self) -> Result<(), EditorFileError> {
        if self.is_silent { Err(EditorFileError::Unanswered("no answer".to_owned())) } else { Ok(()) }
    }
}

impl EditorFiles for FakeEditor {
    fn lock(&self) -> &EditorLock {
        &self.lock
    }

    fn read(&self, path: &Path, _: &dyn Fn() -> bool) -> Result<String, EditorFileError> {
        self.unanswered()?;
        let buffers = self.buffers.lock().unwrap();
        buffers.get(path).cloned().ok_or_else(|| EditorFileError::Refused("not open".to_owned()))
    }

    fn write(&self, path: &Path, text: &str, _: &dyn Fn() -> bool) -> Result<(), EditorFileError> {
        self.unanswered()?;
        if self.is_read_only {
            return Err(EditorFileError::Refused("read-only".to_owned()));
        }
        self.writes.lock().unwrap().push(path.to_owned());
        self.buffers.lock().unwrap().remove(path);
        std::fs::write(path, text).unwrap();
        Ok(())
    }
}

/// Returns a workspace with the file `a`, for which the editor has `unsaved` text.
fn scene(editor: FakeEditor, saved: &str, unsaved: Option<&str>) -> (Fixture, Arc<FakeEditor>) {
    let editor = Arc::new(editor);
    let own_editor = Arc::clone(&editor);
    let fixture = Fixture::set(CommandTimeouts::default(), |settings, _| {
        settings.editor_files = Some(own_editor);
    });
    fixture.put("a", saved);
    let buffers = unsaved.map(|text| (fixture.path("a"), text.to_owned()));
    editor.buffers.lock().unwrap().extend(buffers);
    (fixture, editor)
}

fn edit(old: &str, new: &str) -> Value {
    json!({ "path": "a", "strReplace": { "oldText": old, "newText": new } })
}

#[test]
fn unsaved_text_is_read_and_edited() {
    let (fixture, editor) = scene(FakeEditor::default(), "saved\n", Some("unsaved\n"));
    let (_, text) = success(fixture.call("read", json!({ "path": "a" })));
    assert!(text.contains("unsaved"), "{text}");
    success(fixture.call("edit", edit("unsaved", "edited")));
    assert_eq!(fixture.bytes("a"), b"edited\n");
    assert_eq!(*editor.writes.lock().unwrap(), [fixture.path("a")]);
}

#[test]
fn a_change_of_the_buffer_after_a_read_is_not_overwritten() {
    let (fixture, editor) = scene(FakeEditor::default(), "saved\n", None);
    success(fixture.call("read", json!({ "path": "a" })));
    editor.buffers.lock().unwrap().insert(fixture.path("a"), "typed\n".to_owned());
    let write = json!({ "path": "a", "fileText": "new\n" });
    for (tool, arguments) in [("edit", edit("typed", "x")), ("write", write)] {
        let (_, text) = failure(fixture.call(tool, arguments));
        assert!(text.contains("has changed"), "{text}");
    }
    assert_eq!(fixture.bytes("a"), b"saved\n");
}

#[test]
fn text_that_differs_only_in_line_ends_is_that_of_the_file() {
    let (fixture, editor) = scene(FakeEditor::default(), "a\r\nb\r\n", Some("a\nb\n"));
    success(fixture.call("read", json!({ "path": "a" })));
    success(fixture.call("edit", edit("b", "c")));
    assert_eq!(fixture.bytes("a"), b"a\r\nc\r\n");
    assert_eq!(editor.writes.lock().unwrap().len(), 1);
}

#[test]
fn a_file_that_the_editor_does_not_write_is_written_on_the_disk_unless_it_has_unsaved_text() {
    let (fixture, _) = scene(FakeEditor { is_read_only: true, ..FakeEditor::default() }, "saved\n", None);
    success(fixture.call("edit", edit("saved", "x")));
    assert_eq!(fixture.bytes("a"), b"x\n");
    let editor = FakeEditor { is_read_only: true, ..FakeEditor::default() };
    let (fixture, _) = scene(editor, "saved\n", Some("unsaved\n"));
    let (_, text) = failure(fixture.call("edit", edit("unsaved", "x")));
    assert!(text.contains("not saved"), "{text}");
    assert_eq!(fixture.bytes("a"), b"saved\n");
}

#[test]
fn a_new_file_is_written_by_the_editor_and_a_silent_editor_is_an_error() {
    let (fixture, editor) = scene(FakeEditor::default(), "saved\n", None);
    success(fixture.call("write", json!({ "path": "d/new", "fileText": "new\n" })));
    assert_eq!(fixture.bytes("d/new"), b"new\n");
    assert_eq!(*editor.writes.lock().unwrap(), [fixture.path("d/new")]);
    let (fixture, _) = scene(FakeEditor { is_silent: true, ..FakeEditor::default() }, "saved\n", None);
    for (tool, arguments) in
        [("read", json!({ "path": "a" })), ("write", json!({ "path": "b", "fileText": "" }))]
    {
        let (_, text) = failure(fixture.call(tool, arguments));
        assert!(text.contains("did not answer"), "{text}");
    }
}

#[test]
fn no_file_is_opened_by_the_editor_while_a_command_runs() {
    let (fixture, editor) = scene(FakeEditor::default(), "saved\n", Some("unsaved\n"));
    runtime().block_on(async {
        let call = async |tool, arguments| success(fixture.run(fixture.prepare(tool, arguments)).await).1;
        call("shell", json!({ "command": "sleep 600", "isBackground": true })).await;
        let text = call("read", json!({ "path": "a" })).await;
        assert!(text.contains("saved") && !text.contains("unsaved"), "{text}");
        call("edit", edit("saved", "edited")).await;
        call("write", json!({ "path": "b", "fileText": "new\n" })).await;
        assert_eq!((fixture.bytes("a"), fixture.bytes("b")), (b"edited\n".to_vec(), b"new\n".to_vec()));
        assert!(editor.writes.lock().unwrap().is_empty());
        fixture.background.stop_all().await;
        let text = call("read", json!({ "path": "a" })).await;
        assert!(text.contains("unsaved"), "{text}");
    });
}

#[test]
fn policy_decides_before_the_editor() {
    let editor = Arc::new(FakeEditor::default());
    let own_editor = Arc::clone(&editor);
    let fixture = Fixture::guarded_with(&[], &["Write(secret)", "Read(secret)"], |settings| {
        settings.editor_files = Some(own_editor);
    });
    fixture.put("secret", "s\n");
    editor.buffers.lock().unwrap().insert(fixture.path("secret"), "unsaved\n".to_owned());
    for (tool, arguments) in
        [("read", json!({ "path": "secret" })), ("write", json!({ "path": "secret", "fileText": "x" }))]
    {
        let (_, text) = failure(fixture.call(tool, arguments));
        assert!(!text.contains("unsaved"), "{text}");
    }
    assert!(editor.writes.lock().unwrap().is_empty());
    assert_eq!(fixture.bytes("secret"), b"s\n");
}
