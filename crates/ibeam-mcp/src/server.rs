//! An MCP server of a run: started with the run, restarted once after a crash, ended with the run.

use std::sync::Arc;
use std::time::Duration;

use ibeam_json_rpc::MAX_QUOTED_CHARS;
use ibeam_protocol::{ToolFailure, ToolOutcome, elide_end};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;

use crate::ServerConfig;
use crate::call_result::parse_outcome;
use crate::connection::{CallError, Connection, StartError};
use crate::http_client::HttpError;
use crate::listed_tool::ListedTool;

/// An MCP server whose list of tools was read. Dropping it kills the process and everything that it started.
pub struct Server {
    name: String,
    call_timeout: Duration,
    /// The settings for a restart; `None` for an attached server.
    config: Option<ServerConfig>,
    tools: Vec<ListedTool>,
    state: Mutex<ServerState>,
}

enum ServerState {
    /// The server runs, unless it crashed after the last check.
    Running { connection: Arc<Connection>, can_restart: bool },
    /// The server has ended and is not restarted, for this reason.
    Ended(String),
}

impl Server {
    /// Starts a server and requests its tools. Dropping the future kills it.
    ///
    /// # Errors
    /// The server could not be started; no process of it is left.
    pub async fn start(config: ServerConfig) -> Result<Self, StartError> {
        let (connection, tools) = Connection::open(&config).await?;
        let state = ServerState::Running { connection: Arc::new(connection), can_restart: true };
        let (name, call_timeout) = (config.name.clone(), config.call_timeout);
        Ok(Self { name, call_timeout, config: Some(config), tools, state: Mutex::new(state) })
    }

    /// Connects to a server that another program runs, which reads from `input` and writes to `output`. It is not
    /// restarted when it ends. Must be called within an async runtime.
    ///
    /// # Errors
    /// The server does not respond within `start_timeout`, or violates the protocol.
    pub async fn attach(
        name: String,
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        start_timeout: Duration,
        call_timeout: Duration,
    ) -> Result<Self, StartError> {
        let (connection, tools) = Connection::attach(input, output, start_timeout).await?;
        let state = ServerState::Running { connection: Arc::new(connection), can_restart: false };
        Ok(Self { name, call_timeout, config: None, tools, state: Mutex::new(state) })
    }

    /// Returns the configured name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the tools in the order of the server's list.
    pub fn tools(&self) -> &[ListedTool] {
        &self.tools
    }

    /// Ends the server: closes its stdin, sends TERM after `grace` and KILL after another `grace`.
    pub async fn shut_down(&self, grace: Duration) {
        let ended = ServerState::Ended("the run is over".to_owned());
        let state = std::mem::replace(&mut *self.state.lock().await, ended);
        if let ServerState::Running { connection, .. } = state {
            connection.shut_down(grace).await;
        }
    }

    /// Calls a tool and waits for its result. Dropping the future cancels the call.
    pub(crate) async fn call(&self, tool: &ListedTool, arguments: &Value) -> ToolOutcome {
        let name = self.name();
        let connection = match self.connection().await {
            Ok(connection) => connection,
            Err(reason) => {
                return ToolOutcome::error(format!("the MCP server `{name}` does not run: {reason}"));
            }
        };
        let call = connection.call_tool(tool, arguments);
        let error = match tokio::time::timeout(self.call_timeout, call).await {
            Ok(Ok(result)) => {
                return parse_outcome(&result).unwrap_or_else(|error| {
                    let detail = elide_end(&error.to_string(), MAX_QUOTED_CHARS);
                    ToolOutcome::error(format!(
                        "the MCP server `{name}` returned an invalid result: {detail}"
                    ))
                });
            }
            Ok(Err(error)) => error,
            Err(_) => {
                return ToolOutcome::error(format!(
                    "`{}` of the MCP server `{name}` returned no result within {} s and was cancelled; its effect \
                     is unknown",
                    tool.name,
                    self.call_timeout.as_secs_f64()
                ));
            }
        };
        ToolOutcome::error(match error {
            CallError::Rejected(error) => {
                format!("the MCP server `{name}` rejected the call: {}", error.message)
            }
            CallError::NotSerializable(error) => error.to_string(),
            CallError::Input(message) => {
                format!("the MCP server `{name}` did not complete the call: {message}")
            }
            CallError::Http(
                error @ (HttpError::Configuration(_) | HttpError::Redirect(_) | HttpError::Authorization(_)),
            ) => {
                format!("the MCP server `{name}` cannot be called: {error}")
            }
            CallError::Http(
                error @ (HttpError::Connection(_)
                | HttpError::Status { .. }
                | HttpError::SessionExpired
                | HttpError::EndOfAnswer
                | HttpError::InvalidAnswer(_)),
            ) => {
                format!("the MCP server `{name}` failed during the call, whose effect is unknown: {error}")
            }
            CallError::Closed(reason) => {
                let detail = connection.kill_and_describe(reason.to_string()).await;
                format!(
                    "the MCP server `{name}` failed during the call, whose effect is unknown: {detail}{}",
                    connection.stderr_tail()
                )
            }
        })
    }

    /// Returns the connection, after a restart if the server crashed for the first time. If the future is dropped, the
    /// next call restarts the server.
    async fn connection(&self) -> Result<Arc<Connection>, String> {
        let mut state = self.state.lock().await;
        let (closed, close_reason, can_restart) = match &*state {
            ServerState::Ended(reason) => return Err(reason.clone()),
            ServerState::Running { connection, can_restart } => match connection.close_reason() {
                None => return Ok(Arc::clone(connection)),
                Some(reason) => (Arc::clone(connection), reason, *can_restart),
            },
        };
        // Processes of the crashed server must not run next to the new one.
        closed.kill().await;
        let reason = if let Some(config) = self.config.as_ref().filter(|_| can_restart) {
            match Connection::open(config).await {
                Ok((connection, _)) => {
                    let connection = Arc::new(connection);
                    *state = ServerState::Running { connection: Arc::clone(&connection), can_restart: false };
                    return Ok(connection);
                }
                Err(error) => format!("it failed ({close_reason}) and could not be restarted: {error}"),
            }
        } else if self.config.is_none() {
            format!("it has failed ({close_reason})")
        } else {
            format!("it has failed twice in this run ({close_reason}) and is not restarted")
        };
        *state = ServerState::Ended(reason.clone());
        Err(reason)
    }
}

/// Returns the outcome of a call that was cancelled because the run ends.
pub(crate) fn interrupted_outcome() -> ToolOutcome {
    ToolOutcome::Failure {
        failure: ToolFailure::Interrupted,
        for_model: "interrupted: the run was stopped before the MCP server responded; the effect is unknown"
            .into(),
    }
}
