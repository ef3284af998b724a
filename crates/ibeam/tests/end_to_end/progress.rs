//! The progress and the details of print mode on stderr, in the format `text`.

use std::time::Duration;

use ibeam_protocol::Signal;
use ibeam_testkit::Workspace;
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text};
use serde_json::json;

const TEXT: [&str; 2] = ["--output-format", "text"];
const ERASE: &str = "\r\u{1b}[K";

/// Returns what stays on a terminal after lines were erased.
fn remaining_lines(screen: &str) -> Vec<String> {
    let screen = screen.replace("\r\n", "\n");
    let lines = screen.split('\n').map(|line| line.rsplit(ERASE).next().unwrap_or_default());
    lines.map(str::to_owned).collect()
}

#[test]
fn a_terminal_shows_what_a_text_run_waits_for_and_nothing_of_it_stays() {
    let slow = answer_text("done").pause(Duration::from_millis(1600));
    let write = answer_call("t", "write", &json!({ "path": "a.txt", "fileText": "one\ntwo\n" }));
    let scene = Scene::new([write, slow]).with_workspace(Workspace::new());
    let output = scene
        .print(TEXT)
        .args(["--force"])
        .env("TERM", "xterm")
        .terminal()
        .after("exec 2>&1")
        .run()
        .succeeded();
    assert!(output.stdout.contains("the model is writing (1 s"), "{output}");
    let lines = remaining_lines(&output.stdout);
    assert_eq!(
        lines,
        ["Created new file", "  a.txt", "", "done", "changed files", "  A a.txt +2", ""],
        "{output}"
    );
}

#[test]
fn stdout_has_no_targets_if_only_stderr_is_a_terminal() {
    let write = answer_call("t", "write", &json!({ "path": "a.txt", "fileText": "one\n" }));
    let scene = Scene::new([write, answer_text("done")]).with_workspace(Workspace::new());
    let run = scene.print(TEXT).args(["--force"]).env("TERM", "xterm").terminal().after("exec 2>&1 >out.txt");
    let output = run.run().succeeded();
    let written = std::fs::read_to_string(scene.workspace.path().join("out.txt")).unwrap();
    assert_eq!(written, "Created new file\n\ndone\n", "{output}");
    assert_eq!(remaining_lines(&output.stdout), ["  a.txt", "changed files", "  A a.txt +1", ""], "{output}");
}

#[test]
fn a_terminal_without_cursor_movement_shows_no_status_line() {
    for (name, value) in [("TERM", "dumb"), ("ACCESSIBLE", "1")] {
        let scene = Scene::new([answer_text("done").pause(Duration::from_millis(800))]);
        let run = scene.print(TEXT).env("TERM", "xterm").env(name, value).terminal().after("exec 2>&1");
        assert_eq!(run.run().succeeded().stdout, "done\r\n0 files changed\r\n", "{name}={value}");
    }
}

#[test]
fn without_a_terminal_stderr_has_targets_and_only_verbose_adds_a_summary() {
    let answers = || [answer_shell("exit 3"), answer_text("done")];
    let scene = Scene::new(answers());
    let output = scene.print(TEXT).args(["--force", "--sandbox", "disabled"]).run().succeeded();
    assert_eq!(output.stderr, "  exit 3\n  exit code 3\n", "{output}");
    let scene = Scene::new(answers());
    let run = scene.print(TEXT).args(["--force", "--sandbox", "disabled", "--verbose"]);
    let output = run.run().succeeded();
    let summary = "  exit code 3\n0 files changed by the file tools; what commands and MCP tools changed is not counted\n\
                   model requests: 2, calls: 1, time: ";
    assert!(output.stderr.starts_with(summary), "{output}");
    assert!(output.stderr.contains("\ntokens read: "), "{output}");
    assert_eq!(output.stdout, "Terminal command failed: exit 3\n\ndone\n", "{output}");
}

#[test]
fn the_text_of_an_interrupted_run_is_on_stderr() {
    for flags in [&["--verbose"][..], &[]] {
        let scene = Scene::new([answer_text("It is half ").stall()]);
        let running = scene.print(TEXT).args(flags).start();
        scene.server.wait_for_requests(1);
        std::thread::sleep(Duration::from_millis(800));
        running.signal(Signal::Int);
        let output = running.finish();
        assert_eq!(output.code, Some(130), "{output}");
        assert_eq!(output.stdout, "", "{output}");
        assert!(output.stderr.starts_with("the answer so far\nIt is half\n"), "{output}");
        assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
    }
}

#[test]
fn the_text_of_a_broken_stream_is_on_stderr() {
    let workspace = Workspace::new().user_config("[retry]\nfirst_pause = \"1ms\"\n");
    let scene =
        Scene::new([answer_text("It is half ").cut(), answer_text("an ans").cut()]).with_workspace(workspace);
    let output = scene.print(TEXT).run();
    assert_ne!(output.code, Some(0), "{output}");
    assert_eq!(output.stdout, "", "{output}");
    assert!(output.stderr.contains("the answer so far\nIt is half an ans\n"), "{output}");
    assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
}

#[test]
fn a_run_that_fail_on_made_fail_prints_its_answer() {
    let failed_call = answer_call("t", "read", &json!({ "path": "missing" }));
    let scene = Scene::new([failed_call, answer_text("done")]);
    let output = scene.print(TEXT).args(["--fail-on", "tool-error"]).run();
    assert_eq!(output.code, Some(3), "{output}");
    assert_eq!(output.stdout, "Failed to read file\n\ndone\n", "{output}");
    assert!(!output.stderr.contains("the answer so far"), "{output}");
}
