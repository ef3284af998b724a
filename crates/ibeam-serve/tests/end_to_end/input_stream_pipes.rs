//! `--input-format stream-json` with recorded traffic, and with a reader of stdout that stalls or is gone.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ibeam_protocol::Signal;
use ibeam_testkit::message_stream::{FLAGS, message};
use ibeam_testkit::scene::{Scene, answer_call, answer_text, journal};
use ibeam_testkit::{Answer, Ibeam, PNG_BASE64, RunningProgram, Stdin, Workspace, program_path};
use serde_json::{Value, json};

use super::dialect::{events, kinds};
use super::input_stream::{interrupt, prompts, select_type, steering, with_image};

fn recordings(scene: &Scene) -> PathBuf {
    scene.workspace.outside().join("recordings")
}

fn workspace() -> Workspace {
    Workspace::new().file("a.txt", "x\n")
}

fn replay(scene: &Scene, lines: &[String]) -> Ibeam {
    let args = ["--from-recording".into(), recordings(scene)];
    Ibeam::new(program_path(), &scene.workspace)
        .args(FLAGS)
        .args(args)
        .stdin(Stdin::Piped(lines.concat().into()))
}

#[test]
fn recorded_turns_are_replayed_byte_by_byte() {
    let scene = Scene::new([
        answer_call("t1", "read", &json!({ "path": "a.txt" })),
        answer_text("One."),
        answer_text("A dot."),
        answer_text("Three."),
    ])
    .with_workspace(workspace());
    let lines = [message("first"), with_image("image/png", PNG_BASE64), steering("third")];
    let record = ["--record", recordings(&scene).to_str().unwrap()].map(str::to_owned);
    let running = scene.ibeam(FLAGS).args(record).stdin(Stdin::SilentPipe).start();
    for (line, expect) in lines.iter().zip(["One.", "A dot.", "Three."]) {
        running.type_text(line);
        running.wait_for_stdout(&format!("\"result\":\"{expect}\""));
    }
    let recorded = close(running);
    assert_eq!(recorded.code, Some(0), "{recorded}");
    let sent = scene.server.requests().len();
    let (first, second) =
        (replay(&scene, &lines[..2]).run().succeeded(), replay(&scene, &lines[..2]).run().succeeded());
    assert_eq!((&first.stdout, &first.stderr), (&second.stdout, &second.stderr));
    let results = |lines: &[Value]| -> Vec<(Value, Value)> {
        select_type(lines, "result")
            .iter()
            .map(|line| (line["result"].clone(), line["usage"].clone()))
            .collect()
    };
    let (replayed, recorded) = (events(&first), events(&recorded));
    assert_eq!(results(&replayed), results(&recorded)[..2]);
    assert_eq!(prompts(&replayed), ["first", "look"]);
    assert_eq!(scene.server.requests().len(), sent, "a replay sends nothing");
    // A message that was not recorded fails its turn, and the next one is replayed.
    let other = [message("first"), message("something else")];
    let output = replay(&scene, &other).run();
    assert_eq!(output.code, Some(25), "{output}");
    let lines = events(&output);
    assert_eq!(lines.last().unwrap()["exit_code"], 25, "{output}");
    assert!(output.stderr.contains("something else"), "{output}");
}

/// Closes stdin and waits for the end.
#[track_caller]
fn close(mut running: RunningProgram) -> ibeam_testkit::ProgramOutput {
    running.close_stdin();
    running.finish()
}

/// Starts the program with a reader of stdout that a shell runs.
fn start_with_reader(scene: &Scene, reader: &str) -> RunningProgram {
    let script = format!("\"$0\" \"$@\" | {{ {reader}; }}; exit ${{PIPESTATUS[0]}}");
    scene.ibeam(FLAGS).stdin(Stdin::SilentPipe).through(["/bin/bash", "-c", &script]).start()
}

/// Returns an answer of two megabytes, more than pipes and the queue of events hold.
fn long_answer() -> Answer {
    (0..500).fold(Answer::new(), |answer, _| answer.text("0123456789abcdef".repeat(256)))
}

#[test]
fn a_reader_that_is_gone_ends_the_process_during_a_turn_and_between_two() {
    for (answer, lines) in
        [(answer_text("One."), 4), (long_answer(), 3), (Answer::new().text("One").stall(), 3)]
    {
        let scene = Scene::new([answer, answer_text("Two.")]);
        let running = start_with_reader(&scene, &format!("head -n {lines}"));
        running.type_text(&message("first"));
        let output = running.finish();
        assert_eq!(output.code, Some(74), "{output}");
        assert_eq!(kinds(&events(&output)).len(), lines, "{output}");
        assert!(output.elapsed < Duration::from_secs(15), "{output}");
    }
}

#[test]
fn a_reader_that_stalls_loses_nothing() {
    let scene = Scene::new([long_answer(), answer_text("Two."), answer_text("Three.")]);
    let running = start_with_reader(&scene, "sleep 1.5; cat");
    running.type_text(&(message("first") + &message("second")));
    scene.server.wait_for_requests(1);
    running.type_text(&message("third"));
    let output = close(running).succeeded();
    let lines = events(&output);
    let results: Vec<&str> =
        select_type(&lines, "result").iter().map(|line| line["result"].as_str().unwrap()).collect();
    assert_eq!((results[0].len(), &results[1..]), (500 * 4096, &["Two.", "Three."][..]));
    assert_eq!(prompts(&lines), ["first", "second", "third"]);
}

/// The session is complete, and can be resumed.
#[test]
fn an_interrupt_ends_the_process_if_nothing_reads_the_end_of_the_turn() {
    // A long part of the answer may be summarized first when the session is resumed.
    let scene = Scene::new([long_answer(), answer_text("Two."), answer_text("Three.")]);
    let id = scene.ibeam_without_model(["create-chat"]).run().succeeded().stdout.trim().to_owned();
    let resume = format!("--resume={id}");
    let running = scene.ibeam(FLAGS).args([&resume]).stdin(Stdin::SilentPipe).unread_stdout().start();
    running.type_text(&message("first"));
    running.wait_for_full_pipe();
    running.type_text(&(interrupt() + &message("never")));
    let before = Instant::now();
    let output = running.finish();
    assert_eq!(output.code, Some(130), "{output}");
    assert!(before.elapsed() < Duration::from_millis(3500), "{output}");
    let last = journal(&scene, &id).pop().unwrap();
    assert!(!last["kind"]["run_finished"].is_null(), "{last}");
    scene.ibeam(["-p", "go on", &resume]).run().succeeded();
}

#[test]
fn a_signal_ends_the_process_although_nothing_reads() {
    let scene = Scene::new([long_answer(), answer_text("never")]);
    let running = scene.ibeam(FLAGS).stdin(Stdin::SilentPipe).unread_stdout().start();
    running.type_text(&(message("first") + &message("second")));
    running.wait_for_full_pipe();
    running.signal(Signal::Term);
    let before = Instant::now();
    let output = running.finish();
    assert_eq!(output.code, Some(143), "{output}");
    assert!(before.elapsed() < Duration::from_millis(3500), "{output}");
}
