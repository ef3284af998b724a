//! The Anthropic Messages wire.
//!
//! Source: the API reference, "Create a message" and "Streaming messages", version 2023-06-01.

pub mod request;
pub mod response;

/// The version of the API this is written to.
pub(crate) const VERSION: &str = "2023-06-01";
