//! Limits that end a run gracefully, and failures told to programs.

use ibeam_testkit::{Answer, LivenessPipe, ProgramOutput, Workspace};
use serde_json::{Value, json};

use crate::scene::{Scene, answer_text, calls, shell};

/// Answers of a call each, every one with text before it.
fn busy() -> Vec<Answer> {
    let call = |n: usize| {
        let id = format!("t{n}");
        Answer::new().text(format!("{n} ")).call(&id, "ls", &json!({ "path": ".", "ignore": [id] }))
    };
    (0..8).map(call).collect()
}

/// Runs into a limit and holds the end to what a limited run is.
#[track_caller]
fn check(flags: &[&str], exit: i32, code: &str, message: &str) -> ProgramOutput {
    let ran = Scene::new(busy()).print(flags).run();
    assert_eq!(ran.code, Some(exit), "{ran}");
    let stream = ran.stream();
    let last = stream.last();
    assert_eq!((&last["type"], &last["code"]), (&json!("error"), &json!(code)), "{ran}");
    assert_eq!(last["resumable"], true, "{ran}");
    assert_eq!(last["result"], stream.deltas().concat(), "the partial result is in the error; {ran}");
    assert!(ran.stderr.contains(message), "{ran}");
    assert_eq!(ran.stderr_lines("warning: ").len(), 1, "the model is asked once to finish; {ran}");
    ran
}

#[test]
fn requests_tokens_cost_and_calls_are_limited() {
    check(&["--max-turns", "3"], 30, "limit", "`--max-turns`");
    check(&["--max-tokens", "500"], 30, "limit", "`--max-tokens`");
    check(&["--max-cost", "0.002"], 30, "limit", "`--max-cost`");
    let ran = check(&["--max-tool-calls", "2"], 30, "limit", "`--max-tool-calls`");
    let stream = ran.stream();
    assert_eq!(stream.completed().len(), 3, "the call beyond is told, not executed; {ran}");
    let beyond = &stream.completed()[2].1["result"]["error"]["errorMessage"];
    assert!(beyond.as_str().is_some_and(|message| message.starts_with("not executed: ")), "{ran}");
}

#[test]
fn the_model_is_told_to_finish_before_its_last_request() {
    let scene = Scene::new([busy().remove(0), answer_text("all I know")]);
    scene.print(["--max-turns", "2"]).run().succeeded();
    let transcript = scene.server.requests()[1].transcript();
    assert!(transcript.last().is_some_and(|line| line.contains("Finish now")), "{transcript:?}");
}

#[test]
fn limits_are_told_in_init_and_cost_at_the_end() {
    let flags = ["--max-turns", "9", "--max-tokens", "90000", "--max-cost", "1.50", "--max-tool-calls", "7"];
    let ran = Scene::new([answer_text("hi")]).print(flags).run().succeeded();
    let stream = ran.stream();
    let limits = json!({ "max_turns": 9, "max_tokens": 90000, "max_cost_usd": 1.5, "max_tool_calls": 7 });
    assert_eq!(stream.init()["ibeam"]["limits"], limits);
    assert!(stream.last()["ibeam"]["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{ran}");
}

#[test]
fn a_cost_cannot_be_limited_for_a_model_without_a_price() {
    let scene = Scene::new([answer_text("hi")]);
    let args = ["-p", "x", "--model", "anthropic/nobody-knows-me", "--max-cost", "1"];
    let ran = scene.ibeam(args).run();
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.contains("models.prices"), "{ran}");
    let config = "[models.prices]\nnobody-knows-me = \"1000000/1000000\"\n";
    let scene = Scene::new(busy()).within(Workspace::new().user_config(config));
    let ran = scene.ibeam(args).run();
    assert_eq!(ran.code, Some(30), "{ran}");
}

#[test]
fn a_limit_that_is_none_is_a_usage_error() {
    for flags in
        [["--max-cost", "much"], ["--max-cost", "-1"], ["--max-tokens", "x"], ["--max-tool-calls", "-1"]]
    {
        let ran = Scene::new([]).print(flags).run();
        assert_eq!(ran.code, Some(2), "{ran}");
    }
}

#[test]
fn nothing_is_no_bound_and_no_value_of_a_flag() {
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
    for args in
        [&["policy", "test", ""][..], &["policy", "test", "--fetch", " "], &["login", "--api-key", ""]]
    {
        let ran = Scene::new([]).bare(args).run();
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?} {ran}");
    }
}

#[track_caller]
fn refused(flags: &[&str], named: &str) {
    let scene = Scene::new([]);
    let ran = scene.print(flags).run();
    assert_eq!(ran.code, Some(2), "{flags:?} {ran}");
    assert!(ran.stderr_lines("error: ")[0].contains(named), "{flags:?} {ran}");
    assert!(scene.server.requests().is_empty(), "{flags:?} {ran}");
}

#[test]
fn nothing_in_a_file_is_an_error_and_an_empty_variable_is_none() {
    for config in [
        "[limits]\nmax_turns = 0\n",
        "[limits]\nmax_tokens = 0\n",
        "[limits]\nmax_tool_calls = 0\n",
        "[limits]\nmax_cost = 0\n",
        "model = ''\n",
        "[network]\nallow = ['']\n",
    ] {
        let ran = Scene::new([]).within(Workspace::new().user_config(config)).print::<&str>([]).run();
        assert_eq!(ran.code, Some(78), "{config} {ran}");
        assert!(ran.stderr.contains("config.toml:"), "{config} {ran}");
    }
    let ran = Scene::new([]).print::<&str>([]).env("IBEAM_MAX_TURNS", "0").run();
    assert_eq!((ran.code, ran.stderr.contains("IBEAM_MAX_TURNS")), (Some(78), true), "{ran}");
    let scene = Scene::new([answer_text("hi")]);
    let run = scene.print::<&str>([]).env("IBEAM_MAX_TURNS", "").env("IBEAM_LANG", " ");
    run.env("OPENAI_API_KEY", " ").run().succeeded();
}

/// A command that holds a pipe in the background, and an answer after it.
fn in_background(command: &str) -> Vec<Answer> {
    vec![calls("t", "shell", &json!({ "command": command, "isBackground": true })), answer_text("started it")]
}

#[test]
fn work_left_running_is_stopped_before_the_end_and_reported() {
    let scene = Scene::new([]);
    let mut lifeline = LivenessPipe::new(&scene.workspace, "line");
    let scene = scene.then(in_background(&lifeline.command()));
    let ran = scene.print(["--force"]).run().succeeded();
    lifeline.wait_until_held();
    lifeline.wait_until_gone();
    assert_eq!(ran.stream().last()["ibeam"]["background_stopped"], 1, "{ran}");
    assert!(ran.stderr.contains("1 background command was still running"), "{ran}");
}

#[test]
fn work_left_running_can_be_made_a_failure() {
    let ran = Scene::new(in_background("sleep 60")).print(["--force", "--fail-on", "background"]).run();
    assert_eq!(ran.code, Some(3), "{ran}");
    assert_eq!(ran.stream().last()["code"], "denied");
}

#[test]
fn work_left_running_is_waited_for_when_asked() {
    let scene = Scene::new(in_background("sleep 2; echo done > made"));
    let ran = scene.print(["--force", "--background", "wait", "--fail-on", "background"]).run().succeeded();
    assert_eq!(scene.workspace.read("made").as_deref(), Some("done\n"), "{ran}");
    assert!(ran.stderr.contains("waiting for 1 background command"), "{ran}");
}

#[test]
fn waiting_for_background_work_ends_at_the_time_limit() {
    let scene = Scene::new(in_background("sleep 60"));
    let ran = scene.print(["--force", "--background", "wait", "--timeout", "3s"]).run();
    assert_eq!(ran.code, Some(33), "{ran}");
}

/// The error file of a run, parsed.
fn error_file(scene: &Scene) -> Option<Value> {
    let text = scene.workspace.read("error.json")?;
    (!text.is_empty()).then(|| serde_json::from_str(&text).unwrap())
}

#[test]
fn the_error_file_holds_the_failure_and_is_empty_after_a_success() {
    let refused = Answer::error(429, "rate_limit_error", "slow down").header("retry-after", "7200");
    let scene = Scene::new([answer_text("part. ").cut(), answer_text("more. ").cut()])
        .within(Workspace::new().file("error.json", "of another run"));
    let ran = scene.print(["--error-file", "error.json"]).run();
    assert_eq!(ran.code, Some(25), "{ran}");
    assert_eq!(error_file(&scene).as_ref(), Some(ran.stream().last()), "the same object; {ran}");
    let scene = scene.then([refused]);
    let ran = scene.print(["--output-format", "json", "--error-file=error.json", "--timeout", "20s"]).run();
    let error = error_file(&scene).unwrap();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(24), ""), "{ran}");
    assert_eq!((&error["code"], &error["retryable"]), (&json!("rate_limited"), &json!(true)));
    assert_eq!((&error["http_status"], &error["request_id"]), (&json!(429), &json!("req_0000")));
    assert!(error["session_id"].is_string() && error["resumable"] == true, "{error}");
    let scene = scene.then([answer_text("ok")]);
    scene.print(["--error-file", "error.json"]).run().succeeded();
    assert_eq!(scene.workspace.read("error.json").as_deref(), Some(""));
}

#[test]
fn the_error_file_is_written_before_any_run_too() {
    for args in [
        &["-p", "x", "--no-such-flag", "--error-file", "error.json"][..],
        &["-p", "", "--error-file=error.json"],
    ] {
        let scene = Scene::new([]);
        let ran = scene.ibeam(args).run();
        assert_eq!(ran.code, Some(2), "{ran}");
        assert_eq!(error_file(&scene).unwrap()["code"], "usage", "{ran}");
    }
    let scene = Scene::new([]);
    let ran = scene.print(["--error-file", "no/such/dir/error.json"]).run();
    assert_eq!(ran.code, Some(73), "{ran}");
}

#[test]
fn the_table_of_failures_is_printed_for_people_and_for_programs() {
    let scene = Scene::new([]);
    let text = scene.bare(["errors"]).run().succeeded().stdout;
    assert!(
        text.lines().any(|line| line.split_whitespace().take(3).eq(["24", "rate_limited", "yes"])),
        "{text}"
    );
    let table = scene.bare(["errors", "--format", "json"]).run().succeeded().json();
    let rows = table.as_array().unwrap();
    assert_eq!(rows.len(), text.lines().count() - 1);
    let timeout = rows.iter().find(|row| row["code"] == "timeout").unwrap();
    assert_eq!((&timeout["exit_code"], &timeout["retryable"]), (&json!(33), &json!(false)));
    let page = include_str!("../../../../docs/output-format.md");
    for row in rows.iter().filter(|row| row["code"] != "signal") {
        let [code, meaning] = ["code", "meaning"].map(|key| row[key].as_str().unwrap());
        let reported = format!("| {} | {code} | {meaning} |", row["exit_code"]);
        assert!(page.lines().any(|line| line.replace('`', "").starts_with(&reported)), "{reported}");
    }
}

/// A conversation that the provider finds too long is shortened once, and the run goes on.
#[test]
fn f006_a_request_that_is_too_large_is_shortened_once() {
    let long = "x".repeat(20_000);
    let files = || Workspace::new().file("a.txt", &long).file("b.txt", "short");
    let read = |id: &str, path: &str| calls(id, "read", &json!({ "path": path }));
    let too_large = || Answer::error(413, "request_too_large", "Request exceeds the maximum size");
    let story = [read("t1", "a.txt"), read("t2", "b.txt"), too_large(), answer_text("a is x, b is short")];
    let scene = Scene::new(story.clone().into_iter().chain([answer_text("done")])).within(files());
    let ran = scene.print::<&str>([]).run().succeeded();
    let stream = ran.stream();
    assert_eq!(
        (stream.deltas().concat(), &stream.last()["ibeam"]["compactions"]),
        ("done".to_owned(), &json!(1))
    );
    assert!(ran.stderr.contains("was shortened"), "{ran}");
    let transcript = scene.server.requests()[4].transcript();
    assert!(
        transcript[0].contains("a is x, b is short") && transcript[0].contains("do it"),
        "{transcript:?}"
    );
    // It is in the journal: who resumes sees the short conversation.
    let scene = scene.then([answer_text("still here")]);
    scene.ibeam(["-p", "more", "--continue"]).run().succeeded();
    let again = scene.server.requests()[0].transcript();
    assert!(again[0].contains("a is x, b is short") && again.len() == transcript.len() + 2, "{again:?}");
    // A second refusal is the end.
    let scene = Scene::new(story.into_iter().chain([too_large()])).within(files());
    let ran = scene.print::<&str>([]).run();
    assert_eq!(ran.code, Some(23), "{ran}");
    assert_eq!(ran.stream().last()["ibeam"]["compactions"], 1, "{ran}");
}

#[test]
fn f060_a_summary_that_fails_ends_the_run_with_the_sizes() {
    let too_large = Answer::error(413, "request_too_large", "too large");
    let broken = Answer::error(400, "invalid_request_error", "no");
    let read = calls("t1", "read", &json!({ "path": "a.txt" }));
    let scene = Scene::new([read, shell("true"), too_large, broken])
        .within(Workspace::new().file("a.txt", "x".repeat(9000)));
    let ran = scene.print::<&str>([]).run();
    assert_eq!(ran.code, Some(23), "{ran}");
    let message = ran.stream().last()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("tokens of 200000") && message.contains("summary failed"), "{message}");
    let scene = scene.then([answer_text("back")]);
    scene.ibeam(["-p", "more", "--continue"]).run().succeeded();
    let transcript = scene.server.requests()[0].transcript();
    assert_eq!(transcript[0], "user: do it", "the conversation is as it was");
}
