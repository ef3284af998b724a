//! What is left of a run that is killed at any of its steps, or whose machine loses power.
//!
//! A run is repeated once for each lasting step it takes (each write, sync, rename, fork, exec and the like), and
//! killed right before it, in the middle of it, right after it. Each time the session must go on, and nothing that
//! was printed may be missing.

#[path = "crash/aftermath.rs"]
mod aftermath;
#[path = "crash/scenario.rs"]
mod scenario;
#[path = "crash/tally.rs"]
mod tally;

use std::time::Instant;

use ibeam_testkit::{Act, Call, Disk, Point, Untraceable};

use crate::scene::KEY;
use scenario::Scenario;
use tally::Tally;

const CHECKS: bool = false;
const SWEEPS: bool = false;

/// How a run ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Death {
    /// SIGKILL to the program alone.
    Kill,
    /// All is gone at once, and all that was not synced. The session is `strict`.
    PowerCut,
}

fn sweep(scenario: &Scenario, death: Death) {
    let mut tally = Tally::default();
    let began = Instant::now();
    let what = format!("{}, {death:?}", scenario.name);
    // Once to its end: the way it should go, and how many steps it takes.
    let points = match die(scenario, death, |_| Act::Pass, "unkilled", &mut tally) {
        Ok(points) => points,
        Err(why) => return eprintln!("SKIP: {why}"),
    };
    for number in 0..points.len() {
        let call = points[number].call;
        let acts: &[Act] = match (death, call) {
            (Death::PowerCut, _) => &[Act::KillAll],
            (Death::Kill, Call::Write) => &[Act::KillBefore, Act::Tear],
            (Death::Kill, Call::Exec | Call::Rename) => &[Act::KillBefore, Act::KillAfter],
            (Death::Kill, _) => &[Act::KillBefore],
        };
        for act in acts {
            let at = |point: &Point| if point.number == number { *act } else { Act::Pass };
            let moment = format!("{act:?} {}", points[number]);
            die(scenario, death, at, &moment, &mut tally).unwrap();
        }
    }
    eprintln!("{:?}", began.elapsed());
    tally.report(&what);
}

fn die(
    scenario: &Scenario,
    death: Death,
    act: impl FnMut(&Point) -> Act + Send,
    moment: &str,
    tally: &mut Tally,
) -> Result<Vec<Point>, Untraceable> {
    let scene = scenario.stage(match death {
        Death::Kill => "default",
        Death::PowerCut => "strict",
    });
    let mut disk = Disk::new(scene.workspace.outside());
    let run = scene.bare(scenario.args());
    let run = run.env("ANTHROPIC_BASE_URL", scene.server.url()).env("ANTHROPIC_API_KEY", KEY);
    let traced = run.trace(&mut disk, act)?;
    if !traced.acted {
        assert_eq!(traced.code, Some(0), "{}: {}{}", scenario.name, traced.stdout, traced.stderr);
    }
    if death == Death::PowerCut {
        disk.lose_unsynced();
    }
    tally.points += 1;
    aftermath::examine(scene, scenario, &traced.stdout, moment, tally);
    Ok(traced.points)
}

macro_rules! sweeps {
    ($($scenario:ident: $kill:ident, $power_cut:ident;)*) => {$(
        #[test]
        fn $kill() {
            sweep(&scenario::$scenario(), Death::Kill);
        }

        #[test]
        fn $power_cut() {
            sweep(&scenario::$scenario(), Death::PowerCut);
        }
    )*};
}

sweeps! {
    text: kill_sweep_of_text, power_cut_of_text;
    read: kill_sweep_of_read, power_cut_of_read;
    write_new: f103_kill_sweep_of_write_new, power_cut_of_write_new;
    write_over: f103_kill_sweep_of_write_over, power_cut_of_write_over;
    edit: f103_kill_sweep_of_edit, power_cut_of_edit;
    command: kill_sweep_of_command, power_cut_of_command;
    two_calls: kill_sweep_of_two_calls, power_cut_of_two_calls;
    reads_together: kill_sweep_of_reads_together, power_cut_of_reads_together;
    background: kill_sweep_of_background, power_cut_of_background;
    failure: kill_sweep_of_failure, power_cut_of_failure;
    second_run: kill_sweep_of_second_run, power_cut_of_second_run;
    large: kill_sweep_of_large, power_cut_of_large;
    denied: kill_sweep_of_denied, power_cut_of_denied;
}
