//! The loop through its public functions: turns with a scripted provider, damaged journals, schemas of answers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows only functions marked #[test] as tests"
)]

#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "these tests use files and processes")]
#[path = "agent_loop/end_to_end"]
mod end_to_end {
    mod changed_instructions;
    mod early_request;
    mod limits;
    mod stable_prefix;
}
#[path = "agent_loop/journal_order.rs"]
mod journal_order;
#[path = "agent_loop/json_schema.rs"]
mod json_schema;
#[path = "agent_loop/turn.rs"]
mod turn;
