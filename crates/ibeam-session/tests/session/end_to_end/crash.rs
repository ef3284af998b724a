//! The state after a run is killed at any of its steps, or after its machine loses power.
//!
//! A run is repeated for each step with a lasting effect: each write, sync, rename, fork, exec and the like. The run is
//! killed directly before the step, during it and directly after it; then at random instants. Each time the session
//! must be resumable, the journal must contain everything that was printed, no call may run twice, and no process may
//! be left.

mod checkpoint_kills;
mod checks;
mod scenario;
mod sweep;
mod system_errors;
