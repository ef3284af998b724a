//! A client for MCP servers over stdio and HTTP, whose tools become tools of a run.
//!
//! Uses the JSON-RPC and the HTTP client of this project: the crate `rmcp` limits neither a line nor stderr, and ends only
//! the direct child. Rejects every request of a server except `ping` and elicitation. Does not decide what is permitted.
//! Source: modelcontextprotocol.io, revisions 2025-11-25 and 2026-07-28.

mod call_error;
mod call_result;
mod connection;
mod elicitation;
mod http_client;
mod http_config;
mod http_listener;
mod lenient_list;
mod lifecycle;
mod list_cache;
mod list_changes;
mod listed_tool;
mod model_schema;
mod oauth;
mod param_headers;
mod prompt_list;
mod resources;
mod routed_clients;
mod rpc_client;
mod server;
mod server_process;
mod server_requests;
mod stderr_tail;
mod tool;
mod tool_list;
mod tool_name;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use connection::StartError;
pub use elicitation::Elicitation;
pub use http_config::{HeaderReader, HttpConfig};
pub use ibeam_process::Launcher;
pub use lifecycle::RevisionChoice;
pub use listed_tool::ListedTool;
pub use oauth::{Grant, LoginStore, OAuthConfig, OAuthSettings, UserAgent};
pub use prompt_list::{ListedPrompt, PromptArgument};
pub use resources::{READ_RESOURCE_NAME, resource_tools};
pub use routed_clients::ProxySelector;
pub use server::Server;
pub use server_requests::Questioner;
pub use tool::{find_tool, tool_set};

/// The settings with which a server is started or reached.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The configured name of the server.
    pub name: String,
    pub transport: TransportConfig,
    pub revision: RevisionChoice,
    /// The answer to every question of the server for which no person can be asked.
    pub elicitation: Elicitation,
    /// Asks a person the questions of the server; `None` if nobody is there.
    pub questioner: Option<Arc<dyn Questioner>>,
    /// The limit from the start of the server to its complete list of tools.
    pub start_timeout: Duration,
    /// The limit of one call.
    pub call_timeout: Duration,
}

#[derive(Clone, Debug)]
pub enum TransportConfig {
    /// A process, over stdio.
    Stdio(StdioConfig),
    /// A URL, over HTTP.
    Http(Box<HttpConfig>),
}

/// The settings with which the process of a server is started.
#[derive(Clone, Debug)]
pub struct StdioConfig {
    /// The program: a name to look up in `program_directories`, or a path.
    pub command: String,
    pub args: Vec<String>,
    /// All environment variables of the program.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory of the program.
    pub directory: PathBuf,
    /// Absolute directories in which the program is looked up, in order.
    pub program_directories: Vec<PathBuf>,
    /// The launcher that forks the program.
    pub launcher: Arc<Launcher>,
}
