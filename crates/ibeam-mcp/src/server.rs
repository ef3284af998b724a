//! An MCP server of a run: started with the run, restarted once after a crash, ended with the run.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use ibeam_json_rpc::MAX_QUOTED_CHARS;
use ibeam_protocol::{ToolFailure, ToolOutcome, elide_end};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;

use crate::ServerConfig;
use crate::call_error::{CallError, HttpError};
use crate::call_result::parse_outcome;
use crate::connection::{Connection, StartError};
use crate::list_cache::ListCache;
use crate::list_changes::ServerList;
use crate::listed_tool::{ListedTool, Offer};
use crate::prompt_list::ListedPrompt;

/// An MCP server whose list of tools was read. Dropping it kills the process and everything that it started.
pub struct Server {
    name: String,
    start_timeout: Duration,
    call_timeout: Duration,
    /// The settings for a restart; `None` for an attached server.
    config: Option<ServerConfig>,
    offer: RwLock<StoredOffer>,
    pub(crate) lists: Lists,
    state: Mutex<ServerState>,
}

/// The offer of a server, with the time at which its list of tools expires.
struct StoredOffer {
    offer: Offer,
    expiry: Option<Instant>,
}

impl StoredOffer {
    fn new(offer: Offer) -> RwLock<Self> {
        let expiry = offer.ttl.map(|ttl| Instant::now() + ttl);
        RwLock::new(Self { offer, expiry })
    }
}

/// The lists that are requested when they are needed.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    pub(crate) prompts: ListCache<ListedPrompt>,
    /// A line about each resource.
    pub(crate) resources: ListCache<String>,
    /// A line about each template of addresses.
    pub(crate) templates: ListCache<String>,
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
        let (connection, offer) = Connection::open(&config).await?;
        let state = ServerState::Running { connection: Arc::new(connection), can_restart: true };
        let ServerConfig { name, start_timeout, call_timeout, .. } = config.clone();
        let lists = Lists::default();
        let (offer, state) = (StoredOffer::new(offer), Mutex::new(state));
        Ok(Self { name, start_timeout, call_timeout, config: Some(config), offer, lists, state })
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
        let (connection, offer) = Connection::attach(input, output, start_timeout).await?;
        let state = ServerState::Running { connection: Arc::new(connection), can_restart: false };
        let lists = Lists::default();
        let (offer, state) = (StoredOffer::new(offer), Mutex::new(state));
        Ok(Self { name, start_timeout, call_timeout, config: None, offer, lists, state })
    }

    /// Returns the configured name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the tools in the order of the server's list.
    pub fn tools(&self) -> Arc<[ListedTool]> {
        Arc::clone(&self.stored().offer.tools)
    }

    /// Returns the names of the tools that cannot be called, with the reasons.
    pub fn left_out_tools(&self) -> Vec<String> {
        self.stored().offer.left_out.clone()
    }

    /// Whether the server announces prompts.
    pub fn has_prompts(&self) -> bool {
        self.stored().offer.has_prompts
    }

    /// Whether the server announces resources.
    pub fn has_resources(&self) -> bool {
        self.stored().offer.has_resources
    }

    fn stored(&self) -> RwLockReadGuard<'_, StoredOffer> {
        // No code panics while it holds the lock.
        self.offer.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests the list of tools again if it has expired, or if the server has reported a change. Returns whether the
    /// tools are other ones now. If the server does not answer, or does not run, the tools stay as they are.
    pub async fn refresh_tools(&self) -> bool {
        let connection = match &*self.state.lock().await {
            ServerState::Running { connection, .. } if connection.close_reason().is_none() => {
                Arc::clone(connection)
            }
            ServerState::Running { .. } | ServerState::Ended(_) => return false,
        };
        let is_changed = connection.take_changed(ServerList::Tools);
        if !is_changed && self.stored().expiry.is_none_or(|expiry| Instant::now() < expiry) {
            return false;
        }
        let listed = tokio::time::timeout(self.start_timeout, connection.list_tools(true, true)).await;
        let Ok(Ok(listed)) = listed else { return false };
        let mut stored = self.offer.write().unwrap_or_else(PoisonError::into_inner);
        let is_other = listed.tools != stored.offer.tools;
        let Offer { has_prompts, has_resources, .. } = stored.offer;
        stored.expiry = listed.ttl.map(|ttl| Instant::now() + ttl);
        stored.offer = Offer { has_prompts, has_resources, ..listed };
        is_other
    }

    /// Returns whether the server has reported since the last call that a list has changed.
    pub(crate) async fn take_changed(&self, list: ServerList) -> bool {
        match &*self.state.lock().await {
            ServerState::Running { connection, .. } => connection.take_changed(list),
            ServerState::Ended(_) => false,
        }
    }

    /// Sends a request within the limit of a call, and waits for its result.
    ///
    /// # Errors
    /// A message that names the server.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Result<Box<RawValue>, String> {
        let failed = |detail: String| format!("the MCP server `{}` did not answer: {detail}", self.name);
        let connection = self.connection().await.map_err(failed)?;
        let request = connection.request_with_input(method, params, &[]);
        match connection.requests.within(self.call_timeout, request).await {
            Some(result) => result.map_err(|error| failed(elide_end(&error.to_string(), MAX_QUOTED_CHARS))),
            None => Err(failed(format!("nothing came within {} s", self.call_timeout.as_secs_f64()))),
        }
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
        let error = match connection.requests.within(self.call_timeout, call).await {
            Some(Ok(result)) => {
                return parse_outcome(&result).unwrap_or_else(|error| {
                    let detail = elide_end(&error.to_string(), MAX_QUOTED_CHARS);
                    ToolOutcome::error(format!(
                        "the MCP server `{name}` returned an invalid result: {detail}"
                    ))
                });
            }
            Some(Err(error)) => error,
            None => {
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
                let detail = connection.describe_failure(reason.to_string()).await;
                let stderr = connection.kill_and_read_stderr().await;
                format!(
                    "the MCP server `{name}` failed during the call, whose effect is unknown: {detail}{stderr}"
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
