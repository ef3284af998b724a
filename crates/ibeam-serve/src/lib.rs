//! Front ends for programs: editors (ACP), clients of MCP, hosts that speak another dialect, and messages on stdin.

mod acp;
pub mod dialect;
mod host_model;
mod hosted;
mod input_stream;
mod mcp_serve;
mod message_stdio;

pub use self::acp::serve_editor;
pub use self::hosted::run_hosted;
pub use self::input_stream::run_input_stream;
pub use self::mcp_serve::{McpServeOptions, serve_mcp};
