//! Hooks that fail: the run continues or rejects the call, and no process of the hook is left.

use std::time::Duration;

use ibeam_protocol::Signal;
use ibeam_testkit::hook_files::{scene_with_hooks, write_hooks};
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text, check_journaled, result};
use ibeam_testkit::{Ibeam, LivenessPipe, ProgramOutput, Stdin, Workspace};
use serde_json::{Value, json};

use ibeam_testkit::fault_injection::launcher_works;

/// The bytes that a run may use more than a small run of its kind.
const MEMORY_MARGIN: u64 = 64 << 20;

/// Runs a command with a failing hook, open and closed. Checks the warning and the reason of the rejection.
#[track_caller]
fn check_failing_hook(hook: &Value, expected: &str) {
    for fail_closed in [false, true] {
        let mut hook = hook.clone();
        hook["failClosed"] = json!(fail_closed);
        let hooks = json!({"beforeShellExecution": [hook]});
        let scene = scene_with_hooks([answer_shell("echo ran"), answer_text("done")], &hooks);
        let output = scene.print(["--force"]).run().succeeded();
        let (arm, payload) = result(&output);
        let warnings = output.stderr_lines("warning: ");
        assert_eq!(warnings.len(), 1, "{output}");
        if fail_closed {
            assert_eq!(arm, "rejected", "{output}");
            let reason = payload["reason"].as_str().unwrap();
            assert!(reason.contains("failClosed") && reason.contains(expected), "{reason}");
        } else {
            assert_eq!((arm.as_str(), &payload["stdout"]), ("success", &json!("ran\n")), "{output}");
            assert!(
                warnings[0].contains("beforeShellExecution") && warnings[0].contains(expected),
                "{output}"
            );
        }
        check_journaled(&scene, &output);
    }
}

#[test]
fn f179_a_hook_that_hangs_is_killed_at_its_timeout() {
    check_failing_hook(&json!({"command": "sleep 60", "timeout": 0.5}), "longer than 0.5 s");
    check_failing_hook(
        &json!({"command": "trap '' TERM HUP; while :; do sleep 1; done", "timeout": 0.5}),
        "longer than",
    );
}

#[test]
fn f179_hooks_without_a_timeout_have_the_configured_one() {
    let scene = Scene::new([answer_shell("echo ran"), answer_text("done")])
        .with_workspace(Workspace::new().user_config("[timeouts]\nhook = \"400ms\"\n"));
    write_hooks(&scene.workspace, &json!({"preToolUse": [{"command": "sleep 60"}]}));
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(result(&output).0, "success");
    assert!(output.stderr_lines("warning: ")[0].contains("longer than 0.4 s"), "{output}");
}

#[test]
fn f179_the_default_timeout_is_60_s() {
    let scene = Scene::new([]);
    let explained = scene.ibeam_without_model(["config", "explain"]).run().succeeded().stdout;
    let line = explained.lines().find(|line| line.starts_with("timeouts.hook")).unwrap();
    assert!(line.contains("= \"60s\"") || line.contains("= \"1m\""), "{line}");
    assert!(line.ends_with("# default"), "{line}");
}

#[test]
fn f179_a_hook_that_crashes_has_failed() {
    check_failing_hook(&json!({"command": "kill -SEGV $$"}), "signal 11");
    check_failing_hook(&json!({"command": "echo broken >&2; exit 1"}), "exit code 1: broken");
    check_failing_hook(&json!({"command": "/no/such/program"}), "exit code 127");
}

#[test]
fn f179_a_hook_with_invalid_output_has_failed() {
    for output in ["yes", "{\"permission\": \"de", "{} {}", "[\"deny\"]", "{\"permission\": \"maybe\"}"] {
        check_failing_hook(&json!({"command": format!("printf '%s' '{output}'")}), "");
    }
}

#[test]
fn f179_exit_code_2_with_broken_json_rejects_the_call() {
    let hook = json!({"command": "printf '{\"permission\": \"al'; echo never >&2; exit 2"});
    let scene = scene_with_hooks(
        [answer_shell("echo ran"), answer_text("done")],
        &json!({"beforeShellExecution": [hook]}),
    );
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(result(&output), ("rejected".to_owned(), json!({"reason": "never"})));
}

#[test]
fn f179_a_hook_that_floods_stdout_has_failed() {
    check_failing_hook(&json!({"command": "head -c 100000000 /dev/zero"}), "100000000 bytes");
    check_failing_hook(&json!({"command": "cat /dev/zero", "timeout": 1}), "longer than 1 s");
}

#[test]
fn f179_a_hook_may_flood_stderr() {
    let hook = json!({"command": "head -c 100000000 /dev/zero >&2; echo '{\"permission\": \"deny\"}'"});
    let scene = scene_with_hooks(
        [answer_shell("echo ran"), answer_text("done")],
        &json!({"beforeShellExecution": [hook]}),
    );
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(result(&output).0, "rejected", "{output}");
}

/// Output of a hook does not increase the memory of the run.
#[test]
fn f179_a_flood_is_not_buffered_in_memory() {
    let peak_with = |command: &str| {
        let gate = answer_shell("until test -e go; do sleep 0.02; done");
        let scene =
            scene_with_hooks([gate, answer_text("done")], &json!({"sessionStart": [{"command": command}]}));
        let running = scene.print(["--force"]).start();
        running.wait_for_stdout("until test -e go");
        let peak = running.peak_memory();
        std::fs::write(scene.workspace.path().join("go"), "").unwrap();
        running.finish().succeeded();
        peak
    };
    let small = peak_with("true");
    let flood = peak_with("head -c 300000000 /dev/zero; head -c 300000000 /dev/zero >&2");
    assert!(flood < small + MEMORY_MARGIN, "{flood} bytes against {small}");
}

/// A hook may ignore an input of any size.
#[test]
fn f179_a_hook_need_not_read_its_stdin() {
    let write = answer_call("t", "write", &json!({"path": "big", "fileText": "x".repeat(1 << 20)}));
    let hooks = json!({"preToolUse": [{"command": "exec <&-; true"}, {"command": "sleep 0.1"}]});
    let scene = scene_with_hooks([write, answer_text("done")], &hooks);
    let output = scene.print::<&str>([]).run().succeeded();
    assert_eq!(result(&output).0, "success", "{output}");
    assert_eq!(output.stderr, "");
}

/// Runs with a controlling terminal, as in an interactive shell. Output on the terminal is in `stdout`.
fn on_a_terminal(ibeam: Ibeam) -> ProgramOutput {
    ibeam.through(["setsid", "-c", "-w"]).terminal().run().succeeded()
}

#[test]
fn f179_a_hook_has_no_terminal() {
    if !launcher_works(&["setsid", "-w"]) {
        return;
    }
    let try_terminal = "if (echo INTRUDER > /dev/tty) 2>/dev/null; then echo had; else echo none; fi";
    // Another program in the same setup has a terminal.
    let scene = Scene::new([]);
    let bash = Ibeam::new("/bin/bash", &scene.workspace).args(["-c", try_terminal]);
    assert!(on_a_terminal(bash).stdout.contains("INTRUDER"));
    let command =
        format!("{try_terminal} > \"$IBEAM_PROJECT_DIR/tried\"; test -t 0 -o -t 1 -o -t 2 && exit 2; true");
    let scene = scene_with_hooks(
        [answer_shell("echo ran"), answer_text("done")],
        &json!({"preToolUse": [{"command": command}]}),
    );
    let output = on_a_terminal(scene.print(["--force"]));
    assert_eq!(scene.workspace.read("tried").as_deref(), Some("none\n"), "{output}");
    assert!(!output.stdout.contains("INTRUDER") && output.stdout.contains("\"stdout\":\"ran"), "{output}");
}

/// The hook starts a process in another group and session, which holds the pipes of the hook.
#[test]
fn f179_processes_of_a_hook_end_with_it() {
    for rest in ["exit 0", "sleep 60"] {
        let scene = Scene::new([answer_shell("echo ran"), answer_text("done")]);
        let mut pipe = LivenessPipe::new(&scene.workspace, "line");
        let daemon = format!("setsid bash -c '{}' & until test -s up; do sleep 0.01; done", pipe.command());
        let daemon = daemon.replace("echo held >&3", "echo held >&3; echo > up");
        let command = format!("cd \"$IBEAM_PROJECT_DIR\"; trap '' HUP; {daemon}; {rest}");
        write_hooks(&scene.workspace, &json!({"preToolUse": [{"command": command, "timeout": 5}]}));
        let output = scene.print(["--force"]).run().succeeded();
        assert_eq!(result(&output).0, "success", "{output}");
        pipe.wait_until_held();
        pipe.wait_until_gone();
    }
}

#[test]
fn f179_a_signal_ends_the_running_hook() {
    for event in ["sessionStart", "beforeSubmitPrompt", "preToolUse", "postToolUse", "stop"] {
        let scene = Scene::new([answer_shell("echo ran"), answer_text("done")]);
        let mut pipe = LivenessPipe::new(&scene.workspace, "line");
        let command = format!("cd \"$IBEAM_PROJECT_DIR\"; trap '' TERM; {}", pipe.command());
        write_hooks(&scene.workspace, &json!({event: [{"command": command}]}));
        let running = scene.print(["--force"]).start();
        pipe.wait_until_held();
        running.signal(Signal::Term);
        let before = std::time::Instant::now();
        let output = running.finish();
        assert!(before.elapsed() < Duration::from_millis(3500), "{event}: {output}");
        assert_eq!(output.code, Some(143), "{event}: {output}");
        assert_eq!(output.stream().last()["code"], "signal", "{event}: {output}");
        pipe.wait_until_gone();
    }
}

#[test]
fn f179_the_hook_of_a_killed_run_ends() {
    let scene = Scene::new([answer_shell("echo ran"), answer_text("done")]);
    let mut pipe = LivenessPipe::new(&scene.workspace, "line");
    let command = format!("cd \"$IBEAM_PROJECT_DIR\"; {}", pipe.command());
    write_hooks(&scene.workspace, &json!({"preToolUse": [{"command": command}]}));
    let running = scene.print(["--force"]).start();
    pipe.wait_until_held();
    running.kill_alone();
    pipe.wait_until_gone();
}

/// Hooks for the end of a run do not delay a run that was stopped by a signal.
#[test]
fn f179_hooks_at_the_end_of_a_stopped_run_have_little_time() {
    let hooks = json!({"stop": [{"command": "sleep 60"}], "sessionEnd": [{"command": "sleep 60"}]});
    let scene = scene_with_hooks([answer_text("first ").stall()], &hooks);
    let running = scene.print::<&str>([]).stdin(Stdin::Closed).start();
    running.wait_for_stdout("first ");
    running.signal(Signal::Int);
    let before = std::time::Instant::now();
    let output = running.finish();
    assert!(before.elapsed() < Duration::from_millis(3500), "{output}");
    assert_eq!(output.code, Some(130), "{output}");
    assert_eq!(output.stream().last()["code"], "signal", "{output}");
    check_journaled(&scene, &output);
}

/// A failure that repeats at each call is printed once.
#[test]
fn f179_a_hook_that_always_fails_causes_one_warning() {
    let answer = answer_shell("echo a").call("b", "shell", &json!({"command": "echo b"}));
    let scene =
        scene_with_hooks([answer, answer_text("done")], &json!({"preToolUse": [{"command": "exit 1"}]}));
    let output = scene.print(["--force"]).run().succeeded();
    assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
}
