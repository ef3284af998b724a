//! `ibeam convert`: its output, its loss report and its exit codes. The tests of `ibeam-dialects` cover the mappings.

use ibeam_testkit::scene::{Scene, answer_call};
use ibeam_testkit::{Answer, ProgramOutput, Stdin};
use serde_json::{Value, json};

/// The other four dialects, and the start of the last line of each for a successful run.
const OTHER_DIALECTS: [(&str, &str); 4] = [
    ("claude", r#"{"type":"result","#),
    ("codex", r#"{"type":"turn.completed","#),
    ("gemini", r#"{"type":"result","#),
    ("opencode", r#"{"type":"step_finish","#),
];

const THREAD: &str = r#"{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}"#;
const MESSAGE: &str =
    r#"{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Hello."}}"#;
const END: &str =
    r#"{"type":"turn.completed","usage":{"input_tokens":3,"cached_input_tokens":1,"output_tokens":2}}"#;

/// Converts `stdin`.
fn convert(args: &[&str], stdin: &str) -> ProgramOutput {
    let scene = Scene::new([]);
    scene
        .ibeam_without_model([&["convert"], args].concat())
        .stdin(Stdin::Piped(stdin.as_bytes().to_vec()))
        .run()
}

/// A Codex stream whose conversion to the contract loses only the id of its message.
fn codex_stream() -> String {
    format!("{THREAD}\n{MESSAGE}\n{END}\n")
}

/// A real run that writes, reads, runs a command, has one failing call, and answers.
#[track_caller]
fn recorded_run() -> ProgramOutput {
    let scene = Scene::new([
        Answer::new().text("Writing.\n").call(
            "t1",
            "write",
            &json!({ "path": "a.txt", "fileText": "one\ntwo\n" }),
        ),
        answer_call("t2", "read", &json!({ "path": "a.txt" })),
        answer_call("t3", "shell", &json!({ "command": "printf out; exit 3" })),
        answer_call("t4", "read", &json!({ "path": "missing.txt" })),
        answer_call(
            "t5",
            "edit",
            &json!({ "path": "a.txt", "strReplace": { "oldText": "one", "newText": "1" } }),
        ),
        Answer::new().text("Done, ").text("né\u{2028}."),
    ]);
    scene.print(["--force", "--output-format", "stream-json"]).run().succeeded()
}

/// Returns the answer, and each call with the arms of its result.
#[track_caller]
fn outline(stream: &str) -> (String, Vec<(String, Vec<String>)>) {
    let mut calls = Vec::new();
    let mut answer = String::new();
    for line in stream.lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if event["type"] == "assistant" {
            answer.push_str(event["message"]["content"][0]["text"].as_str().unwrap());
        }
        if event["subtype"] == "completed" {
            let (tool, body) = event["tool_call"].as_object().unwrap().iter().next().unwrap();
            calls.push((tool.clone(), body["result"].as_object().unwrap().keys().cloned().collect()));
        }
    }
    (answer, calls)
}

/// Returns the calls as a dialect represents them. Codex reads files by commands, so reads become commands.
fn calls_in_dialect(dialect: &str, calls: &[(String, Vec<String>)]) -> Vec<(String, Vec<String>)> {
    let represent = |(tool, arms): &(String, Vec<String>)| match (dialect, tool.as_str()) {
        ("codex", "readToolCall") => {
            let arm = if arms == &["success"] { "success" } else { "failure" };
            ("shellToolCall".to_owned(), vec![arm.to_owned()])
        }
        _ => (tool.clone(), arms.clone()),
    };
    calls.iter().map(represent).collect()
}

#[test]
fn a_run_is_converted_to_each_dialect_and_back() {
    let output = recorded_run();
    let (answer, calls) = outline(&output.stdout);
    let called: Vec<&str> = calls.iter().map(|(tool, _)| tool.as_str()).collect();
    assert_eq!(
        called,
        ["writeToolCall", "readToolCall", "shellToolCall", "readToolCall", "editToolCall"],
        "{output}"
    );
    for (dialect, end) in OTHER_DIALECTS {
        let converted = convert(&["--from", "cursor", "--to", dialect], &output.stdout).succeeded();
        assert!(converted.stdout.lines().last().unwrap().starts_with(end), "{converted}");
        let back = convert(&["--from", dialect], &converted.stdout).succeeded();
        assert_eq!(outline(&back.stdout), (answer.clone(), calls_in_dialect(dialect, &calls)), "{dialect}");
        // `init` no longer identifies ibeam, so the check requires the contract and not the additions of ibeam.
        let checked = Scene::new([])
            .ibeam_without_model(["check"])
            .stdin(Stdin::Piped(back.stdout.into_bytes()))
            .run()
            .succeeded();
        assert!(
            checked.stdout.contains("errors") || checked.stdout.contains("keeps contract 1"),
            "{checked}"
        );
    }
}

#[test]
fn the_same_dialect_is_the_same_bytes_and_loses_nothing() {
    let output = recorded_run();
    let same = convert(&["--from", "cursor", "--fail-on", "loss"], &output.stdout).succeeded();
    assert_eq!((same.stdout, same.stderr.as_str()), (output.stdout, ""));
    // Blank lines, other line ends and unknown keys are preserved too.
    let odd = format!("{THREAD}\r\n\n{{\"type\":\"new\",\"n\":1.50}}\n{MESSAGE}");
    let same = convert(&["--from", "codex", "--to", "codex", "--fail-on", "loss"], &odd).succeeded();
    assert_eq!((same.stdout, same.stderr.as_str()), (odd, ""));
}

#[test]
fn a_file_stdin_and_a_dash_are_the_same() {
    let scene = Scene::new([]);
    std::fs::write(scene.workspace.path().join("codex.ndjson"), codex_stream()).unwrap();
    let from_file =
        scene.ibeam_without_model(["convert", "--from", "codex", "codex.ndjson"]).run().succeeded();
    assert_eq!(from_file.stdout.lines().count(), 4, "{from_file}");
    for args in [
        ["--from", "codex"].as_slice(),
        &["--from", "codex", "-"],
        &["--to", "cursor", "--from", "codex", "-"],
    ] {
        assert_eq!(convert(args, &codex_stream()).succeeded().stdout, from_file.stdout);
    }
    let empty = convert(&["--from", "codex"], "").succeeded();
    assert_eq!((empty.stdout.as_str(), empty.stderr.as_str()), ("", ""));
}

#[test]
fn losses_are_printed_and_written_to_a_report() {
    let scene = Scene::new([]);
    let source = Stdin::Piped(codex_stream().into_bytes());
    let output = scene
        .ibeam_without_model(["convert", "--from", "codex", "--losses", "losses.json", "--lang", "en"])
        .stdin(source)
        .run()
        .succeeded();
    assert_eq!(
        output.stderr,
        "`-` cannot be converted to cursor without loss; lost: 1\n\
         dropped: item/agent_message.id (times: 1, first in line 2)\n"
    );
    let report: Value = serde_json::from_str(&scene.workspace.read("losses.json").unwrap()).unwrap();
    assert_eq!(
        report,
        json!({
            "from": "codex",
            "to": "cursor",
            "losses": [{ "key": "item/agent_message.id", "how": "dropped", "count": 1, "first_line": 2 }],
        })
    );
    // A lossless conversion writes a report too.
    let output = scene
        .ibeam_without_model(["convert", "--from", "codex", "--losses", "losses.json"])
        .stdin(Stdin::Piped(format!("{THREAD}\n{END}\n").into_bytes()))
        .run()
        .succeeded();
    assert_eq!(output.stderr, "");
    let report: Value = serde_json::from_str(&scene.workspace.read("losses.json").unwrap()).unwrap();
    assert_eq!(report["losses"], json!([]));
}

#[test]
fn a_loss_is_exit_3_only_with_fail_on() {
    let lossy = convert(&["--from", "codex", "--fail-on", "loss"], &codex_stream());
    assert_eq!((lossy.code, lossy.stdout.lines().count()), (Some(3), 4), "{lossy}");
    let clean = format!("{THREAD}\n{END}\n");
    convert(&["--from", "codex", "--fail-on", "loss"], &clean).succeeded();
}

#[test]
fn an_invalid_stream_is_exit_65_with_its_line() {
    let invalid = format!("{THREAD}\n\nnothing\n{MESSAGE}\n");
    let output = convert(&["--from", "codex"], &invalid);
    assert_eq!(output.code, Some(65), "{output}");
    assert!(
        output.stderr.starts_with("error: `-` is not a valid stream (line 3: column 2: not JSON: "),
        "{output}"
    );
    assert_eq!(output.stdout.lines().count(), 1, "the earlier lines are converted: {output}");
    let output = convert(&["--from", "gemini"], &codex_stream());
    assert_eq!((output.code, output.stdout.as_str()), (Some(65), ""), "{output}");
    assert!(output.stderr.contains("(line 1: not an event of gemini, nor is any after it)"), "{output}");
}

#[test]
fn each_line_is_converted_before_the_next_one_arrives() {
    let scene = Scene::new([]);
    let running = scene.ibeam_without_model(["convert", "--from", "codex"]).stdin(Stdin::SilentPipe).start();
    for (line, expected) in [(THREAD, r#""subtype":"init""#), (MESSAGE, r#""text":"Hello.""#)] {
        running.type_text(&format!("{line}\n"));
        running.wait_for_stdout(expected);
    }
    // Stdin is still open; an invalid line ends the command at once.
    running.type_text("nothing\n");
    let output = running.finish();
    assert_eq!((output.code, output.stdout.lines().count()), (Some(65), 3), "{output}");
}

#[test]
fn an_unknown_dialect_is_a_usage_error_that_names_the_known_ones() {
    for args in [["--from", "aider"].as_slice(), &["--from", "codex", "--to", "aider"]] {
        let output = convert(args, &codex_stream());
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
        assert!(
            output.stderr.contains("`aider` is none of cursor, claude, codex, gemini, opencode"),
            "{output}"
        );
    }
    assert_eq!(convert(&[], &codex_stream()).code, Some(2), "`--from` is required");
}

#[test]
fn a_file_that_cannot_be_read_is_exit_66() {
    for path in ["missing.ndjson", "."] {
        let output = convert(&["--from", "codex", path], "");
        assert_eq!((output.code, output.stdout.as_str()), (Some(66), ""), "{output}");
        assert!(output.stderr.starts_with(&format!("error: cannot read `{path}`")), "{output}");
    }
}

#[test]
fn a_report_that_cannot_be_created_is_exit_73_and_nothing_is_converted() {
    let output = convert(&["--from", "codex", "--losses", "none/losses.json"], &codex_stream());
    assert_eq!((output.code, output.stdout.as_str()), (Some(73), ""), "{output}");
    assert!(output.stderr.starts_with("error: cannot create `none/losses.json`"), "{output}");
}

#[test]
fn a_closed_stdout_is_exit_74() {
    let scene = Scene::new([]);
    let stdin = Stdin::Piped(codex_stream().into_bytes());
    let output = scene.ibeam_without_model(["convert", "--from", "codex"]).stdin(stdin).closed_stdout().run();
    assert_eq!(output.code, Some(74), "{output}");
    assert_eq!(output.stderr_lines("dropped").len(), 0, "{output}");
}
