//! Commands in every tier of the sandbox: what they can reach, and that nothing of them outlives their call.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_types,
    reason = "clippy knows only functions marked #[test] as tests; these start programs"
)]

#[macro_use]
#[path = "sandbox/environment.rs"]
mod environment;

#[path = "sandbox/certain_end.rs"]
mod certain_end;
#[path = "sandbox/change_record.rs"]
mod change_record;
#[path = "sandbox/command.rs"]
mod command;
#[path = "sandbox/confinement.rs"]
mod confinement;
#[path = "sandbox/filters.rs"]
mod filters;
#[path = "sandbox/sockets.rs"]
mod sockets;
#[path = "sandbox/trees.rs"]
mod trees;
