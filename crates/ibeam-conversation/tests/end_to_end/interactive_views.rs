//! The full-screen views of the inline screen: the picker of sessions, the change, the conversation.

use std::time::Instant;

use ibeam_protocol::Signal;
use ibeam_testkit::ProgramOutput;
use ibeam_testkit::scene::{Scene, answer_call, answer_text};
use serde_json::json;

use super::terminal::on_inline_screen;

const ENTER_FULL: &str = "\u{1b}[?1049h";
const LEAVE_FULL: &str = "\u{1b}[?1049l";
const ESCAPE: &str = "\u{1b}";
const DOWN: &str = "\u{1b}[B";
const TRANSCRIPT: &str = "\u{14}";

/// Checks that the last screen that the program showed is the normal one, with a cursor.
#[track_caller]
fn check_restored(output: &ProgramOutput) {
    let count = |text| output.stdout.matches(text).count();
    assert!(count(ENTER_FULL) > 0 && count(ENTER_FULL) == count(LEAVE_FULL), "{output}");
    let last = |text| output.stdout.rfind(text);
    assert!(last(LEAVE_FULL) > last(ENTER_FULL), "{output}");
    assert!(last("\u{1b}[?25h") > last("\u{1b}[?25l"), "the cursor is visible: {output}");
}

/// Returns a scene with two stored sessions, the second of them the newest.
fn two_sessions(answer: &str) -> Scene {
    let answers = ["First answer.\n", "Second answer.\n", answer].map(answer_text);
    let scene = Scene::new(answers);
    for prompt in ["the older prompt", "the newer prompt"] {
        scene.ibeam(["-p", prompt]).run().succeeded();
        // The times of the two differ.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    scene
}

#[test]
fn resume_without_an_id_resumes_the_session_that_is_picked() {
    let scene = two_sessions("Third answer.\n");
    let running = on_inline_screen(&scene, &["resume"]);
    running.wait_for_stdout("the older prompt");
    running.type_text(DOWN);
    running.type_text("\r");
    running.wait_for_stdout("First answer.");
    running.type_text("more\r");
    running.wait_for_stdout("Third answer.");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    check_restored(&output);
    let transcript = scene.server.requests()[2].transcript();
    assert_eq!(transcript.first().map(String::as_str), Some("user: the older prompt"), "{output}");
}

#[test]
fn escape_and_signals_leave_the_picker_and_restore_the_terminal() {
    let scene = two_sessions("never");
    let running = on_inline_screen(&scene, &["resume"]);
    running.wait_for_stdout("the older prompt");
    running.type_text(ESCAPE);
    check_restored(&running.finish().succeeded());
    for (signal, code) in [(Signal::Term, 143), (Signal::Hup, 129)] {
        let running = on_inline_screen(&scene, &["resume"]);
        running.wait_for_stdout("the older prompt");
        running.signal(signal);
        let output = running.finish();
        assert_eq!(output.code, Some(code), "{output}");
        check_restored(&output);
    }
    assert_eq!(scene.server.requests().len(), 2);
}

#[test]
fn the_picker_of_a_conversation_filters_and_opens_another_session() {
    let scene = two_sessions("Third answer.\n");
    let running = on_inline_screen(&scene, &[]);
    running.wait_for_stdout("/help");
    running.type_text("/resume\r");
    running.wait_for_stdout("the newer prompt");
    running.type_text("older\r");
    running.wait_for_stdout("First answer.");
    running.type_text("more\r");
    running.wait_for_stdout("Third answer.");
    running.type_text("/exit\r");
    check_restored(&running.finish().succeeded());
    // The last message before the prompt says that a person is there now.
    assert_eq!(scene.server.requests()[2].transcript().len(), 4);
}

#[test]
fn the_session_that_is_open_stays_open_if_it_is_picked() {
    let scene = two_sessions("Third answer.\n");
    let running = on_inline_screen(&scene, &["--continue"]);
    running.wait_for_stdout("Second answer.");
    running.type_text("/resume\r");
    running.wait_for_stdout("the older prompt");
    running.type_text("\r");
    running.wait_for_stdout("ession: ");
    running.type_text("more\r");
    running.wait_for_stdout("Third answer.");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    check_restored(&output);
    assert_eq!(output.stdout.matches("Second answer.").count(), 1, "{output}");
    // The last message before the prompt says that a person is there now.
    assert_eq!(scene.server.requests()[2].transcript().len(), 4);
}

#[test]
fn without_a_session_there_is_nothing_to_pick() {
    let scene = Scene::new([]);
    for screen_reader in [&["resume"][..], &["resume", "--screen-reader"]] {
        let output = on_inline_screen(&scene, screen_reader).finish();
        assert_eq!(output.code, Some(66), "{output}");
        assert!(!output.stdout.contains(ENTER_FULL), "{output}");
    }
}

#[test]
fn line_mode_offers_sessions_by_number() {
    let scene = two_sessions("Third answer.\n");
    let running = on_inline_screen(&scene, &["resume", "--screen-reader"]);
    running.wait_for_stderr("Number of the session");
    running.type_text("2\n");
    // The conversation is shown.
    running.wait_for_stdout("First answer.");
    running.wait_for_stderr("> ");
    running.type_text("more\n");
    running.wait_for_stdout("Third answer.");
    running.type_text("/transcript\n");
    running.wait_for_stdout("❯ the older prompt");
    running.type_text("/diff\n");
    running.wait_for_stdout("no file was changed");
    running.type_text("/resume\n");
    running.wait_for_stderr("2  ");
    running.type_text("\n\u{4}");
    let output = running.finish().succeeded();
    assert!(!output.stdout.contains('\u{1b}'), "{output}");
    // The last message before the prompt says that a person is there now.
    assert_eq!(scene.server.requests()[2].transcript().len(), 4);
}

#[test]
fn no_control_sequence_of_a_session_reaches_a_screen_reader() {
    let scene = Scene::new([answer_text("First \u{1b}[2Janswer.\n")]);
    scene.ibeam(["-p", "an old \u{1b}]0;x\u{7} prompt"]).run().succeeded();
    let running = on_inline_screen(&scene, &["resume", "--screen-reader"]);
    running.wait_for_stderr("Number of the session");
    running.type_text("1\n");
    running.wait_for_stdout("answer.");
    running.wait_for_stderr("> ");
    running.type_text("/transcript\n");
    running.wait_for_stdout("prompt");
    running.type_text("\u{4}");
    let output = running.finish().succeeded();
    for text in [&output.stdout, &output.stderr] {
        assert!(!text.contains("\u{1b}[2J") && !text.contains("\u{1b}]0"), "{output}");
    }
}

#[test]
fn the_change_and_the_conversation_are_views_over_the_normal_screen() {
    let write = answer_call("w", "write", &json!({ "path": "new.txt", "contents": "hello\n" }));
    let scene =
        ibeam_testkit::repository::repository([write, answer_text("Written.\n"), answer_text("Bye.\n")]);
    let running = on_inline_screen(&scene, &["write it", "--force"]);
    // What was written is shown.
    running.wait_for_stdout("+hello");
    running.wait_for_stdout("Written.");
    running.type_text("/diff\r");
    running.wait_for_stdout("Changes");
    running.type_text(ESCAPE);
    running.wait_for_stdout(LEAVE_FULL);
    running.type_text(TRANSCRIPT);
    running.wait_for_stdout("Transcript");
    running.type_text("/write it\rq");
    running.type_text("go on\r");
    running.wait_for_stdout("Bye.");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    check_restored(&output);
    assert_eq!(output.stdout.matches(ENTER_FULL).count(), 2, "{output}");
    let last = scene.server.requests()[2].transcript().last().cloned();
    assert_eq!(last.as_deref(), Some("user: go on"), "{output}");
}

#[test]
fn the_picker_returns_if_a_session_cannot_be_opened() {
    let scene = two_sessions("Third answer.\n");
    let holder = on_inline_screen(&scene, &["--continue"]);
    holder.wait_for_stdout("Second answer.");
    let running = on_inline_screen(&scene, &["resume"]);
    running.wait_for_stdout("the newer prompt");
    running.type_text("\r");
    running.wait_for_stdout("is held by");
    running.wait_for_stdout("the older prompt");
    running.type_text(DOWN);
    running.type_text("\r");
    running.wait_for_stdout("First answer.");
    running.type_text("/exit\r");
    let output = running.finish().succeeded();
    check_restored(&output);
    assert_eq!(output.stdout.matches("/help lists commands").count(), 1, "{output}");
    holder.type_text("/exit\r");
    holder.finish().succeeded();
}

/// Ten thousand sessions open quickly: only their beginnings are read, and only as far as they are shown.
#[test]
#[ignore = "a measurement, which creates 10,000 sessions"]
fn ten_thousand_sessions_open_quickly() {
    let scene = two_sessions("never");
    let sessions = scene.workspace.home().join(".local/share/ibeam/sessions");
    let first = std::fs::read_dir(&sessions).unwrap().next().unwrap().unwrap().path();
    let journal = std::fs::read_to_string(first.join("events.jsonl")).unwrap();
    for number in 0..10_000 {
        let copy = sessions.join(format!("00000000-0000-4000-8000-{number:012x}"));
        std::fs::create_dir(&copy).unwrap();
        std::fs::write(copy.join("events.jsonl"), &journal).unwrap();
    }
    let before = Instant::now();
    let running = on_inline_screen(&scene, &["resume"]);
    // The copies of one of the two sessions fill the screen.
    running.wait_for_stdout("er prompt");
    eprintln!("first screen of 10,002 sessions after {} ms", before.elapsed().as_millis());
    let before = Instant::now();
    running.type_text(ESCAPE);
    running.finish().succeeded();
    eprintln!("left after {} ms", before.elapsed().as_millis());
}
