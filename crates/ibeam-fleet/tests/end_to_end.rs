//! Fleets, from outside: their tasks, workspaces, checks, limits and batches, and processes that are killed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "clippy recognizes only functions with #[test] as tests, and these modules contain helpers"
)]

mod end_to_end {
    mod batches;
    mod documented_fleet;
    mod fleet;
    mod fleet_batch_kills;
    mod fleet_batches;
    mod fleet_commands;
    mod fleet_faults;
    mod fleet_limits;
    mod fleet_verdicts;
    mod fleet_visibility;
    mod replaced_program;
}
