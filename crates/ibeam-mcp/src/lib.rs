//! A client for MCP servers over stdio, whose tools become tools of a run.
//!
//! Uses the JSON-RPC of this project: the crate `rmcp` limits neither a line nor stderr, and ends only the direct child.
//! Rejects servers over HTTP and every request of a server except `ping`. Does not decide what is permitted.
//! Source: modelcontextprotocol.io, revision 2025-06-18.

mod call_result;
mod connection;
mod rpc_client;
mod server;
mod stderr_tail;
mod tool;
mod tool_name;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use connection::{ListedTool, StartError};
pub use ibeam_process::Launcher;
pub use server::Server;
pub use tool::tool_set;

/// The settings with which a server is started.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The configured name of the server.
    pub name: String,
    /// The program: a name to look up in `program_directories`, or a path.
    pub command: String,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// All environment variables of the program.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory of the program.
    pub directory: PathBuf,
    /// Absolute directories in which the program is looked up, in order.
    pub program_directories: Vec<PathBuf>,
    /// The launcher that forks the program.
    pub launcher: Arc<Launcher>,
    /// The limit from the start of the server to its complete list of tools.
    pub start_timeout: Duration,
    /// The limit of one call.
    pub call_timeout: Duration,
}
