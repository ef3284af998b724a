//! MCP servers, from outside: as processes and over HTTP, with their faults.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "clippy recognizes only functions with #[test] as tests, and these modules contain helpers"
)]

mod end_to_end {
    mod faults;
    mod http_faults;
    mod mcp;
    mod mcp_add;
    mod mcp_changes;
    mod mcp_http;
}
