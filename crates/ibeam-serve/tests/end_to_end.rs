//! The front ends for programs, from outside: editors, MCP clients, messages on stdin, and hosts that speak a dialect.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "clippy recognizes only functions with #[test] as tests, and these modules contain helpers"
)]

mod end_to_end {
    mod acp;
    mod acp_features;
    mod acp_questions;
    mod bound_thinking;
    mod claude;
    mod claude_hooks;
    mod codex;
    mod dialect;
    mod held_session;
    mod input_stream;
    mod input_stream_pipes;
    mod mcp_clients;
    mod other_authors;
}
