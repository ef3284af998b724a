//! Ephemeral runs: no session is stored, and the stream contains a mark.

use std::path::Path;

use ibeam_testkit::Workspace;
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text, journal};
use serde_json::json;

/// Returns every file below the data directory of the workspace's home.
fn stored(scene: &Scene) -> Vec<String> {
    fn below(directory: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            found.push(path.display().to_string());
            below(&path, found);
        }
    }
    let mut found = Vec::new();
    below(&scene.workspace.home().join(".local"), &mut found);
    found
}

#[test]
fn an_ephemeral_run_stores_nothing() {
    // Permission rules leave a marker below the data directory in other runs.
    let rules = "[permissions]\ndeny = [\"Shell(rm)\"]\n";
    for (flags, variable) in [(&["--ephemeral"][..], None), (&[], Some("true"))] {
        let answers = [
            answer_call("t1", "read", &json!({ "path": "n.txt" })),
            answer_shell("echo 42"),
            answer_text("It is 42."),
        ];
        let workspace = Workspace::new().file("n.txt", "42\n").user_config(rules);
        let scene = Scene::new(answers).with_workspace(workspace);
        let mut run = scene.print(["--force"]).args(flags);
        if let Some(value) = variable {
            run = run.env("IBEAM_EPHEMERAL", value);
        }
        let stream = run.run().succeeded().stream();
        assert_eq!(stored(&scene), Vec::<String>::new());
        assert_eq!(stream.init()["ibeam"]["ephemeral"], true, "{}", stream.init());
        assert_eq!(stream.session_id().len(), 36);
        assert_eq!(stream.deltas(), ["It is 42."]);
        let resumed = scene.print(["--continue"]).run();
        assert_eq!(resumed.code, Some(66), "{resumed}");
    }
}

#[test]
fn a_run_with_a_stored_session_is_not_marked_as_ephemeral() {
    let scene = Scene::new([answer_text("stored")]);
    let stream = scene.print([""; 0]).run().succeeded().stream();
    assert!(stream.init()["ibeam"].get("ephemeral").is_none(), "{}", stream.init());
    assert!(scene.workspace.journal(stream.session_id()).exists());
}

/// Tests run as root, and `/proc` rejects new entries even from root.
#[cfg(target_os = "linux")]
#[test]
fn an_ephemeral_run_needs_no_writable_home() {
    let read_only = |flags: &[&str]| {
        let scene = Scene::new([answer_text("fine")]);
        let mut run = scene.print(flags).env("HOME", "/proc");
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
            run = run.env_remove(name);
        }
        run.run()
    };
    let refused = read_only(&[]);
    assert_eq!(refused.code, Some(73), "{refused}");
    assert!(refused.stderr.contains("--ephemeral"), "the hint names the flag: {refused}");
    assert_eq!(read_only(&["--ephemeral"]).succeeded().stream().deltas(), ["fine"]);
}

#[test]
fn a_failed_ephemeral_run_is_not_resumable() {
    let scene = Scene::new([answer_shell("rm -r \"$PWD\""), answer_text("never")]);
    let output = scene.print(["--force", "--sandbox", "disabled", "--ephemeral", "--max-turns", "1"]).run();
    assert_ne!(output.code, Some(0), "{output}");
    let stream = output.stream();
    assert_eq!(stream.last()["resumable"], false, "{}", stream.last());
    assert!(!output.stderr.contains("--resume"), "{output}");
}

#[test]
fn a_limit_that_ends_an_ephemeral_run_names_no_session_to_continue() {
    for (flags, is_continued) in [(&["--ephemeral"][..], false), (&[], true)] {
        let scene = Scene::new([answer_shell("true"), answer_text("never")]);
        let output = scene.print(["--force", "--max-turns", "1"]).args(flags).run();
        assert!(output.stderr.contains("hint: raise it with `--max-turns`"), "{output}");
        assert_eq!(output.stderr.contains("--continue"), is_continued, "{output}");
    }
}

#[test]
fn an_ephemeral_run_reads_the_session_it_resumes_without_a_change() {
    for flags in [&["--continue"][..], &["--continue", "--fork"]] {
        let scene = Scene::new([answer_text("one")]);
        let first = scene.ibeam(["-p", "begin"]).run().succeeded().stream();
        let events = journal(&scene, first.session_id());
        let before = stored(&scene);
        let scene = scene.with_answers([answer_text("two")]);
        let stream = scene.ibeam(["-p", "more", "--ephemeral"]).args(flags).run().succeeded().stream();
        assert_eq!(stream.session_id() == first.session_id(), flags.len() == 1, "{flags:?}");
        let sent = scene.server.requests()[0].transcript();
        assert_eq!(sent, ["user: begin", "assistant: one", "user: more"], "{flags:?}");
        assert_eq!(journal(&scene, first.session_id()), events, "{flags:?}");
        assert_eq!(stored(&scene), before, "{flags:?}");
    }
}

#[test]
fn a_given_id_is_used_and_not_stored() {
    const UUID: &str = "0f0e0d0c-0b0a-4908-8706-050403020100";
    let scene = Scene::new([answer_text("one"), answer_text("two")]);
    for _ in 0..2 {
        let output = scene.print(["--ephemeral", "--resume", UUID]).run().succeeded();
        assert_eq!(output.stream().session_id(), UUID);
        assert_eq!(stored(&scene), Vec::<String>::new());
    }
    assert_eq!(
        scene.server.requests()[1].transcript(),
        ["user: do it"],
        "nothing of the first run is stored"
    );
}

#[test]
fn create_chat_rejects_the_ephemeral_flag() {
    let scene = Scene::new([]);
    let output = scene.ibeam_without_model(["create-chat", "--ephemeral"]).run();
    assert_eq!(output.code, Some(2), "{output}");
    assert_eq!(stored(&scene), Vec::<String>::new());
}

/// A managed file may require that every run is stored.
#[test]
fn a_project_cannot_make_runs_ephemeral() {
    let workspace = Workspace::new().file(".ibeam/config.toml", "[session]\nephemeral = true\n");
    let scene = Scene::new([answer_text("stored")]).with_workspace(workspace);
    let output = scene.print([""; 0]).run().succeeded();
    assert!(scene.workspace.journal(output.stream().session_id()).exists(), "{output}");
    assert!(output.stderr.contains("session.ephemeral"), "{output}");
}

/// A conversation says why the commands that read the stored session cannot work.
#[test]
fn commands_of_an_ephemeral_conversation_that_read_its_session_give_the_reason() {
    let scene = Scene::new([answer_text("Done.\n")]).with_workspace(Workspace::new());
    let running = scene.ibeam(["begin", "--ephemeral", "--screen-reader"]).terminal().start();
    running.wait_for_stdout("Done.");
    for (line, name) in [
        ("/cost", "/cost"),
        ("/diff 1", "/diff"),
        ("/export a.html", "/export"),
        ("/transcript", "/transcript"),
    ] {
        running.type_text(&format!("{line}\n"));
        running.wait_for_stderr(&format!("no session is stored, so `{name}` has nothing to read"));
    }
    running.type_text("quit\n");
    running.finish().succeeded();
    assert!(scene.workspace.read("a.html").is_none());
}
