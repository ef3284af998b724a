//! Faults of the provider: server, proxy and network.
//!
//! Each test checks the exit code, the error message and that the journal contains everything that was printed.

mod answers;
mod network;
mod raw_server;
mod statuses;
mod streams;
mod tls;

use ibeam_testkit::scene::{KEY, Scene, WIRES, check_journaled, journal};
use ibeam_testkit::{Answer, Ibeam, ProgramOutput, Workspace};
use serde_json::{Value, json};

/// The default attempts with minimal pauses.
const FAST_RETRIES: &str = "[retry]\nfirst_pause = \"1ms\"\n";

/// Returns a workspace with this user configuration.
fn workspace_with_config(config: &str) -> Workspace {
    Workspace::new().user_config(config)
}

/// Checks that a run fails with `exit` in each format; returns the output of `stream-json`.
#[track_caller]
fn expect_failure(exit: i32, run: impl Fn() -> (Scene, Ibeam)) -> ProgramOutput {
    for format in ["json", "text"] {
        let (scene, ibeam) = run();
        let output = ibeam.args(["--output-format", format]).run();
        check_failure(&output, exit);
        assert!(format == "text" || output.stdout.is_empty(), "json prints nothing; {output}");
        check_ended(&journal(&scene, &only_session(&scene)), "failed", &output);
    }
    let (scene, ibeam) = run();
    let output = ibeam.run();
    check_failure(&output, exit);
    let stream = output.stream();
    let last = stream.last();
    assert_eq!((&last["type"], &last["exit_code"]), (&json!("error"), &json!(exit)), "{output}");
    check_journaled(&scene, &output);
    check_ended(&journal(&scene, stream.session_id()), "failed", &output);
    output
}

/// Checks that a run with these answers fails on both wires; returns the output of the last.
#[track_caller]
fn expect_failure_on_both_wires(exit: i32, config: &str, answers: impl Fn() -> Vec<Answer>) -> ProgramOutput {
    let run = |wire| {
        expect_failure(exit, || {
            let scene = Scene::with_wire(wire, answers()).with_workspace(workspace_with_config(config));
            let ibeam = scene.print::<&str>([]);
            (scene, ibeam)
        })
    };
    WIRES.map(run).into_iter().next_back().unwrap()
}

/// Checks that a run succeeds and journals what it printed.
#[track_caller]
fn expect_success(scene: &Scene, ibeam: Ibeam) -> ProgramOutput {
    let output = ibeam.run().succeeded();
    assert!(output.stderr_lines("error: ").is_empty() && !output.stderr.contains(KEY), "{output}");
    let stream = output.stream();
    assert_eq!(stream.last()["subtype"], "success", "{output}");
    check_journaled(scene, &output);
    check_ended(&journal(scene, stream.session_id()), "completed", &output);
    output
}

/// Checks that a run with these answers succeeds on both wires; returns both runs.
#[track_caller]
fn expect_success_on_both_wires(
    config: &str,
    answers: impl Fn() -> Vec<Answer>,
) -> [(Scene, ProgramOutput); 2] {
    WIRES.map(|wire| {
        let scene = Scene::with_wire(wire, answers()).with_workspace(workspace_with_config(config));
        let output = expect_success(&scene, scene.print::<&str>([]));
        (scene, output)
    })
}

/// Checks that there is one `error:` line, the exit code, no success and no key.
#[track_caller]
fn check_failure(output: &ProgramOutput, exit: i32) {
    assert_eq!(output.code, Some(exit), "{output}");
    assert_eq!(output.stderr_lines("error: ").len(), 1, "{output}");
    assert!(!output.stdout.contains(r#""subtype":"success""#), "{output}");
    assert!(!output.stdout.contains(KEY) && !output.stderr.contains(KEY), "{output}");
    assert!(!output.stderr.contains("panicked"), "{output}");
}

/// Checks that the journal ends with the end of the run.
#[track_caller]
fn check_ended(events: &[Value], expected: &str, output: &ProgramOutput) {
    let outcome = &events.last().unwrap()["kind"]["run_finished"]["outcome"];
    assert!(*outcome == expected || outcome.get(expected).is_some(), "{outcome}; {output}");
}

/// Returns the id of the only session.
#[track_caller]
fn only_session(scene: &Scene) -> String {
    let journal = scene.workspace.journal("none");
    let sessions = journal.parent().unwrap().parent().unwrap();
    let mut names = std::fs::read_dir(sessions).unwrap().map(|entry| entry.unwrap().file_name());
    let name = names.next().unwrap().into_string().unwrap();
    assert!(names.next().is_none(), "one session");
    name
}

/// Returns how often the run repeated a request.
fn retries(output: &ProgramOutput) -> u64 {
    output.stream().last()["ibeam"]["retries"].as_u64().unwrap_or(0)
}
