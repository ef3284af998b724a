//! The server side of the Model Context Protocol, over a pair of streams or over HTTP on this machine.
//!
//! Knows the messages of the protocol and nothing about runs: a [`Service`] offers the tools and the resources. Both
//! transports serve sessions that begin with `initialize` (up to revision 2025-11-25) and requests that each carry
//! everything (revision 2026-07-28). A call is cancelled by dropping its future.
//!
//! Source: modelcontextprotocol.io, revisions 2025-11-25 and 2026-07-28.

mod dispatcher;
mod http;
mod progress;
mod revision;
mod service;
mod streams;

pub use dispatcher::Dispatcher;
pub use http::{HttpServer, Token};
pub use progress::Progress;
pub use service::{
    Resource, ResourceContent, ResourceError, ResourcePage, ResourceTemplate, Service, Tool, ToolResult,
};
pub use streams::serve_streams;
