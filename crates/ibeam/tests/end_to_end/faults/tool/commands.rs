//! Commands that want what nobody here can give.

use ibeam_testkit::{Answer, Workspace};
use serde_json::json;

use super::command;
use crate::scene::{Scene, answer_shell, answer_text};

/// Every character but line ends that steers a terminal.
fn steers(c: char) -> bool {
    c.is_control() && c != '\n'
}

#[test]
fn f075_escapes_reach_programs_as_data_and_never_a_terminal() {
    let line = "printf '\\033]52;c;ZXZpbA==\\a\\033[31mred\\r'";
    let reported = command(line);
    assert_eq!(reported.arm("success")["stdout"], "\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[31mred\r");
    assert!(reported.output.stdout.contains("\\u001b]52;c;"), "{}", reported.output);
    assert!(!reported.output.stdout.contains(steers), "{}", reported.output);

    for verbose in [&["--output-format", "text"][..], &["--output-format", "text", "--verbose"]] {
        let echo = answer_text("the file says \u{1b}]0;title\u{7}\u{9b}31m");
        let escape = answer_shell("echo \u{1b}[2J; exit 3");
        let scene = Scene::new([answer_shell(line), escape, echo]);
        let output = scene.print(["--force"]).args(verbose).run().succeeded();
        assert!(!output.stdout.contains(steers) && !output.stderr.contains(steers), "{output:?}");
    }
}

#[test]
fn f076_a_command_that_reads_finds_the_end() {
    let reported = command("cat; read x || echo \"read $?\"; wc -c; sort -; echo done");
    assert_eq!(reported.arm("success")["stdout"], "read 1\n0\ndone\n");
}

#[test]
fn f077_a_command_that_wants_a_terminal_fails_at_once() {
    let reported = command("tty; (exec </dev/tty) 2>&1; ps -o tpgid= -p $$ 2>/dev/null | tr -d ' '");
    let message = reported.arm("success")["stdout"].as_str().unwrap();
    assert!(
        message.contains("not a tty") && message.contains("/dev/tty: No such device or address"),
        "{message}"
    );

    let reported = command(
        "git init -q . && git -c user.name=a -c user.email=b commit --allow-empty; echo \"commit $?\"; \
         git -c user.name=a -c user.email=b commit -q --allow-empty -m one && git log --format=%s",
    );
    let success = reported.arm("success");
    assert_eq!(success["stdout"], "commit 1\none\n", "{success}");

    let reported = command("echo \"$PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $DEBIAN_FRONTEND $TERM\"");
    assert_eq!(reported.arm("success")["stdout"], "cat cat 0 noninteractive dumb\n");
}

#[test]
fn f084_what_cannot_run_is_told_by_its_code_and_the_run_goes_on() {
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
    // Of a missing interpreter older shells say 126.
    let missing = if codes[2] == 126 { 126 } else { 127 };
    assert_eq!(codes, [127, 126, missing, 126].map(|code| json!(code)), "{output}");
    assert!(
        stream.completed()[0].1["result"]["failure"]["stderr"].to_string().contains("not found"),
        "{output}"
    );
}
