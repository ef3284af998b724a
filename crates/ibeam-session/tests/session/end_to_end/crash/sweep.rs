//! Kills and power cuts at each step of each scenario, and kills at random instants.

use std::time::Duration;

use ibeam_testkit::{Disk, PowerLoss, StepKind, SweepPart, TraceAction, TraceError, TracePoint, TraceResult};

use super::checks::{self, SweepFindings};
use super::scenario::{self, Scenario};

#[test]
fn text_alone_survives_a_kill() {
    check_kills(&scenario::text());
}

#[test]
fn f125_text_alone_survives_a_power_cut() {
    check_power_cuts(&scenario::text());
}

#[test]
fn a_read_survives_a_kill() {
    check_kills(&scenario::read());
}

#[test]
fn f125_a_read_survives_a_power_cut() {
    check_power_cuts(&scenario::read());
}

#[test]
fn f103_a_write_of_a_new_file_survives_a_kill() {
    check_kills(&scenario::write_new());
}

#[test]
fn f125_a_write_of_a_new_file_survives_a_power_cut() {
    check_power_cuts(&scenario::write_new());
}

#[test]
fn f103_a_write_over_a_file_survives_a_kill() {
    check_kills(&scenario::write_over());
}

#[test]
fn f125_a_write_over_a_file_survives_a_power_cut() {
    check_power_cuts(&scenario::write_over());
}

#[test]
fn f103_an_edit_survives_a_kill() {
    check_kills(&scenario::edit());
}

#[test]
fn f125_an_edit_survives_a_power_cut() {
    check_power_cuts(&scenario::edit());
}

#[test]
fn a_command_survives_a_kill() {
    check_kills(&scenario::command());
}

#[test]
fn f125_a_command_survives_a_power_cut() {
    check_power_cuts(&scenario::command());
}

#[test]
fn two_calls_of_one_answer_survive_a_kill() {
    check_kills(&scenario::two_calls());
}

#[test]
fn f125_two_calls_of_one_answer_survive_a_power_cut() {
    check_power_cuts(&scenario::two_calls());
}

#[test]
fn reads_that_run_together_survive_a_kill() {
    check_kills(&scenario::reads_together());
}

#[test]
fn f125_reads_that_run_together_survive_a_power_cut() {
    check_power_cuts(&scenario::reads_together());
}

#[test]
fn a_command_in_the_background_survives_a_kill() {
    check_kills(&scenario::background());
}

#[test]
fn f125_a_command_in_the_background_survives_a_power_cut() {
    check_power_cuts(&scenario::background());
}

#[test]
fn calls_that_fail_survive_a_kill() {
    check_kills(&scenario::failure());
}

#[test]
fn f125_calls_that_fail_survive_a_power_cut() {
    check_power_cuts(&scenario::failure());
}

#[test]
fn the_second_run_of_a_session_survives_a_kill() {
    check_kills(&scenario::second_run());
}

#[test]
fn f125_the_second_run_of_a_session_survives_a_power_cut() {
    check_power_cuts(&scenario::second_run());
}

#[test]
fn a_fork_survives_a_kill() {
    check_kills(&scenario::fork());
}

#[test]
fn f125_a_fork_survives_a_power_cut() {
    check_power_cuts(&scenario::fork());
}

#[test]
fn large_payloads_survive_a_kill() {
    check_kills(&scenario::large());
}

#[test]
fn f125_large_payloads_survive_a_power_cut() {
    check_power_cuts(&scenario::large());
}

#[test]
fn a_refused_command_survives_a_kill() {
    check_kills(&scenario::denied());
}

#[test]
fn f125_a_refused_command_survives_a_power_cut() {
    check_power_cuts(&scenario::denied());
}

#[test]
fn runs_killed_at_random_instants_can_be_resumed() {
    let part = SweepPart::from_environment();
    let count = part.share_of(1000);
    let chosen = std::env::var("IBEAM_KILL_SEED").map(|seed| seed.parse().unwrap());
    let seed = chosen.unwrap_or(4 + part.index() as u64);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut findings = SweepFindings::default();
    let scenarios = scenario::all();
    let each = count.div_ceil(scenarios.len());
    for scenario in scenarios {
        let scene = scenario.set_up("default");
        let duration = scenario.command(&scene).run().succeeded().elapsed;
        for _ in 0..each {
            let scene = scenario.set_up("default");
            let after = Duration::from_secs_f64(duration.as_secs_f64() * 1.1 * random.f64());
            let stdout = scenario.command(&scene).kill_after(after);
            let context = format!("{}, seed {seed}, killed after {after:?} of {duration:?}", scenario.name);
            checks::check_after_kill(scene, &scenario, &stdout, &context, &mut findings);
        }
    }
    findings.report(&format!("all, killed at random instants of seed {seed}"));
}

#[test]
fn nothing_overtakes_the_journal() {
    for scenario in [scenario::command(), scenario::write_over()] {
        sweep_steps(&scenario, "killed while it writes", "default", |point| {
            if point.kind == StepKind::Write { vec![(TraceAction::HoldThenKill, None)] } else { Vec::new() }
        });
    }
}

/// The action at a step, and the loss of a power cut.
type Kill = (TraceAction, Option<PowerLoss>);

/// Kills only the program, before and after each step and during writes.
fn check_kills(scenario: &Scenario) {
    sweep_steps(scenario, "killed", "default", |point| {
        let other = match point.kind {
            StepKind::Write => Some(TraceAction::Tear),
            StepKind::Exit => None,
            StepKind::Rename
            | StepKind::Link
            | StepKind::Fork
            | StepKind::Exec
            | StepKind::Sync
            | StepKind::Remove
            | StepKind::Truncate
            | StepKind::MakeDirectory => Some(TraceAction::KillAfter),
        };
        [Some(TraceAction::KillBefore), other].into_iter().flatten().map(|action| (action, None)).collect()
    });
}

/// Cuts the power before each step of a session with strict durability.
fn check_power_cuts(scenario: &Scenario) {
    sweep_steps(scenario, "power cut", "strict", |_| {
        let losses = [PowerLoss::All, PowerLoss::Contents];
        losses.into_iter().map(|loss| (TraceAction::KillAll, Some(loss))).collect()
    });
}

/// Runs the scenario once without a kill, then once for each kill at each step that is in the part of the sweep. Checks the
/// state after each.
fn sweep_steps(scenario: &Scenario, kind: &str, durability: &str, kills: impl Fn(&TracePoint) -> Vec<Kill>) {
    let mut findings = SweepFindings::default();
    let mut run_until =
        |action: &(dyn Fn(&TracePoint) -> TraceAction + Sync), loss: Option<PowerLoss>, context: &str| {
            let scene = scenario.set_up(durability);
            let mut disk = Disk::new(scene.workspace.outside());
            let traced = scenario.command(&scene).trace(&mut disk, action)?;
            if let Some(loss) = loss {
                disk.cut_power(loss);
            }
            checks::check_after_kill(scene, scenario, &traced.stdout, context, &mut findings);
            Ok::<TraceResult, TraceError>(traced)
        };
    // The complete run must succeed; its steps are the points for the kills.
    let complete = match run_until(&|_| TraceAction::Pass, None, "not killed") {
        Ok(complete) => complete,
        Err(reason) => return eprintln!("SKIP: {reason}"),
    };
    assert_eq!(complete.code, Some(0), "{}: {}{}", scenario.name, complete.stdout, complete.stderr);
    let all =
        complete.points.iter().flat_map(|point| kills(point).into_iter().map(move |kill| (point, kill)));
    let part = SweepPart::from_environment();
    for (_, (point, (action, loss))) in all.enumerate().filter(|(number, _)| part.includes(*number)) {
        let context = format!("{action:?} {loss:?} {point}");
        let act = |matched: &TracePoint| if matched.is_same_step(point) { action } else { TraceAction::Pass };
        run_until(&act, loss, &context).unwrap();
    }
    findings.report(&format!("{}, {kind}", scenario.name));
}
