//! Programs written for other agents: their arguments, their stdin, their stream.

use ibeam_protocol::Signal;
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{Answer, ProgramOutput, Stdin};
use serde_json::{Value, json};

/// Arguments with which the Python SDK starts Claude Code.
pub(crate) const SDK: [&str; 6] =
    ["--output-format=stream-json", "--verbose", "--system-prompt", "", "--input-format", "stream-json"];

pub(crate) fn claude(scene: &Scene, args: &[&str]) -> ibeam_testkit::Ibeam {
    let program =
        scene.ibeam_without_model(["--dialect", "claude", "--model", "claude-sonnet-4-6"]).args(args);
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
    let result = output(&["--output-format", "json"]).json();
    assert_eq!((&result["type"], &result["result"]), (&json!("result"), &json!("Done.")), "{result}");
    let lines = events(&output(&["--output-format", "stream-json", "--verbose"]));
    assert_eq!(kinds(&lines), ["system", "assistant", "user", "assistant", "result"]);
}

#[test]
fn without_permission_claude_writes_and_runs_nothing() {
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
    let results: Vec<&Value> = lines.iter().filter(|line| line["type"] == "result").collect();
    assert_eq!([&results[0]["result"], &results[1]["result"]], ["One.", "Two."]);
    assert_eq!(results[0]["session_id"], results[1]["session_id"]);
    let second = scene.server.requests().remove(1).transcript();
    assert!(second.iter().any(|message| message.contains("first")), "{second:?}");
    scene.server.assert_all_answers_sent();
}

#[test]
fn codex_runs_in_a_git_repository_or_with_a_flag() {
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

/// Returns the strings at `pointer` of the lines that have one.
fn strings_at<'a>(lines: &'a [Value], pointer: &str) -> Vec<&'a str> {
    lines.iter().filter_map(|line| line.pointer(pointer)?.as_str()).collect()
}

#[test]
fn ids_of_lines_and_messages_are_unique() {
    let scene = Scene::new([answer_text("Same."), answer_text("Same."), answer_text("Same.")]);
    let stdin = prompt("do") + &prompt("do");
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(stdin.into())).run().succeeded();
    let mut lines = events(&output);
    // Another process resumes the session.
    let session = lines[0]["session_id"].as_str().unwrap().to_owned();
    let args = ["-p", "--output-format", "stream-json", "--verbose", "--resume", &session, "do"];
    lines.extend(events(&claude(&scene, &args).run().succeeded()));
    for (pointer, count) in [("/uuid", 9), ("/message/id", 3)] {
        let ids = strings_at(&lines, pointer);
        let unique: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!((ids.len(), unique.len()), (count, count), "{pointer}: {ids:?}");
    }
    assert!(strings_at(&lines, "/message/id").iter().all(|id| id.starts_with("msg_")), "{lines:?}");
}

#[test]
fn the_result_lists_the_inputs_of_refused_calls() {
    let input = json!({ "path": "a.txt", "fileText": "a" });
    let scene = Scene::new([answer_call("toolu_1", "write", &input), answer_text("I may not.")]);
    let args = ["-p", "--output-format", "stream-json", "--verbose", "write a.txt"];
    let lines = events(&claude(&scene, &args).run().succeeded());
    let denials = json!([{
        "tool_name": "Write", "tool_use_id": "toolu_1", "tool_input": { "file_path": "a.txt", "content": "a" },
    }]);
    assert_eq!(lines.last().unwrap()["permission_denials"], denials);
}

#[test]
fn the_version_flag_prints_the_version_of_the_stream() {
    let scene = Scene::new([answer_text("Hello.")]);
    let printed = claude(&scene, &["--version"]).run().succeeded().stdout;
    let args = ["-p", "--output-format", "stream-json", "--verbose", "hi"];
    let lines = events(&claude(&scene, &args).run().succeeded());
    let version = lines[0]["claude_code_version"].as_str().unwrap();
    assert!(printed.starts_with(&format!("{version} ")), "{version} and {printed}");
}

#[test]
fn an_interrupt_ends_the_run_and_a_signal_ends_the_program() {
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
fn an_interrupt_right_after_a_prompt_ends_its_run() {
    let scene = Scene::new([answer_text("One."), answer_text("Two.")]);
    let interrupt = request("r1", &json!({ "subtype": "interrupt" }));
    let stdin = [prompt("never mind"), interrupt, prompt("go on")].concat();
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(stdin.into())).run().succeeded();
    let lines = events(&output);
    let results: Vec<&Value> = lines.iter().filter(|line| line["type"] == "result").collect();
    assert_eq!([&results[0]["is_error"], &results[1]["is_error"]], [true, false], "{output}");
    // No signal was sent.
    assert_eq!(results[0]["errors"], json!(["[Request interrupted by user]"]), "{output}");
    assert!(!results[0].to_string().to_lowercase().contains("signal"), "{output}");
}

#[test]
fn a_bad_line_is_reported_and_the_next_message_has_its_run() {
    let scene = Scene::new([answer_text("One."), answer_text("Two.")]);
    let bad_prompt =
        json!({ "type": "user", "message": { "role": "user", "content": [{ "type": "video" }] } });
    let stdin = [
        b"\xff\n{\n".to_vec(),
        prompt("first").into(),
        format!("no message\n{bad_prompt}\n").into(),
        prompt("second").into(),
    ];
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(stdin.concat())).run().succeeded();
    let lines = events(&output);
    let results: Vec<&Value> = lines.iter().filter(|line| line["type"] == "result").collect();
    // A program waits for one result for each prompt.
    let ends: Vec<&Value> = results.iter().map(|result| &result["is_error"]).collect();
    assert_eq!(ends, [false, true, false], "{output}");
    assert!(results[1]["errors"][0].as_str().unwrap().contains("not `video`"), "{output}");
    assert_eq!(results[1]["session_id"], results[2]["session_id"], "{output}");
    assert_eq!([&results[0]["result"], &results[2]["result"]], ["One.", "Two."]);
    assert_eq!(output.stderr_lines("warning: a message was skipped:").len(), 4, "{output}");
}

#[test]
fn a_last_message_that_cannot_be_read_decides_about_the_exit_code() {
    let scene = Scene::new([answer_text("One.")]);
    let stdin = prompt("first") + "no message\n";
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(stdin.into())).run();
    assert_eq!(output.code, Some(2), "{output}");
    assert_eq!(kinds(&events(&output)).last(), Some(&"result"), "{output}");
}

#[test]
fn a_model_without_a_provider_is_that_of_anthropic_if_it_has_a_key() {
    let scene = Scene::new([answer_text("Hello.")]);
    let args = ["--dialect", "claude", "--model", "house-model-7", "-p", "hi"];
    let program = scene.ibeam_without_model(args).env("ANTHROPIC_BASE_URL", scene.server.url());
    let output = program.env("ANTHROPIC_API_KEY", "key").env("OPENAI_API_KEY", "other").run().succeeded();
    assert_eq!(output.stdout, "Hello.\n");
    assert_eq!(scene.server.requests()[0].body["model"], "house-model-7");
}

#[test]
fn a_budget_without_a_price_is_reported_as_not_enforced() {
    let result = |model: &str| {
        let scene = Scene::new([answer_text("Hello.")]);
        let args = ["-p", "--output-format", "json", "--max-budget-usd", "5", "--model", model, "hi"];
        let output = claude(&scene, &args).run().succeeded();
        (output.json(), output.stderr)
    };
    let (unknown, stderr) = result("house-model-7");
    assert_eq!(unknown["ibeam"], json!({ "budget_enforced": false }), "{unknown}");
    assert!(stderr.contains("the limit of the cost is not enforced"), "{stderr}");
    // The family of the model has a price.
    for model in ["claude-sonnet-4-6", "claude-sonnet-preview-9-9"] {
        let (known, stderr) = result(model);
        assert!(known.get("ibeam").is_none() && stderr.is_empty(), "{known} {stderr}");
        assert!(known["total_cost_usd"].as_f64().unwrap() > 0.0, "{known}");
    }
}

#[test]
fn a_host_that_denies_a_call_can_end_the_run() {
    let scene = Scene::new([answer_call("t1", "write", &json!({ "path": "a.txt", "fileText": "x" }))]);
    let program = claude(&scene, &[&SDK[..], &["--permission-prompt-tool", "stdio"]].concat());
    let running = program.stdin(Stdin::SilentPipe).start();
    running.type_text(&prompt("write"));
    running.wait_for_stdout("\"request_id\":\"ask-t1\"");
    let denial = json!({ "behavior": "deny", "message": "Stop.", "interrupt": true });
    let response = json!({ "subtype": "success", "request_id": "ask-t1", "response": denial });
    running.type_text(&format!("{}\n", json!({ "type": "control_response", "response": response })));
    running.wait_for_stdout("\"is_error\":true");
    running.signal(Signal::Term);
    running.finish();
    assert_eq!((scene.workspace.read("a.txt"), scene.server.requests().len()), (None, 1));
}

#[test]
fn a_settings_path_that_is_not_a_regular_file_does_not_block() {
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
fn instructions_that_arrive_too_late_are_refused() {
    let scene = Scene::new([answer_text("One.")]);
    let late =
        |id: &str, extra: &str| request(id, &json!({ "subtype": "initialize", "systemPrompt": extra }));
    let stdin = [late("r1", "Speak Latin."), prompt("first"), late("r2", "Speak Greek."), late("r3", "")];
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(stdin.concat().into())).run().succeeded();
    let answers: Vec<Value> =
        events(&output).into_iter().filter(|line| line["type"] == "control_response").collect();
    let outcomes: Vec<&Value> = answers.iter().map(|line| &line["response"]["subtype"]).collect();
    assert_eq!(outcomes, ["success", "error", "success"], "{output}");
    assert!(scene.server.requests()[0].body.to_string().contains("Speak Latin."));
}

#[test]
fn a_line_that_is_not_utf_8_is_a_usage_error() {
    let scene = Scene::new([]);
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(b"\xff\xfe\n".to_vec())).run();
    assert_eq!(output.code, Some(2), "{output}");
}

#[test]
fn a_line_that_is_too_long_is_a_usage_error() {
    let scene = Scene::new([]);
    let endless = vec![b' '; (64 << 20) + 1];
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(endless)).run();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.starts_with("error: a line of stdin is longer than 64 MiB\n"), "{output}");
}

#[test]
fn the_host_approves_calls_if_it_requests_so() {
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
    let question = events(&output).into_iter().find(|line| line["type"] == "control_request").unwrap();
    assert_eq!(
        (&question["request"]["subtype"], &question["request"]["tool_name"]),
        (&json!("can_use_tool"), &json!("Write"))
    );
    assert_eq!((scene.workspace.read("yes.txt").is_some(), scene.workspace.read("no.txt")), (true, None));
}

#[test]
fn an_obsolete_question_is_cancelled() {
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
fn a_host_that_disconnects_approves_nothing() {
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
fn an_invalid_message_ends_in_an_error_result() {
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
fn a_given_session_id_must_be_new() {
    let scene = Scene::new([answer_text("One.")]);
    let args = ["-p", "--session-id", "c6b62c6f-7ead-4fd6-9922-e952131177ff", "hi"];
    claude(&scene, &args).run().succeeded();
    let output = claude(&scene, &args).run();
    assert_eq!(
        (output.code, output.stderr.contains("already exists; use `--resume`")),
        (Some(2), true),
        "{output}"
    );
    scene.server.assert_all_answers_sent();
}

#[test]
fn empty_stdin_starts_no_run() {
    let scene = Scene::new([]);
    let output = claude(&scene, &SDK).stdin(Stdin::Piped(Vec::new())).run().succeeded();
    assert_eq!(output.stdout, "");
}

#[test]
fn codex_reads_its_prompt_and_its_key_and_resumes() {
    let scene = Scene::new([answer_shell("echo ran"), answer_text("Done.")]);
    let args = ["--sandbox", "workspace-write", "--model", "gpt-5"];
    let output = codex(&scene, &args).stdin(Stdin::Piped(b"do it".to_vec())).run().succeeded();
    let lines = events(&output);
    let id = lines[0]["thread_id"].as_str().unwrap().to_owned();
    assert_eq!(kinds(&lines).last(), Some(&"turn.completed"));
    let command = lines
        .iter()
        .find(|line| line["item"]["type"] == "command_execution" && line["type"] == "item.completed");
    assert_eq!(command.unwrap()["item"]["exit_code"], 0, "{lines:?}");
    assert_eq!(scene.server.requests()[0].header("authorization"), Some("Bearer key-of-codex"));
    let scene = scene.with_answers([answer_text("And on.")]);
    let output = codex(&scene, &["--model", "gpt-5", "resume", &id])
        .stdin(Stdin::Piped(b"on".to_vec()))
        .run()
        .succeeded();
    assert_eq!(events(&output)[0]["thread_id"], id.as_str());
    let transcript = scene.server.requests()[0].transcript();
    assert!(transcript.iter().any(|message| message.contains("do it")), "{transcript:?}");
}

#[test]
fn a_failure_before_a_run_is_reported_in_the_dialect() {
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
fn other_dialects_change_only_the_output() {
    for (dialect, first) in [("gemini", "init"), ("opencode", "step_start")] {
        let scene = Scene::new([answer_text("Hello.")]);
        let program = scene
            .ibeam_without_model([format!("--dialect={dialect}")])
            .args(["--model", ibeam_testkit::scene::model_name(scene.wire)]);
        let program = program.args(["-p", "hi"]).env("ANTHROPIC_BASE_URL", scene.server.url());
        let output = program.env("ANTHROPIC_API_KEY", "key").run().succeeded();
        let lines = events(&output);
        assert_eq!(kinds(&lines)[0], first, "{output}");
        let numbers: Vec<u64> = lines.iter().filter_map(|line| line["timestamp"].as_u64()).collect();
        assert!(numbers.is_sorted() && !numbers.contains(&0), "{output}");
        assert_eq!(dialect == "opencode", numbers.len() == lines.len(), "{output}");
        let times = strings_at(&lines, "/timestamp");
        assert!(times.is_sorted() && !times.iter().any(|time| time.starts_with("1970")), "{output}");
    }
}

#[test]
fn the_variable_selects_a_dialect_like_the_first_argument() {
    let scene = Scene::new([answer_text("Hello.")]);
    let program = scene
        .ibeam_without_model(["-p", "--output-format", "stream-json", "hi"])
        .env("IBEAM_DIALECT", "claude");
    let program = program.env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", "key");
    let lines = events(&program.run().succeeded());
    assert_eq!((&lines[0]["subtype"], &lines[2]["result"]), (&json!("init"), &json!("Hello.")), "{lines:?}");
}

#[test]
fn an_unknown_or_misplaced_dialect_is_a_usage_error() {
    let scene = Scene::new([]);
    for args in [&["--dialect", "latin", "-p", "x"][..], &["-p", "--dialect", "claude", "x"], &["--dialect"]]
    {
        let output = scene.ibeam_without_model(args).run();
        assert_eq!(output.code, Some(2), "{args:?}; {output}");
    }
}

#[test]
fn an_ignored_option_is_reported() {
    let scene = Scene::new([answer_text("Hello.")]);
    let output = claude(&scene, &["-p", "--name", "mine", "hi"]).run().succeeded();
    let warned = output.stderr_lines("warning: ");
    assert!(warned.iter().any(|line| line.contains("`claude`") && line.contains("--name")), "{output}");
}

#[test]
fn flags_of_the_dialects_exist_as_own_flags_too() {
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
