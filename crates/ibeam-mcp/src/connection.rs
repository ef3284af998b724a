//! A connection to a server, over stdio or HTTP: the handshake, its list of tools, and requests.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ibeam_json_rpc::{CloseReason, MAX_QUOTED_CHARS, METHOD_NOT_FOUND, RpcError};
use ibeam_protocol::elide_end;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;

use crate::call_error::{CallError, HttpError};
use crate::elicitation::Elicitation;
use crate::http_client::HttpClient;
use crate::lifecycle::{
    RevisionChoice, SESSION_REVISION, SESSION_REVISIONS, STATELESS_REVISION, UNSUPPORTED_REVISION,
    add_request_metadata, client_capabilities, client_info,
};
use crate::list_changes::{ServerList, subscription_filter};
use crate::listed_tool::{ListedTool, Offer};
use crate::param_headers::{ParamHeader, has_safe_integers};
use crate::rpc_client::RpcClient;
use crate::server_process::ServerProcess;
use crate::server_requests::ServerRequests;
use crate::stderr_tail::{StderrBuffer, StderrTail};
use crate::{ServerConfig, TransportConfig};

/// Maximum number of times that a server may ask for input before it gives one result.
const MAX_INPUT_ROUNDS: usize = 10;

/// The way out for a server that starts slowly, for example because it is installed first.
const MORE_TIME: &str =
    "its `start_timeout` (`startTimeout` in JSON) or `timeouts.mcp_start` of all servers gives it more time";

/// The reason why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program could not be started, for example because its name is wrong.
    #[error("`{command}` cannot be started: {message}{}", arguments_hint(command))]
    NotStarted {
        /// The program as configured.
        command: String,
        /// The error of the system.
        message: String,
    },
    /// The server was not ready in time, and was killed.
    #[error("it was not ready within {} s and was killed; {MORE_TIME}{stderr}", timeout.as_secs_f64())]
    TimedOut {
        /// The start timeout.
        timeout: Duration,
        /// The end of its stderr.
        stderr: StderrTail,
    },
    /// A server that another program runs was not ready in time.
    #[error("it was not ready within {} s; {MORE_TIME}", timeout.as_secs_f64())]
    AttachTimedOut {
        /// The start timeout.
        timeout: Duration,
    },
    /// The server ended, or violated the protocol.
    #[error("{message}{stderr}")]
    Failed {
        /// A description of the failure.
        message: String,
        /// The end of its stderr.
        stderr: StderrTail,
    },
}

/// Returns the way out for a whole command line in the place of the program.
fn arguments_hint(command: &str) -> &'static str {
    if command.trim().contains(char::is_whitespace) { "; its arguments belong in `args`" } else { "" }
}

/// An initialized connection to a server. Dropping it kills the process and everything that it started.
pub(crate) struct Connection {
    channel: Channel,
    pub(crate) requests: ServerRequests,
    choice: RevisionChoice,
    /// The result of the handshake.
    agreement: OnceLock<Agreement>,
    /// Held while an expired session is replaced.
    renewal: Mutex<()>,
}

enum Channel {
    Stdio {
        client: RpcClient,
        /// `None` for a server that another program runs.
        process: Option<Box<ServerProcess>>,
    },
    Http(Arc<HttpClient>),
}

struct Agreement {
    is_stateless: bool,
    capabilities: Value,
}

impl Connection {
    /// Starts or reaches the server, initializes the connection and requests the tools, all within
    /// `config.start_timeout`. A process that is not ready by then is killed.
    pub(crate) async fn open(config: &ServerConfig) -> Result<(Self, Offer), StartError> {
        let timeout = config.start_timeout;
        let stderr = Arc::new(StderrBuffer::default());
        let requests = ServerRequests::new(&config.name, config.elicitation, config.questioner.clone());
        let ready = async {
            let channel = match &config.transport {
                TransportConfig::Stdio(stdio) => {
                    let (process, stdin, stdout) =
                        ServerProcess::start(stdio, &stderr).map_err(|message| StartError::NotStarted {
                            command: stdio.command.clone(),
                            message,
                        })?;
                    let client = RpcClient::new(stdin, stdout, requests.clone());
                    Channel::Stdio { client, process: Some(Box::new(process)) }
                }
                TransportConfig::Http(http) => {
                    let client = HttpClient::new((**http).clone(), requests.clone()).map_err(|error| {
                        StartError::Failed { message: error.to_string(), stderr: StderrTail::default() }
                    })?;
                    Channel::Http(client)
                }
            };
            let connection = Self::new(channel, requests, config.revision);
            match connection.initialize().await {
                Ok(tools) => Ok((connection, tools)),
                Err(message) => {
                    let message = connection.describe_failure(message).await;
                    Err(StartError::Failed { message, stderr: connection.kill_and_read_stderr().await })
                }
            }
        };
        tokio::time::timeout(timeout, ready).await.unwrap_or_else(|_| {
            Err(match config.transport {
                TransportConfig::Stdio(_) => StartError::TimedOut { timeout, stderr: stderr.tail() },
                TransportConfig::Http(_) => StartError::AttachTimedOut { timeout },
            })
        })
    }

    /// Initializes a connection to a server that another program runs, over `input` and `output`, and requests its
    /// tools, all within `timeout`.
    pub(crate) async fn attach(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        timeout: Duration,
    ) -> Result<(Self, Offer), StartError> {
        // The host answers the questions of its servers itself.
        let requests = ServerRequests::new("", Elicitation::default(), None);
        let client = RpcClient::new(input, output, requests.clone());
        let channel = Channel::Stdio { client, process: None };
        let connection = Self::new(channel, requests, RevisionChoice::Session);
        match tokio::time::timeout(timeout, connection.initialize()).await {
            Ok(Ok(tools)) => Ok((connection, tools)),
            Ok(Err(message)) => Err(StartError::Failed { message, stderr: StderrTail::default() }),
            Err(_) => Err(StartError::AttachTimedOut { timeout }),
        }
    }

    fn new(channel: Channel, requests: ServerRequests, choice: RevisionChoice) -> Self {
        let (agreement, renewal) = (OnceLock::new(), Mutex::new(()));
        Self { channel, requests, choice, agreement, renewal }
    }

    /// Performs the handshake, then requests the list of tools.
    async fn initialize(&self) -> Result<Offer, String> {
        if let Channel::Http(client) = &self.channel {
            client.log_in().await.map_err(|error| error.to_string())?;
        }
        let agreement = self.shake_hands().await?;
        let announces = |name: &str| agreement.capabilities.get(name).is_some();
        let (has_tools, has_prompts, has_resources) =
            (announces("tools"), announces("prompts"), announces("resources"));
        if agreement.is_stateless
            && let Some(filter) = subscription_filter(&agreement.capabilities)
        {
            match &self.channel {
                Channel::Stdio { client, .. } => client.subscribe(filter),
                Channel::Http(client) => client.subscribe(filter),
            }
        }
        // Set once: only this function sets it, before any other request.
        let _ = self.agreement.set(agreement);
        let offer = self.list_tools(has_tools, !has_prompts && !has_resources).await?;
        Ok(Offer { has_prompts, has_resources, ..offer })
    }

    /// Agrees on a revision. Over HTTP the newest is tried first: a server that does not know it answers at once. Over
    /// stdio a server of an older revision may end or wait after an unknown request, so `initialize` is first.
    async fn shake_hands(&self) -> Result<Agreement, String> {
        match (self.choice, &self.channel) {
            (RevisionChoice::Session, _) => self.begin_session().await.map_err(|error| error.to_string()),
            (RevisionChoice::Stateless, _) => self.discover().await.map_err(|error| error.to_string()),
            (RevisionChoice::Auto, Channel::Http(client)) => match self.discover().await {
                Ok(agreement) => Ok(agreement),
                Err(error) if is_unknown_revision(&error) => {
                    client.reset_session();
                    self.begin_session().await.map_err(|error| error.to_string())
                }
                Err(error) => Err(error.to_string()),
            },
            (RevisionChoice::Auto, Channel::Stdio { .. }) => match self.begin_session().await {
                Err(CallError::Rejected(error))
                    if [METHOD_NOT_FOUND, UNSUPPORTED_REVISION].contains(&error.code) =>
                {
                    self.discover().await.map_err(|_| CallError::Rejected(error).to_string())
                }
                result => result.map_err(|error| error.to_string()),
            },
        }
    }

    /// Begins a session with `initialize`.
    async fn begin_session(&self) -> Result<Agreement, CallError> {
        let params = json!({
            "protocolVersion": SESSION_REVISION,
            "capabilities": client_capabilities(),
            "clientInfo": client_info(),
        });
        let result = self.send("initialize", params, &[], false).await?;
        let result: InitializeResult = parse_result("initialize", &result).map_err(CallError::Input)?;
        let InitializeResult { protocol_version, capabilities } = result;
        if !SESSION_REVISIONS.contains(&protocol_version.as_str()) {
            let revision = elide_end(&protocol_version, MAX_QUOTED_CHARS);
            let message = format!("it uses revision `{revision}` of MCP, which is not supported");
            return Err(CallError::Input(message));
        }
        match &self.channel {
            Channel::Stdio { client, .. } => client.notify("notifications/initialized", json!({})),
            Channel::Http(client) => {
                client.set_revision(&protocol_version);
                client.notify("notifications/initialized", json!({})).await;
                client.listen();
            }
        }
        Ok(Agreement { is_stateless: false, capabilities })
    }

    /// Asks what the server supports, as revision 2026-07-28 does instead of a session. A server that rejects the
    /// revision although it lists it is asked again.
    async fn discover(&self) -> Result<Agreement, CallError> {
        if let Channel::Http(client) = &self.channel {
            client.use_stateless();
        }
        let result = match self.send("server/discover", json!({}), &[], true).await {
            Err(CallError::Rejected(error)) if lists_revision(&error) => {
                self.send("server/discover", json!({}), &[], true).await?
            }
            result => result?,
        };
        let result: DiscoverResult = parse_result("server/discover", &result).map_err(CallError::Input)?;
        if !result.supported_versions.iter().any(|version| version == STATELESS_REVISION) {
            let versions = elide_end(&result.supported_versions.join(", "), MAX_QUOTED_CHARS);
            return Err(CallError::Rejected(RpcError::new(
                UNSUPPORTED_REVISION,
                format!("it supports only the revisions {versions}"),
            )));
        }
        Ok(Agreement { is_stateless: true, capabilities: result.capabilities })
    }

    /// Calls a tool and waits for its result, without a time limit. Dropping the future cancels the call.
    pub(crate) async fn call_tool(
        &self,
        tool: &ListedTool,
        arguments: &Value,
    ) -> Result<Box<RawValue>, CallError> {
        if !has_safe_integers(&tool.param_headers, arguments) {
            let message = "an argument is an integer that a header cannot carry exactly";
            return Err(CallError::Input(message.to_owned()));
        }
        let value = |header: &ParamHeader| Some((header.name.clone(), header.value(arguments)?));
        let headers: Vec<_> = tool.param_headers.iter().filter_map(value).collect();
        let params = json!({ "name": tool.name, "arguments": arguments });
        self.request_with_input("tools/call", params, &headers).await
    }

    /// Sends a request, and repeats it with answers as long as the server asks for input (revision 2026-07-28).
    pub(crate) async fn request_with_input(
        &self,
        method: &str,
        mut params: Value,
        headers: &[(String, String)],
    ) -> Result<Box<RawValue>, CallError> {
        for _ in 0..MAX_INPUT_ROUNDS {
            let result = self.request(method, params.clone(), headers).await?;
            let is_complete = |kind: &ResultKind| kind.result_type.as_deref() != Some("input_required");
            let kind = match serde_json::from_str::<ResultKind>(result.get()) {
                Ok(kind) if self.is_stateless() && !is_complete(&kind) => kind,
                Ok(_) | Err(_) => return Ok(result),
            };
            let Some(params) = params.as_object_mut() else { return Ok(result) };
            let mut responses = Map::new();
            for (key, request) in kind.input_requests {
                let answer = self.requests.answer(&request.method, &request.params).await;
                let answer = answer.map_err(|error| {
                    CallError::Input(format!(
                        "it asks for what this client does not offer: {}",
                        error.message
                    ))
                })?;
                responses.insert(key, answer);
            }
            params.insert("inputResponses".to_owned(), Value::Object(responses));
            match kind.request_state {
                Some(state) => params.insert("requestState".to_owned(), state),
                None => params.shift_remove("requestState"),
            };
        }
        Err(CallError::Input(format!("it asked for input {MAX_INPUT_ROUNDS} times and gave no result")))
    }

    /// Sends a request and waits for its result, without a time limit. Dropping the future cancels the request. An
    /// expired session is replaced, once.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Value,
        headers: &[(String, String)],
    ) -> Result<Box<RawValue>, CallError> {
        let is_stateless = self.is_stateless();
        match (self.send(method, params.clone(), headers, is_stateless).await, &self.channel) {
            (Err(CallError::Http(HttpError::SessionExpired)), Channel::Http(client)) => {
                let _renewal = self.renewal.lock().await;
                client.reset_session();
                self.begin_session().await?;
                self.send(method, params, headers, is_stateless).await
            }
            (result, _) => result,
        }
    }

    async fn send(
        &self,
        method: &str,
        mut params: Value,
        headers: &[(String, String)],
        is_stateless: bool,
    ) -> Result<Box<RawValue>, CallError> {
        match &self.channel {
            Channel::Stdio { client, .. } => {
                if is_stateless {
                    add_request_metadata(&mut params);
                }
                Ok(client.request(method, params).await?)
            }
            Channel::Http(client) => client.request(method, params, headers).await,
        }
    }

    pub(crate) fn is_stateless(&self) -> bool {
        self.agreement.get().is_some_and(|agreement| agreement.is_stateless)
    }

    /// Whether messages go over HTTP.
    pub(crate) fn is_http(&self) -> bool {
        matches!(self.channel, Channel::Http(_))
    }

    /// Returns whether the server has reported since the last call that a list has changed.
    pub(crate) fn take_changed(&self, list: ServerList) -> bool {
        match &self.channel {
            Channel::Stdio { client, .. } => client.changes().take(list),
            Channel::Http(client) => client.changes.take(list),
        }
    }

    /// Returns the reason why the connection is closed; `None` while it is open, and for HTTP.
    pub(crate) fn close_reason(&self) -> Option<CloseReason> {
        match &self.channel {
            Channel::Stdio { client, .. } => client.close_reason(),
            Channel::Http(_) => None,
        }
    }

    /// Returns the exit status of the server if it has closed the connection and ended by itself, else `message`.
    pub(crate) async fn describe_failure(&self, message: String) -> String {
        let Channel::Stdio { client, process: Some(process) } = &self.channel else { return message };
        match client.close_reason() {
            Some(CloseReason::EndOfOutput) => {
                process.wait_for_exit().await.map_or(message, |status| format!("it ended ({status})"))
            }
            Some(CloseReason::InvalidOutput(_) | CloseReason::ClosedHere) | None => message,
        }
    }

    /// Kills the process and everything that it started, and returns the end of its stderr.
    pub(crate) async fn kill_and_read_stderr(&self) -> StderrTail {
        match &self.channel {
            Channel::Stdio { process: Some(process), .. } => {
                process.kill().await;
                process.read_stderr_tail().await
            }
            Channel::Stdio { process: None, .. } | Channel::Http(_) => StderrTail::default(),
        }
    }

    /// Kills the process and everything that it started, without waiting for their end.
    pub(crate) async fn kill(&self) {
        if let Channel::Stdio { process: Some(process), .. } = &self.channel {
            process.kill().await;
        }
    }

    /// Ends the session, or the process and everything that it started: after `grace` with TERM, after another `grace`
    /// with KILL.
    pub(crate) async fn shut_down(&self, grace: Duration) {
        match &self.channel {
            Channel::Stdio { client, process } => {
                client.close();
                if let Some(process) = process {
                    process.shut_down(grace).await;
                }
            }
            Channel::Http(client) => client.close(grace).await,
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Channel::Http(client) = &self.channel {
            client.stop_listening();
        }
    }
}

/// Whether an error says that the server does not know revision 2026-07-28. A refused or failed connection does not.
fn is_unknown_revision(error: &CallError) -> bool {
    match error {
        CallError::Rejected(_) | CallError::Input(_) => true,
        CallError::Http(HttpError::Status { status, .. }) => {
            (400..500).contains(status) && ![401, 403, 429].contains(status)
        }
        CallError::Http(HttpError::InvalidAnswer(_) | HttpError::EndOfAnswer) => true,
        CallError::Http(
            HttpError::Configuration(_)
            | HttpError::Connection(_)
            | HttpError::Redirect(_)
            | HttpError::Authorization(_)
            | HttpError::SessionExpired,
        )
        | CallError::Closed(_)
        | CallError::NotSerializable(_) => false,
    }
}

/// Whether an error about the revision lists revision 2026-07-28 as supported.
fn lists_revision(error: &RpcError) -> bool {
    let supported = error.data.as_ref().and_then(|data| data.get("supported")?.as_array());
    error.code == UNSUPPORTED_REVISION
        && supported.is_some_and(|supported| supported.iter().any(|version| version == STATELESS_REVISION))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeResult {
    protocol_version: String,
    #[serde(default)]
    capabilities: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DiscoverResult {
    supported_versions: Vec<String>,
    #[serde(default)]
    capabilities: Value,
}

/// The fields of a result that say whether it is complete.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultKind {
    result_type: Option<String>,
    #[serde(default)]
    input_requests: BTreeMap<String, InputRequest>,
    request_state: Option<Value>,
}

/// A request of the server within a result.
#[derive(Deserialize)]
struct InputRequest {
    method: String,
    #[serde(default)]
    params: Value,
}

pub(crate) fn parse_result<'a, T: Deserialize<'a>>(method: &str, result: &'a RawValue) -> Result<T, String> {
    serde_json::from_str(result.get()).map_err(|error| {
        elide_end(&format!("its answer to `{method}` is not valid: {error}"), MAX_QUOTED_CHARS)
    })
}
