//! A server of a run: started once, started again once after a crash, ended with the run.

use std::sync::Arc;
use std::time::Duration;

use ibeam_protocol::{ToolFailure, ToolOutcome, elide_end};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;

use crate::ServerConfig;
use crate::connection::{Connection, ListedTool, StartError};
use crate::content;
use crate::message::MAX_QUOTED_CHARS;
use crate::peer::RequestError;

/// A server that has told its tools. Dropping it kills the process and everything it started.
pub struct Server {
    name: String,
    call_timeout: Duration,
    /// How it is started again; `None` for a server that somebody else runs.
    config: Option<ServerConfig>,
    tools: Vec<ListedTool>,
    life: Mutex<Life>,
}

enum Life {
    /// It runs, or ran when somebody looked last.
    Running { connection: Arc<Connection>, may_restart: bool },
    /// It is gone for good; why.
    Over(String),
}

impl Server {
    /// Starts a server and asks for its tools. Dropping the future kills it.
    ///
    /// # Errors
    /// It is not there; no process of it is left.
    pub async fn start(config: ServerConfig) -> Result<Self, StartError> {
        let (connection, tools) = Connection::open(&config).await?;
        let life = Life::Running { connection: Arc::new(connection), may_restart: true };
        let (name, call_timeout) = (config.name.clone(), config.call_timeout);
        Ok(Self { name, call_timeout, config: Some(config), tools, life: Mutex::new(life) })
    }

    /// Connects to a server that somebody else runs: `input` is read by it, `output` written. It is not started again
    /// when it goes away. Must be called within an async runtime.
    ///
    /// # Errors
    /// The server does not answer within `start_timeout`, or does not speak the protocol.
    pub async fn attach(
        name: String,
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        start_timeout: Duration,
        call_timeout: Duration,
    ) -> Result<Self, StartError> {
        let (connection, tools) = Connection::attach(input, output, start_timeout).await?;
        let life = Life::Running { connection: Arc::new(connection), may_restart: false };
        Ok(Self { name, call_timeout, config: None, tools, life: Mutex::new(life) })
    }

    /// The name that people gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its tools, in its own order.
    pub fn tools(&self) -> &[ListedTool] {
        &self.tools
    }

    /// Ends the server: closes its stdin, waits `grace`, then TERM, waits `grace`, then KILL to all that is left.
    pub async fn shut_down(&self, grace: Duration) {
        let ended = Life::Over("the run is over".to_owned());
        let life = std::mem::replace(&mut *self.life.lock().await, ended);
        if let Life::Running { connection, .. } = life {
            connection.end(grace).await;
        }
    }

    /// Calls a tool and waits for its result. Dropping the future tells the server to stop.
    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> ToolOutcome {
        let name = self.name();
        let connection = match self.connection().await {
            Ok(connection) => connection,
            Err(said) => return ToolOutcome::error(format!("the MCP server `{name}` is gone: {said}")),
        };
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = connection.peer.request("tools/call", params);
        match tokio::time::timeout(self.call_timeout, answer).await {
            Ok(Ok(result)) => content::outcome(&result).unwrap_or_else(|error| {
                let said = elide_end(&error.to_string(), MAX_QUOTED_CHARS);
                ToolOutcome::error(format!("the MCP server `{name}` gave no result of a call: {said}"))
            }),
            Ok(Err(RequestError::Refused(error))) => {
                ToolOutcome::error(format!("the MCP server `{name}` refused the call: {}", error.message))
            }
            Ok(Err(RequestError::Unwritable(error))) => ToolOutcome::error(error.to_string()),
            Ok(Err(RequestError::Closed(why))) => {
                let said = connection.obituary(why.to_string()).await;
                ToolOutcome::error(format!(
                    "the MCP server `{name}` failed during the call, whose effect is unknown: {said}{}",
                    connection.last_words()
                ))
            }
            Err(_) => ToolOutcome::error(format!(
                "`{tool}` of the MCP server `{name}` gave no result within {} s and was told to stop; its effect \
                 is unknown",
                self.call_timeout.as_secs_f64()
            )),
        }
    }

    /// The running server, started again if it has crashed for the first time. Dropping the future leaves the
    /// next call to start it.
    async fn connection(&self) -> Result<Arc<Connection>, String> {
        let mut life = self.life.lock().await;
        let (dead, crashed, may_restart) = match &*life {
            Life::Over(why) => return Err(why.clone()),
            Life::Running { connection, may_restart } => match connection.peer.closed() {
                None => return Ok(Arc::clone(connection)),
                Some(why) => (Arc::clone(connection), why, *may_restart),
            },
        };
        // Whatever is left of it goes before a new one comes.
        dead.kill().await;
        let why = if let Some(config) = self.config.as_ref().filter(|_| may_restart) {
            match Connection::open(config).await {
                Ok((connection, _)) => {
                    let connection = Arc::new(connection);
                    *life = Life::Running { connection: Arc::clone(&connection), may_restart: false };
                    return Ok(connection);
                }
                Err(error) => format!("it failed ({crashed}) and could not be started again: {error}"),
            }
        } else if self.config.is_none() {
            format!("it has failed ({crashed})")
        } else {
            format!("it has failed twice in this run ({crashed}) and is not started again")
        };
        *life = Life::Over(why.clone());
        Err(why)
    }
}

/// The outcome of a call that was given up because the run ends.
pub(crate) fn interrupted() -> ToolOutcome {
    ToolOutcome::Failure {
        failure: ToolFailure::Interrupted,
        for_model: "interrupted: the run was stopped before the MCP server answered; the effect is unknown"
            .into(),
    }
}
