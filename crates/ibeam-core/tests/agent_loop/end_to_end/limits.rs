//! Limits that end a run in order, and failures in a form for programs.

use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{Answer, LivenessPipe, ProgramOutput, Workspace};
use serde_json::{Value, json};

/// Returns answers with one text and one call each.
fn answers_with_calls() -> Vec<Answer> {
    let call = |n: usize| {
        let id = format!("t{n}");
        Answer::new().text(format!("{n} ")).call(&id, "ls", &json!({ "path": ".", "ignore": [id] }))
    };
    (0..8).map(call).collect()
}

/// Checks a run that reaches a limit: its exit code, its last event and its partial result.
#[track_caller]
fn check(flags: &[&str], exit: i32, code: &str, message: &str) -> ProgramOutput {
    let output = Scene::new(answers_with_calls()).print(flags).run();
    assert_eq!(output.code, Some(exit), "{output}");
    let stream = output.stream();
    let last = stream.last();
    assert_eq!((&last["type"], &last["code"]), (&json!("error"), &json!(code)), "{output}");
    assert_eq!(last["resumable"], true, "{output}");
    assert_eq!(last["result"], stream.deltas().concat(), "the partial result is in the error; {output}");
    assert!(output.stderr.contains(message), "{output}");
    assert_eq!(output.stderr_lines("warning: ").len(), 1, "the model is asked once to finish; {output}");
    output
}

#[test]
fn requests_tokens_cost_and_calls_are_limited() {
    check(&["--max-turns", "3"], 30, "limit", "`--max-turns`");
    check(&["--max-tokens", "500"], 30, "limit", "`--max-tokens`");
    check(&["--max-cost", "0.002"], 30, "limit", "`--max-cost`");
    let output = check(&["--max-tool-calls", "2"], 30, "limit", "`--max-tool-calls`");
    let stream = output.stream();
    assert_eq!(stream.completed().len(), 3, "the call beyond the limit is reported, not executed; {output}");
    let beyond = &stream.completed()[2].1["result"]["error"]["errorMessage"];
    assert!(beyond.as_str().is_some_and(|message| message.starts_with("not executed: ")), "{output}");
}

#[test]
fn the_model_is_asked_to_finish_before_its_last_request() {
    let scene = Scene::new([answers_with_calls().remove(0), answer_text("all I know")]);
    scene.print(["--max-turns", "2"]).run().succeeded();
    let transcript = scene.server.requests()[1].transcript();
    assert!(transcript.last().is_some_and(|line| line.contains("Finish now")), "{transcript:?}");
}

#[test]
fn limits_are_in_init_and_cost_is_in_the_result() {
    let flags = ["--max-turns", "9", "--max-tokens", "90000", "--max-cost", "1.50", "--max-tool-calls", "7"];
    let output = Scene::new([answer_text("hi")]).print(flags).run().succeeded();
    let stream = output.stream();
    let limits = json!({ "max_turns": 9, "max_tokens": 90000, "max_cost_usd": 1.5, "max_tool_calls": 7 });
    assert_eq!(stream.init()["ibeam"]["limits"], limits);
    assert!(stream.last()["ibeam"]["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{output}");
}

#[test]
fn a_cost_cannot_be_limited_for_a_model_without_a_price() {
    let scene = Scene::new([answer_text("hi")]);
    let args = ["-p", "x", "--model", "anthropic/unknown-model", "--max-cost", "1"];
    let output = scene.ibeam(args).run();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("models.prices"), "{output}");
    let fallback = ["--model", "anthropic/claude-sonnet-4-5", "--fallback-model", "anthropic/unknown-model"];
    let output = scene.ibeam(["-p", "x", "--max-cost", "1"]).args(fallback).run();
    assert!(output.code == Some(2) && output.stderr.contains("models.prices"), "{output}");
    assert_eq!(scene.ibeam(["ls"]).run().succeeded().stdout, "", "no session is left");
    let config = "[models.prices]\nunknown-model = \"1000000/1000000\"\n";
    let scene = Scene::new(answers_with_calls()).with_workspace(Workspace::new().user_config(config));
    let output = scene.ibeam(args).run();
    assert_eq!(output.code, Some(30), "{output}");
}

#[test]
fn an_invalid_limit_is_a_usage_error() {
    for flags in
        [["--max-cost", "much"], ["--max-cost", "-1"], ["--max-tokens", "x"], ["--max-tool-calls", "-1"]]
    {
        let output = Scene::new([]).print(flags).run();
        assert_eq!(output.code, Some(2), "{output}");
    }
}

#[test]
fn zero_and_empty_values_of_flags_are_usage_errors() {
    for flag in ["--max-turns", "--max-tokens", "--max-cost", "--max-tool-calls", "--heartbeat", "--timeout"]
    {
        refused(&[flag, "0"], flag);
    }
    for flag in [
        "--model",
        "--api-key",
        "--endpoint",
        "--lang",
        "--timeout",
        "--max-cost",
        "--approval",
        "--contract",
        "--allow",
        "--ask",
        "--deny",
        "--allow-net",
        "--allow-socket",
        "--without",
        "--header",
        "--mcp-config",
        "--workspace",
        "--add-dir",
    ] {
        refused(&[flag, ""], flag);
    }
    for flags in [
        &["--resume", ""][..],
        &["--resume="],
        &["--resume", " "],
        &["--worktree="],
        &["-w="],
        &["--worktree", ""],
    ] {
        refused(flags, "is empty; give it a value");
    }
    refused(&["--continue", "--resume", "-1"], "`--continue` resumes the newest session");
    for args in
        [&["policy", "test", ""][..], &["policy", "test", "--fetch", " "], &["login", "--api-key", ""]]
    {
        let output = Scene::new([]).ibeam_without_model(args).run();
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{args:?} {output}");
    }
}

#[track_caller]
fn refused(flags: &[&str], named: &str) {
    let scene = Scene::new([]);
    let output = scene.print(flags).run();
    assert_eq!(output.code, Some(2), "{flags:?} {output}");
    assert!(output.stderr_lines("error: ")[0].contains(named), "{flags:?} {output}");
    assert!(scene.server.requests().is_empty(), "{flags:?} {output}");
}

#[test]
fn zero_and_empty_values_in_a_file_are_errors_and_empty_variables_are_unset() {
    for config in [
        "[limits]\nmax_turns = 0\n",
        "[limits]\nmax_tokens = 0\n",
        "[limits]\nmax_tool_calls = 0\n",
        "[limits]\nmax_cost = 0\n",
        "model = ''\n",
        "[network]\nallow = ['']\n",
    ] {
        let output =
            Scene::new([]).with_workspace(Workspace::new().user_config(config)).print::<&str>([]).run();
        assert_eq!(output.code, Some(78), "{config} {output}");
        assert!(output.stderr.contains("config.toml:"), "{config} {output}");
    }
    let output = Scene::new([]).print::<&str>([]).env("IBEAM_MAX_TURNS", "0").run();
    assert_eq!((output.code, output.stderr.contains("IBEAM_MAX_TURNS")), (Some(78), true), "{output}");
    let scene = Scene::new([answer_text("hi")]);
    let run = scene.print::<&str>([]).env("IBEAM_MAX_TURNS", "").env("IBEAM_LANG", " ");
    run.env("OPENAI_API_KEY", " ").run().succeeded();
}

/// Returns the call of a command in the background, and an answer after it.
fn in_background(command: &str) -> Vec<Answer> {
    vec![
        answer_call("t", "shell", &json!({ "command": command, "isBackground": true })),
        answer_text("started it"),
    ]
}

#[test]
fn background_commands_are_stopped_before_the_end_and_reported() {
    let scene = Scene::new([]);
    let mut lifeline = LivenessPipe::new(&scene.workspace, "line");
    let scene = scene.with_answers(in_background(&lifeline.command()));
    let output = scene.print(["--force"]).run().succeeded();
    lifeline.wait_until_held();
    lifeline.wait_until_gone();
    assert_eq!(output.stream().last()["ibeam"]["background_stopped"], 1, "{output}");
    assert!(output.stderr.contains("1 background command was still running"), "{output}");
}

#[test]
fn background_commands_can_make_a_run_fail() {
    let output = Scene::new(in_background("sleep 60")).print(["--force", "--fail-on", "background"]).run();
    assert_eq!(output.code, Some(3), "{output}");
    assert_eq!(output.stream().last()["code"], "denied");
}

#[test]
fn background_commands_are_waited_for_on_request() {
    let scene = Scene::new(in_background("sleep 2; echo done > made"));
    let output =
        scene.print(["--force", "--background", "wait", "--fail-on", "background"]).run().succeeded();
    assert_eq!(scene.workspace.read("made").as_deref(), Some("done\n"), "{output}");
    assert!(output.stderr.contains("waiting for 1 background command"), "{output}");
}

#[test]
fn waiting_for_background_commands_ends_at_the_time_limit() {
    let scene = Scene::new(in_background("sleep 60"));
    let output = scene.print(["--force", "--background", "wait", "--timeout", "3s"]).run();
    assert_eq!(output.code, Some(33), "{output}");
}

/// Returns the content of the error file.
fn error_file(scene: &Scene) -> Option<Value> {
    let text = scene.workspace.read("error.json")?;
    (!text.is_empty()).then(|| serde_json::from_str(&text).unwrap())
}

#[test]
fn the_error_file_holds_the_failure_and_is_empty_after_a_success() {
    let refused = Answer::error(429, "rate_limit_error", "slow down").header("retry-after", "7200");
    let scene = Scene::new([answer_text("part. ").cut(), answer_text("more. ").cut()])
        .with_workspace(Workspace::new().file("error.json", "of another run"));
    let output = scene.print(["--error-file", "error.json"]).run();
    assert_eq!(output.code, Some(25), "{output}");
    assert_eq!(error_file(&scene).as_ref(), Some(output.stream().last()), "the same object; {output}");
    let scene = scene.with_answers([refused]);
    let output =
        scene.print(["--output-format", "json", "--error-file=error.json", "--timeout", "20s"]).run();
    let error = error_file(&scene).unwrap();
    assert_eq!((output.code, output.stdout.as_str()), (Some(24), ""), "{output}");
    assert_eq!((&error["code"], &error["retryable"]), (&json!("rate_limited"), &json!(true)));
    assert_eq!((&error["http_status"], &error["request_id"]), (&json!(429), &json!("req_0000")));
    assert!(error["session_id"].is_string() && error["resumable"] == true, "{error}");
    let scene = scene.with_answers([answer_text("ok")]);
    scene.print(["--error-file", "error.json"]).run().succeeded();
    assert_eq!(scene.workspace.read("error.json").as_deref(), Some(""));
}

#[test]
fn the_error_file_of_a_killed_process_is_not_that_of_a_success() {
    let scene = Scene::new([answer_text("one ").stall()]);
    let running = scene.print(["--error-file", "error.json"]).start();
    running.wait_for_stdout("one ");
    running.kill_alone();
    drop(running);
    assert_eq!(error_file(&scene).unwrap()["type"], "running");
}

#[test]
fn the_error_file_is_written_before_any_run_too() {
    for args in [
        &["-p", "x", "--no-such-flag", "--error-file", "error.json"][..],
        &["-p", "", "--error-file=error.json"],
    ] {
        let scene = Scene::new([]);
        let output = scene.ibeam(args).run();
        assert_eq!(output.code, Some(2), "{output}");
        assert_eq!(error_file(&scene).unwrap()["code"], "usage", "{output}");
    }
    let scene = Scene::new([]);
    let output = scene.print(["--error-file", "no/such/dir/error.json"]).run();
    assert_eq!(output.code, Some(73), "{output}");
}

#[test]
fn the_table_of_failures_is_printed_for_people_and_for_programs() {
    let scene = Scene::new([]);
    let text = scene.ibeam_without_model(["errors"]).run().succeeded().stdout;
    assert!(
        text.lines().any(|line| line.split_whitespace().take(3).eq(["24", "rate_limited", "yes"])),
        "{text}"
    );
    let table = scene.ibeam_without_model(["errors", "--format", "json"]).run().succeeded().json();
    let rows = table.as_array().unwrap();
    assert_eq!(rows.len(), text.lines().count() - 1);
    let timeout = rows.iter().find(|row| row["code"] == "timeout").unwrap();
    assert_eq!((&timeout["exit_code"], &timeout["retryable"]), (&json!(33), &json!(false)));
    let page = include_str!("../../../../../docs/output-format.md");
    for row in rows.iter().filter(|row| row["code"] != "signal") {
        let [code, meaning] = ["code", "meaning"].map(|key| row[key].as_str().unwrap());
        let reported = format!("| {} | {code} | {meaning} |", row["exit_code"]);
        assert!(page.lines().any(|line| line.replace('`', "").starts_with(&reported)), "{reported}");
    }
}

/// A conversation that is too long for the provider is shortened once, and the run continues.
#[test]
fn f006_a_request_that_is_too_large_is_shortened_once() {
    let long = "x".repeat(20_000);
    let files = || Workspace::new().file("a.txt", &long).file("b.txt", "short");
    let read = |id: &str, path: &str| answer_call(id, "read", &json!({ "path": path }));
    let too_large = || Answer::error(413, "request_too_large", "Request exceeds the maximum size");
    let story = [read("t1", "a.txt"), read("t2", "b.txt"), too_large(), answer_text("a is x, b is short")];
    let scene = Scene::new(story.clone().into_iter().chain([answer_text("done")])).with_workspace(files());
    let output = scene.print::<&str>([]).run().succeeded();
    let stream = output.stream();
    assert_eq!(
        (stream.deltas().concat(), &stream.last()["ibeam"]["compactions"]),
        ("done".to_owned(), &json!(1))
    );
    assert!(output.stderr.contains("was shortened"), "{output}");
    let transcript = scene.server.requests()[4].transcript();
    assert!(
        transcript[0].contains("a is x, b is short") && transcript[0].contains("do it"),
        "{transcript:?}"
    );
    // The journal has the summary, so a resumed run sends the short conversation.
    let scene = scene.with_answers([answer_text("still here")]);
    scene.ibeam(["-p", "more", "--continue"]).run().succeeded();
    let again = scene.server.requests()[0].transcript();
    assert!(again[0].contains("a is x, b is short") && again.len() == transcript.len() + 2, "{again:?}");
    // A second refusal ends the run.
    let scene = Scene::new(story.into_iter().chain([too_large()])).with_workspace(files());
    let output = scene.print::<&str>([]).run();
    assert_eq!(output.code, Some(23), "{output}");
    assert_eq!(output.stream().last()["ibeam"]["compactions"], 1, "{output}");
}

#[test]
fn f060_a_summary_that_fails_ends_the_run_with_the_sizes() {
    let too_large = Answer::error(413, "request_too_large", "too large");
    let broken = Answer::error(400, "invalid_request_error", "no");
    let read = answer_call("t1", "read", &json!({ "path": "a.txt" }));
    let scene = Scene::new([read, answer_shell("true"), too_large, broken])
        .with_workspace(Workspace::new().file("a.txt", "x".repeat(9000)));
    let output = scene.print::<&str>([]).run();
    assert_eq!(output.code, Some(23), "{output}");
    let message = output.stream().last()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("tokens of 1000000") && message.contains("summary failed"), "{message}");
    let scene = scene.with_answers([answer_text("back")]);
    scene.ibeam(["-p", "more", "--continue"]).run().succeeded();
    let transcript = scene.server.requests()[0].transcript();
    assert_eq!(transcript[0], "user: do it", "the conversation is unchanged");
}
