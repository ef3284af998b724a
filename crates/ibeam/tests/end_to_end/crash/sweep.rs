//! Each step of each scenario, one after the other.

use ibeam_testkit::{CallKind, Disk, PowerLoss, TraceAction, TraceError, TracePoint, TraceResult};

use super::aftermath;
use super::is_complete_sweep;
use super::scenario::{self, Scenario};
use super::tally::Tally;

#[test]
fn text_alone_survives_a_kill() {
    kills(&scenario::text());
}

#[test]
fn f125_text_alone_survives_a_power_cut() {
    power_cuts(&scenario::text());
}

#[test]
fn a_read_survives_a_kill() {
    kills(&scenario::read());
}

#[test]
fn f125_a_read_survives_a_power_cut() {
    power_cuts(&scenario::read());
}

#[test]
fn f103_a_write_of_a_new_file_survives_a_kill() {
    kills(&scenario::write_new());
}

#[test]
fn f125_a_write_of_a_new_file_survives_a_power_cut() {
    power_cuts(&scenario::write_new());
}

#[test]
fn f103_a_write_over_a_file_survives_a_kill() {
    kills(&scenario::write_over());
}

#[test]
fn f125_a_write_over_a_file_survives_a_power_cut() {
    power_cuts(&scenario::write_over());
}

#[test]
fn f103_an_edit_survives_a_kill() {
    kills(&scenario::edit());
}

#[test]
fn f125_an_edit_survives_a_power_cut() {
    power_cuts(&scenario::edit());
}

#[test]
fn a_command_survives_a_kill() {
    kills(&scenario::command());
}

#[test]
fn f125_a_command_survives_a_power_cut() {
    power_cuts(&scenario::command());
}

#[test]
fn two_calls_of_one_answer_survive_a_kill() {
    kills(&scenario::two_calls());
}

#[test]
fn f125_two_calls_of_one_answer_survive_a_power_cut() {
    power_cuts(&scenario::two_calls());
}

#[test]
fn reads_that_run_together_survive_a_kill() {
    kills(&scenario::reads_together());
}

#[test]
fn f125_reads_that_run_together_survive_a_power_cut() {
    power_cuts(&scenario::reads_together());
}

#[test]
fn a_command_in_the_background_survives_a_kill() {
    kills(&scenario::background());
}

#[test]
fn f125_a_command_in_the_background_survives_a_power_cut() {
    power_cuts(&scenario::background());
}

#[test]
fn calls_that_fail_survive_a_kill() {
    kills(&scenario::failure());
}

#[test]
fn f125_calls_that_fail_survive_a_power_cut() {
    power_cuts(&scenario::failure());
}

#[test]
fn the_second_run_of_a_session_survives_a_kill() {
    kills(&scenario::second_run());
}

#[test]
fn f125_the_second_run_of_a_session_survives_a_power_cut() {
    power_cuts(&scenario::second_run());
}

#[test]
fn a_fork_survives_a_kill() {
    kills(&scenario::fork());
}

#[test]
fn f125_a_fork_survives_a_power_cut() {
    power_cuts(&scenario::fork());
}

#[test]
fn large_payloads_survive_a_kill() {
    kills(&scenario::large());
}

#[test]
fn f125_large_payloads_survive_a_power_cut() {
    power_cuts(&scenario::large());
}

#[test]
fn a_refused_command_survives_a_kill() {
    kills(&scenario::denied());
}

#[test]
fn f125_a_refused_command_survives_a_power_cut() {
    power_cuts(&scenario::denied());
}

#[test]
fn nothing_overtakes_the_journal() {
    for scenario in [scenario::command(), scenario::write_over()] {
        each_step(&scenario, "killed while it writes", "default", |point| {
            if point.call == CallKind::Write { vec![(TraceAction::HoldThenKill, None)] } else { Vec::new() }
        });
    }
}

/// What is done at a step, and what the disk loses then.
type Death = (TraceAction, Option<PowerLoss>);

/// Kills the program, and it alone, around each step.
fn kills(scenario: &Scenario) {
    // Right after most steps it is as right before the next, so that is left to the whole sweep.
    each_step(scenario, "killed", "default", |point| {
        let mut acts = vec![TraceAction::KillBefore];
        match point.call {
            CallKind::Write => acts.push(TraceAction::Tear),
            CallKind::Rename | CallKind::Link | CallKind::Fork | CallKind::Exec => {
                acts.push(TraceAction::KillAfter)
            }
            CallKind::Sync | CallKind::Remove | CallKind::Truncate | CallKind::MakeDirectory
                if is_complete_sweep() =>
            {
                acts.push(TraceAction::KillAfter);
            }
            CallKind::Sync
            | CallKind::Remove
            | CallKind::Truncate
            | CallKind::MakeDirectory
            | CallKind::Exit => {}
        }
        acts.into_iter().map(|act| (act, None)).collect()
    });
}

/// Cuts the power before each step, in a session that promises to survive that.
fn power_cuts(scenario: &Scenario) {
    // Both ways to lose what was not synced, or one in turns.
    each_step(scenario, "power cut", "strict", |point| {
        let mut ways = vec![PowerLoss::All, PowerLoss::Contents];
        if !is_complete_sweep() {
            ways.swap_remove(point.nth % 2);
        }
        ways.into_iter().map(|lost| (TraceAction::KillAll, Some(lost))).collect()
    });
}

fn each_step(scenario: &Scenario, how: &str, durability: &str, deaths: impl Fn(&TracePoint) -> Vec<Death>) {
    let mut tally = Tally::default();
    let mut die =
        |act: &(dyn Fn(&TracePoint) -> TraceAction + Sync), lost: Option<PowerLoss>, moment: &str| {
            let scene = scenario.stage(durability);
            let mut disk = Disk::new(scene.workspace.outside());
            let traced = scenario.command(&scene).trace(&mut disk, act)?;
            if let Some(lost) = lost {
                disk.cut_power(lost);
            }
            aftermath::examine(scene, scenario, &traced.stdout, moment, &mut tally);
            Ok::<TraceResult, TraceError>(traced)
        };
    // Once to its end: that is how it should go, and these are its steps.
    let whole = match die(&|_| TraceAction::Pass, None, "not killed") {
        Ok(whole) => whole,
        Err(why) => return eprintln!("SKIP: {why}"),
    };
    assert_eq!(whole.code, Some(0), "{}: {}{}", scenario.name, whole.stdout, whole.stderr);
    for point in &whole.points {
        for (act, lost) in deaths(point) {
            let moment = format!("{act:?} {lost:?} {point}");
            die(&|matched| if matched.is_same_step(point) { act } else { TraceAction::Pass }, lost, &moment)
                .unwrap();
        }
    }
    tally.report(&format!("{}, {how}", scenario.name));
}
