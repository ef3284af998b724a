//! The prompt: words, stdin or both, and the time limits of the wait for stdin.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use ibeam_testkit::scene::{Scene, answer_text, check_unstarted};
use ibeam_testkit::{ProgramOutput, Stdin, Workspace};

/// Runs with these arguments and this stdin, and asserts the prompt in the stream and in the request.
#[track_caller]
fn check(args: &[&str], stdin: Stdin, blocks: &[&str]) -> ProgramOutput {
    let scene = Scene::new([answer_text("ok")]);
    let output = scene.ibeam(args).stdin(stdin).run().succeeded();
    assert_eq!(output.stream().prompt(), blocks, "{output}");
    let sent: Vec<String> = blocks.iter().map(|block| format!("user: {block}")).collect();
    assert_eq!(scene.server.requests()[0].transcript(), sent);
    output
}

fn piped(text: &str) -> Stdin {
    Stdin::Piped(text.as_bytes().to_vec())
}

#[test]
fn words_are_the_prompt() {
    check(&["-p", "hello"], Stdin::Closed, &["hello"]);
    check(&["-p", "hello", "there", "world"], Stdin::Closed, &["hello there world"]);
}

#[test]
fn a_prompt_is_kept_verbatim() {
    let special = "  line one\n\t{\"json\": \"\\u0041\"} $HOME `x` 'y' \"z\" é 日本 🦀 \u{2028}\n";
    check(&["-p", special], Stdin::Closed, &[special]);
    check(&["-p"], piped(special), &[special]);
}

#[test]
fn flags_may_come_before_or_after_the_prompt() {
    check(&["hello", "-p"], Stdin::Closed, &["hello"]);
    check(
        &["--force", "hello", "--output-format=stream-json", "there", "-p"],
        Stdin::Closed,
        &["hello there"],
    );
    check(&["-fp", "hello", "--max-turns", "3"], Stdin::Closed, &["hello"]);
}

#[test]
fn two_dashes_end_the_flags() {
    check(&["-p", "--", "--force", "-x"], Stdin::Closed, &["--force -x"]);
    check(&["-p", "--", "agent"], Stdin::Closed, &["agent"]);
}

#[test]
fn a_leading_word_agent_is_dropped() {
    check(&["agent", "-p", "hello"], Stdin::Closed, &["hello"]);
    check(&["-p", "agent", "hello", "agent"], Stdin::Closed, &["hello agent"]);
}

/// A word that is also a command is a prompt after `-p`; before `-p`, if the command does not accept so many words.
#[test]
fn a_command_word_is_a_prompt_when_printing() {
    check(&["-p", "status"], Stdin::Closed, &["status"]);
    check(&["-fp", "status"], Stdin::Closed, &["status"]);
    check(&["status of the build", "-p"], Stdin::Closed, &["status of the build"]);
    check(&["-p", "--", "resume", "x"], Stdin::Closed, &["resume x"]);
    check(&["models", "of", "trains", "-p"], Stdin::Closed, &["models of trains"]);
}

/// Commands send no model request.
#[test]
fn a_command_before_print_is_that_command() {
    for (args, code) in [
        (&["status", "--print"][..], 0),
        (&["models", "-p"], 0),
        (&["--lang", "en", "about", "-p"], 0),
        (&["ls", "-fp"], 0),
        (&["config", "path", "-fp"], 2),
        // A missing argument is an error, not a prompt.
        (&["config", "-p"], 2),
        (&["policy", "test", "-p"], 2),
        (&["login", "unknown", "-p"], 20),
        (&["resume", "unknown", "go on", "-p"], 66),
    ] {
        let scene = Scene::new([answer_text("never")]);
        let output = scene.ibeam(args).stdin(Stdin::Closed).run();
        assert!(scene.server.requests().is_empty(), "{args:?} {output}");
        let is_expected = match code {
            20 => output.code != Some(0),
            code => output.code == Some(code),
        };
        assert!(is_expected, "{args:?} {output}");
    }
}

#[test]
fn a_prompt_that_begins_with_resume_and_a_session_is_rejected() {
    let scene = Scene::new([answer_text("one")]);
    let id = scene.ibeam(["-p", "first"]).run().succeeded().stream().session_id().to_owned();
    let scene = scene.with_answers([answer_text("two"), answer_text("three")]);
    for session in ["-1", &id, id.get(..4).unwrap()] {
        let output = scene.ibeam(["-p", "resume", session, "go on"]).run();
        assert_eq!(output.code, Some(2), "{output}");
        let hint = format!("hint: to continue the session: `ibeam resume {session} -p PROMPT`\n");
        assert!(output.stderr.contains(&hint), "{output}");
    }
    let output = scene.ibeam(["resume", "-1", "-p", "go on"]).run().succeeded();
    assert_eq!(output.stream().session_id(), id, "{output}");
    let output = scene.ibeam(["-p", "resume", "work", "on the tests"]).run().succeeded();
    assert_eq!(output.stream().prompt(), vec!["resume work on the tests"], "{output}");
}

#[test]
fn a_session_is_resumed_by_its_command_when_printing() {
    let scene = Scene::new([answer_text("one")]);
    let id = scene.ibeam(["-p", "first"]).run().succeeded().stream().session_id().to_owned();
    let scene = scene.with_answers([answer_text("two")]);
    let output = scene.ibeam(["resume", &id, "go on", "-p"]).run().succeeded();
    assert_eq!(
        (output.stream().session_id(), output.stream().prompt()),
        (id.as_str(), vec!["go on"]),
        "{output}"
    );
    assert_eq!(scene.server.requests()[0].transcript().len(), 3, "{output}");
}

#[test]
fn flags_of_the_original_that_change_nothing_here_are_accepted() {
    check(
        &[
            "-p",
            "hello",
            "--stream-partial-output",
            "--trust",
            "--approve-mcps",
            "--sandbox",
            "disabled",
            "--mode",
            "default",
        ],
        Stdin::Closed,
        &["hello"],
    );
}

#[test]
fn stdin_is_the_prompt() {
    check(&["-p"], piped("from stdin\n"), &["from stdin\n"]);
    check(&[], piped("inferred"), &["inferred"]);
}

#[test]
fn f162_stdin_next_to_a_prompt_is_its_context() {
    check(&["-p", "explain this"], piped("fn main() {}\n"), &["explain this", "fn main() {}\n"]);
}

#[test]
fn a_dash_and_stdin_read_wait_for_the_end_of_stdin() {
    check(&["-p", "-"], piped("all of it"), &["all of it"]);
    check(&["-p", "--stdin", "read", "look"], piped("at this"), &["look", "at this"]);
}

#[test]
fn f132_stdin_that_is_ignored_is_not_read() {
    check(&["-p", "hello", "--stdin", "ignore"], piped("not this"), &["hello"]);
    let output = check(&["-p", "hello", "--stdin", "ignore"], Stdin::SilentPipe, &["hello"]);
    assert!(output.elapsed < Duration::from_millis(1500), "{output}");
    assert_eq!(output.stderr, "");
}

#[test]
fn f132_an_open_and_silent_pipe_is_waited_for_three_seconds() {
    let output = check(&["-p", "hello"], Stdin::SilentPipe, &["hello"]);
    assert!((Duration::from_millis(2900)..Duration::from_millis(4500)).contains(&output.elapsed), "{output}");
    assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
    assert_eq!(output.stderr.lines().count(), 1, "{output}");
}

#[test]
fn f132_an_open_and_silent_socket_is_waited_for_briefly() {
    let output = check(&["-p", "hello"], Stdin::SilentSocket, &["hello"]);
    assert!(output.elapsed < Duration::from_millis(1500), "{output}");
    assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
}

#[test]
fn a_large_stdin_is_read_completely() {
    let large = "0123456789abcde\n".repeat(40_000);
    check(&["-p", "count"], piped(&large), &["count", &large]);
}

#[test]
fn f160_an_argument_that_is_not_utf_8_is_named() {
    let scene = Scene::new([]);
    let output = scene.ibeam(["-p", "fine"]).args([OsStr::from_bytes(b"br\xffken")]).run();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("argument 2 of the prompt"), "{output}");
}

#[test]
fn f160_a_stdin_that_is_not_text_is_refused() {
    for bytes in [&b"br\xffken"[..], b"nul \0 inside"] {
        let scene = Scene::new([]);
        let output = scene.ibeam(["-p", "fine"]).stdin(Stdin::Piped(bytes.to_vec())).run();
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains("stdin"), "{output}");
        assert_eq!(scene.server.requests().len(), 0);
    }
}

#[test]
fn the_model_receives_the_project_and_the_workspace() {
    let scene = Scene::new([answer_text("ok")]);
    let workspace = Workspace::new().file("AGENTS.md", "Always say moin.\n");
    let scene = scene.with_workspace(workspace);
    scene.print(["--trust"]).run().succeeded();
    let request = &scene.server.requests()[0];
    let system = request.body["system"].to_string();
    assert!(
        system.contains("Always say moin.") && system.contains(scene.workspace.path().to_str().unwrap()),
        "{system}"
    );
    let tools: Vec<&str> =
        request.body["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    for tool in ["read", "write", "edit", "shell", "grep", "glob", "ls", "delete", "update_todos"] {
        assert!(tools.contains(&tool), "{tools:?}");
    }
}

/// Without words stdin is the prompt. The wait for silent stdin ends at a timeout.
#[test]
fn f161_the_wait_for_a_prompt_on_silent_stdin_times_out() {
    let config = "[timeouts]\nstdin = \"400ms\"\n";
    for stdin in [Stdin::SilentPipe, Stdin::SilentSocket] {
        let scene = Scene::new([]).with_workspace(Workspace::new().user_config(config));
        let output = scene.ibeam(["-p"]).stdin(stdin).run();
        assert_eq!(output.code, Some(66), "{output}");
        assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
        assert!(output.stderr.contains("0.4 s"), "{output}");
        assert!(output.elapsed >= Duration::from_millis(400), "{output}");
    }
}

/// The time limit also ends a wait for all of stdin that a flag requests.
#[test]
fn the_time_limit_bounds_the_wait_for_stdin() {
    for words in [&["-p", "-"][..], &["-p", "hello", "--stdin", "read"], &["-p"]] {
        let scene = Scene::new([]);
        let output = scene.ibeam(words).args(["--timeout", "300ms"]).stdin(Stdin::SilentPipe).run();
        check_unstarted(&output, 33);
        assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
    }
}

#[test]
fn the_last_value_of_a_repeated_flag_counts() {
    let scene = Scene::new([answer_text("ok")]);
    let output = scene.ibeam_without_model(["--model", "no-such-model", "--max-turns", "9"]).args([
        "-p",
        "hi",
        "--max-turns",
        "7",
    ]);
    let output = output
        .args(["--model", ibeam_testkit::scene::model_name(scene.wire)])
        .env("ANTHROPIC_BASE_URL", scene.server.url())
        .env("ANTHROPIC_API_KEY", "k")
        .run()
        .succeeded();
    assert_eq!(output.stream().init()["ibeam"]["limits"]["max_turns"], 7, "{output}");
}

#[test]
fn a_missing_prompt_is_reported_before_a_missing_model() {
    let scene = Scene::new([]);
    for words in [&["-p"][..], &["-p", ""], &["-p", "-"]] {
        let output = scene.ibeam_without_model(words).run();
        assert_eq!(output.code, Some(2), "{words:?} {output}");
    }
}

/// The size of stdin is limited, as for `yes | ibeam -p`.
#[test]
fn a_stdin_that_never_ends_is_refused() {
    for args in [&["-p", "x"][..], &["-p"], &["-p", "-"], &["-p", "x", "--stdin", "read"]] {
        let scene = Scene::new([]);
        let running = scene.ibeam(args).after("exec < <(yes)").start();
        let output = running.finish();
        check_unstarted(&output, 64);
        assert!(output.stderr.contains("16 MiB"), "{output}");
        assert_eq!(scene.server.requests().len(), 0);
    }
}

#[test]
fn the_time_limit_counts_while_stdin_is_waited_for() {
    for args in [&["-p", "-"][..], &["-p", "x", "--stdin", "read"], &["-p"]] {
        let scene = Scene::new([]);
        let run = scene.ibeam(args).args(["--timeout", "1"]).stdin(Stdin::SilentPipe);
        let output = run.run();
        check_unstarted(&output, 33);
        assert!(output.elapsed < Duration::from_secs(20), "{output}");
    }
}
