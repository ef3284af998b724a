//! `--input-format stream-json`: messages on stdin, a turn for each, in one process.

use std::time::Duration;

use ibeam_protocol::Signal;
use ibeam_testkit::message_stream::{FLAGS, message};
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text, journal};
use ibeam_testkit::{Answer, Ibeam, PNG_BASE64, ProgramOutput, RunningProgram, Stdin};
use serde_json::{Value, json};

use super::dialect::{events, kinds};

/// A command that ends once the file `go` exists.
const WAIT: &str = "until test -e go; do sleep 0.05; done";

fn with_input(scene: &Scene, args: &[&str], lines: &[String]) -> Ibeam {
    scene.ibeam(FLAGS).args(args).stdin(Stdin::Piped(lines.concat().into()))
}

pub(crate) fn steering(text: &str) -> String {
    let mut line: Value = serde_json::from_str(&message(text)).unwrap();
    line["ibeam"] = json!({ "delivery": "steer" });
    format!("{line}\n")
}

pub(crate) fn with_image(media_type: &str, data: &str) -> String {
    let mut line: Value = serde_json::from_str(&message("look")).unwrap();
    let source = json!({ "type": "base64", "media_type": media_type, "data": data });
    line["message"]["content"].as_array_mut().unwrap().push(json!({ "type": "image", "source": source }));
    format!("{line}\n")
}

pub(crate) fn interrupt() -> String {
    "{\"type\":\"interrupt\"}\n".to_owned()
}

pub(crate) fn select_type<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

/// Returns the texts of the `user` lines.
pub(crate) fn prompts(lines: &[Value]) -> Vec<&str> {
    select_type(lines, "user")
        .iter()
        .filter_map(|line| line["message"]["content"][0]["text"].as_str())
        .collect()
}

/// Starts the program with an open stdin.
fn start(scene: &Scene, args: &[&str]) -> RunningProgram {
    scene.ibeam(FLAGS).args(args).stdin(Stdin::SilentPipe).start()
}

/// Closes stdin and waits for the end.
#[track_caller]
fn close(mut running: RunningProgram) -> ProgramOutput {
    running.close_stdin();
    running.finish()
}

/// Lets the command [`WAIT`] end once the program has had time to read stdin.
fn let_go(scene: &Scene) {
    std::thread::sleep(Duration::from_millis(700));
    std::fs::write(scene.workspace.path().join("go"), "").unwrap();
}

#[test]
fn each_message_is_a_turn_of_one_session() {
    for args in [&[][..], &["--contract", "2"], &["--contract", "2", "--stream-partial-output"]] {
        let scene = Scene::new([
            answer_call("t1", "read", &json!({ "path": "a.txt" })),
            answer_text("One."),
            answer_text("Two."),
        ]);
        std::fs::write(scene.workspace.path().join("a.txt"), "x").unwrap();
        let lines = [message("first"), "\n".to_owned(), message("second")];
        let output = with_input(&scene, args, &lines).run().succeeded();
        let lines = events(&output);
        assert_eq!((select_type(&lines, "system").len(), kinds(&lines)[0]), (1, "system"), "{output}");
        assert_eq!(lines[0]["ibeam"]["input"], "stream-json");
        assert_eq!(prompts(&lines), ["first", "second"]);
        let [first, second] = select_type(&lines, "result")[..] else { panic!("{output}") };
        assert_eq!((&first["result"], &second["result"]), (&json!("One."), &json!("Two.")));
        assert_eq!((&first["ibeam"]["turns"], &second["ibeam"]["turns"]), (&json!(2), &json!(1)));
        assert!(first["request_id"] != second["request_id"], "{output}");
        assert_eq!(lines.last(), Some(second));
        assert!(lines.iter().all(|line| line["session_id"] == lines[0]["session_id"]));
        let request = scene.server.requests().remove(2).transcript();
        assert!(request.iter().any(|message| message.contains("first")), "{request:?}");
    }
}

#[test]
fn the_content_of_a_message_may_be_a_string() {
    let scene = Scene::new([answer_text("One.")]);
    let line = json!({ "type": "user", "message": { "role": "user", "content": "first" } });
    let output = with_input(&scene, &[], &[format!("{line}\n")]).run().succeeded();
    assert_eq!(prompts(&events(&output)), ["first"]);
}

/// The line may come from another session.
#[test]
fn a_line_of_the_output_can_be_written_back() {
    let scene = Scene::new([answer_text("One.")]);
    let output = scene.ibeam(["-p", "say: \"é\\n\" \u{2028}"]).run().succeeded();
    let line = output.stdout.lines().find(|line| line.contains("\"user\"")).unwrap();
    let scene = Scene::new([answer_text("Two.")]);
    let again = with_input(&scene, &[], &[format!("{line}\n")]).run().succeeded();
    assert_eq!(prompts(&events(&again)), ["say: \"é\\n\" \u{2028}"]);
}

#[test]
fn a_steering_message_joins_the_running_turn_and_others_wait() {
    let scene = Scene::new([answer_shell(WAIT), answer_text("Steered."), answer_text("Later.")]);
    let running = start(&scene, &["--force"]);
    running.type_text(&message("first"));
    running.wait_for_stdout("\"subtype\":\"started\"");
    running.type_text(&(message("later") + &steering("use tabs")));
    let_go(&scene);
    let output = close(running).succeeded();
    let lines = events(&output);
    let expect = ["system", "user", "tool_call", "tool_call", "user", "assistant", "result", "user"];
    assert_eq!(kinds(&lines)[..8], expect, "{output}");
    assert_eq!(prompts(&lines), ["first", "use tabs", "later"]);
    assert_eq!(select_type(&lines, "result").len(), 2);
    let requests = scene.server.requests();
    assert!(requests[1].transcript().last().unwrap().contains("use tabs"), "{:?}", requests[1].transcript());
    let recorded = journal(&scene, lines[0]["session_id"].as_str().unwrap());
    let recorded = recorded.iter().filter(|event| !event["kind"]["user_message"].is_null());
    assert_eq!(recorded.count(), 3, "{output}");
}

#[test]
fn a_steering_message_that_is_too_late_is_a_turn_of_its_own() {
    let scene = Scene::new([answer_text("One."), answer_text("Two.")]);
    let running = start(&scene, &[]);
    running.type_text(&message("first"));
    running.wait_for_stdout("\"type\":\"result\"");
    running.type_text(&steering("second"));
    let output = close(running).succeeded();
    let expect = ["system", "user", "assistant", "result", "user", "assistant", "result"];
    assert_eq!(kinds(&events(&output)), expect);
}

#[test]
fn an_interrupt_ends_the_running_turn_and_not_the_process() {
    let scene = Scene::new([answer_shell("sleep 60"), answer_text("Two.")]);
    let running = start(&scene, &["--force"]);
    // Without a turn it has no effect.
    running.type_text(&(interrupt() + &message("first")));
    running.wait_for_stdout("\"subtype\":\"started\"");
    running.type_text(&interrupt());
    running.wait_for_stdout("\"type\":\"error\"");
    running.type_text(&message("second"));
    let output = close(running);
    // All turns have to succeed.
    assert_eq!(output.code, Some(130), "{output}");
    let lines = events(&output);
    let error = select_type(&lines, "error")[0];
    assert_eq!((&error["code"], &error["exit_code"]), (&json!("signal"), &json!(130)), "{output}");
    assert_eq!(lines.last().unwrap()["result"], "Two.");
    assert_eq!(output.stderr_lines("error:").len(), 1, "{output}");
}

#[test]
fn a_failed_turn_does_not_end_the_process_but_fails_it() {
    let refused = || Answer::error(400, "invalid_request_error", "too odd");
    let scene = Scene::new([refused(), answer_text("Two."), refused(), answer_text("Four.")]);
    let lines = ["1", "2", "3", "4"].map(message);
    let output = with_input(&scene, &[], &lines).run();
    assert_eq!(output.code, Some(22), "{output}");
    let lines = events(&output);
    let ends = ["error", "result"].map(|kind| select_type(&lines, kind).len());
    assert_eq!(ends, [2, 2], "{output}");
    assert_eq!(lines.last().unwrap()["result"], "Four.");
    // Each failure is on stderr once, and the last line is the one of the exit code.
    assert_eq!(output.stderr_lines("error:").len(), 2, "{output}");
}

#[test]
fn limits_apply_to_each_turn() {
    let scene = Scene::new([answer_text("One."), answer_text("Two.")]);
    let lines = [message("first"), message("second")];
    let output = with_input(&scene, &["--max-turns", "1"], &lines).run().succeeded();
    assert_eq!(select_type(&events(&output), "result").len(), 2);
}

#[test]
fn waiting_for_a_message_does_not_count_for_the_time_limit() {
    let scene = Scene::new([answer_text("One."), Answer::silence(), answer_text("Three.")]);
    let running = start(&scene, &["--timeout", "2"]);
    std::thread::sleep(Duration::from_millis(2500));
    running.type_text(&message("first"));
    running.wait_for_stdout("\"type\":\"result\"");
    std::thread::sleep(Duration::from_millis(2500));
    running.type_text(&(message("second") + &message("third")));
    running.wait_for_stdout("Three.");
    let output = close(running);
    assert_eq!(output.code, Some(33), "{output}");
    assert_eq!(select_type(&events(&output), "error")[0]["code"], "timeout");
}

#[test]
fn a_line_that_is_not_a_message_ends_the_input_after_the_messages_before_it() {
    let scene = Scene::new([answer_text("One.")]);
    let lines = [message("first"), "\n".to_owned(), "{\"type\":\"usr\"}\n".to_owned(), message("unread")];
    let output = with_input(&scene, &[], &lines).run();
    assert_eq!(output.code, Some(2), "{output}");
    let lines = events(&output);
    assert_eq!(kinds(&lines), ["system", "user", "assistant", "result", "error"]);
    let error = lines.last().unwrap();
    assert!(error["message"].as_str().unwrap().contains("line 3 of stdin"), "{output}");
    assert!(error.get("session_id").is_none() && error.get("ibeam").is_none(), "{output}");
    // Nothing is lost: the session continues with the rest.
    let scene = scene.with_answers([answer_text("Two.")]);
    let resume = format!("--resume={}", lines[0]["session_id"].as_str().unwrap());
    let output = with_input(&scene, &[&resume], &[message("second")]).run().succeeded();
    let request = scene.server.requests().remove(0).transcript();
    assert!(request.iter().any(|message| message.contains("first")), "{output} {request:?}");
}

#[test]
fn an_invalid_first_line_is_a_usage_error_without_a_turn() {
    let options = |ibeam: Value| {
        let content = json!([{ "type": "text", "text": "x" }]);
        json!({ "type": "user", "message": { "role": "user", "content": content }, "ibeam": ibeam })
            .to_string()
    };
    for (line, expect) in [
        ("{".to_owned(), "not JSON"),
        ("[]".to_owned(), "should be an object"),
        ("{\"type\":\"result\"}".to_owned(), "`type` should be `user` or `interrupt`, and is `result`"),
        (message(" "), "the message has no text"),
        (with_image("image/png", "no Base64!"), "`image 1` is not Base64"),
        (with_image("image/jpeg", PNG_BASE64), "`image 1` is image/png, and not image/jpeg"),
        (
            message("x").replace("\"text\":\"x\"", "\"source\":1"),
            "`message.content[0].source` should be an object",
        ),
        (message("x").replace("\"type\":\"text\"", "\"type\":\"image\""), "should have the key `source`"),
        (message("a\0b"), "NUL"),
        (
            message("x").replace("\"role\":\"user\"", "\"role\":\"assistant\""),
            "`message.role` should be `user`",
        ),
        (message("x").replace("\"type\":\"text\"", "\"type\":\"video\""), "`message.content[0].type`"),
        (options(json!({ "delivery": "later" })), "`ibeam.delivery` should be `queue` or `steer`"),
        (options(json!({ "priority": 1 })), "`ibeam` has the unknown key `priority`"),
    ] {
        let scene = Scene::new([]);
        let output = with_input(&scene, &[], &[line.clone() + "\n"]).run();
        assert_eq!(output.code, Some(2), "{line}: {output}");
        let lines = events(&output);
        assert_eq!(kinds(&lines), ["error"], "{line}: {output}");
        let message = lines[0]["message"].as_str().unwrap();
        assert!(message.contains("line 1 of stdin") && message.contains(expect), "{line}: {output}");
        assert!(output.stderr.contains(expect), "{line}: {output}");
    }
}

#[test]
fn other_prompts_and_formats_are_usage_errors() {
    let lines = [message("first")];
    for (args, expect) in [
        (&["do it"][..], "not from the arguments"),
        (&["--stdin", "ignore"], "`--stdin ignore`"),
        (&["--output-format", "json"], "`--output-format stream-json`"),
        (&["--output-format", "text"], "`--output-format stream-json`"),
        (&["--contract", "2", "--output-format", "text"], "`--output-format stream-json`"),
    ] {
        let scene = Scene::new([]);
        let output = with_input(&scene, args, &lines).run();
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{args:?}: {output}");
        assert!(output.stderr.contains(expect), "{args:?}: {output}");
    }
    let output = with_input(&Scene::new([]), &[], &[]).run();
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{output}");
}

#[test]
fn a_signal_ends_an_idle_process() {
    let scene = Scene::new([answer_text("One.")]);
    let running = start(&scene, &[]);
    running.type_text(&message("first"));
    running.wait_for_stdout("\"type\":\"result\"");
    running.signal(Signal::Term);
    let output = running.finish();
    assert_eq!(output.code, Some(143), "{output}");
    assert!(output.elapsed < Duration::from_secs(20), "{output}");
}

#[test]
fn a_turn_that_a_signal_ends_has_its_last_line() {
    let scene = Scene::new([answer_text("One."), answer_shell("sleep 60")]);
    let running = start(&scene, &["--force"]);
    running.type_text(&(message("first") + &message("second") + &message("unread")));
    running.wait_for_stdout("\"subtype\":\"started\"");
    running.signal(Signal::Int);
    let output = running.finish();
    assert_eq!(output.code, Some(130), "{output}");
    let lines = events(&output);
    assert_eq!(
        (prompts(&lines), lines.last().unwrap()["code"].as_str()),
        (vec!["first", "second"], Some("signal"))
    );
}

/// The program is killed after a steering message became visible: it is part of the resumed conversation.
#[test]
fn a_steering_message_survives_a_kill() {
    let scene = Scene::new([answer_shell(WAIT), Answer::silence()]);
    let running = start(&scene, &["--force"]);
    running.type_text(&message("first"));
    running.wait_for_stdout("\"subtype\":\"started\"");
    running.type_text(&steering("use tabs"));
    let_go(&scene);
    running.wait_for_stdout("use tabs");
    running.kill_alone();
    let output = running.finish();
    let id = events(&output)[0]["session_id"].as_str().unwrap().to_owned();
    let scene = scene.with_answers([answer_text("Two.")]);
    scene.print([format!("--resume={id}")]).run().succeeded();
    let request = scene.server.requests().remove(0).transcript();
    assert!(request.iter().any(|message| message.contains("use tabs")), "{request:?}");
}

#[test]
fn a_stream_with_several_turns_is_replayed_turn_by_turn() {
    let scene = Scene::new([answer_text("One."), answer_text("Two.")]);
    let lines = [message("first"), message("second"), "no message\n".to_owned()];
    let output = with_input(&scene, &[], &lines).run();
    let replay = |args: &[&str]| {
        let replay = scene.ibeam_without_model(["replay", "-"]).args(args);
        replay.stdin(Stdin::Piped(output.stdout.clone().into())).run().succeeded().stdout
    };
    assert_eq!(replay(&["--output-format", "stream-json"]), output.stdout);
    let text = replay(&["--output-format", "text"]);
    assert!(text.contains("One.") && text.contains("Two."), "{text}");
    let text = replay(&["--output-format", "text", "--run", "2"]);
    assert!(!text.contains("One.") && text.contains("Two."), "{text}");
}

/// The program of docs/input-stream.md.
#[test]
fn the_documented_client_asks_one_question_after_the_other() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return eprintln!("SKIP: python3 is not installed");
    }
    let page = include_str!("../../../../docs/input-stream.md");
    let program = page.split_once("```python\n").unwrap().1.split_once("```").unwrap().0;
    let scene = Scene::new([answer_text("All of them."), answer_text("It sleeps.")]);
    let path = scene.workspace.path().join("client.py");
    std::fs::write(&path, program).unwrap();
    let client = scene.ibeam([""; 0]).through(["python3", path.to_str().unwrap()]);
    let output = client.run().succeeded();
    assert_eq!(output.stdout, "All of them.\nIt sleeps.\n", "{output}");
}

#[test]
fn the_image_of_a_message_reaches_the_model() {
    let scene = Scene::new([answer_text("A dot.")]);
    let output = with_input(&scene, &[], &[with_image("image/png", PNG_BASE64)]).run().succeeded();
    let content = events(&output)[1]["message"]["content"].as_array().unwrap().len();
    assert_eq!(content, 1, "{output}");
    let file = json!({ "name": "image 1", "media_type": "image/png" });
    assert_eq!(events(&output)[1]["ibeam"], json!({ "attachments": [file] }), "{output}");
    let replay = scene.ibeam_without_model(["replay", "-", "--output-format", "stream-json"]);
    let replay = replay.stdin(Stdin::Piped(output.stdout.clone().into())).run().succeeded();
    assert_eq!(replay.stdout, output.stdout);
    assert!(scene.server.requests()[0].body.to_string().contains(PNG_BASE64), "{output}");
}

/// The journal says which runs were the turns of one stream.
#[test]
fn a_replay_prints_the_bytes_of_each_stream_of_a_session() {
    let scene = Scene::new([answer_text("one"), answer_text("two")]);
    let first = with_input(&scene, &[], &[message("a"), message("b")]).run().succeeded();
    let id = events(&first)[0]["session_id"].as_str().unwrap().to_owned();
    let scene = scene.with_answers([answer_text("three"), answer_text("four")]);
    let second = with_input(&scene, &["--resume", &id], &[message("c"), message("d")]).run().succeeded();
    let replay = scene.ibeam_without_model(["replay", &id, "--output-format", "stream-json"]);
    assert_eq!(replay.run().succeeded().stdout, first.stdout + &second.stdout);
}
