//! Runs that report their end despite hanging disks, panicking threads and repeated signals.

use std::path::PathBuf;
use std::time::Duration;

use ibeam_protocol::Signal;
use ibeam_testkit::fault_injection::{
    check_failure, compile, is_root, launcher_works, make_accessible_to_all, skip,
};
use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text, check_journaled};
use ibeam_testkit::{Ibeam, LivenessPipe, ProgramOutput};
use serde_json::{Value, json};

/// Far longer than a run may take to end.
const HANG_SECONDS: &str = "60";
/// The longest time that a run may take to end, on a busy machine.
const MAX_DURATION: Duration = Duration::from_secs(20);

/// Builds the library that lets system calls hang or fail.
fn failing_library(scene: &Scene) -> Option<PathBuf> {
    compile(scene, "failing.c", &["-shared", "-fPIC"])
}

/// A scene in which the first command creates the file `now`; the model then answers.
fn scene() -> Scene {
    let command = answer_call("t", "shell", &json!({ "command": "touch now; sleep 0.3; echo hi" }));
    Scene::new([command, answer_text("Done.").pause(Duration::from_secs(1)).text(" Bye.")])
}

/// Returns a run without a sandbox, with the library and these variables. The value `now` is replaced by the path of
/// the file.
fn with_faults(scene: &Scene, args: &[&str], variables: &[(&str, &str)]) -> Option<Ibeam> {
    let library = failing_library(scene)?;
    let run = scene.print(["--force", "--sandbox", "disabled"]).args(args).env("LD_PRELOAD", library);
    let now = scene.workspace.path().join("now");
    Some(variables.iter().fold(run, |run, (name, value)| match *value {
        "now" => run.env(name, &now),
        value => run.env(name, value),
    }))
}

/// Asserts that stdout and stderr end with the failure, and that every call is completed.
#[track_caller]
fn check_end(output: &ProgramOutput, code: &str, exit: i32) {
    check_failure(output, exit);
    assert!(output.elapsed < MAX_DURATION, "{output}");
    let last: Value = serde_json::from_str(output.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["code"]), (&json!("error"), &json!(code)), "{output}");
    assert_eq!(last["exit_code"], exit, "{output}");
    assert_eq!(output.stdout.matches(r#""type":"error""#).count(), 1, "one last line: {output}");
    let count = |subtype: &str| output.stdout.matches(&format!(r#""subtype":"{subtype}""#)).count();
    assert_eq!(count("started"), count("completed"), "{output}");
}

#[test]
fn a_disk_that_hangs_during_a_run_does_not_delay_its_last_line() {
    for call in ["fdatasync", "write"] {
        let scene = scene();
        let faults = [("SLOW_CALL", call), ("SLOW_SECONDS", HANG_SECONDS), ("SLOW_WHEN", "now")];
        // The answer ends in a second, so the end of the run would wait for the disk.
        let Some(run) = with_faults(&scene, &["--timeout", "3"], &faults) else { return };
        let output = run.run();
        check_end(&output, "timeout", 33);
        assert_eq!(output.stream().last()["ibeam"]["unsynced"], true, "{call}: {output}");
        assert!(output.stderr.contains("did not wait for the disk"), "{call}: {output}");
    }
}

#[test]
fn a_signal_ends_a_run_whose_disk_hangs() {
    let scene = scene();
    let faults = [("SLOW_CALL", "write"), ("SLOW_SECONDS", HANG_SECONDS), ("SLOW_WHEN", "now")];
    let Some(run) = with_faults(&scene, &[], &faults) else { return };
    let running = run.start();
    running.wait_for_stdout("started");
    std::thread::sleep(Duration::from_secs(1));
    running.signal(Signal::Term);
    check_end(&running.finish(), "signal", 143);
}

/// Before a run starts, its failure is the only output.
#[test]
fn a_disk_that_hangs_before_a_run_does_not_delay_its_end() {
    for call in ["fdatasync", "rename", "flock", "readdir64"] {
        let scene = Scene::new([answer_text("never")]);
        let faults = [("SLOW_CALL", call), ("SLOW_SECONDS", HANG_SECONDS)];
        let Some(run) = with_faults(&scene, &["--timeout", "1"], &faults) else { return };
        let output = run.run();
        if output.stdout.is_empty() {
            // The run failed before the output format was known.
            check_failure(&output, 33);
        } else {
            check_end(&output, "timeout", 33);
        }
        assert!(!output.stdout.is_empty() || call == "readdir64", "{call}: {output}");
    }
}

/// The home directory is on an unresponsive server, so the configuration is unknown.
#[test]
fn a_file_system_that_hangs_before_the_configuration_is_read_does_not_delay_the_end() {
    for (args, signal, code, exit) in
        [(&["--timeout", "1"][..], None, "timeout", 33), (&[], Some(Signal::Term), "signal", 143)]
    {
        let scene = Scene::new([answer_text("never")]);
        let faults = [("SLOW_CALL", "realpath"), ("SLOW_SECONDS", HANG_SECONDS)];
        let Some(run) = with_faults(&scene, args, &faults) else { return };
        let running = run.start();
        if let Some(signal) = signal {
            running.wait_for_thread("watchdog");
            running.signal(signal);
        }
        check_end(&running.finish(), code, exit);
        assert!(scene.server.requests().is_empty());
    }
}

/// A slow disk is not a failure.
#[test]
fn a_run_waits_for_a_slow_disk() {
    let scene = Scene::new([answer_text("Done.")]);
    let faults = [("SLOW_CALL", "fdatasync"), ("SLOW_SECONDS", "1")];
    let Some(run) = with_faults(&scene, &[], &faults) else { return };
    let output = run.run().succeeded();
    assert!(output.stream().last()["ibeam"]["unsynced"].is_null(), "{output}");
    check_journaled(&scene, &output);
}

#[test]
fn a_panic_of_any_thread_is_reported_in_the_stream() {
    for thread in ["ibeam", "pump", "watchdog"] {
        let command = answer_call("t", "shell", &json!({ "command": "touch now; sleep 0.3; echo hi" }));
        let scene = Scene::new([command, answer_text("Done.").stall()]);
        let faults = [("PANIC_IN", thread), ("PANIC_WHEN", "now")];
        let Some(run) = with_faults(&scene, &["--timeout", "4"], &faults) else { return };
        let output = run.run();
        assert_eq!(output.code, Some(70), "{thread}: {output}");
        assert!(output.stderr.contains("panicked"), "{thread}: {output}");
        let stream = output.stream();
        assert_eq!(stream.last()["code"], "internal", "{thread}: {output}");
        let outline = stream.outline();
        assert!(outline.contains(&"completed shell".to_owned()), "{thread}: {output}");
        assert_eq!(output.stderr_lines("error: ").len(), 1, "{thread}: {output}");
    }
}

#[test]
fn a_journal_that_can_no_longer_be_written_is_an_io_failure() {
    let scene = scene();
    let Some(run) = with_faults(&scene, &[], &[("FAILING_WRITES", "now")]) else { return };
    let output = run.run();
    check_end(&output, "io", 74);
    assert!(output.stderr.contains("events.jsonl"), "{output}");
}

/// Two signals are one request to stop; the end is still reported.
#[test]
fn two_signals_in_a_row_leave_a_last_line() {
    for (pause_us, signals) in [
        (0, [Signal::Term, Signal::Int]),
        (500, [Signal::Term, Signal::Term]),
        (1000, [Signal::Int, Signal::Int]),
        (2000, [Signal::Int, Signal::Term]),
    ] {
        let scene = Scene::new([]);
        let mut lifeline = LivenessPipe::new(&scene.workspace, "line");
        let ignore_signals = format!("trap '' HUP INT QUIT TERM; {}; sleep 60", lifeline.command());
        let scene = scene.with_answers([answer_shell(&ignore_signals), answer_text("never")]);
        let running = scene.print(["--force"]).start();
        lifeline.wait_until_held();
        running.signal(signals[0]);
        std::thread::sleep(Duration::from_micros(pause_us));
        running.signal(signals[1]);
        let output = running.finish();
        let exit = output.code.unwrap_or_default();
        assert!([130, 143].contains(&exit), "{output}");
        check_end(&output, "signal", exit);
        check_journaled(&scene, &output);
        lifeline.wait_until_gone();
    }
}

/// The journal records calls that were ended by force, so the session can be resumed like any other.
#[test]
fn a_run_that_was_ended_by_force_can_be_resumed() {
    let scene = scene();
    let Some(run) = with_faults(&scene, &[], &[("PANIC_IN", "ibeam"), ("PANIC_WHEN", "now")]) else { return };
    let output = run.run();
    assert_eq!(output.code, Some(70), "{output}");
    check_journaled(&scene, &output);
    let scene = scene.with_answers([answer_text("back")]);
    let stream = scene.ibeam(["-p", "again", "--continue"]).run().succeeded().stream();
    assert_eq!(stream.session_id(), output.stream().session_id());
    let transcript = scene.server.requests()[0].transcript().join("\n");
    assert!(transcript.contains("call shell") && transcript.contains("interrupted"), "{transcript}");
}

/// The limits range from insufficient to ample. A run reports the exhausted resource, or works with less parallelism.
#[test]
fn a_low_process_limit_is_reported_or_sufficient() {
    let user = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"];
    if !is_root() || !launcher_works(&user) || !launcher_works(&["prlimit", "--nproc=100"]) {
        return skip("only root can become a user with a separate process count");
    }
    let mut successes = 0;
    for processes in (3..24).chain([60]) {
        let search = answer_call("g", "grep", &json!({ "pattern": "needle" }));
        let scene = Scene::new([search, answer_shell("echo hello"), answer_text("ok")]);
        std::fs::write(scene.workspace.path().join("hay.txt"), "a needle\n").unwrap();
        make_accessible_to_all(&scene);
        let limit = format!("--nproc={processes}");
        let run = scene.print(["--force"]).through(["prlimit", &limit]).through(user);
        let output = run.run();
        match output.code {
            Some(0) => successes += 1,
            Some(71 | 40) => check_failure(&output, output.code.unwrap()),
            _ => panic!("with {processes} processes: {output}"),
        }
        if !output.stdout.is_empty() {
            let end = output.stream().last()["type"].clone();
            assert!(end == "result" || end == "error", "with {processes} processes: {output}");
        }
    }
    assert!(successes > 0, "60 processes are enough");
}
