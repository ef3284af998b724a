//! A session that somebody removes while its run goes on: the run does not claim that it was kept.

use std::path::Path;

use serde_json::json;

use crate::scene::{Scene, answer_text, calls, shell};

/// Removes what it likes of the sessions while a command runs, and holds how the run ends.
#[track_caller]
fn check(remove: fn(sessions: &Path)) {
    let wait = shell("until [ -e go ]; do sleep 0.02; done");
    let scene = Scene::new([wait, calls("t2", "ls", &json!({ "path": "." })), answer_text("Done.")]);
    let running = scene.print(["--force"]).start();
    running.wait_for_stdout("\"started\"");
    remove(&scene.workspace.home().join(".local/share/ibeam/sessions"));
    std::fs::write(scene.workspace.path().join("go"), "").unwrap();
    let ran = running.finish();
    assert_eq!(ran.code, Some(74), "{ran}");
    let stream = ran.stream();
    assert_eq!((&stream.last()["type"], &stream.last()["code"]), (&json!("error"), &json!("io")));
    assert_eq!(stream.last()["resumable"], false);
    assert!(ran.stderr_lines("error: ")[0].contains("was removed"), "{ran}");
    assert!(!ran.stderr.contains("--resume"), "{ran}");
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
