//! The wire protocols with recorded streams, and the transport with a server on the loopback interface.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "clippy allows this only in test functions, not in their helpers"
)]

mod anthropic;
mod batches;
mod bedrock;
mod caching;
mod cloud_requests;
mod cohere;
mod conversation;
mod event_stream;
mod gemini;
mod gemini_interactions;
mod later_instructions;
mod matrix;
mod media;
mod ollama;
mod openai;
mod other_protocol;
mod other_requests;
mod reasoning;
mod recordings;
mod replay;
mod requests;
mod responses;
mod sdk_types;
mod server;
mod socket_failures;
mod speed;
mod transport;
