//! MCP servers over stdio: started, spoken to and ended within bounds; their tools become tools of ours.
//!
//! Speaks JSON-RPC itself rather than through `rmcp`, which bounds neither a line nor stderr and ends only the
//! direct child. Refuses HTTP servers, every request of a server but `ping`, and to decide what is permitted.
//! Source: modelcontextprotocol.io, revision 2025-06-18.

mod connection;
mod content;
mod framing;
mod last_words;
mod message;
mod name;
mod peer;
mod process;
mod server;
mod tool;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use connection::{ListedTool, StartError};
pub use ibeam_sandbox::Launcher;
pub use server::Server;
pub use tool::offer;

/// How a server is started, and how long it is waited for.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The name that people gave it.
    pub name: String,
    /// The program: a name looked for in `programs`, or a path.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// All variables it gets; nothing is inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory it runs in.
    pub directory: PathBuf,
    /// Absolute directories in which its program is looked for, in order.
    pub programs: Vec<PathBuf>,
    /// Where it is forked.
    pub launcher: Arc<Launcher>,
    /// The longest from its start to the list of its tools.
    pub start_timeout: Duration,
    /// The longest a call may take.
    pub call_timeout: Duration,
}
