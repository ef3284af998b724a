//! Standard input, output and error that are closed, full, unread or of an unexpected kind.

use std::path::Path;
use std::time::{Duration, Instant};

use ibeam_protocol::Signal;
use ibeam_testkit::fault_injection::check_failure;
use ibeam_testkit::scene::{Scene, answer_call, answer_text, journal};
use ibeam_testkit::{Answer, Workspace, descriptor_target};
use serde_json::json;

#[test]
fn f128_a_reader_that_never_reads_delays_neither_the_end_nor_the_journal() {
    let many = || (0..500).fold(Answer::new(), |answer, _| answer.text("0123456789abcdef".repeat(256)));
    for format in ["stream-json", "json"] {
        let scene = Scene::new([many(), answer_text("never")]);
        let id = scene.ibeam_without_model(["create-chat"]).run().succeeded().stdout.trim().to_owned();
        let run = scene.print(["--timeout", "2500ms", "--output-format", format, "--resume", &id]);
        let running = run.unread_stdout().start();
        scene.server.wait_for_requests(1);
        // Well before the timeout, which counts from the start: on a busy machine the request comes late.
        std::thread::sleep(Duration::from_millis(500));
        let peak = running.peak_memory();
        let output = running.finish();
        check_failure(&output, 33);
        assert!(output.elapsed < Duration::from_millis(2500 + 3500), "{output}");
        assert!(peak < 128 << 20, "{peak} bytes");
        let events = journal(&scene, &id);
        let last = events.last().unwrap();
        assert!(
            !last["kind"]["run_finished"].is_null(),
            "{format}: {} events, the last {last}; {output}",
            events.len()
        );
    }
}

/// A signal ends the run although nothing reads stdout.
#[test]
fn f128_a_reader_that_never_reads_does_not_delay_a_signal() {
    let many = (0..500).fold(Answer::new(), |answer, _| answer.text("0123456789abcdef".repeat(256)));
    let scene = Scene::new([many, answer_text("never")]);
    let running = scene.print::<&str>([]).unread_stdout().start();
    running.wait_for_full_pipe();
    running.signal(Signal::Term);
    let before = Instant::now();
    check_failure(&running.finish(), 143);
    assert!(before.elapsed() < Duration::from_millis(3500));
}

#[test]
fn f131_the_descriptor_of_a_closed_stdin_is_not_reused() {
    for script in ["exec <&-", "exec <&- 2>&-"] {
        let scene = Scene::new([answer_text("one "), answer_text("never")]);
        let id = scene.ibeam_without_model(["create-chat"]).run().succeeded().stdout.trim().to_owned();
        let output = scene.print(["--resume", &id]).after(script).run().succeeded();
        let events = journal(&scene, &id);
        assert!(!events.last().unwrap()["kind"]["run_finished"].is_null(), "{script}");
        assert_eq!(output.stream().deltas(), ["one "], "{script}");
    }
    let scene = Scene::new([answer_text("one ").stall()]);
    let running = scene.print::<&str>([]).after("exec <&-").start();
    running.wait_for_stdout("one ");
    if let Some(stdin) = descriptor_target(running.pid(), 0) {
        assert_eq!(stdin, Path::new("/dev/null"));
    }
}

/// Without stdout nothing can be printed, so the run is not a success.
#[test]
fn a_run_whose_stdout_is_closed_is_a_failure() {
    for script in ["exec >&-", "exec <&- >&- 2>&-"] {
        let scene = Scene::new([answer_text("never")]);
        let output = scene.print::<&str>([]).after(script).run();
        assert_eq!(output.code, Some(74), "{script}: {output}");
        assert!(scene.server.requests().is_empty(), "{script}");
    }
}

/// The stream does not depend on a terminal, `nohup`, `PATH` or the XDG variables.
#[test]
fn f133_without_a_terminal_the_stream_is_the_same() {
    let answers = || [answer_call("t", "ls", &json!({ "path": "." })), answer_text("done")];
    let scene = Scene::new(answers());
    let outline = scene.print::<&str>([]).run().succeeded().stream().outline();
    let few_variables =
        ["env", "-u", "PATH", "-u", "XDG_CONFIG_HOME", "-u", "XDG_CACHE_HOME", "-u", "XDG_STATE_HOME"];
    for launcher in [&["setsid", "--wait"][..], &["nohup"], &few_variables] {
        let scene = Scene::new(answers());
        let output = scene.print::<&str>([]).through(launcher).run().succeeded();
        assert_eq!(output.stream().outline(), outline, "{launcher:?}");
        assert_eq!(output.stderr_lines("warning: ").len(), 0, "{launcher:?}: {output}");
    }
}

#[test]
fn a_stdin_that_is_a_directory_is_reported() {
    let scene = Scene::new([]);
    let output = scene.print::<&str>([]).after("exec </").run();
    check_failure(&output, 66);
    assert!(output.stderr.contains("stdin"), "{output}");
}

#[test]
fn a_stdin_that_is_a_fifo_without_a_writer_is_ignored_in_time() {
    let scene = Scene::new([answer_text("ok")]);
    let output = scene.print::<&str>([]).after("mkfifo quiet; exec <>quiet").run().succeeded();
    assert_eq!(output.stderr_lines("warning: ").len(), 1, "{output}");
    assert!(output.elapsed < Duration::from_millis(4500), "{output}");
}

/// Warnings that cannot be written do not change the result.
#[test]
fn a_stderr_that_cannot_be_written_never_changes_the_result() {
    let warned = || [Answer::error(529, "overloaded_error", "busy"), answer_text("ok")];
    let config = "[retry]\nfirst_pause = \"1ms\"\n";
    for script in ["exec 2>&-", "exec 2>/dev/full"] {
        let scene = Scene::new(warned()).with_workspace(Workspace::new().user_config(config));
        assert_eq!(scene.print::<&str>([]).after(script).run().succeeded().stream().deltas(), ["ok"]);
        let output = scene.ibeam_without_model(["--no-such-flag"]).after(script).run();
        assert_eq!(output.code, Some(2), "{script}: {output}");
    }
}

/// The warnings are larger than a pipe's buffer, and no process reads them.
#[test]
fn a_stderr_that_is_not_read_never_changes_the_result() {
    let keys: String = (0..10).map(|number| format!("{}{number} = 1\n", "k".repeat(12_000))).collect();
    for args in [&["--heartbeat", "1"][..], &[]] {
        let scene = Scene::new([answer_text("ok")]).with_workspace(Workspace::new().user_config(&keys));
        let output = scene.print(args).unread_stderr().run().succeeded();
        assert_eq!(output.stream().deltas(), ["ok"]);
        assert!(output.elapsed < Duration::from_secs(5), "{output}");
    }
    let scene = Scene::new([]).with_workspace(Workspace::new().user_config(&keys));
    let output = scene.print(["--header", "none"]).unread_stderr().run();
    assert_eq!(output.code, Some(2), "{output}");
}
