//! A run that a signal or a time limit stops: in order, in time, with its child processes.

use std::time::Duration;

use ibeam_protocol::Signal;
use ibeam_testkit::scene::{
    Scene, WIRES, answer_call, answer_shell, answer_text, check_journaled, check_unstarted, model_name,
};
use ibeam_testkit::{Ibeam, LivenessPipe, ProgramOutput, RunningProgram, Stdin, Wire, program_path};
use serde_json::json;

const SIGNALS: [(Signal, i32); 4] =
    [(Signal::Hup, 129), (Signal::Int, 130), (Signal::Quit, 131), (Signal::Term, 143)];

/// Sends the signal and asserts that the run ends in time, with its exit code and its last event.
#[track_caller]
fn stop(running: RunningProgram, signal: Signal, exit: i32) -> ProgramOutput {
    running.signal(signal);
    let before = std::time::Instant::now();
    let output = running.finish();
    assert!(
        before.elapsed() < Duration::from_millis(3500),
        "an orderly shutdown takes at most 3 s: {output}"
    );
    assert_eq!(output.code, Some(exit), "{output}");
    let stream = output.stream();
    assert_eq!((&stream.last()["code"], &stream.last()["exit_code"]), (&json!("signal"), &json!(exit)));
    assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
    output
}

/// Stops a run while the model sends text.
#[track_caller]
fn stop_while_text_streams(signal: Signal, exit: i32) {
    for wire in WIRES {
        let scene = Scene::with_wire(wire, [answer_text("first ").stall()]);
        let running = scene.print::<&str>([]).start();
        running.wait_for_stdout("first ");
        let output = stop(running, signal, exit);
        assert_eq!(output.stream().deltas(), ["first "]);
        check_journaled(&scene, &output);
    }
}

/// Stops a run whose command would take a minute.
#[track_caller]
fn stop_while_a_command_runs(signal: Signal, exit: i32) {
    let scene = Scene::new([]);
    let mut lifeline = LivenessPipe::new(&scene.workspace, "line");
    let scene = scene.with_answers([answer_text("Now. ").call(
        "t",
        "shell",
        &json!({ "command": lifeline.command() }),
    )]);
    let running = scene.print(["--force"]).start();
    lifeline.wait_until_held();
    let output = stop(running, signal, exit);
    lifeline.wait_until_gone();
    let outline = output.stream().outline();
    assert_eq!(outline, ["system", "user", "text", "started shell", "completed shell", "error"]);
    assert_eq!(scene.server.requests().len(), 1);
    check_journaled(&scene, &output);
}

#[test]
fn f116_an_interrupt_while_text_streams_ends_the_run_in_order() {
    stop_while_text_streams(Signal::Int, 130);
}

#[test]
fn f116_an_interrupt_while_a_command_runs_ends_the_command_too() {
    stop_while_a_command_runs(Signal::Int, 130);
}

#[test]
fn f118_a_termination_while_a_command_runs_ends_the_command_too() {
    stop_while_a_command_runs(Signal::Term, 143);
}

#[test]
fn f119_a_termination_while_text_streams_keeps_the_text() {
    stop_while_text_streams(Signal::Term, 143);
}

#[test]
fn f120_a_hang_up_while_text_streams_ends_the_run_in_order() {
    stop_while_text_streams(Signal::Hup, 129);
}

#[test]
fn f120_a_hang_up_while_a_command_runs_ends_the_command_too() {
    stop_while_a_command_runs(Signal::Hup, 129);
}

#[test]
fn a_quit_ends_a_run_in_order() {
    stop_while_text_streams(Signal::Quit, 131);
    stop_while_a_command_runs(Signal::Quit, 131);
}

#[test]
fn a_command_that_ignores_the_signal_is_killed() {
    let scene = Scene::new([]);
    let mut lifeline = LivenessPipe::new(&scene.workspace, "line");
    let ignoring = format!("trap '' HUP INT QUIT TERM; {}; sleep 60", lifeline.command());
    let scene = scene.with_answers([answer_shell(&ignoring), answer_text("never")]);
    let running = scene.print(["--force"]).start();
    lifeline.wait_until_held();
    stop(running, Signal::Term, 143);
    lifeline.wait_until_gone();
}

#[test]
fn a_background_command_ends_with_the_run() {
    let scene = Scene::new([]);
    let mut lifeline = LivenessPipe::new(&scene.workspace, "line");
    let call = answer_call("t", "shell", &json!({ "command": lifeline.command(), "isBackground": true }));
    let scene = scene.with_answers([call, answer_text("started it")]);
    let output = scene.print(["--force"]).run().succeeded();
    lifeline.wait_until_held();
    lifeline.wait_until_gone();
    let stream = output.stream();
    assert_eq!(stream.completed()[0].1["result"]["isBackground"], true, "{output}");
    assert_eq!(stream.last()["result"], "started it");
}

#[test]
fn the_time_limit_ends_a_command_too() {
    let scene = Scene::new([]);
    let lifeline = LivenessPipe::new(&scene.workspace, "line");
    let scene = scene.with_answers([answer_shell(&lifeline.command()), answer_text("never")]);
    let output = scene.print(["--force", "--timeout", "1500ms"]).run();
    assert_eq!(output.code, Some(33), "{output}");
    let mut lifeline = lifeline;
    lifeline.wait_until_held();
    lifeline.wait_until_gone();
}

#[test]
fn f117_a_second_interrupt_ends_the_run_at_once() {
    let scene = Scene::new([]);
    let mut lifeline = LivenessPipe::new(&scene.workspace, "line");
    let ignoring = format!("trap '' HUP INT QUIT TERM; {}; sleep 60", lifeline.command());
    let scene = scene.with_answers([answer_shell(&ignoring), answer_text("never")]);
    let running = scene.print(["--force"]).start();
    lifeline.wait_until_held();
    running.signal(Signal::Int);
    // The pause is needed because the system merges two simultaneous signals into one.
    std::thread::sleep(Duration::from_millis(200));
    running.signal(Signal::Int);
    let before = std::time::Instant::now();
    let output = running.finish();
    assert_eq!(output.code, Some(130), "{output}");
    assert!(before.elapsed() < Duration::from_secs(1), "{output}");
    check_journaled(&scene, &output);
    lifeline.wait_until_gone();
}

/// A stopped session is resumed, and the model receives the result of the ended command.
#[test]
fn a_stopped_session_is_resumed() {
    for wire in WIRES {
        let scene = Scene::with_wire(wire, []);
        let mut lifeline = LivenessPipe::new(&scene.workspace, "line");
        let scene = scene.with_answers([answer_shell(&lifeline.command()), answer_text("never")]);
        let running = scene.print(["--force"]).start();
        lifeline.wait_until_held();
        let output = stop(running, Signal::Int, 130);
        let scene = scene.with_answers([answer_text("back")]);
        let stream = scene.ibeam(["-p", "again", "--continue"]).run().succeeded().stream();
        assert_eq!(stream.session_id(), output.stream().session_id());
        let transcript = scene.server.requests()[0].transcript().join("\n");
        assert!(
            transcript.contains("call shell") && transcript.contains("result (ended by SIGTERM)"),
            "{transcript}"
        );
    }
}

/// A closed reader is noticed even while there is nothing to write: the command would run for a minute.
#[test]
fn f126_a_closed_reader_ends_a_running_command() {
    for format in ["stream-json", "json", "text"] {
        let scene = Scene::new([]);
        let mut lifeline = LivenessPipe::new(&scene.workspace, "line");
        let scene = scene.with_answers([answer_shell(&lifeline.command()), answer_text("never")]);
        // The reader of stdout ends after a line in another pipe.
        let script = format!(
            "mkfifo go; {} -p x --force --output-format {format} --model {} | (read word <go); exit ${{PIPESTATUS[0]}}",
            program_path(),
            model_name(Wire::Anthropic)
        );
        let run = Ibeam::new("/bin/bash", &scene.workspace).args(["-c", &script]);
        let running = run.env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", "k").start();
        lifeline.wait_until_held();
        std::fs::write(scene.workspace.path().join("go"), "now\n").unwrap();
        let output = running.finish();
        assert_eq!(output.code, Some(74), "{output}");
        lifeline.wait_until_gone();
    }
}

/// Before the start of the run there is no stream, but the program still ends in order.
#[test]
fn a_signal_while_stdin_is_waited_for_ends_the_program_in_order() {
    for (signal, exit) in SIGNALS {
        let scene = Scene::new([]);
        let running = scene.ibeam(["-p", "--stdin", "read", "hi"]).stdin(Stdin::SilentPipe).start();
        running.wait_for_thread("stdin");
        running.signal(signal);
        let output = running.finish();
        check_unstarted(&output, exit);
        assert!(output.elapsed < Duration::from_secs(3), "{output}");
    }
}
