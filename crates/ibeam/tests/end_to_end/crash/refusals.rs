//! Steps that the system refuses: a disk that fails, a process that cannot be had.

use std::time::Duration;

use ibeam_testkit::{
    CallKind, Disk, Errno, Ibeam, ProgramOutput, TraceAction, TracePoint, TraceResult, Workspace,
};
use serde_json::json;

use super::aftermath;
use super::scenario::{self, Scenario, UUID};
use super::tally::Tally;
use crate::scene::{Scene, answer_call, answer_shell, answer_text};

const DISK: [Errno; 3] = [Errno::Io, Errno::NoSpace, Errno::ReadOnly];

/// How long a trouble lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Once,
    FromThenOn,
}

/// Runs what `stage` sets up once for each step that `is_meant` and each of `errors`. The step fails with it, and
/// with `FromThenOn` so does each later one that is meant; `holds` gets the run and a word on the step.
fn refuse(
    errors: &[Errno],
    trouble: Trouble,
    stage: impl Fn() -> (Scene, Ibeam),
    is_meant: impl Fn(&TracePoint) -> bool + Send + Sync,
    holds: impl Fn(Scene, &str, ProgramOutput),
) {
    let trace = |act: &mut (dyn FnMut(&TracePoint) -> TraceAction + Send)| {
        let (scene, command) = stage();
        let mut disk = Disk::new(scene.workspace.outside());
        command.trace(&mut disk, act).map(|traced| (scene, traced))
    };
    let whole = match trace(&mut |_| TraceAction::Pass) {
        Ok((_, whole)) => whole.points,
        Err(why) => return eprintln!("SKIP: {why}"),
    };
    let steps = whole.iter().filter(|point| is_meant(point)).count();
    assert!(steps > 0, "no such step in {whole:#?}");
    for (nth, error) in (0..steps).flat_map(|nth| errors.iter().map(move |error| (nth, *error))) {
        let mut matched = 0;
        let (scene, traced) = trace(&mut |point| {
            if !is_meant(point) {
                return TraceAction::Pass;
            }
            matched += 1;
            match trouble {
                Trouble::Once if matched != nth + 1 => TraceAction::Pass,
                Trouble::FromThenOn if matched <= nth => TraceAction::Pass,
                Trouble::Once | Trouble::FromThenOn => TraceAction::Fail(error),
            }
        })
        .unwrap();
        // With other turns of its threads there may be fewer steps.
        if !traced.has_acted {
            continue;
        }
        let TraceResult { code, stdout, stderr, points, .. } = traced;
        let output = ProgramOutput { code, signal: None, stdout, stderr, elapsed: Duration::ZERO };
        let step = points.iter().filter(|point| is_meant(point)).nth(nth).unwrap();
        holds(scene, &format!("{error:?}, {trouble:?} at {step}: {output}"), output);
    }
}

/// The run ends in order, says so, and is gone on with once the disk is well again.
#[test]
fn f135_a_journal_that_cannot_be_written_ends_the_run_in_order() {
    let scenario = scenario::command();
    refuse(
        &DISK,
        Trouble::FromThenOn,
        || stage(&scenario),
        is_journal,
        |scene, moment, output| {
            // Before there is a session, there is no run.
            let expect = if output.stdout.is_empty() { 73 } else { 74 };
            assert_eq!(output.code, Some(expect), "{moment}");
            assert_eq!(output.stderr_lines("error: ").len(), 1, "{moment}");
            if expect == 74 {
                let stream = output.stream();
                let last = stream.last();
                assert_eq!((&last["code"], &last["exit_code"]), (&json!("io"), &json!(74)), "{moment}");
            }
            let scene = scene.with_answers([answer_text("Back.")]);
            let output = scene.ibeam(["-p", "again", "--resume", UUID]).run();
            assert_eq!(output.code, Some(0), "{moment}; then {output}");
        },
    );
}

/// Either it is made good, or the run ends as above.
#[test]
fn f135_a_journal_that_fails_once_makes_no_success_with_a_gap() {
    let scenario = scenario::command();
    refuse(
        &DISK,
        Trouble::Once,
        || stage(&scenario),
        is_journal,
        |scene, moment, output| {
            assert!([Some(0), Some(73), Some(74)].contains(&output.code), "{moment}");
            let mut found = Tally::default();
            aftermath::examine(scene, &scenario, &output.stdout, moment, &mut found);
            if output.code != Some(0) {
                // What could not be recorded was told all the same, and so was that.
                found.lost.clear();
            }
            assert!(found.findings().is_empty(), "{found:#?}");
        },
    );
}

fn is_journal(point: &TracePoint) -> bool {
    matches!(point.call, CallKind::Write | CallKind::Sync) && point.path.to_string_lossy().contains("/events")
}

/// The old file is intact, the model is told, the run goes on.
#[test]
fn f106_a_write_that_the_disk_refuses_leaves_the_old_file() {
    for (arguments, tool) in [
        (json!({ "path": "n.txt", "fileText": "new\n" }), "write"),
        (json!({ "path": "n.txt", "oldText": "old", "newText": "new" }), "edit"),
    ] {
        let stage = || {
            let workspace = Workspace::new().file("n.txt", "old\n");
            let scene = Scene::new([answer_call("t1", tool, &arguments), answer_text("Noted.")])
                .with_workspace(workspace);
            let command = scene.print(["--force"]);
            (scene, command)
        };
        // That the directory is synced too is beyond the write, which has been made.
        let of_the_file = |point: &TracePoint| {
            let is_step =
                matches!(point.call, CallKind::Write | CallKind::Sync | CallKind::Link | CallKind::Rename);
            is_step && point.path.starts_with("project") && point.path.as_os_str() != "project"
        };
        refuse(&DISK, Trouble::Once, stage, of_the_file, |scene, moment, output| {
            assert_eq!(output.code, Some(0), "{moment}");
            let stream = output.stream();
            let (_, call) = stream.completed()[0];
            assert!(call["result"]["error"].is_object(), "{moment}");
            assert_eq!(stream.deltas(), ["Noted."], "{moment}");
            assert_eq!(scene.workspace.read("n.txt").as_deref(), Some("old\n"), "{moment}");
        });
    }
}

/// The model is told, and the run goes on.
#[test]
fn f137_a_command_without_a_process_to_be_had_is_told() {
    let stage = || {
        let scene = Scene::new([answer_shell("true"), answer_text("Noted.")]);
        let command = scene.print(["--force", "--sandbox", "disabled"]);
        (scene, command)
    };
    let is_fork = |point: &TracePoint| point.call == CallKind::Fork;
    refuse(&[Errno::Again], Trouble::FromThenOn, stage, is_fork, |_, moment, output| {
        assert_eq!(output.code, Some(0), "{moment}");
        let stream = output.stream();
        let (_, call) = stream.completed()[0];
        assert!(call["result"]["spawnError"]["errorMessage"].is_string(), "{moment}");
        assert_eq!(stream.deltas(), ["Noted."], "{moment}");
    });
}

fn stage(scenario: &Scenario) -> (Scene, Ibeam) {
    let scene = scenario.stage("default");
    let command = scenario.command(&scene);
    (scene, command)
}
