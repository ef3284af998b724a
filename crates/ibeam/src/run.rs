//! The front ends of runs.

mod acp;
mod host_model;
mod hosted;
mod input_stream;
mod interactive;
mod mcp_serve;
mod message_stdio;
mod print;

pub(crate) use acp::serve_editor;
pub(crate) use hosted::run_hosted;
pub(crate) use input_stream::run_input_stream;
pub(crate) use interactive::{InteractiveStart, conversation_commands, run_interactive};
pub(crate) use mcp_serve::{McpServeOptions, serve_mcp};
pub(crate) use print::{PrintInput, print};
