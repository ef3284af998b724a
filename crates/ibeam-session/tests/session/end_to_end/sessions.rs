//! Resumed sessions: the model receives the complete conversation, and the id remains the same.

use std::path::Path;

use ibeam_testkit::scene::{Scene, WIRES, answer_call, answer_shell, answer_text};
use ibeam_testkit::{Answer, LivenessPipe, Workspace};
use serde_json::json;

const UUID: &str = "0f0e0d0c-0b0a-4908-8706-050403020100";

/// Runs the first prompt. Returns the scene and the id of the session.
fn first_run(scene: Scene) -> (Scene, String) {
    let output = scene.ibeam(["-p", "remember 42"]).run().succeeded();
    let id = output.stream().session_id().to_owned();
    (scene, id)
}

fn first_answers() -> Vec<Answer> {
    vec![
        Answer::new().thinking("hm", "sig-a").text("Looking. ").call(
            "t1",
            "read",
            &json!({ "path": "n.txt" }),
        ),
        answer_text("It is 42."),
    ]
}

#[test]
fn resume_sends_the_model_the_complete_history() {
    for wire in WIRES {
        for resume in
            [|id: &str| vec![format!("--resume={id}")], |id: &str| vec!["--resume".to_owned(), id.to_owned()]]
        {
            let scene = Scene::with_wire(wire, first_answers())
                .with_workspace(Workspace::new().file("n.txt", "42\n"));
            let (scene, id) = first_run(scene);
            let sent = scene.server.requests()[1].transcript();
            let scene = scene.with_answers([answer_text("Still 42.")]);
            let output = scene.ibeam(["-p", "what was it?"]).args(resume(&id)).run().succeeded();
            let stream = output.stream();
            assert_eq!(stream.session_id(), id);
            assert_eq!(stream.prompt(), ["what was it?"], "the stream contains this run only");
            assert_eq!(stream.deltas(), ["Still 42."]);
            let again = scene.server.requests()[0].transcript();
            assert_eq!(again[..sent.len()], sent, "the earlier messages are sent again");
            assert_eq!(again[sent.len()..], ["assistant: It is 42.", "user: what was it?"]);
            assert_eq!(again[0], "user: remember 42");
            assert!(
                again.iter().any(|line| line.starts_with("call read "))
                    && again.iter().any(|line| line.contains("42"))
            );
        }
    }
}

#[test]
fn continue_resumes_the_newest_session_of_the_directory() {
    let (scene, _) = first_run(Scene::new([answer_text("one")]));
    let (scene, newest) = first_run(scene.with_answers([answer_text("two")]));
    let mut scene = scene;
    let mut history = vec!["user: remember 42".to_owned(), "assistant: two".to_owned()];
    for flags in [
        &["-p", "go on", "--continue"][..],
        &["-p", "go on", "--resume"],
        &["-p", "go on", "--resume=-1"],
        &["-p", "--resume", "go on"],
        &["resume", &newest, "go on"],
    ] {
        scene = scene.with_answers([answer_text("more")]);
        let output = scene.ibeam(flags).run().succeeded();
        assert_eq!(output.stream().session_id(), newest, "{flags:?}");
        history.push("user: go on".to_owned());
        assert_eq!(scene.server.requests()[0].transcript(), history, "{flags:?}");
        history.push("assistant: more".to_owned());
    }
}

#[test]
fn continue_ignores_sessions_of_other_directories() {
    let (scene, _) = first_run(Scene::new([answer_text("one")]));
    let other = scene.workspace.outside().join("other");
    std::fs::create_dir(&other).unwrap();
    let output = scene.ibeam(["-p", "x", "--continue", "--workspace", other.to_str().unwrap()]).run();
    assert_eq!(output.code, Some(66), "{output}");
}

#[test]
fn a_chat_that_was_created_is_resumed() {
    let scene = Scene::new([answer_text("one")]);
    let created = scene.ibeam_without_model(["create-chat"]).run().succeeded();
    let id = created.stdout.strip_suffix('\n').unwrap();
    let stream = scene.ibeam(["-p", "begin", "--resume", id]).run().succeeded().stream();
    assert_eq!(stream.session_id(), id);
    assert_eq!(scene.server.requests()[0].transcript(), ["user: begin"]);
    let scene = scene.with_answers([answer_text("two")]);
    scene.ibeam(["-p", "more", "--resume", id]).run().succeeded();
    assert_eq!(scene.server.requests()[0].transcript(), ["user: begin", "assistant: one", "user: more"]);
}

#[test]
fn an_unknown_uuid_names_a_new_session() {
    let scene = Scene::new([answer_text("one")]);
    let stream = scene.ibeam(["-p", "begin", "--resume", UUID]).run().succeeded().stream();
    assert_eq!(stream.session_id(), UUID);
    let scene = scene.with_answers([answer_text("two")]);
    scene.ibeam(["-p", "more", &format!("--resume={UUID}")]).run().succeeded();
    assert_eq!(scene.server.requests()[0].transcript(), ["user: begin", "assistant: one", "user: more"]);
}

#[test]
fn every_new_run_has_its_own_session() {
    let (scene, one) = first_run(Scene::new([answer_text("one")]));
    let (_scene, two) = first_run(scene.with_answers([answer_text("two")]));
    assert_ne!(one, two);
}

/// After a failure the conversation continues from its last complete message.
#[test]
fn a_failed_run_is_resumed() {
    for wire in WIRES {
        let broken = [
            answer_call("t1", "read", &json!({ "path": "n.txt" })),
            Answer::error(400, "invalid_request_error", "no"),
        ];
        let scene = Scene::with_wire(wire, broken).with_workspace(Workspace::new().file("n.txt", "42\n"));
        let output = scene.ibeam(["-p", "remember 42"]).run();
        assert_eq!(output.code, Some(22), "{output}");
        let scene = scene.with_answers([answer_text("back")]);
        let stream = scene.ibeam(["-p", "again", "--continue"]).run().succeeded().stream();
        assert_eq!(stream.session_id(), output.stream().session_id());
        let transcript = scene.server.requests()[0].transcript();
        assert_eq!(transcript.first().map(String::as_str), Some("user: remember 42"));
        assert_eq!(transcript.last().map(String::as_str), Some("user: again"));
        assert!(transcript.iter().any(|line| line.starts_with("result ")), "{transcript:?}");
    }
}

/// An incomplete text is not an answer; the next request still follows the rules of its wire protocol.
#[test]
fn a_run_that_was_cut_in_its_text_is_resumed() {
    for wire in WIRES {
        let scene = Scene::with_wire(wire, [answer_text("half an ans").cut(), answer_text("we").cut()]);
        assert_eq!(scene.ibeam(["-p", "begin"]).run().code, Some(25));
        let scene = scene.with_answers([answer_text("whole")]);
        scene.ibeam(["-p", "again", "--continue"]).run().succeeded();
        let transcript = scene.server.requests()[0].transcript();
        assert_eq!(transcript.first().map(String::as_str), Some("user: begin"));
        assert_eq!(transcript.last().map(String::as_str), Some("user: again"));
    }
}

/// The result of a started call is unknown: the call is not run again, and the model receives a note.
#[test]
fn a_killed_run_is_resumed() {
    for wire in WIRES {
        let scene = Scene::with_wire(wire, []);
        let mut lifeline = LivenessPipe::new(&scene.workspace, "line");
        let scene = scene.with_answers([Answer::new().text("Now. ").call(
            "t1",
            "shell",
            &json!({ "command": lifeline.command() }),
        )]);
        let running = scene.ibeam(["-p", "begin", "--force"]).start();
        lifeline.wait_until_held();
        running.kill_alone();
        drop(running);
        let scene = scene.with_answers([answer_text("Back.")]);
        let output = scene.ibeam(["-p", "again", "--continue"]).run().succeeded();
        assert_eq!(output.stream().deltas(), ["Back."]);
        let transcript = scene.server.requests()[0].transcript();
        assert_eq!(transcript[..2], ["user: begin", "assistant: Now. "]);
        let result = transcript.iter().find(|line| line.starts_with("result ")).unwrap();
        assert!(result.contains("interrupted") && result.contains("unknown"), "{transcript:?}");
        assert_eq!(transcript.last().map(String::as_str), Some("user: again"));
    }
}

#[test]
fn runs_at_the_same_time_do_not_disturb_each_other() {
    let scene = Scene::new((0..8).map(|_| answer_text("hi")));
    let running: Vec<_> = (0..8).map(|_| scene.ibeam(["-p", "x"]).start()).collect();
    let ids: Vec<String> =
        running.into_iter().map(|run| run.finish().succeeded().stream().session_id().to_owned()).collect();
    let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), 8);
    assert_eq!(scene.ibeam_without_model(["ls"]).run().succeeded().stdout.lines().count(), 8);
}

#[test]
fn the_sessions_are_listed_newest_first() {
    let (scene, one) = first_run(Scene::new([answer_text("one")]));
    let (scene, two) = first_run(scene.with_answers([answer_text("two")]));
    let listed = scene.ibeam_without_model(["ls"]).run().succeeded().stdout;
    let ids: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(ids, [two.as_str(), one.as_str()]);
    assert!(listed.contains("remember 42"), "{listed}");
    let listed = scene.ibeam_without_model(["ls", "--format", "json"]).run().succeeded().json();
    assert_eq!(listed[0]["session_id"], two.as_str());
}

#[test]
fn a_session_can_change_its_wire() {
    let scene = Scene::new(first_answers()).with_workspace(Workspace::new().file("n.txt", "42\n"));
    let (scene, id) = first_run(scene);
    let scene = Scene { wire: ibeam_testkit::Wire::OpenAi, ..scene.with_answers([answer_text("here too")]) };
    let output = scene.ibeam(["-p", "and now?", "--resume", &id]).run().succeeded();
    assert_eq!(output.stream().deltas(), ["here too"]);
    let transcript = scene.server.requests()[0].transcript();
    assert_eq!(transcript.first().map(String::as_str), Some("user: remember 42"));
    assert_eq!(transcript.last().map(String::as_str), Some("user: and now?"));
}

#[test]
fn an_intact_session_is_reported() {
    let (scene, id) =
        first_run(Scene::new(first_answers()).with_workspace(Workspace::new().file("n.txt", "42\n")));
    let output = scene.ibeam_without_model(["sessions", "check", &id]).run().succeeded();
    assert!(output.stdout.starts_with(&format!("session `{id}`: whole\nevents: ")), "{output}");
    let reported =
        scene.ibeam_without_model(["sessions", "check", &id, "--format", "json"]).run().succeeded().json();
    assert_eq!(reported["session_id"], id.as_str());
    assert_eq!(reported["whole"], true);
    assert_eq!(
        (&reported["gaps"], &reported["open_calls"], &reported["damage"]),
        (&json!(0), &json!(0), &json!(null))
    );
    assert_eq!(reported["segments"], 1);
    assert!(reported["events"].as_u64().unwrap() > 8, "{reported}");
}

/// Flips a bit in the third line of the journal, and returns the path of the journal.
fn damage(scene: &Scene, id: &str) -> std::path::PathBuf {
    let journal = scene.workspace.journal(id);
    let mut bytes = std::fs::read(&journal).unwrap();
    let third = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
    bytes[third + 40] ^= 1;
    std::fs::write(&journal, bytes).unwrap();
    journal
}

#[test]
fn f150_a_damaged_session_is_reported_with_its_line_and_repaired_on_demand() {
    let (scene, id) = first_run(Scene::new([answer_text("one")]));
    let journal = damage(&scene, &id);
    let damaged = std::fs::read(&journal).unwrap();
    for args in [&["-p", "more", "--resume", &id][..], &["sessions", "check", &id]] {
        let output = scene.ibeam(args).run();
        assert_eq!(output.code, Some(65), "{output}");
        assert!(output.stderr.contains("at line 3") && output.stderr.contains("--repair"), "{output}");
    }
    let reported = scene.ibeam_without_model(["sessions", "check", &id, "--format", "json"]).run();
    assert_eq!(reported.code, Some(65), "{reported}");
    let reported: serde_json::Value = serde_json::from_str(&reported.stdout).unwrap();
    assert_eq!((&reported["whole"], &reported["damage"]["line"]), (&json!(false), &json!(3)));
    assert_eq!(std::fs::read(&journal).unwrap(), damaged, "a check changes nothing");

    let output = scene.ibeam_without_model(["sessions", "check", &id, "--repair"]).run().succeeded();
    assert!(output.stdout.contains("repaired") && output.stdout.contains("events.damaged"), "{output}");
    let aside = std::fs::read(journal.with_file_name("events.damaged")).unwrap();
    assert_eq!([std::fs::read(&journal).unwrap(), aside].concat(), damaged, "no byte is lost");
    let output = scene.ibeam_without_model(["sessions", "check", &id, "--repair"]).run().succeeded();
    assert!(output.stdout.contains("whole"), "{output}");
    let scene = scene.with_answers([answer_text("on")]);
    scene.ibeam(["-p", "more", "--resume", &id]).run().succeeded();
}

#[test]
fn an_unknown_session_cannot_be_checked() {
    let scene = Scene::new([]);
    for name in [UUID, "nonsense"] {
        for repair in [&[][..], &["--repair"]] {
            let output = scene.ibeam_without_model(["sessions", "check", name]).args(repair).run();
            assert_eq!(output.code, Some(66), "{output}");
        }
    }
}

#[test]
fn a_fork_continues_in_a_new_session_with_the_same_history() {
    let (mut scene, id) = first_run(Scene::new([answer_text("one")]));
    let old = std::fs::read(scene.workspace.journal(&id)).unwrap();
    for flags in [
        &["-p", "go on", "--fork", "--resume", &id][..],
        &["-p", "go on", "--fork", "--resume=-1"],
        &["resume", &id, "go on", "--fork"],
    ] {
        scene = scene.with_answers([answer_text("more")]);
        let output = scene.ibeam(flags).run().succeeded();
        let new = output.stream().session_id().to_owned();
        assert_ne!(new, id, "{flags:?}");
        let sent = scene.server.requests()[0].transcript();
        assert_eq!(sent[..3], ["user: remember 42", "assistant: one", "user: go on"], "{flags:?}");
        scene.ibeam_without_model(["sessions", "check", &new]).run().succeeded();
        // The next iteration forks the newest session, which must be the old one.
        std::fs::remove_dir_all(scene.workspace.journal(&new).parent().unwrap()).unwrap();
    }
    assert_eq!(std::fs::read(scene.workspace.journal(&id)).unwrap(), old, "the old session is unchanged");
}

#[test]
fn f146_a_held_session_is_refused_at_once_with_its_holder_and_can_be_forked() {
    let scene = Scene::with_wire(ibeam_testkit::Wire::Anthropic, []);
    let mut lifeline = LivenessPipe::new(&scene.workspace, "line");
    let call = json!({ "command": lifeline.command() });
    let scene =
        scene.with_answers([Answer::new().text("Now. ").call("t1", "shell", &call), answer_text("aside")]);
    let running = scene.ibeam(["-p", "begin", "--force", "--resume", UUID]).start();
    lifeline.wait_until_held();
    let output = scene.ibeam(["-p", "again", "--resume", UUID]).run();
    assert_eq!(output.code, Some(75), "{output}");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert!(
        output.stderr.contains("process ") && output.stderr.contains(&format!(" on {}", host.trim())),
        "{output}"
    );
    assert!(output.stderr.contains("--fork"), "{output}");
    let output = scene.ibeam(["-p", "again", "--resume", UUID, "--fork"]).run().succeeded();
    assert_ne!(output.stream().session_id(), UUID);
    let transcript = scene.server.requests()[1].transcript();
    assert_eq!(transcript[..2], ["user: begin", "assistant: Now. "]);
    running.kill_alone();
    drop(running);
}

#[test]
fn a_fork_needs_a_session() {
    let scene = Scene::new([]);
    for (flags, code) in [
        (&["-p", "x", "--fork"][..], 2),
        (&["-p", "x", "--fork", "--continue"], 66),
        (&["-p", "x", "--fork", "--resume", UUID], 66),
    ] {
        let output = scene.ibeam(flags).run();
        assert_eq!(output.code, Some(code), "{output}");
    }
}

/// Calls `remove` with the directory of the sessions while a command runs, and asserts that the run fails as not
/// resumable.
#[track_caller]
fn check_removal(remove: fn(sessions: &Path)) {
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
    check_removal(|sessions| std::fs::remove_dir_all(sessions).unwrap());
    check_removal(|sessions| {
        let session = std::fs::read_dir(sessions).unwrap().next().unwrap().unwrap().path();
        std::fs::remove_file(session.join("events.jsonl")).unwrap();
    });
}

/// The records cannot be found under the id of the session after the move.
#[test]
fn a_run_whose_session_is_moved_away_fails() {
    check_removal(|sessions| std::fs::rename(sessions, sessions.with_extension("old")).unwrap());
}

#[test]
fn resume_check_and_replay_find_a_session_by_its_position() {
    let scene = Scene::new([answer_text("one"), answer_text("two"), answer_text("three")]);
    let run = |prompt: &str| scene.ibeam(["-p", prompt]).run().succeeded().stream().session_id().to_owned();
    let (older, newer) = (run("first"), run("second"));
    for (position, id) in [("-1", &newer), ("-2", &older)] {
        let checked = scene.ibeam_without_model(["sessions", "check", position]).run().succeeded();
        assert!(checked.stdout.contains(id.as_str()), "{position}: {checked}");
        let replayed = scene.ibeam_without_model(["replay", position]).run().succeeded();
        assert!(replayed.stdout.contains(id.as_str()), "{position}: {replayed}");
    }
    let missing = scene.ibeam_without_model(["sessions", "check", "-3"]).run();
    assert_eq!(missing.code, Some(66), "{missing}");
    let resumed = scene.ibeam(["resume", "-2", "go on", "-p"]).run().succeeded();
    assert_eq!(resumed.stream().session_id(), older, "{resumed}");
}
