//! Programs written for other agents: their arguments, their stdin, their stream.

use ibeam_protocol::Signal;
use ibeam_testkit::{Answer, ProgramOutput, Stdin};
use serde_json::{Value, json};

use crate::scene::{Scene, answer_call, answer_shell, answer_text};

/// How the Python SDK starts Claude Code.
pub(crate) const SDK: [&str; 6] =
    ["--output-format=stream-json", "--verbose", "--system-prompt", "", "--input-format", "stream-json"];

pub(crate) fn claude(scene: &Scene, args: &[&str]) -> ibeam_testkit::Ibeam {
    let program =
        scene.ibeam_without_model(["--dialect", "claude", "--model", "claude-sonnet-4-20250514"]).args(args);
    program.env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", "key")
}

fn codex(scene: &Scene, args: &[&str]) -> ibeam_testkit::Ibeam {
    let base = format!("openai_base_url=\"{}/v1\"", scene.server.url());
    scene
        .ibeam_without_model(["--dialect", "codex", "exec", "--json", "--skip-git-repo-check", "-c", &base])
        .args(args)
        .env("CODEX_API_KEY", "key-of-codex")
}

#[track_caller]
pub(crate) fn events(output: &ProgramOutput) -> Vec<Value> {
    output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}; {output}")))
        .collect()
}

pub(crate) fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}

pub(crate) fn prompt(text: &str) -> String {
    format!("{}\n", json!({ "type": "user", "message": { "role": "user", "content": text } }))
}

pub(crate) fn request(id: &str, request: &Value) -> String {
    format!("{}\n", json!({ "type": "control_request", "request_id": id, "request": request }))
}

#[test]
fn claude_prints_in_its_three_formats() {
    let answers =
        || [answer_call("t1", "write", &json!({ "path": "a.txt", "fileText": "x" })), answer_text("Done.")];
    let flags = ["-p", "--permission-mode", "acceptEdits"];
    let output = |more: &[&str]| {
        let scene = Scene::new(answers());
        let output = claude(&scene, &[&flags, more, &["--", "do it"]].concat()).run().succeeded();
        assert_eq!(scene.workspace.read("a.txt").as_deref(), Some("x"));
        output
    };
    assert_eq!(output(&[]).stdout, "Done.\n");
    let whole = output(&["--output-format", "json"]).json();
    assert_eq!((&whole["type"], &whole["result"]), (&json!("result"), &json!("Done.")), "{whole}");
    let lines = events(&output(&["--output-format", "stream-json", "--verbose"]));
    assert_eq!(kinds(&lines), ["system", "assistant", "user", "assistant", "result"]);
}

#[test]
fn without_leave_claude_writes_and_runs_nothing() {
    let write = answer_call("t1", "write", &json!({ "path": "a.txt", "fileText": "x" }));
    let scene = Scene::new([write, answer_shell("echo ran > b.txt"), answer_text("I may not.")]);
    let output = claude(&scene, &["-p", "do it"]).run().succeeded();
    assert_eq!(output.stdout, "I may not.\n");
    assert_eq!((scene.workspace.read("a.txt"), scene.workspace.read("b.txt")), (None, None));
}

#[test]
fn messages_are_runs_of_one_session_and_requests_are_answered() {
    let scene = Scene::new([answer_text("One."), answer_text("Two.")]);
    let stdin = [
        request("r1", &json!({ "subtype": "initialize", "hooks": null })),
        prompt("first"),
        request("r2", &json!({ "subtype": "rewind_files", "user_message_id": "x" })),
        prompt("second"),
    ];
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(stdin.concat().into())).run().succeeded();
    let lines = events(&output);
    let answers: Vec<&Value> = lines.iter().filter(|line| line["type"] == "control_response").collect();
    assert_eq!(answers[0]["response"]["subtype"], "success");
    assert_eq!(
        (&answers[1]["response"]["request_id"], &answers[1]["response"]["subtype"]),
        (&json!("r2"), &json!("error"))
    );
    let ends: Vec<&Value> = lines.iter().filter(|line| line["type"] == "result").collect();
    assert_eq!([&ends[0]["result"], &ends[1]["result"]], ["One.", "Two."]);
    assert_eq!(ends[0]["session_id"], ends[1]["session_id"]);
    let second = scene.server.requests().remove(1).transcript();
    assert!(second.iter().any(|message| message.contains("first")), "{second:?}");
    scene.server.assert_played();
}

#[test]
fn codex_runs_in_a_git_repository_or_where_a_flag_says_so() {
    let run = |directory: &str, flags: &[&str]| {
        let scene = Scene::with_wire(ibeam_testkit::Wire::OpenAi, [answer_text("hi")]);
        std::fs::create_dir_all(scene.workspace.path().join(directory).join("below")).unwrap();
        let base = format!("openai_base_url=\"{}/v1\"", scene.server.url());
        let program =
            scene.ibeam_without_model(["--dialect", "codex", "exec", "--json", "-c", &base]).args(flags);
        let output = program.args(["do it"]).env("CODEX_API_KEY", "key-of-codex").run();
        (output, scene.server.requests().len())
    };
    for (directory, flags) in [("x", &[][..]), (".git", &["--cd", "/"]), ("x/.git", &["--cd", "y"])] {
        let (output, requests) = run(directory, flags);
        let is_missing = flags.last() == Some(&"y");
        assert_eq!((output.code, requests), (Some(if is_missing { 66 } else { 2 }), 0), "{output}");
        let message = "Not inside a trusted directory and --skip-git-repo-check was not specified.";
        assert_eq!(output.stderr.contains(message), !is_missing, "{output}");
    }
    for (directory, flags) in
        [(".git", &[][..]), ("x", &["--skip-git-repo-check"]), ("x/.git", &["--cd", "x/.git/below"])]
    {
        let (output, requests) = run(directory, flags);
        assert_eq!(requests, 1, "{}", output.succeeded());
    }
}

/// What stands at `pointer` of each line that has it.
fn all<'a>(lines: &'a [Value], pointer: &str) -> Vec<&'a str> {
    lines.iter().filter_map(|line| line.pointer(pointer)?.as_str()).collect()
}

#[test]
fn ids_are_those_of_one_line_and_one_message() {
    let scene = Scene::new([answer_text("Same."), answer_text("Same."), answer_text("Same.")]);
    let stdin = prompt("do") + &prompt("do");
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(stdin.into())).run().succeeded();
    let mut lines = events(&output);
    // Another process that goes on with the session.
    let session = lines[0]["session_id"].as_str().unwrap().to_owned();
    let args = ["-p", "--output-format", "stream-json", "--verbose", "--resume", &session, "do"];
    lines.extend(events(&claude(&scene, &args).run().succeeded()));
    for (pointer, count) in [("/uuid", 9), ("/message/id", 3)] {
        let ids = all(&lines, pointer);
        let unique: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!((ids.len(), unique.len()), (count, count), "{pointer}: {ids:?}");
    }
    assert!(all(&lines, "/message/id").iter().all(|id| id.starts_with("msg_")), "{lines:?}");
}

#[test]
fn the_end_repeats_the_input_of_what_was_refused() {
    let input = json!({ "path": "a.txt", "fileText": "a" });
    let scene = Scene::new([answer_call("toolu_1", "write", &input), answer_text("I may not.")]);
    let args = ["-p", "--output-format", "stream-json", "--verbose", "write a.txt"];
    let lines = events(&claude(&scene, &args).run().succeeded());
    let reported = json!([{
        "tool_name": "Write", "tool_use_id": "toolu_1", "tool_input": { "file_path": "a.txt", "content": "a" },
    }]);
    assert_eq!(lines.last().unwrap()["permission_denials"], reported);
}

#[test]
fn the_version_is_the_same_wherever_it_is_said() {
    let scene = Scene::new([answer_text("Hello.")]);
    let message = claude(&scene, &["--version"]).run().succeeded().stdout;
    let args = ["-p", "--output-format", "stream-json", "--verbose", "hi"];
    let lines = events(&claude(&scene, &args).run().succeeded());
    let version = lines[0]["claude_code_version"].as_str().unwrap();
    assert!(message.starts_with(&format!("{version} ")), "{version} and {message}");
}

#[test]
fn an_interrupt_ends_the_run_and_a_signal_the_program() {
    let scene = Scene::new([answer_shell("sleep 60"), answer_text("Here again.")]);
    let program = claude(&scene, &[&SDK[..], &["--permission-mode=bypassPermissions"]].concat());
    let running = program.stdin(Stdin::SilentPipe).start();
    running.type_text(&prompt("wait"));
    running.wait_for_stdout("\"tool_use\"");
    running.type_text(&request("r1", &json!({ "subtype": "interrupt" })));
    running.wait_for_stdout("\"is_error\":true");
    running.type_text(&prompt("go on"));
    running.wait_for_stdout("Here again.");
    running.wait_for_stdout("\"subtype\":\"success\",\"is_error\":false");
    running.signal(Signal::Term);
    let output = running.finish();
    assert_eq!(output.code, Some(143), "{output}");
}

#[test]
fn an_interrupt_right_behind_a_prompt_ends_its_run() {
    let scene = Scene::new([answer_text("One."), answer_text("Two.")]);
    let interrupt = request("r1", &json!({ "subtype": "interrupt" }));
    let stdin = [prompt("never mind"), interrupt, prompt("go on")].concat();
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(stdin.into())).run().succeeded();
    let lines = events(&output);
    let ends: Vec<&Value> =
        lines.iter().filter(|line| line["type"] == "result").map(|line| &line["is_error"]).collect();
    assert_eq!(ends, [true, false], "{output}");
}

#[test]
fn a_host_that_refuses_may_end_the_run_too() {
    let scene = Scene::new([answer_call("t1", "write", &json!({ "path": "a.txt", "fileText": "x" }))]);
    let program = claude(&scene, &[&SDK[..], &["--permission-prompt-tool", "stdio"]].concat());
    let running = program.stdin(Stdin::SilentPipe).start();
    running.type_text(&prompt("write"));
    running.wait_for_stdout("\"request_id\":\"ask-t1\"");
    let no = json!({ "behavior": "deny", "message": "Stop.", "interrupt": true });
    let response = json!({ "subtype": "success", "request_id": "ask-t1", "response": no });
    running.type_text(&format!("{}\n", json!({ "type": "control_response", "response": response })));
    running.wait_for_stdout("\"is_error\":true");
    running.signal(Signal::Term);
    running.finish();
    assert_eq!((scene.workspace.read("a.txt"), scene.server.requests().len()), (None, 1));
}

#[test]
fn what_is_no_file_of_settings_holds_nobody_up() {
    let scene = Scene::new([]);
    let fifo = scene.workspace.outside().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let fifo = fifo.to_str().unwrap();
    for path in [fifo, "/dev/zero"] {
        for flag in ["--settings", "--append-system-prompt-file", "--mcp-config"] {
            let output = claude(&scene, &["-p", flag, path, "--", "x"]).run();
            assert_eq!(output.code, Some(66), "{flag}; {output}");
        }
        let output = codex(&scene, &["--output-schema", path, "x"]).run();
        assert_eq!(output.code, Some(66), "{output}");
        let output = scene.print(["--mcp-config", path]).run();
        assert_eq!(output.code, Some(66), "{output}");
    }
}

#[test]
fn instructions_that_come_too_late_are_refused() {
    let scene = Scene::new([answer_text("One.")]);
    let late =
        |id: &str, extra: &str| request(id, &json!({ "subtype": "initialize", "systemPrompt": extra }));
    let stdin = [late("r1", "Speak Latin."), prompt("first"), late("r2", "Speak Greek."), late("r3", "")];
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(stdin.concat().into())).run().succeeded();
    let answers: Vec<Value> =
        events(&output).into_iter().filter(|line| line["type"] == "control_response").collect();
    let reported: Vec<&Value> = answers.iter().map(|line| &line["response"]["subtype"]).collect();
    assert_eq!(reported, ["success", "error", "success"], "{output}");
    assert!(scene.server.requests()[0].body.to_string().contains("Speak Latin."));
}

#[test]
fn a_line_that_is_no_text_is_a_usage_error() {
    let scene = Scene::new([]);
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(b"\xff\xfe\n".to_vec())).run();
    assert_eq!(output.code, Some(2), "{output}");
}

#[test]
fn a_line_without_an_end_is_not_read_for_ever() {
    let scene = Scene::new([]);
    let endless = vec![b' '; (64 << 20) + 1];
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(endless)).run();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.starts_with("error: a line of stdin is longer than 64 MiB\n"), "{output}");
}

#[test]
fn the_host_is_asked_where_it_wants_to_be() {
    let write = |id: &str, name: &str| answer_call(id, "write", &json!({ "path": name, "fileText": "x" }));
    let scene = Scene::new([write("t1", "yes.txt"), write("t2", "no.txt"), answer_text("Done.")]);
    let program = claude(&scene, &[&SDK[..], &["--permission-prompt-tool", "stdio"]].concat());
    let running = program.stdin(Stdin::SilentPipe).start();
    running.type_text(&prompt("write both"));
    for (id, behavior) in [("ask-t1", "allow"), ("ask-t2", "deny")] {
        running.wait_for_stdout(&format!("\"request_id\":\"{id}\""));
        let response =
            json!({ "subtype": "success", "request_id": id, "response": { "behavior": behavior } });
        running.type_text(&format!("{}\n", json!({ "type": "control_response", "response": response })));
    }
    running.wait_for_stdout("Done.");
    running.wait_for_stdout("\"type\":\"result\"");
    running.signal(Signal::Term);
    let output = running.finish();
    let asked = events(&output).into_iter().find(|line| line["type"] == "control_request").unwrap();
    assert_eq!(
        (&asked["request"]["subtype"], &asked["request"]["tool_name"]),
        (&json!("can_use_tool"), &json!("Write"))
    );
    assert_eq!((scene.workspace.read("yes.txt").is_some(), scene.workspace.read("no.txt")), (true, None));
}

#[test]
fn a_question_that_nobody_needs_any_more_is_taken_back() {
    let scene = Scene::new([
        answer_call("t1", "write", &json!({ "path": "a.txt", "fileText": "x" })),
        answer_text("Here."),
    ]);
    let program = claude(&scene, &[&SDK[..], &["--permission-prompt-tool", "stdio"]].concat());
    let running = program.stdin(Stdin::SilentPipe).start();
    running.type_text(&prompt("write"));
    running.wait_for_stdout("\"request_id\":\"ask-t1\"");
    running.type_text(&request("r1", &json!({ "subtype": "interrupt" })));
    running.wait_for_stdout("control_cancel_request");
    running.wait_for_stdout("\"is_error\":true");
    running.type_text(&prompt("go on"));
    running.wait_for_stdout("Here.");
    running.signal(Signal::Term);
    running.finish();
    assert_eq!(scene.workspace.read("a.txt"), None);
}

#[test]
fn a_host_that_goes_away_gives_no_leave() {
    let scene = Scene::new([
        answer_call("t1", "write", &json!({ "path": "a.txt", "fileText": "x" })),
        answer_text("I may not."),
    ]);
    let program = claude(&scene, &[&SDK[..], &["--permission-prompt-tool", "stdio"]].concat());
    let output = program.stdin(Stdin::Piped(prompt("write").into())).run().succeeded();
    assert_eq!(events(&output).last().unwrap()["result"], "I may not.");
    assert_eq!(scene.workspace.read("a.txt"), None);
}

#[test]
fn what_is_no_message_ends_in_an_error_result() {
    let scene = Scene::new([]);
    let hooks =
        json!({ "subtype": "initialize", "hooks": { "SubagentStop": [{ "hookCallbackIds": ["h"] }] } });
    let stdin = request("r1", &hooks) + "no message\n";
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(stdin.into())).run();
    let lines = events(&output);
    assert_eq!(output.code, Some(2), "{output}");
    assert_eq!(lines[0]["response"]["subtype"], "error");
    assert_eq!(lines.last().unwrap()["is_error"], true);
}

#[test]
fn a_session_that_is_to_begin_is_a_new_one() {
    let scene = Scene::new([answer_text("One.")]);
    let args = ["-p", "--session-id", "c6b62c6f-7ead-4fd6-9922-e952131177ff", "hi"];
    claude(&scene, &args).run().succeeded();
    let output = claude(&scene, &args).run();
    assert_eq!(
        (output.code, output.stderr.contains("already exists; use `--resume`")),
        (Some(2), true),
        "{output}"
    );
    scene.server.assert_played();
}

#[test]
fn no_message_is_no_run() {
    let scene = Scene::new([]);
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(Vec::new())).run().succeeded();
    assert_eq!(output.stdout, "");
}

#[test]
fn codex_takes_its_prompt_and_its_key_and_goes_on() {
    let scene = Scene::new([answer_shell("echo ran"), answer_text("Done.")]);
    let args = ["--sandbox", "workspace-write", "--model", "gpt-5"];
    let output = codex(&scene, &args).stdin(Stdin::Piped(b"do it".to_vec())).run().succeeded();
    let lines = events(&output);
    let id = lines[0]["thread_id"].as_str().unwrap().to_owned();
    assert_eq!(kinds(&lines).last(), Some(&"turn.completed"));
    let ended = lines
        .iter()
        .find(|line| line["item"]["type"] == "command_execution" && line["type"] == "item.completed");
    assert_eq!(ended.unwrap()["item"]["exit_code"], 0, "{lines:?}");
    assert_eq!(scene.server.requests()[0].header("authorization"), Some("Bearer key-of-codex"));
    let scene = scene.with_answers([answer_text("And on.")]);
    let output = codex(&scene, &["--model", "gpt-5", "resume", &id])
        .stdin(Stdin::Piped(b"on".to_vec()))
        .run()
        .succeeded();
    assert_eq!(events(&output)[0]["thread_id"], id.as_str());
    let remembered = scene.server.requests()[0].transcript();
    assert!(remembered.iter().any(|message| message.contains("do it")), "{remembered:?}");
}

#[test]
fn a_failure_is_told_in_the_dialect_before_a_run_too() {
    let refused = || (0..4).map(|_| Answer::error(401, "authentication_error", "no such key"));
    let scene = Scene::new(refused());
    let output = codex(&scene, &["--model", "gpt-5", "do it"]).run();
    assert_eq!(
        (output.code, kinds(&events(&output)).last().copied()),
        (Some(20), Some("turn.failed")),
        "{output}"
    );
    let scene = Scene::new([]);
    let program = scene.ibeam_without_model([
        "--dialect=claude",
        "-p",
        "--output-format",
        "stream-json",
        "--model",
        "sonnet",
        "x",
    ]);
    let output = program.run();
    let lines = events(&output);
    assert_eq!(
        (output.code, lines.last().unwrap()["is_error"].as_bool()),
        (Some(20), Some(true)),
        "{output}"
    );
}

#[test]
fn other_dialects_are_output_alone() {
    for (dialect, first) in [("gemini", "init"), ("opencode", "step_start")] {
        let scene = Scene::new([answer_text("Hello.")]);
        let program = scene
            .ibeam_without_model([format!("--dialect={dialect}")])
            .args(["--model", crate::scene::model_name(scene.wire)]);
        let program = program.args(["-p", "hi"]).env("ANTHROPIC_BASE_URL", scene.server.url());
        let output = program.env("ANTHROPIC_API_KEY", "key").run().succeeded();
        let lines = events(&output);
        assert_eq!(kinds(&lines)[0], first, "{output}");
        let numbers: Vec<u64> = lines.iter().filter_map(|line| line["timestamp"].as_u64()).collect();
        assert!(numbers.is_sorted() && !numbers.contains(&0), "{output}");
        assert_eq!(dialect == "opencode", numbers.len() == lines.len(), "{output}");
        let times = all(&lines, "/timestamp");
        assert!(times.is_sorted() && !times.iter().any(|time| time.starts_with("1970")), "{output}");
    }
}

#[test]
fn the_variable_says_what_the_first_argument_says() {
    let scene = Scene::new([answer_text("Hello.")]);
    let program = scene
        .ibeam_without_model(["-p", "--output-format", "stream-json", "hi"])
        .env("IBEAM_DIALECT", "claude");
    let program = program.env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", "key");
    let lines = events(&program.run().succeeded());
    assert_eq!((&lines[0]["subtype"], &lines[2]["result"]), (&json!("init"), &json!("Hello.")), "{lines:?}");
}

#[test]
fn a_dialect_that_is_none_or_stands_elsewhere_is_a_usage_error() {
    let scene = Scene::new([]);
    for args in [&["--dialect", "latin", "-p", "x"][..], &["-p", "--dialect", "claude", "x"], &["--dialect"]]
    {
        let output = scene.ibeam_without_model(args).run();
        assert_eq!(output.code, Some(2), "{args:?}; {output}");
    }
}

#[test]
fn what_is_left_out_is_told() {
    let scene = Scene::new([answer_text("Hello.")]);
    let output = claude(&scene, &["-p", "--effort", "high", "hi"]).run().succeeded();
    let warned = output.stderr_lines("warning: ");
    assert!(warned.iter().any(|line| line.contains("`claude`") && line.contains("--effort")), "{output}");
}

#[test]
fn the_flags_behind_the_dialects_are_ours_too() {
    let write = answer_call("t1", "write", &json!({ "path": "a.txt", "fileText": "x" }));
    let scene = Scene::new([write, answer_text("Done.")]);
    let flags = ["--approval", "strict", "--without", "delete", "--append-system-prompt", "Speak Latin."];
    scene.print(flags).run().succeeded();
    assert_eq!(scene.workspace.read("a.txt"), None);
    let body = scene.server.requests()[0].body.to_string();
    let tools = scene.server.requests()[0].body["tools"].to_string();
    assert!(
        body.contains("Speak Latin.") && tools.contains("\"write\"") && !tools.contains("\"delete\""),
        "{tools}"
    );
}
