//! Signals: each ends the run in time, or is ignored where the caller ignores it.

use std::process::Command;
use std::time::{Duration, Instant};

use ibeam_protocol::Signal;
use ibeam_testkit::fault_injection::check_failure;
use ibeam_testkit::scene::{KEY, Scene, answer_shell, answer_text, check_journaled, journal, model_name};
use ibeam_testkit::{Ibeam, program_path};
use serde_json::Value;

use super::expect_success;

/// The run may be doing anything. Before the program has started, the signal kills it like any program.
#[test]
fn f116_an_interrupt_at_any_instant_ends_the_run_in_time() {
    for after_ms in (0..200).step_by(13) {
        let scene =
            Scene::new([answer_shell("echo one; sleep 0.05; echo two"), answer_text("some text ").stall()]);
        let running = scene.print(["--force"]).start();
        std::thread::sleep(Duration::from_millis(after_ms));
        let before = Instant::now();
        running.signal(Signal::Int);
        let output = running.finish();
        assert!(before.elapsed() < Duration::from_millis(3500), "after {after_ms} ms: {output}");
        match output.code {
            Some(130) => check_failure(&output, 130),
            _ => assert_eq!(
                (output.signal, output.stdout.as_str()),
                (Some(2), ""),
                "after {after_ms} ms: {output}"
            ),
        }
        // A run that was stopped before it had a session reports that nothing can be resumed.
        if ["\"type\":\"tool_call\"", "\"type\":\"assistant\"", "\"resumable\":true"]
            .iter()
            .any(|part| output.stdout.contains(part))
        {
            check_journaled(&scene, &output);
        }
    }
}

#[test]
fn f122_a_reader_that_reads_one_line_ends_the_run() {
    let scene = Scene::new([answer_text("one ").pause(Duration::from_millis(50)).text("two ").stall()]);
    let head = format!("set -o pipefail; {} -p x \"$@\" | head -1", program_path());
    let model = model_name(scene.wire);
    let run = Ibeam::new("/bin/bash", &scene.workspace).args(["-c", &head, "sh", "--model", model]);
    let output = run.env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", KEY).run();
    check_failure(&output, 74);
    assert_eq!(output.stdout.lines().count(), 1, "{output}");
    assert!(output.elapsed < Duration::from_secs(5), "{output}");
    let id =
        serde_json::from_str::<Value>(&output.stdout).unwrap()["session_id"].as_str().unwrap().to_owned();
    let last = journal(&scene, &id).pop().unwrap();
    assert!(!last["kind"]["run_finished"].is_null(), "{last}");
}

/// SIGPIPE sent by `kill` does not end the run.
#[test]
fn f122_a_sent_sigpipe_changes_nothing() {
    let scene = Scene::new([answer_text("one ").pause(Duration::from_millis(700)).text("two")]);
    let running = scene.print::<&str>([]).start();
    running.wait_for_stdout("one ");
    let pid = running.pid().to_string();
    assert!(Command::new("kill").args(["-PIPE", &pid]).status().unwrap().success());
    assert_eq!(running.finish().succeeded().stream().deltas(), ["one ", "two"]);
}

/// SIGPIPE has its default effect in commands, so that `head` ends `yes`.
#[test]
fn f122_sigpipe_ends_commands_as_usual() {
    let scene = Scene::new([answer_shell("yes | head -1; echo ${PIPESTATUS[0]}"), answer_text("done")]);
    let output = expect_success(&scene, scene.print(["--force"]));
    let result = output.stream().completed()[0].1["result"]["success"].clone();
    assert_eq!(result["stdout"], "y\n141\n", "{result}");
}

/// A run under `nohup` outlives its terminal.
#[test]
fn f133_a_hangup_that_the_caller_ignores_is_ignored() {
    let scene = Scene::new([answer_text("one ").stall()]);
    let running = scene.print::<&str>([]).through(["nohup"]).start();
    running.wait_for_stdout("one ");
    running.signal(Signal::Hup);
    std::thread::sleep(Duration::from_millis(200));
    running.signal(Signal::Term);
    check_failure(&running.finish(), 143);
}
