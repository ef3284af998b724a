//! A session that somebody removes while its run goes on: the run does not claim that it was kept.

use std::path::Path;

use serde_json::json;

use crate::scene::{Scene, answer_call, answer_shell, answer_text};

/// Removes what it likes of the sessions while a command runs, and holds how the run ends.
#[track_caller]
fn check(remove: fn(sessions: &Path)) {
    let wait = answer_shell("until [ -e go ]; do sleep 0.02; done");
    let scene = Scene::new([wait, answer_call("t2", "ls", &json!({ "path": "." })), answer_text("Done.")]);
    let running = scene.print(["--force"]).start();
    running.wait_for_stdout("\"started\"");
    remove(&scene.workspace.home().join(".local/share/ibeam/sessions"));
    std::fs::write(scene.workspace.path().join("go"), "").unwrap();
    let output = running.finish();
    assert_eq!(output.code, Some(74), "{output}");
    let stream = output.stream();
    assert_eq!((&stream.last()["type"], &stream.last()["code"]), (&json!("error"), &json!("io")));
    assert_eq!(stream.last()["resumable"], false);
    assert!(output.stderr_lines("error: ")[0].contains("was removed"), "{output}");
    assert!(!output.stderr.contains("--resume"), "{output}");
}

#[test]
fn a_run_whose_session_is_removed_fails() {
    check(|sessions| std::fs::remove_dir_all(sessions).unwrap());
    check(|sessions| {
        let session = std::fs::read_dir(sessions).unwrap().next().unwrap().unwrap().path();
        std::fs::remove_file(session.join("events.jsonl")).unwrap();
    });
}

/// What was recorded cannot be found under the id of the session any more.
#[test]
fn a_run_whose_session_is_moved_away_fails() {
    check(|sessions| std::fs::rename(sessions, sessions.with_extension("old")).unwrap());
}
