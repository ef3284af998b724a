//! What is left of a run that is killed at any of its steps, or whose machine loses power.
//!
//! A run is repeated for each lasting step it takes (each write, sync, rename, fork, exec and the like), and killed
//! right before it, in the middle of it, right after it; then at instants of no meaning. Each time the session must
//! go on, nothing that was printed may be missing, nothing may run twice, nobody may be left.

#[path = "crash/aftermath.rs"]
mod aftermath;
#[path = "crash/instants.rs"]
mod instants;
#[path = "crash/refusals.rs"]
mod refusals;
#[path = "crash/scenario.rs"]
mod scenario;
#[path = "crash/sweep.rs"]
mod sweep;
#[path = "crash/tally.rs"]
mod tally;

/// Whether nothing is left out for the sake of time: `cargo xtask kill-sweep`.
fn is_complete_sweep() -> bool {
    std::env::var_os("IBEAM_KILL_SWEEP").is_some_and(|much| much == "whole")
}
