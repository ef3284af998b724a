//! Instants of no meaning: where no tracer can be had, and between the steps.

use std::time::Duration;

use super::aftermath;
use super::is_complete_sweep;
use super::scenario;
use super::tally::Tally;

#[test]
fn runs_killed_at_random_instants_are_gone_on_with() {
    let count = if is_complete_sweep() { 1000_usize } else { 200 };
    let seed = std::env::var("IBEAM_KILL_SEED").map_or(4, |seed| seed.parse().unwrap());
    let mut random = fastrand::Rng::with_seed(seed);
    let mut tally = Tally::default();
    let scenarios = scenario::all();
    let each = count.div_ceil(scenarios.len());
    for scenario in scenarios {
        let scene = scenario.stage("default");
        let whole = scenario.command(&scene).run().succeeded().elapsed;
        for _ in 0..each {
            let scene = scenario.stage("default");
            let after = Duration::from_secs_f64(whole.as_secs_f64() * 1.1 * random.f64());
            let stdout = scenario.command(&scene).kill_after(after);
            let moment = format!("{}, seed {seed}, killed after {after:?} of {whole:?}", scenario.name);
            aftermath::examine(scene, &scenario, &stdout, &moment, &mut tally);
        }
    }
    tally.report(&format!("all, killed at random instants of seed {seed}"));
}
