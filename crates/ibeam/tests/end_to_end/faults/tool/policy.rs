//! What nobody is there to permit, and what is not to be had.

use serde_json::json;

use crate::faults::build_program;
use crate::scene::{Scene, answer_shell, answer_text};

#[test]
fn f114_a_call_that_somebody_should_permit_is_refused_at_once() {
    for words in [&["--ask", "Shell(make)"][..], &["--sandbox", "disabled"]] {
        let scene = Scene::new([answer_shell("make all"), answer_text("done")]);
        let output = scene.print(words).run().succeeded();
        let stream = output.stream();
        assert!(stream.completed()[0].1["result"]["rejected"].is_object(), "{output}");
        assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
        assert!(output.stderr.contains("1 tool call was refused"), "{output}");
        assert!(output.elapsed.as_secs() < 20, "{output}");
    }

    let scene = Scene::new([answer_shell("make all"), answer_text("done")]);
    let output = scene.print(["--fail-on", "denied", "--sandbox", "disabled"]).run();
    assert_eq!(output.code, Some(3), "{output}");
    assert_eq!(output.stream().last()["exit_code"], 3);
}

#[test]
fn f115_a_sandbox_that_is_not_to_be_had_is_never_left_out() {
    let scene = Scene::new([answer_shell("echo unsafe"), answer_text("done")]);
    let Some(refuse) = build_program(&scene, "refuse.c", &[]) else { return };
    let run = |words: &[&str]| scene.print(words).through([&refuse]).run();
    // By default as by a flag: what should hold commands is not left out because it cannot be had.
    for words in [&["--force"][..], &["--force", "--sandbox", "enabled"], &[]] {
        let output = run(words);
        assert_eq!(output.code, Some(40), "{output}");
        assert_eq!((output.stdout.as_str(), output.stderr_lines("error: ").len()), ("", 1), "{output}");
        assert_eq!(output.stderr_lines("hint: ").len(), 2, "{output}");
        assert_eq!(scene.server.requests().len(), 0);
        assert!(!scene.workspace.home().join(".local/share/ibeam/sessions").exists(), "{output}");
    }
    let output = run(&["--force", "--error-format", "json"]);
    let error: serde_json::Value = serde_json::from_str(output.stderr.trim()).unwrap();
    assert_eq!((&error["code"], &error["exit_code"]), (&json!("sandbox"), &json!(40)), "{output}");
    // Where no command can run none needs to be held, and who goes without says so.
    for words in [&["--force", "--sandbox", "disabled"][..], &["--mode", "ask"]] {
        let scene = Scene::new([answer_text("done")]);
        scene.print(words).through([&refuse]).run().succeeded();
    }
}
