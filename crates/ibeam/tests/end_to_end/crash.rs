//! The state after a run is killed at any of its steps, or after its machine loses power.
//!
//! A run is repeated for each step with a lasting effect: each write, sync, rename, fork, exec and the like. The run is
//! killed directly before the step, during it and directly after it; then at random instants. Each time the session
//! must be resumable, the journal must contain everything that was printed, no call may run twice, and no process may
//! be left.

#[path = "crash/checkpoint_kills.rs"]
mod checkpoint_kills;
#[path = "crash/checks.rs"]
mod checks;
#[path = "crash/scenario.rs"]
mod scenario;
#[path = "crash/sweep.rs"]
mod sweep;
#[path = "crash/system_errors.rs"]
mod system_errors;
