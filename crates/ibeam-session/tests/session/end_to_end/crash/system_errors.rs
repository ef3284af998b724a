//! Steps that fail with a system error: a failing disk, a process that cannot be created.

use std::time::Duration;

use ibeam_testkit::scene::{Scene, answer_call, answer_shell, answer_text};
use ibeam_testkit::{
    Disk, Errno, Ibeam, ProgramOutput, StepKind, SweepPart, TraceAction, TracePoint, TraceResult, Workspace,
};
use serde_json::json;

use super::checks::{self, SweepFindings};
use super::scenario::{self, Scenario, UUID};

const DISK_ERRORS: [Errno; 3] = [Errno::Io, Errno::NoSpace, Errno::ReadOnly];

/// Whether only one step fails or all later ones too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FailureDuration {
    Once,
    Permanent,
}

/// Runs the program once for each step that `selects` accepts and each of `errors`. The step fails with the error; with
/// `Permanent`, each later selected step too. `check` receives the output and a description of the step.
fn fail_each_step(
    errors: &[Errno],
    duration: FailureDuration,
    set_up: impl Fn() -> (Scene, Ibeam),
    selects: impl Fn(&TracePoint) -> bool + Send + Sync,
    check: impl Fn(Scene, &str, ProgramOutput),
) {
    let trace = |action: &mut (dyn FnMut(&TracePoint) -> TraceAction + Send)| {
        let (scene, command) = set_up();
        let mut disk = Disk::new(scene.workspace.outside());
        command.trace(&mut disk, action).map(|traced| (scene, traced))
    };
    let complete = match trace(&mut |_| TraceAction::Pass) {
        Ok((_, complete)) => complete.points,
        Err(reason) => return eprintln!("SKIP: {reason}"),
    };
    let steps = complete.iter().filter(|point| selects(point)).count();
    assert!(steps > 0, "no such step in {complete:#?}");
    let cases: Vec<_> = (0..steps).flat_map(|nth| errors.iter().map(move |error| (nth, *error))).collect();
    // A few cases are not a sweep.
    let part = if cases.len() < 16 { SweepPart::WHOLE } else { SweepPart::from_environment() };
    let cases = cases.into_iter().enumerate().filter(|(number, _)| part.includes(*number));
    for (_, (nth, error)) in cases {
        let mut matched = 0;
        let (scene, traced) = trace(&mut |point| {
            if !selects(point) {
                return TraceAction::Pass;
            }
            matched += 1;
            match duration {
                FailureDuration::Once if matched != nth + 1 => TraceAction::Pass,
                FailureDuration::Permanent if matched <= nth => TraceAction::Pass,
                FailureDuration::Once | FailureDuration::Permanent => TraceAction::Fail(error),
            }
        })
        .unwrap();
        // With another order of its threads the run may have fewer steps.
        if !traced.has_acted {
            continue;
        }
        let TraceResult { code, stdout, stderr, points, .. } = traced;
        let output = ProgramOutput { code, signal: None, stdout, stderr, elapsed: Duration::ZERO };
        let step = points.iter().filter(|point| selects(point)).nth(nth).unwrap();
        check(scene, &format!("{error:?}, {duration:?} at {step}: {output}"), output);
    }
}

/// The run ends with an error and can be resumed when the disk works again.
#[test]
fn f135_a_journal_that_cannot_be_written_ends_the_run_with_an_error() {
    let scenario = scenario::command();
    fail_each_step(
        &DISK_ERRORS,
        FailureDuration::Permanent,
        || set_up(&scenario),
        is_journal,
        |scene, context, output| {
            // Before the session exists, the error is another one.
            let expect = if output.stream().is_unstarted() { 73 } else { 74 };
            assert_eq!(output.code, Some(expect), "{context}");
            assert_eq!(output.stderr_lines("error: ").len(), 1, "{context}");
            if expect == 74 {
                let stream = output.stream();
                let last = stream.last();
                assert_eq!((&last["code"], &last["exit_code"]), (&json!("io"), &json!(74)), "{context}");
            }
            let scene = scene.with_answers([answer_text("Back.")]);
            let output = scene.ibeam(["-p", "again", "--resume", UUID]).run();
            assert_eq!(output.code, Some(0), "{context}; then {output}");
        },
    );
}

/// The run retries the write or ends with an error.
#[test]
fn f135_a_run_whose_journal_fails_once_never_succeeds_with_a_gap() {
    let scenario = scenario::command();
    fail_each_step(
        &DISK_ERRORS,
        FailureDuration::Once,
        || set_up(&scenario),
        is_journal,
        |scene, context, output| {
            assert!([Some(0), Some(73), Some(74)].contains(&output.code), "{context}");
            let mut findings = SweepFindings::default();
            checks::check_after_kill(scene, &scenario, &output.stdout, context, &mut findings);
            if output.code != Some(0) {
                // The run reported that it printed events which it could not record.
                findings.lost.clear();
            }
            assert!(findings.all().is_empty(), "{findings:#?}");
        },
    );
}

fn is_journal(point: &TracePoint) -> bool {
    matches!(point.kind, StepKind::Write | StepKind::Sync) && point.path.to_string_lossy().contains("/events")
}

/// The old file is intact, the model receives an error and the run continues.
#[test]
fn f106_a_write_that_fails_on_disk_leaves_the_old_file() {
    for (arguments, tool) in [
        (json!({ "path": "n.txt", "fileText": "new\n" }), "write"),
        (json!({ "path": "n.txt", "oldText": "old", "newText": "new" }), "edit"),
    ] {
        let set_up = || {
            let workspace = Workspace::new().file("n.txt", "old\n");
            let scene = Scene::new([answer_call("t1", tool, &arguments), answer_text("Noted.")])
                .with_workspace(workspace);
            let command = scene.print(["--force"]);
            (scene, command)
        };
        // The sync of the directory follows the write, so its failure does not undo the write.
        let is_file_step = |point: &TracePoint| {
            let is_step =
                matches!(point.kind, StepKind::Write | StepKind::Sync | StepKind::Link | StepKind::Rename);
            is_step && point.path.starts_with("project") && point.path.as_os_str() != "project"
        };
        fail_each_step(
            &DISK_ERRORS,
            FailureDuration::Once,
            set_up,
            is_file_step,
            |scene, context, output| {
                assert_eq!(output.code, Some(0), "{context}");
                let stream = output.stream();
                let (_, call) = stream.completed()[0];
                assert!(call["result"]["error"].is_object(), "{context}");
                assert_eq!(stream.deltas(), ["Noted."], "{context}");
                assert_eq!(scene.workspace.read("n.txt").as_deref(), Some("old\n"), "{context}");
            },
        );
    }
}

/// The model receives an error and the run continues.
#[test]
fn f137_a_command_whose_process_cannot_be_created_is_an_error() {
    let set_up = || {
        let scene = Scene::new([answer_shell("true"), answer_text("Noted.")]);
        let command = scene.print(["--force", "--sandbox", "disabled"]);
        (scene, command)
    };
    let is_fork = |point: &TracePoint| point.kind == StepKind::Fork;
    fail_each_step(&[Errno::Again], FailureDuration::Permanent, set_up, is_fork, |_, context, output| {
        assert_eq!(output.code, Some(0), "{context}");
        let stream = output.stream();
        let (_, call) = stream.completed()[0];
        assert!(call["result"]["spawnError"]["errorMessage"].is_string(), "{context}");
        assert_eq!(stream.deltas(), ["Noted."], "{context}");
    });
}

fn set_up(scenario: &Scenario) -> (Scene, Ibeam) {
    let scene = scenario.set_up("default");
    let command = scenario.command(&scene);
    (scene, command)
}
