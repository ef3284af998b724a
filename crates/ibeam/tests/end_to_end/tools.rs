//! Each tool once: its key, its arguments and its success payload in the stream, and its effect.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use ibeam_testkit::Workspace;
use ibeam_testkit::scene::{Scene, WIRES, answer_call, answer_text};
use serde_json::{Value, json};

use super::schema;

/// Calls the tool. Returns the scene, the key of the completed event, and the value under the key.
#[track_caller]
fn completed(tool: &str, arguments: &Value) -> (Scene, String, Value) {
    let mut last = None;
    for wire in WIRES {
        let workspace = Workspace::new()
            .file("notes.txt", "alpha\nbeta\n")
            .file("src/main.rs", "fn main() { alpha() }\n")
            .file("old.txt", "old\n");
        let scene = Scene::with_wire(wire, [answer_call("toolu_1", tool, arguments), answer_text("done")])
            .with_workspace(workspace);
        let stream = scene.print(["--force"]).run().succeeded().stream();
        schema::check(&stream.events);
        let (key, body) = stream.completed()[0];
        last = Some((key.to_owned(), body.clone(), scene));
    }
    let (key, body, scene) = last.unwrap();
    (scene, key, body)
}

/// Asserts the keys of the arguments and of the arm `success`, in their order. Returns the scene and the payload.
#[track_caller]
fn check(tool: &str, arguments: &Value, key: &str, args: &[&str], success: &[&str]) -> (Scene, Value) {
    let (scene, found, body) = completed(tool, arguments);
    assert_eq!(found, key);
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&body["args"]), args, "{body}");
    let payload = body["result"]["success"].clone();
    assert!(payload.is_object(), "{body}");
    assert_eq!(names(&payload), success, "{body}");
    (scene, payload)
}

#[test]
fn read() {
    let keys = ["content", "isEmpty", "exceededLimit", "totalLines", "totalChars"];
    let (_, payload) = check("read", &json!({ "path": "notes.txt" }), "readToolCall", &["path"], &keys);
    assert_eq!(
        payload,
        json!({ "content": "alpha\nbeta\n", "isEmpty": false, "exceededLimit": false, "totalLines": 2, "totalChars": 11 })
    );
    let part = json!({ "path": "notes.txt", "offset": 2, "limit": 1 });
    let (_, payload) = check("read", &part, "readToolCall", &["path", "offset", "limit"], &keys);
    assert_eq!(payload["content"], "beta\n");
}

#[test]
fn write() {
    let arguments = json!({ "path": "new/file.txt", "fileText": "one\ntwo\n" });
    let (scene, payload) = check(
        "write",
        &arguments,
        "writeToolCall",
        &["path", "fileText", "toolCallId"],
        &["path", "linesCreated", "fileSize"],
    );
    let path = scene.workspace.path().join("new/file.txt");
    assert_eq!(payload, json!({ "path": path, "linesCreated": 2, "fileSize": 8 }));
    assert_eq!(scene.workspace.read("new/file.txt").as_deref(), Some("one\ntwo\n"));
}

#[test]
fn edit() {
    let keys = ["path", "linesAdded", "linesRemoved", "diffString", "message"];
    let one = json!({ "path": "notes.txt", "oldText": "alpha", "newText": "gamma" });
    let (scene, payload) = check("edit", &one, "editToolCall", &["path", "strReplace"], &keys);
    assert_eq!((&payload["linesAdded"], &payload["linesRemoved"]), (&json!(1), &json!(1)));
    assert_eq!(scene.workspace.read("notes.txt").as_deref(), Some("gamma\nbeta\n"));

    let edits = json!([{ "oldText": "alpha", "newText": "a" }, { "oldText": "beta", "newText": "b" }]);
    let many = json!({ "path": "notes.txt", "edits": edits });
    let (scene, _) = check("edit", &many, "editToolCall", &["path", "multiStrReplace"], &keys);
    assert_eq!(scene.workspace.read("notes.txt").as_deref(), Some("a\nb\n"));

    let patch = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,2 @@\n alpha\n-beta\n+delta\n";
    let patched = json!({ "path": "notes.txt", "patch": patch });
    let (scene, _) = check("edit", &patched, "editToolCall", &["path", "applyPatch"], &keys);
    assert_eq!(scene.workspace.read("notes.txt").as_deref(), Some("alpha\ndelta\n"));
}

#[test]
fn shell() {
    let keys =
        ["command", "workingDirectory", "exitCode", "stdout", "stderr", "interleavedOutput", "executionTime"];
    let args = ["command", "workingDirectory", "timeout", "toolCallId"];
    let (_, payload) =
        check("shell", &json!({ "command": "echo out; echo err >&2" }), "shellToolCall", &args, &keys);
    assert_eq!(
        (&payload["stdout"], &payload["stderr"], &payload["exitCode"]),
        (&json!("out\n"), &json!("err\n"), &json!(0))
    );
    assert!(payload["executionTime"].is_u64());

    let (_, _, body) = completed("shell", &json!({ "command": "echo out; exit 3" }));
    assert_eq!(
        (&body["result"]["failure"]["exitCode"], &body["result"]["failure"]["stdout"]),
        (&json!(3), &json!("out\n"))
    );
    let (_, _, body) = completed("shell", &json!({ "command": "sleep 30", "timeout": 200 }));
    assert_eq!(body["result"]["timeout"]["timeoutMs"], 200, "{body}");
    // A child of the program has no terminal and no input.
    let (_, _, body) = completed("shell", &json!({ "command": "cat; test -t 0 || echo none" }));
    assert_eq!(body["result"]["success"]["stdout"], "none\n");
}

/// Long output is cut in the stream and for the model.
#[test]
fn endless_output_of_the_shell_is_cut() {
    let (scene, _, body) =
        completed("shell", &json!({ "command": "head -c 20000000 /dev/zero | tr '\\0' 'x'" }));
    assert!(body.to_string().len() < 2_000_000, "{} bytes on one line", body.to_string().len());
    let reported = scene.server.requests()[1].transcript().join("\n");
    assert!(reported.len() < 400_000, "{} bytes for the model", reported.len());
}

#[test]
fn grep() {
    let args = ["pattern", "toolCallId"];
    let keys = ["pattern", "path", "outputMode", "workspaceResults"];
    let (scene, _, body) = completed("grep", &json!({ "pattern": "alpha" }));
    let payload = &body["result"]["success"];
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(payload), keys, "{body}");
    assert!(args.iter().all(|name| body["args"].get(*name).is_some()), "{body}");
    let found = payload["workspaceResults"].to_string();
    assert!(found.contains("notes.txt") && found.contains("main.rs"), "{found}");
    assert_eq!(scene.workspace.read("old.txt").as_deref(), Some("old\n"));
}

#[test]
fn glob() {
    let keys = ["pattern", "path", "files", "totalFiles"];
    let (_, payload) =
        check("glob", &json!({ "globPattern": "**/*.rs" }), "globToolCall", &["globPattern"], &keys);
    assert_eq!(payload["totalFiles"], 1);
    assert!(payload["files"][0].as_str().unwrap().ends_with("src/main.rs"), "{payload}");
}

/// Invalid bytes of a name are replaced, and the run continues.
#[test]
fn names_other_than_utf_8_are_listed() {
    let name = OsStr::from_bytes(b"caf\xe9.txt");
    for (tool, arguments) in [
        ("glob", json!({ "globPattern": "*.txt" })),
        ("ls", json!({ "path": "." })),
        ("grep", json!({ "pattern": "alpha" })),
        ("grep", json!({ "pattern": "alpha", "outputMode": "count" })),
        ("grep", json!({ "pattern": "alpha", "outputMode": "files_with_matches" })),
    ] {
        let workspace = Workspace::new();
        std::fs::write(workspace.path().join(name), "alpha\n").unwrap();
        let scene = Scene::new([answer_call("toolu_1", tool, &arguments), answer_text("done")])
            .with_workspace(workspace);
        let output = scene.print::<&str>([]).run().succeeded();
        assert!(output.stdout.contains("caf\u{fffd}.txt"), "{tool}: {output}");
        let scene = scene.with_answers([answer_text("still there")]);
        scene.print(["--continue"]).run().succeeded();
    }
}

#[test]
fn ls() {
    let (scene, payload) = check(
        "ls",
        &json!({ "path": "." }),
        "lsToolCall",
        &["path", "ignore", "toolCallId"],
        &["directoryTreeRoot"],
    );
    let root = &payload["directoryTreeRoot"];
    assert_eq!(root["absPath"], scene.workspace.path().to_str().unwrap());
    assert!(root["childrenFiles"].to_string().contains("notes.txt"), "{payload}");
    assert!(root["childrenDirs"][0]["absPath"].as_str().unwrap().ends_with("/src"), "{payload}");
}

#[test]
fn delete() {
    let (scene, payload) =
        check("delete", &json!({ "path": "old.txt" }), "deleteToolCall", &["path"], &["path", "fileSize"]);
    assert_eq!(payload["fileSize"], 4);
    assert_eq!(scene.workspace.read("old.txt"), None);
    let (_, _, body) = completed("delete", &json!({ "path": "missing.txt" }));
    assert_eq!(body["result"]["fileNotFound"]["path"], "missing.txt", "{body}");
}

#[test]
fn update_todos() {
    let todos = json!([{ "id": "1", "content": "look", "status": "in_progress" }]);
    let (_, payload) = check(
        "update_todos",
        &json!({ "todos": todos, "merge": false }),
        "updateTodosToolCall",
        &["todos", "merge"],
        &["todos"],
    );
    assert_eq!(
        payload["todos"][0],
        json!({ "id": "1", "content": "look", "status": "TODO_STATUS_IN_PROGRESS" })
    );
}
