//! Commands that need a terminal, input, an approval or a sandbox that is not available.

use ibeam_testkit::fault_injection::compile;
use ibeam_testkit::scene::{Scene, answer_shell, answer_text, check_unstarted};
use ibeam_testkit::{Answer, Workspace};
use serde_json::json;

use super::call_shell;

/// Whether a character other than a line end controls a terminal.
fn is_control(c: char) -> bool {
    c.is_control() && c != '\n'
}

#[test]
fn f075_escape_sequences_are_data_and_never_reach_a_terminal() {
    let line = "printf '\\033]52;c;ZXZpbA==\\a\\033[31mred\\r'";
    let report = call_shell(line);
    assert_eq!(report.result("success")["stdout"], "\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[31mred\r");
    assert!(report.output.stdout.contains("\\u001b]52;c;"), "{}", report.output);
    assert!(!report.output.stdout.contains(is_control), "{}", report.output);

    for verbose in [&["--output-format", "text"][..], &["--output-format", "text", "--verbose"]] {
        let echo = answer_text("the file says \u{1b}]0;title\u{7}\u{9b}31m");
        let escape = answer_shell("echo \u{1b}[2J; exit 3");
        let scene = Scene::new([answer_shell(line), escape, echo]);
        let output = scene.print(["--force"]).args(verbose).run().succeeded();
        assert!(!output.stdout.contains(is_control) && !output.stderr.contains(is_control), "{output:?}");
    }
}

#[test]
fn f076_a_command_that_reads_stdin_gets_the_end_of_input() {
    let report = call_shell("cat; read x || echo \"read $?\"; wc -c; sort -; echo done");
    assert_eq!(report.result("success")["stdout"], "read 1\n0\ndone\n");
}

#[test]
fn f077_a_command_that_needs_a_terminal_fails_at_once() {
    let report = call_shell("tty; (exec </dev/tty) 2>&1; ps -o tpgid= -p $$ 2>/dev/null | tr -d ' '");
    let message = report.result("success")["stdout"].as_str().unwrap();
    assert!(
        message.contains("not a tty") && message.contains("/dev/tty: No such device or address"),
        "{message}"
    );

    let report = call_shell(
        "git init -q . && git -c user.name=a -c user.email=b commit --allow-empty; echo \"commit $?\"; \
         git -c user.name=a -c user.email=b commit -q --allow-empty -m one && git log --format=%s",
    );
    let success = report.result("success");
    assert_eq!(success["stdout"], "commit 1\none\n", "{success}");

    let report = call_shell("echo \"$PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $DEBIAN_FRONTEND $TERM\"");
    assert_eq!(report.result("success")["stdout"], "cat cat 0 noninteractive dumb\n");
}

#[test]
fn f084_a_command_that_cannot_start_has_an_exit_code_and_the_run_continues() {
    let workspace = Workspace::new().file("noexec", "#!/bin/sh\n").file("bad", "#!/no/such/interpreter\n");
    let call = |id: &str, line: &str| Answer::new().call(id, "shell", &json!({ "command": line }));
    let answers = [
        call("toolu_1", "no-such-command"),
        call("toolu_2", "./noexec"),
        call("toolu_3", "chmod +x bad; ./bad"),
        call("toolu_4", "/"),
        answer_text("done"),
    ];
    let scene = Scene::new(answers).with_workspace(workspace);
    let output = scene.print(["--force"]).run().succeeded();
    let stream = output.stream();
    let codes: Vec<_> =
        stream.completed().iter().map(|(_, body)| body["result"]["failure"]["exitCode"].clone()).collect();
    // Older shells return 126 for a missing interpreter.
    let missing = if codes[2] == 126 { 126 } else { 127 };
    assert_eq!(codes, [127, 126, missing, 126].map(|code| json!(code)), "{output}");
    assert!(
        stream.completed()[0].1["result"]["failure"]["stderr"].to_string().contains("not found"),
        "{output}"
    );
}

#[test]
fn f114_a_call_that_needs_an_approval_is_rejected_at_once() {
    for flags in [&["--ask", "Shell(make)"][..], &["--sandbox", "disabled"]] {
        let scene = Scene::new([answer_shell("make all"), answer_text("done")]);
        let output = scene.print(flags).run().succeeded();
        let stream = output.stream();
        assert!(stream.completed()[0].1["result"]["rejected"].is_object(), "{output}");
        assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
        assert!(output.stderr.contains("1 tool call was refused"), "{output}");
        assert!(output.elapsed.as_secs() < 20, "{output}");
    }

    let scene = Scene::new([answer_shell("make all"), answer_text("done")]);
    let output = scene.print(["--fail-on", "denied", "--sandbox", "disabled"]).run();
    assert_eq!(output.code, Some(3), "{output}");
    assert_eq!(output.stream().last()["exit_code"], 3);
}

#[test]
fn f115_a_run_without_its_sandbox_never_starts() {
    let scene = Scene::new([answer_shell("echo unsafe"), answer_text("done")]);
    let Some(refuse) = compile(&scene, "refuse.c", &[]) else { return };
    let run = |flags: &[&str]| scene.print(flags).through([&refuse]).run();
    // The sandbox is required by default and by flag.
    for flags in [&["--force"][..], &["--force", "--sandbox", "enabled"], &[]] {
        let output = run(flags);
        check_unstarted(&output, 40);
        assert_eq!(output.stderr_lines("hint: ").len(), 2, "{output}");
        assert_eq!(scene.server.requests().len(), 0);
        assert!(!scene.workspace.home().join(".local/share/ibeam/sessions").exists(), "{output}");
    }
    let output = run(&["--force", "--error-format", "json"]);
    let error: serde_json::Value = serde_json::from_str(output.stderr.trim()).unwrap();
    assert_eq!((&error["code"], &error["exit_code"]), (&json!("sandbox"), &json!(40)), "{output}");
    // A run without a sandbox starts if the user disabled the sandbox, or if the mode allows no commands.
    for flags in [&["--force", "--sandbox", "disabled"][..], &["--mode", "ask"]] {
        let scene = Scene::new([answer_text("done")]);
        scene.print(flags).through([&refuse]).run().succeeded();
    }
}
