//! Every exit code, and the output of failed runs.

use std::os::unix::fs::symlink;
use std::time::Duration;

use ibeam_protocol::StopReason;
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text, model_name};
use ibeam_testkit::{Answer, Ibeam, ProgramOutput, Wire, Workspace, program_path};
use serde_json::{Value, json};

/// A configuration without retries.
const NO_RETRIES: &str = "[retry]\nattempts = 1\n";

/// Runs the scene in every format and asserts the failure of each run.
#[track_caller]
fn check(exit: i32, code: &str, scene: impl Fn() -> (Scene, Ibeam)) {
    for format in ["stream-json", "json", "text"] {
        let (_scene, ibeam) = scene();
        let output = ibeam.args(["--output-format", format]).run();
        check_error_report(&output, exit);
        match format {
            "json" => assert_eq!(output.stdout, "", "json prints nothing; {output}"),
            "stream-json" if !output.stdout.is_empty() => {
                let stream = output.stream();
                let last = stream.last();
                assert_eq!(
                    (&last["type"], &last["code"], &last["exit_code"]),
                    (&json!("error"), &json!(code), &json!(exit)),
                    "{output}"
                );
                assert_eq!(last["retryable"], [24, 25, 26, 28, 31, 75].contains(&exit), "{output}");
            }
            _ => {}
        }
    }
    let (_scene, ibeam) = scene();
    let output = ibeam.args(["--error-format", "json"]).run();
    check_object(&output, exit, code);
    if !output.stdout.is_empty() {
        assert_eq!(
            output.stdout.lines().last(),
            output.stderr.lines().last(),
            "both streams have the same error; {output}"
        );
    }
}

/// Asserts that stderr ends with one `error:` line and hints, and that stdout reports no success.
#[track_caller]
fn check_error_report(output: &ProgramOutput, exit: i32) {
    assert_eq!(output.code, Some(exit), "{output}");
    assert!(!output.stdout.contains(r#""subtype":"success""#), "{output}");
    assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
    let error_lines: Vec<&str> =
        output.stderr.lines().skip_while(|line| !line.starts_with("error: ")).collect();
    assert!(error_lines[1..].iter().all(|line| line.starts_with("hint: ")), "{output}");
    assert!(error_lines[0].len() > "error: ".len() && !error_lines[0].ends_with('.'), "{output}");
    assert!(!output.stderr.chars().any(|c| c.is_control() && c != '\n'), "{output}");
}

/// Asserts that the last line of stderr is the error as an object.
#[track_caller]
fn check_object(output: &ProgramOutput, exit: i32, code: &str) {
    assert_eq!(output.code, Some(exit), "{output}");
    let last = output.stderr.lines().last().unwrap_or_default();
    let object: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}; {output}"));
    assert_eq!(
        (&object["type"], &object["code"], &object["exit_code"]),
        (&json!("error"), &json!(code), &json!(exit))
    );
    assert!(
        object["message"].as_str().is_some_and(|message| !message.is_empty())
            && object["retryable"].is_boolean()
    );
    assert!(
        output.stderr_lines("error: ").is_empty() && output.stderr_lines("hint: ").is_empty(),
        "{output}"
    );
}

/// Asserts the same failure on both wires.
#[track_caller]
fn check_answer(exit: i32, code: &str, answers: impl Fn() -> Vec<Answer>) {
    for wire in ibeam_testkit::scene::WIRES {
        check(exit, code, || {
            let scene =
                Scene::with_wire(wire, answers()).with_workspace(Workspace::new().user_config(NO_RETRIES));
            let ibeam = scene.print::<&str>([]);
            (scene, ibeam)
        });
    }
}

/// Asserts a failure of a command line that needs no answer of a model.
#[track_caller]
fn check_args(exit: i32, code: &str, args: &[&str]) {
    check(exit, code, || {
        let scene = Scene::new([]);
        let ibeam = scene.ibeam(args);
        (scene, ibeam)
    });
}

#[test]
fn f155_an_empty_prompt_is_a_usage_error() {
    check_args(2, "usage", &["-p", ""]);
    check_args(2, "usage", &["-p", "", ""]);
    check_args(2, "usage", &["-p"]);
}

#[test]
fn f156_a_blank_prompt_is_a_usage_error() {
    check_args(2, "usage", &["-p", "   "]);
    check_args(2, "usage", &["-p", " \n\t\u{a0}\u{3000}"]);
}

#[test]
fn f163_an_invalid_command_line_is_a_usage_error() {
    for args in [
        &["-p", "x", "--no-such-flag"][..],
        &["-p", "x", "--max-turns", "many"],
        &["-p", "x", "--timeout", "soon"],
        &["-p", "x", "--mode", "dream"],
        &["-p", "x", "--allow", "Shell("],
        &["-p", "x", "--header", "no colon"],
        &["-p", "x", "--lang", "tlh"],
        &["-p", "x", "--plan", "--mode", "ask"],
        &["-p", "x", "--contract", "7"],
        &["-p", "x", "--worktree=.."],
        &["-p", "x", "--model"],
        &["-p", "x", "--timeout", "0"],
        &["-p", "x", "--timeout", "1e300"],
    ] {
        check_args(2, "usage", args);
    }
}

#[test]
fn f163_an_unknown_format_is_a_usage_error() {
    let scene = Scene::new([]);
    check_error_report(&scene.print(["--output-format", "xml"]).run(), 2);
}

#[test]
fn fail_on_turns_a_success_into_a_failure() {
    let run = |answers: Vec<Answer>, condition: &str| {
        let condition = condition.to_owned();
        check(3, "denied", move || {
            let scene = Scene::new(answers.clone());
            let ibeam = scene.print(["--fail-on", &condition, "--ask", "Shell(make:*)"]);
            (scene, ibeam)
        });
    };
    run(vec![answer_shell("make"), answer_text("done")], "denied");
    run(vec![answer_call("t", "read", &json!({ "path": "missing" })), answer_text("done")], "tool-error");
    run(vec![answer_call("t", "ls", &json!({ "path": "." })), Answer::new()], "empty");
    run(vec![answer_shell("make"), answer_text("done")], "tool-error,denied");
}

#[test]
fn fail_on_does_not_change_other_successes() {
    let scene = Scene::new([answer_call("t", "ls", &json!({ "path": "." })), answer_text("done")]);
    scene.print(["--fail-on", "denied,tool-error,empty"]).run().succeeded();
}

#[test]
fn f166_a_missing_key_is_an_auth_failure_that_names_the_variable() {
    check(20, "auth", || {
        let scene = Scene::new([]);
        let ibeam = scene.ibeam_without_model(["--model", model_name(Wire::Anthropic), "-p", "x"]);
        (scene, ibeam)
    });
    let scene = Scene::new([]);
    let output = scene.ibeam_without_model(["--model", model_name(Wire::OpenAi), "-p", "x"]).run();
    assert!(output.stderr.contains("OPENROUTER_API_KEY"), "{output}");
}

#[test]
fn a_refused_key_is_an_auth_failure() {
    check_answer(20, "auth", || vec![Answer::error(401, "authentication_error", "invalid x-api-key")]);
    check_answer(20, "auth", || vec![Answer::error(403, "permission_error", "not for you")]);
}

#[test]
fn a_model_that_the_provider_rejects_is_a_model_failure() {
    check_answer(21, "model", || vec![Answer::error(404, "not_found_error", "model: claude-sonnet-4-6")]);
}

#[test]
fn f165_an_unknown_model_is_a_model_failure() {
    for name in ["no-such-model", "nobody/no-such-model", "embedded"] {
        check(21, "model", || {
            let scene = Scene::new([]);
            let ibeam = scene.ibeam_without_model(["--model", name, "-p", "x"]);
            (scene, ibeam)
        });
    }
}

#[test]
fn without_any_model_the_error_names_how_to_get_one() {
    let scene = Scene::new([]);
    let output = scene.ibeam_without_model(["-p", "x"]).run();
    let is_embedded = cfg!(feature = "embedded");
    check_error_report(&output, if is_embedded { 21 } else { 20 });
    assert!(output.stderr.starts_with("error: no key is set"), "{output}");
    let hint = if is_embedded { "ibeam setup" } else { "--model ollama/" };
    assert!(output.stderr.contains(hint) && output.stderr.contains("ibeam login"), "{output}");
}

#[test]
fn a_request_that_is_rejected_is_a_request_failure() {
    check_answer(22, "request", || {
        vec![Answer::error(400, "invalid_request_error", "temperature: out of range")]
    });
    check_answer(22, "request", || vec![Answer::error(422, "invalid_request_error", "unprocessable")]);
}

#[test]
fn a_conversation_that_is_too_long_is_a_context_failure() {
    let too_long = "prompt is too long: 210000 tokens > 200000 maximum";
    check_answer(23, "context", || vec![Answer::error(400, "invalid_request_error", too_long)]);
    check_answer(23, "context", || {
        vec![Answer::error(
            400,
            "context_length_exceeded",
            "This model's maximum context length is 8192 tokens",
        )]
    });
}

#[test]
fn a_rate_limit_is_reported_with_the_details_of_the_provider() {
    check_answer(24, "rate_limited", || {
        vec![Answer::error(429, "rate_limit_error", "slow down").header("retry-after", "7")]
    });
    let scene = Scene::new([Answer::error(429, "rate_limit_error", "slow down").header("retry-after", "7")]);
    let scene = scene.with_workspace(Workspace::new().user_config(NO_RETRIES));
    let output = scene.print::<&str>([]).run();
    let stream = output.stream();
    let last = stream.last();
    assert_eq!(
        (&last["retry_after_ms"], &last["http_status"], &last["request_id"]),
        (&json!(7000), &json!(429), &json!("req_0000"))
    );
    assert!(output.stderr.contains("slow down"), "{output}");
}

/// The results of the current turn are shortened until the provider accepts the conversation.
#[test]
fn results_that_exceed_the_context_are_shortened_within_the_turn() {
    let long: String = (0..2000).map(|number| format!("line {number} of a long file\n")).collect();
    for wire in ibeam_testkit::scene::WIRES {
        let refused = || Answer::error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8");
        let read = answer_call("t1", "read", &json!({ "path": "long.txt" }));
        let workspace = Workspace::new().file("long.txt", &long);
        let scene =
            Scene::with_wire(wire, [read, refused(), answer_text("It is long.")]).with_workspace(workspace);
        let output = scene.print::<&str>([]).run().succeeded();
        assert_eq!(output.stream().last()["ibeam"]["compactions"], 1, "{output}");
        let sent: Vec<String> =
            scene.server.requests().iter().map(|request| request.transcript().join("\n")).collect();
        assert!(2 * sent[2].len() <= sent[1].len() + 1000, "{} and {}", sent[1].len(), sent[2].len());
        assert!(sent[2].contains("bytes left out") && sent[2].contains("line 1 of"), "{}", sent[2]);
        // The next run sends the shorter conversation.
        let scene = scene.with_answers([answer_text("again")]);
        scene.print(["--continue"]).run().succeeded();
        assert!(scene.server.requests()[0].transcript().join("\n").contains("bytes left out"));
    }
}

#[test]
fn a_temporary_failure_is_retried_before_the_first_text() {
    let config = "[retry]\nattempts = 3\nfirst_pause = \"1ms\"\n";
    for wire in ibeam_testkit::scene::WIRES {
        let answers = [
            Answer::error(529, "overloaded_error", "busy"),
            Answer::error(429, "rate_limit_error", "slow"),
            answer_text("at last"),
        ];
        let scene = Scene::with_wire(wire, answers).with_workspace(Workspace::new().user_config(config));
        let output = scene.print::<&str>([]).run().succeeded();
        let stream = output.stream();
        assert_eq!(stream.deltas(), ["at last"]);
        assert_eq!(stream.last()["ibeam"]["retries"], 2);
        assert_eq!(output.stderr_lines("warning: ").len(), 2, "{output}");
        scene.server.assert_all_answers_sent();
    }
}

#[test]
fn a_provider_that_fails_is_a_provider_failure() {
    check_answer(25, "provider", || vec![Answer::error(500, "api_error", "internal server error")]);
    check_answer(25, "provider", || vec![Answer::html(502, "<html><h1>Bad gateway</h1></html>")]);
    check_answer(25, "provider", || vec![Answer::html(200, "<html><h1>Sign in</h1></html>")]);
    check_answer(25, "provider", || vec![Answer::new().raw("data: {\"oops\n\n")]);
    check_answer(25, "provider", || {
        vec![Answer::new().raw("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"broke\"}}\n\n").cut()]
    });
}

#[test]
fn the_turn_limit_ends_a_run() {
    let ls = |number: usize| answer_call(&format!("t{number}"), "ls", &json!({ "path": "." }));
    check(30, "limit", || {
        let scene = Scene::new([ls(1), ls(2), ls(3)]);
        let ibeam = scene.print(["--max-turns", "2"]);
        (scene, ibeam)
    });
    let scene = Scene::new([ls(1), ls(2), ls(3)]);
    let output = scene.print(["--max-turns", "2"]).run();
    assert_eq!(scene.server.requests().len(), 2);
    assert_eq!(output.stream().last()["ibeam"]["turns"], 2);
}

#[test]
fn the_output_limit_cutting_every_answer_ends_a_run() {
    let cut = || answer_text("word ").stop(StopReason::MaxTokens);
    check_answer(30, "limit", || vec![cut(), cut(), cut()]);
}

#[test]
fn an_answer_that_the_output_limit_cut_is_continued() {
    let scene = Scene::new([answer_text("one ").stop(StopReason::MaxTokens), answer_text("two")]);
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(output.stream().last()["result"], "one two");
    assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
}

#[test]
fn an_empty_answer_after_tool_work_is_a_success() {
    let scene = Scene::new([answer_call("t", "ls", &json!({ "path": "." })), Answer::new()]);
    assert_eq!(scene.print::<&str>([]).run().succeeded().stream().last()["result"], "");
}

#[test]
fn a_model_that_declines_is_a_refusal() {
    check_answer(32, "refused", || vec![Answer::new().stop(StopReason::Refusal)]);
    check_answer(32, "refused", || vec![answer_text("I cannot help with that").stop(StopReason::Refusal)]);
}

#[test]
fn a_run_that_takes_too_long_is_ended() {
    for answer in [answer_text("thinking …").stall(), Answer::silence()] {
        check(33, "timeout", || {
            let scene = Scene::new([answer.clone()]);
            let ibeam = scene.print(["--timeout", "300ms"]);
            (scene, ibeam)
        });
    }
}

/// Returns a scene with a completed run and an answer for the next one, and the id of the session.
pub(crate) fn recorded_session() -> (Scene, String) {
    let scene = Scene::new([answer_call("t", "ls", &json!({ "path": "." })), answer_text("first")]);
    let id = scene.print::<&str>([]).run().succeeded().stream().session_id().to_owned();
    (scene.with_answers([answer_text("second")]), id)
}

#[test]
fn f150_a_damaged_session_is_reported_with_its_line() {
    let damaged = || {
        let (scene, id) = recorded_session();
        let path = scene.workspace.journal(&id);
        let mut bytes = std::fs::read(&path).unwrap();
        let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 40;
        bytes[second] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let ibeam = scene.print([format!("--resume={id}")]);
        (scene, ibeam)
    };
    check(65, "data", damaged);
    let (scene, ibeam) = damaged();
    let output = ibeam.run();
    assert!(output.stderr.contains("line 2"), "{output}");
    assert_eq!(scene.server.requests().len(), 0);
}

#[test]
fn f169_an_invalid_id_is_reported() {
    check_args(66, "noinput", &["-p", "x", "--resume=no-uuid"]);
    check_args(66, "noinput", &["-p", "x", "--resume=../../etc"]);
    check_args(66, "noinput", &["-p", "x", "--resume=-3"]);
}

#[test]
fn f171_a_missing_session_to_continue_is_reported() {
    check_args(66, "noinput", &["-p", "x", "--continue"]);
    check_args(66, "noinput", &["-p", "x", "--resume"]);
}

#[test]
fn a_missing_directory_is_reported() {
    check_args(66, "noinput", &["-p", "x", "--workspace", "missing"]);
    check_args(66, "noinput", &["-p", "x", "--add-dir", "missing"]);
}

/// A file occupies the path of the session directory.
#[test]
fn a_session_that_cannot_be_created_is_reported() {
    check(73, "cantcreat", || {
        let scene = Scene::new([]);
        let share = scene.workspace.home().join(".local");
        std::fs::create_dir_all(&share).unwrap();
        std::fs::write(share.join("share"), "occupied").unwrap();
        let ibeam = scene.print::<&str>([]);
        (scene, ibeam)
    });
}

#[test]
fn f126_a_closed_stdout_ends_the_run_and_keeps_the_session() {
    for format in ["stream-json", "json", "text"] {
        let scene = Scene::new([answer_call("t", "ls", &json!({ "path": "." })), answer_text("never read")]);
        let output = scene.print(["--output-format", format]).closed_stdout().run();
        check_error_report(&output, 74);
        let scene = scene.with_answers([answer_text("still here")]);
        let output = scene.print(["--continue"]).run().succeeded();
        assert_eq!(output.stream().deltas(), ["still here"]);
    }
}

#[test]
fn stdout_on_a_full_disk_is_an_io_failure() {
    let scene = Scene::new([answer_text("hello")]);
    let script = format!("exec {} -p x --model {} >/dev/full", program_path(), model_name(Wire::Anthropic));
    let run = Ibeam::new("/bin/sh", &scene.workspace).args(["-c", &script]);
    let output = run.env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", "k").run();
    check_error_report(&output, 74);
}

#[test]
fn help_and_version_that_cannot_be_written_are_io_failures() {
    let scene = Scene::new([]);
    for arguments in ["--help", "ls --help", "help", "--version"] {
        let run = |rest: &str| {
            let script = format!("{} {arguments} {rest}", program_path());
            Ibeam::new("/bin/sh", &scene.workspace).args(["-c", &script]).run()
        };
        check_error_report(&run(">/dev/full"), 74);
        let closed = run("| :");
        assert_eq!((closed.code, closed.stderr.as_str()), (Some(0), ""), "{closed}");
    }
}

#[test]
fn f146_a_session_that_another_process_holds_is_busy() {
    let scene = Scene::new([answer_text("first ").stall()]);
    let id = scene.ibeam_without_model(["create-chat"]).run().succeeded().stdout.trim().to_owned();
    let holder = scene.print([format!("--resume={id}")]).start();
    holder.wait_for_stdout("first ");
    let output = scene.print([format!("--resume={id}")]).run();
    check_error_report(&output, 75);
    check_object(
        &scene.print([format!("--resume={id}"), "--error-format=json".to_owned()]).run(),
        75,
        "busy",
    );
}

#[test]
fn f167_an_invalid_configuration_is_reported_with_its_position() {
    for (config, position) in [
        ("model = \n", "config.toml:1"),
        ("[retry]\nattempts = \"many\"\n", "config.toml:2"),
        ("[permissions]\nallow = [\"Shell(\"]\n", "config.toml:2"),
        ("[providers.mine]\nwire = \"odd\"\nbase_url = \"http://127.0.0.1:9\"\n", "providers.mine.wire"),
    ] {
        let scene = || {
            let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
            let name = if position.starts_with("providers") { "mine/x" } else { model_name(Wire::Anthropic) };
            let ibeam = scene.ibeam_without_model(["-p", "x", "--model", name]).env("ANTHROPIC_API_KEY", "k");
            (scene, ibeam)
        };
        check(78, "config", scene);
        let (_scene, ibeam) = scene();
        let output = ibeam.run();
        assert!(output.stderr.contains(position), "{output}");
    }
}

#[test]
fn a_key_file_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    check(78, "config", || {
        let scene = Scene::new([]);
        let directory = scene.workspace.home().join(".config/ibeam");
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("credentials.toml");
        std::fs::write(&path, "[keys]\nanthropic = \"k\"\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let ibeam = scene.print::<&str>([]);
        (scene, ibeam)
    });
}

/// The workspace of a session is named to a user who resumes the session from another directory.
#[test]
fn a_session_of_another_directory_is_resumed_there() {
    let scene = Scene::new([answer_text("one"), answer_text("two")]);
    let id = scene.print::<&str>([]).run().succeeded().stream().session_id().to_owned();
    let other = scene.workspace.outside().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let resume = |directory: &std::path::Path| {
        scene.ibeam(["resume", &id, "-p", "go on", "--workspace", directory.to_str().unwrap()]).run()
    };
    let refused = resume(&other);
    check_error_report(&refused, 66);
    let place = format!("belongs to the workspace `{}`", scene.workspace.path().display());
    assert!(refused.stderr.contains(&place) && refused.stderr.contains("--workspace"), "{refused}");
    resume(scene.workspace.path()).succeeded();
}

/// A wrong value of a flag is wrong usage, also where the value is JSON, and its message has no terms of a parser.
#[test]
fn a_json_value_of_a_flag_that_is_not_valid_is_wrong_usage() {
    for args in [["--mcp-config", "{"], ["--mcp-config", "{\"mcpServers\": []}"], ["--json-schema", "{"]] {
        let output = Scene::new([]).print(args).args(["--lang", "en"]).run();
        check_error_report(&output, 2);
        assert!(!output.stderr.contains("EOF") && !output.stderr.contains("invalid type"), "{output}");
    }
}

/// A message is printed once, whatever reports it.
#[test]
fn an_error_file_that_cannot_be_written_is_one_line() {
    let scene = Scene::new([]);
    let path = scene.workspace.missing().join("error.json");
    let output = scene.print(["--error-file", path.to_str().unwrap()]).run();
    check_error_report(&output, 73);
    assert!(output.stderr_lines("warning: ").is_empty(), "{output}");
}

/// A server on this machine that is not running is named, in place of an address that tells nobody anything.
#[test]
fn a_local_server_that_is_not_running_is_named() {
    // No test starts a server at this address.
    let scene =
        Scene::new([]).with_workspace(Workspace::new().user_config("[retry]\nfirst_pause = \"1ms\"\n"));
    let output = scene.ibeam_without_model(["-p", "x", "--model", "llamacpp/m"]).run();
    if output.code == Some(26) {
        check_error_report(&output, 26);
        let line = output.stderr_lines("error: ").concat();
        assert!(line.starts_with("error: llama.cpp server is not running at `127.0.0.1:8080`: "), "{output}");
    }
}

/// The language of the configuration applies to failures too.
#[test]
fn a_failure_is_reported_in_the_configured_language() {
    let english = "`--header` should be";
    let by_file = Workspace::new().user_config("lang = \"fr\"\n");
    for (workspace, variable) in [(by_file, ("LANG", "C")), (Workspace::new(), ("IBEAM_LANG", "ja"))] {
        let scene = Scene::new([]).with_workspace(workspace);
        let output = scene.ibeam(["-p", "x", "--header", "none"]).env(variable.0, variable.1).run();
        check_error_report(&output, 2);
        assert!(!output.stderr.contains(english), "{output}");
    }
}

/// Text of a server is printed without control characters and in bounded length.
#[test]
fn server_messages_cannot_control_the_terminal() {
    let scene =
        Scene::new([Answer::error(400, "invalid_request_error", "bad \u{1b}[31m\r\nerror: forged\u{7}")]);
    let output = scene.print::<&str>([]).run();
    check_error_report(&output, 22);
}

#[test]
fn the_key_is_in_no_message_even_when_a_server_repeats_it() {
    let message = format!("the key {} is not valid", ibeam_testkit::scene::KEY);
    let refused = Answer::error(401, "authentication_error", &message);
    let scene = Scene::new([refused.clone(), refused]);
    let scene = scene.with_workspace(Workspace::new().user_config(NO_RETRIES));
    let output = scene.print::<&str>([]).run();
    check_error_report(&output, 20);
    assert!(
        !output.stderr.contains(ibeam_testkit::scene::KEY)
            && !output.stdout.contains(ibeam_testkit::scene::KEY),
        "{output}"
    );
}

#[test]
fn a_slow_answer_is_not_a_stall() {
    let config = "[timeouts]\nidle = \"900ms\"\n";
    let slow = Duration::from_millis(400);
    let answer = answer_text("a").pause(slow).text("b").pause(slow).text("c").pause(slow).text("d");
    let scene = Scene::new([answer]).with_workspace(Workspace::new().user_config(config));
    assert_eq!(scene.print::<&str>([]).run().succeeded().stream().deltas(), ["a", "b", "c", "d"]);
}

#[test]
fn the_binary_is_the_same_under_any_name() {
    let scene = Scene::new([]);
    for name in ["agent", "cursor-agent"] {
        let link = scene.workspace.outside().join(name);
        symlink(program_path(), &link).unwrap();
        check_error_report(&Ibeam::new(&link, &scene.workspace).args(["--no-such-flag"]).run(), 2);
        let version = Ibeam::new(&link, &scene.workspace).args(["--version"]).run().succeeded();
        assert_eq!(version.stdout, concat!(env!("CARGO_PKG_VERSION"), "\n"));
    }
}
