//! Contract 2 in runs, replays and checks: the stream for clients of later releases of the original program.
//!
//! The test kit checks each stream against its contract when a program ends.

use std::fs;

use ibeam_protocol::Signal;
use ibeam_testkit::scene::{Scene, WIRES, answer_call, answer_text};
use ibeam_testkit::{Answer, ProgramOutput, Stream, Workspace};
use serde_json::{Value, json};

use super::schema;

const TWO: [&str; 2] = ["--contract", "2"];
const STREAM: [&str; 4] = ["--contract", "2", "--output-format", "stream-json"];
const PARTIAL: [&str; 5] = ["--contract", "2", "--output-format", "stream-json", "--stream-partial-output"];

/// Whether `model_call_id` and `timestamp_ms` are in a segment before a call, in the last segment and in a delta.
const BEFORE_A_CALL: (bool, bool) = (true, true);
const LAST: (bool, bool) = (false, false);
const DELTA: (bool, bool) = (false, true);

fn scripted_answers() -> Vec<Answer> {
    let read = |id: &str| (id.to_owned(), json!({ "path": "notes.txt" }));
    let ((one, path), (two, _)) = (read("t1"), read("t2"));
    vec![
        Answer::new()
            .thinking("a secret thought", "sig")
            .text("First I ")
            .text("look.\n")
            .call(&one, "read", &path)
            .call(&two, "read", &path),
        answer_call("t3", "read", &json!({ "path": "missing.txt" })),
        Answer::new().text("Hm: \u{2028}").call("t4", "ls", &json!({ "path": "." })),
        Answer::new().text("It is ").text("42."),
    ]
}

const ANSWER: &str = "First I look.\nHm: \u{2028}It is 42.";

fn scene(answers: Vec<Answer>) -> Scene {
    Scene::new(answers).with_workspace(Workspace::new().file("notes.txt", "42\n"))
}

#[track_caller]
fn check_forms(stream: &Stream, expect: &[(&str, (bool, bool))]) {
    let forms: Vec<_> =
        stream.assistant_forms().into_iter().map(|(text, answer, time)| (text, (answer, time))).collect();
    assert_eq!(forms, expect);
}

/// Returns the text of the `assistant` lines that are not deltas: the answer.
fn segments(stream: &Stream) -> String {
    stream
        .assistant_forms()
        .iter()
        .filter(|(_, answer, time)| (*answer, *time) != DELTA)
        .map(|form| form.0)
        .collect()
}

#[test]
fn stream_json_is_one_event_for_each_segment() {
    for wire in WIRES {
        let scene = Scene::with_wire(wire, scripted_answers())
            .with_workspace(Workspace::new().file("notes.txt", "42\n"));
        let stream = scene.print(STREAM).run().succeeded().stream();
        check_forms(
            &stream,
            &[("First I look.\n", BEFORE_A_CALL), ("Hm: \u{2028}", BEFORE_A_CALL), ("It is 42.", LAST)],
        );
        assert_eq!(
            stream.outline(),
            [
                "system",
                "user",
                "text",
                "started read",
                "started read",
                "completed read",
                "completed read",
                "started read",
                "completed read",
                "text",
                "started ls",
                "completed ls",
                "text",
                "result"
            ]
        );
        assert_eq!(stream.init()["ibeam"]["contract"], "2");
        assert_eq!(stream.last()["result"], ANSWER);
        let (segment, call) = (&stream.events[2], &stream.events[3]);
        assert_eq!(segment["model_call_id"], call["model_call_id"]);
        schema::check_two(&stream.events);
    }
}

#[test]
fn partial_output_is_deltas_and_then_the_segment() {
    let stream = scene(scripted_answers()).print(PARTIAL).run().succeeded().stream();
    check_forms(
        &stream,
        &[
            ("First I ", DELTA),
            ("look.\n", DELTA),
            ("First I look.\n", BEFORE_A_CALL),
            ("Hm: \u{2028}", DELTA),
            ("Hm: \u{2028}", BEFORE_A_CALL),
            ("It is ", DELTA),
            ("42.", DELTA),
            ("It is 42.", LAST),
        ],
    );
    assert_eq!((stream.last()["result"].as_str(), segments(&stream).as_str()), (Some(ANSWER), ANSWER));
    schema::check_two(&stream.events);
}

#[test]
fn text_is_the_default_and_only_the_final_message() {
    for args in [&TWO[..], &["--contract=2", "--output-format", "text", "--verbose", "--lang", "ja"]] {
        assert_eq!(scene(scripted_answers()).print(args).run().succeeded().stdout, "It is 42.\n");
    }
    let by_variable =
        scene(scripted_answers()).print::<&str>([]).env("IBEAM_CONTRACT", "2").run().succeeded();
    assert_eq!(by_variable.stdout, "It is 42.\n");
    // An empty last answer: the last text before it.
    let answers = vec![answer_text("I look.").call("t", "ls", &json!({ "path": "." })), Answer::new()];
    assert_eq!(scene(answers).print(TWO).run().succeeded().stdout, "I look.\n");
}

#[test]
fn a_flag_beats_the_variable() {
    let output =
        scene(scripted_answers()).print(["--contract", "1"]).env("IBEAM_CONTRACT", "2").run().succeeded();
    assert_eq!(output.stream().init()["ibeam"]["contract"], "1");
}

#[test]
fn json_is_the_object_of_contract_1() {
    let object = |args: &[&str]| {
        let mut object =
            scene(scripted_answers()).print(["--output-format", "json"]).args(args).run().succeeded().json();
        for key in ["duration_ms", "duration_api_ms", "session_id", "request_id"] {
            object[key] = Value::Null;
        }
        object["ibeam"]["api_ms"] = Value::Null;
        object
    };
    let (one, two) = (object(&[]), object(&TWO));
    assert_eq!(one.to_string(), two.to_string(), "keys in the same order too");
    assert_eq!(two["result"], ANSWER);
}

/// Answers of a run that fails in its last segment: the continuation of the segment breaks off too.
fn cut_answers() -> Vec<Answer> {
    vec![
        Answer::new().text("I look.").call("t", "ls", &json!({ "path": "." })),
        Answer::new().text("Half an ").text("ans").cut(),
        answer_text("we").cut(),
    ]
}

#[test]
fn a_failed_run_prints_its_text_before_the_error() {
    let complete = scene(cut_answers()).print(STREAM).run();
    let stream = complete.stream();
    assert_eq!(complete.code, Some(25), "{complete}");
    check_forms(&stream, &[("I look.", BEFORE_A_CALL), ("Half an answe", LAST)]);
    assert_eq!(
        (&stream.last()["type"], &stream.last()["result"]),
        (&json!("error"), &json!("I look.Half an answe"))
    );
    schema::check_two(&stream.events);

    let partial = scene(cut_answers()).print(PARTIAL).run().stream();
    assert_eq!(segments(&partial), "I look.Half an answe");
    assert_eq!(partial.assistant_forms().last(), Some(&("Half an answe", false, false)));

    for format in ["text", "json"] {
        let output = scene(cut_answers()).print(TWO).args(["--output-format", format]).run();
        assert_eq!((output.code, output.stdout.as_str()), (Some(25), ""), "{output}");
    }
}

/// An interrupted answer and its continuation are one segment, because their text is one answer.
#[test]
fn a_continued_answer_is_one_segment() {
    let answers = || vec![Answer::new().text("Half an ").text("ans").cut(), answer_text("wer.")];
    let stream = scene(answers()).print(STREAM).run().succeeded().stream();
    check_forms(&stream, &[("Half an answer.", LAST)]);
    assert_eq!(stream.last()["ibeam"]["continuations"], 1);
    schema::check_two(&stream.events);
    let partial = scene(answers()).print(PARTIAL).run().succeeded().stream();
    assert_eq!(segments(&partial), "Half an answer.");
}

#[test]
fn a_signal_loses_no_text() {
    let scene = scene(vec![Answer::new().text("Half an ").text("ans").stall()]);
    let running = scene.print(PARTIAL).start();
    running.wait_for_stdout("\"ans\"");
    running.signal(Signal::Term);
    let output = running.finish();
    assert_eq!(output.code, Some(143), "{output}");
    assert_eq!(segments(&output.stream()), "Half an ans");
}

#[test]
fn a_session_is_resumed_under_either_contract() {
    let scene = scene(vec![answer_text("one"), answer_text("two"), answer_text("three")]);
    let first = scene.print(STREAM).run().succeeded().stream();
    let id = format!("--resume={}", first.session_id());
    let second = scene.print(PARTIAL).args([&id]).run().succeeded().stream();
    check_forms(&second, &[("two", DELTA), ("two", LAST)]);
    let third = scene.print([&id]).run().succeeded().stream();
    assert_eq!((third.deltas(), third.session_id()), (vec!["three"], first.session_id()));
    let sent = scene.server.requests()[2].transcript();
    assert_eq!(sent, ["user: do it", "assistant: one", "user: do it", "assistant: two", "user: do it"]);
}

#[test]
fn partial_output_without_stream_json_is_a_usage_error() {
    let partial = ["--contract", "2", "--stream-partial-output"];
    for args in [&[][..], &["--output-format", "text"], &["--output-format", "json"]] {
        let output = scene(Vec::new()).print(partial).args(args).run();
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(output.stderr.contains("`--stream-partial-output` needs `--print` and"), "{output}");
    }
    let replayed = scene(Vec::new()).ibeam_without_model(["replay", "-"]).args(partial).run();
    assert_eq!(replayed.code, Some(2), "{replayed}");
    // Under contract 1 it changes nothing, whatever the format.
    for format in ["text", "json", "stream-json"] {
        let args = ["--stream-partial-output", "--output-format", format];
        scene(vec![answer_text("hi")]).print(args).run().succeeded();
    }
}

#[test]
fn an_unknown_contract_is_a_usage_error_that_names_both() {
    let scene = scene(Vec::new());
    let by_variable = scene.print::<&str>([]).env("IBEAM_CONTRACT", "3").run();
    for output in [
        scene.print(["--contract", "3"]).run(),
        scene.ibeam_without_model(["schema", "--contract=3"]).run(),
        by_variable,
    ] {
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(output.stderr.contains("unknown contract `3`; use one of: 1, 2"), "{output}");
    }
    let empty = scene.ibeam_without_model(["about"]).env("IBEAM_CONTRACT", "").run().succeeded();
    assert!(empty.stdout.contains("contract: 1\n"), "{empty}");
}

fn write_stream(scene: &Scene, output: &ProgramOutput) -> String {
    let path = scene.workspace.outside().join("stream.ndjson");
    fs::write(&path, &output.stdout).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn check_detects_the_contract_of_a_stream() {
    for args in [&STREAM[..], &PARTIAL] {
        let scene = scene(scripted_answers());
        let output = scene.print(args).run().succeeded();
        let path = write_stream(&scene, &output);
        for given in [&[][..], &["--contract", "1"], &TWO] {
            let checked = scene.ibeam_without_model(["check", &path]).args(given).run().succeeded();
            assert!(checked.stdout.contains("keeps contract 2 ("), "{checked}");
        }
        let incomplete: String =
            output.stdout.split_inclusive('\n').filter(|line| !line.contains("It is 42.\"}]}")).collect();
        fs::write(&path, incomplete).unwrap();
        let checked = scene.ibeam_without_model(["check", "--json", &path]).run();
        assert_eq!((checked.code, &checked.json()["contract"]), (Some(65), &json!("2")), "{checked}");
    }
}

#[test]
fn a_session_is_replayed_under_either_contract() {
    let scene = scene([scripted_answers(), cut_answers()].concat());
    let first = scene.print(STREAM).run().succeeded().stdout;
    let second = scene.print(STREAM).args(["--continue"]).run().stdout;
    let replay = |args: &[&str]| {
        scene.ibeam_without_model(["replay", "-1", "--lang", "en"]).args(args).run().succeeded().stdout
    };
    assert_eq!(replay(&STREAM), format!("{first}{second}"));
    assert_eq!(replay(&[&STREAM[..], &["--run", "2"]].concat()), second);
    assert_eq!(replay(&TWO), "It is 42.\n", "text, as a run");
    let (one, partial) = (replay(&["--output-format", "stream-json"]), replay(&PARTIAL));
    assert!(one.contains("\"contract\":\"1\"") && !one.contains("\"contract\":\"2\""));

    // A file with any of the three streams is replayed as any of the three.
    let path = scene.workspace.outside().join("stream.ndjson");
    let two = format!("{first}{second}");
    for source in [&one, &two, &partial] {
        fs::write(&path, source).unwrap();
        let replay_file = |args: &[&str]| {
            let output = scene
                .ibeam_without_model(["replay", path.to_str().unwrap(), "--lang", "en"])
                .args(args)
                .run();
            output.succeeded().stdout
        };
        assert_eq!(replay_file(&["--output-format", "stream-json"]), *source, "without a contract: as it is");
        assert_eq!(replay_file(&STREAM), two);
        let deltas = |stream: &str| stream.matches("\"type\":\"assistant\"").count();
        let (to_one, to_partial) =
            (replay_file(&["--output-format", "stream-json", "--contract", "1"]), replay_file(&PARTIAL));
        if source == &two {
            // Segments do not store the boundaries of deltas.
            assert_eq!((deltas(&to_one), deltas(&to_partial)), (5, 10), "{to_one}");
        } else {
            assert_eq!((&to_one, &to_partial), (&one, &partial));
        }
        for format in ["text", "json"] {
            assert_eq!(
                replay_file(&["--output-format", format]),
                replay(&["--output-format", format]),
                "{format}"
            );
        }
        assert_eq!(replay_file(&TWO), "It is 42.\n");
        let page = replay_file(&["--output-format", "html"]);
        assert_eq!(
            (page.matches("<p>It is 42.</p>").count(), page.matches("<p>Half an ans").count()),
            (1, 1),
            "{page}"
        );
    }
}

#[test]
fn a_killed_run_is_replayed_with_all_its_text() {
    let scene = scene(vec![Answer::new().text("Half an ").text("ans").stall(), answer_text("More.")]);
    let running = scene.print(["--output-format", "stream-json"]).start();
    running.wait_for_stdout("\"ans\"");
    running.kill_alone();
    let killed = running.finish();
    let next = scene.print(["--continue"]).run().succeeded();
    let path = scene.workspace.outside().join("stream.ndjson");
    fs::write(&path, format!("{}{}", killed.stdout, next.stdout)).unwrap();
    for source in ["-1", path.to_str().unwrap()] {
        let replay = |args: &[&str]| {
            scene.ibeam_without_model(["replay", source]).args(STREAM).args(args).run().succeeded().stdout
        };
        let replayed = replay(&[]);
        let lines: Vec<Value> = replayed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[2]["message"]["content"][0]["text"], "Half an ans", "{replayed}");
        assert_eq!(lines[3]["subtype"], "init", "{replayed}");
        let first = replay(&["--run", "1"]);
        assert_eq!(first.lines().count(), 3, "{first}");
        assert!(replayed.starts_with(&first));
    }
}
