//! What nobody is there to permit, and what is not to be had.

use serde_json::json;

use crate::faults::host::built;
use crate::scene::{Scene, answer_text, shell};

#[test]
fn f114_a_call_that_somebody_should_permit_is_refused_at_once() {
    for words in [&["--ask", "Shell(make)"][..], &["--sandbox", "disabled"]] {
        let scene = Scene::new([shell("make all"), answer_text("done")]);
        let ran = scene.print(words).run().succeeded();
        let stream = ran.stream();
        assert!(stream.completed()[0].1["result"]["rejected"].is_object(), "{ran}");
        assert_eq!(ran.stderr_lines("warning: ").len(), 1, "{ran}");
        assert!(ran.stderr.contains("1 tool call was refused"), "{ran}");
        assert!(ran.elapsed.as_secs() < 20, "{ran}");
    }

    let scene = Scene::new([shell("make all"), answer_text("done")]);
    let ran = scene.print(["--fail-on", "denied", "--sandbox", "disabled"]).run();
    assert_eq!(ran.code, Some(3), "{ran}");
    assert_eq!(ran.stream().last()["exit_code"], 3);
}

#[test]
fn f115_a_sandbox_that_is_not_to_be_had_is_never_left_out() {
    let scene = Scene::new([shell("echo unsafe"), answer_text("done")]);
    let Some(refuse) = built(&scene, "refuse.c", &[]) else { return };
    let run = |words: &[&str]| scene.print(words).through([&refuse]).run();
    // By default as by a flag: what should hold commands is not left out because it cannot be had.
    for words in [&["--force"][..], &["--force", "--sandbox", "enabled"], &[]] {
        let ran = run(words);
        assert_eq!(ran.code, Some(40), "{ran}");
        assert_eq!((ran.stdout.as_str(), ran.stderr_lines("error: ").len()), ("", 1), "{ran}");
        assert_eq!(ran.stderr_lines("hint: ").len(), 2, "{ran}");
        assert_eq!(scene.server.requests().len(), 0);
        assert!(!scene.workspace.home().join(".local/share/ibeam/sessions").exists(), "{ran}");
    }
    let ran = run(&["--force", "--error-format", "json"]);
    let error: serde_json::Value = serde_json::from_str(ran.stderr.trim()).unwrap();
    assert_eq!((&error["code"], &error["exit_code"]), (&json!("sandbox"), &json!(40)), "{ran}");
    // Where no command can run none needs to be held, and who goes without says so.
    for words in [&["--force", "--sandbox", "disabled"][..], &["--mode", "ask"]] {
        let scene = Scene::new([answer_text("done")]);
        scene.print(words).through([&refuse]).run().succeeded();
    }
}
