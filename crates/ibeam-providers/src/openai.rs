//! The OpenAI Chat Completions wire, as OpenAI defines it and as others speak it.
//!
//! Source: the API reference, "Chat completions" and "Streaming"; the deviations of other services are named
//! where they are met.

mod calls;
mod chunk;
mod pattern;
pub mod request;
pub mod response;
mod text_call;
