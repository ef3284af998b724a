//! The loop through its public functions: turns with a scripted provider, damaged journals, schemas of answers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows only functions marked #[test] as tests"
)]

#[path = "agent_loop/journal_order.rs"]
mod journal_order;
#[path = "agent_loop/json_schema.rs"]
mod json_schema;
#[path = "agent_loop/turn.rs"]
mod turn;
