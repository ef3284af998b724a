//! The wires against recorded streams, and the transport against a real server on the loopback interface.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "clippy's leave for tests ends at the functions that tests call"
)]

mod anthropic;
mod conversation;
mod openai;
mod replay;
mod requests;
mod server;
mod speed;
mod transport;
