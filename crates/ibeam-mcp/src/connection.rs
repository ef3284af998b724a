//! A connection to a running server: its process, the handshake, its list of tools and the end of its stderr.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ibeam_process::{CommandSpec, PipeReader, PipedProcess, ProcessTree, SpawnError, StartProcessError};
use ibeam_protocol::elide_end;
use rustix::fs::{Access, access};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe::Sender;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::ServerConfig;
use crate::rpc_client::RpcClient;
use crate::stderr_tail::{StderrBuffer, StderrTail};
use ibeam_json_rpc::{CloseReason, MAX_QUOTED_CHARS, METHOD_NOT_FOUND, RequestError};

/// The revision of the protocol that this client requests.
const REVISION: &str = "2025-06-18";
/// The revisions that do not differ in what this client uses.
const KNOWN_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", REVISION, "2025-11-25"];
/// Maximum number of tools of one server; no model can choose among more.
const MAX_TOOLS: usize = 1000;
/// Maximum size of the list of tools; a longer one leaves no room in the context window.
const MAX_TOOL_LIST_BYTES: usize = 1 << 20;
const MAX_TOOL_NAME_BYTES: usize = 256;
/// Maximum number of pages of the list, against a cursor that never ends.
const MAX_PAGES: usize = 100;
/// The time limit for the exit status, and for the rest of stderr, after stdout has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);
/// The time limit for the end of a process tree that was killed.
const KILL_TIMEOUT: Duration = Duration::from_millis(500);

/// The reason why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program could not be started, for example because its name is wrong.
    #[error("`{command}` cannot be started: {message}")]
    NotStarted {
        /// The program as configured.
        command: String,
        /// The error of the system.
        message: String,
    },
    /// The server was not ready in time, and was killed.
    #[error("it was not ready within {} s and was killed{stderr}", timeout.as_secs_f64())]
    TimedOut {
        /// The start timeout.
        timeout: Duration,
        /// The end of its stderr.
        stderr: StderrTail,
    },
    /// An attached server was not ready in time.
    #[error("it was not ready within {} s", timeout.as_secs_f64())]
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

/// A tool as its server describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedTool {
    /// The name, any text.
    pub name: String,
    /// The description for the model.
    pub description: Option<String>,
    /// The JSON Schema of the arguments.
    #[serde(default)]
    pub input_schema: Value,
    #[serde(default)]
    annotations: Option<ToolAnnotations>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolAnnotations {
    read_only_hint: Option<bool>,
}

impl ListedTool {
    /// Whether the server declares that the tool changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.annotations.as_ref().and_then(|annotations| annotations.read_only_hint) == Some(true)
    }
}

/// An initialized connection to a server. Dropping it kills the process and everything that it started.
pub(crate) struct Connection {
    pub(crate) client: RpcClient,
    /// The processes of the server; `None` for an attached server.
    tree: Option<Mutex<ProcessTree>>,
    stderr: Arc<StderrBuffer>,
    stderr_reader: Mutex<Option<JoinHandle<()>>>,
}

impl Connection {
    /// Starts the server, initializes the connection and requests the tools, all within `config.start_timeout`. A
    /// server that is not ready by then is killed.
    pub(crate) async fn open(config: &ServerConfig) -> Result<(Self, Vec<ListedTool>), StartError> {
        let stderr = Arc::new(StderrBuffer::default());
        let ready = async {
            let connection = Self::start(config, &stderr)?;
            match connection.initialize().await {
                Ok(tools) => Ok((connection, tools)),
                Err(message) => {
                    let message = connection.kill_and_describe(message).await;
                    Err(StartError::Failed { message, stderr: stderr.tail() })
                }
            }
        };
        let timeout = config.start_timeout;
        tokio::time::timeout(timeout, ready)
            .await
            .unwrap_or_else(|_| Err(StartError::TimedOut { timeout, stderr: stderr.tail() }))
    }

    /// Initializes a connection to a server that another program runs, over `input` and `output`, and requests its
    /// tools, all within `timeout`.
    pub(crate) async fn attach(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        timeout: Duration,
    ) -> Result<(Self, Vec<ListedTool>), StartError> {
        let connection = Self {
            client: RpcClient::new(input, output),
            tree: None,
            stderr: Arc::new(StderrBuffer::default()),
            stderr_reader: Mutex::new(None),
        };
        match tokio::time::timeout(timeout, connection.initialize()).await {
            Ok(Ok(tools)) => Ok((connection, tools)),
            Ok(Err(message)) => Err(StartError::Failed { message, stderr: StderrTail::default() }),
            Err(_) => Err(StartError::AttachTimedOut { timeout }),
        }
    }

    /// Starts the process of the server, without a request.
    fn start(config: &ServerConfig, stderr: &Arc<StderrBuffer>) -> Result<Self, StartError> {
        let (process, stdin) = start_process(config)
            .map_err(|message| StartError::NotStarted { command: config.command.clone(), message })?;
        let buffer = Arc::clone(stderr);
        let reader = PipeReader::new(process.stderr);
        let reader = tokio::spawn(async move { buffer.read_all(reader).await });
        Ok(Self {
            client: RpcClient::new(stdin, process.stdout),
            tree: Some(Mutex::new(process.tree)),
            stderr: Arc::clone(stderr),
            stderr_reader: Mutex::new(Some(reader)),
        })
    }

    /// Performs the handshake, then requests the list of tools.
    async fn initialize(&self) -> Result<Vec<ListedTool>, String> {
        let params = json!({
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": { "name": "ibeam", "version": env!("CARGO_PKG_VERSION") },
        });
        let result = self.client.request("initialize", params).await.map_err(|error| error.to_string())?;
        let InitializeResult { protocol_version, capabilities } = parse_result("initialize", &result)?;
        if !KNOWN_REVISIONS.contains(&protocol_version.as_str()) {
            let revision = elide_end(&protocol_version, MAX_QUOTED_CHARS);
            return Err(format!("it uses revision `{revision}` of MCP, which is not supported"));
        }
        self.client.notify("notifications/initialized", json!({}));
        self.list_tools(capabilities.get("tools").is_some()).await
    }

    /// Requests every page of the list of tools. A server that does not announce tools may reject the request.
    async fn list_tools(&self, announces_tools: bool) -> Result<Vec<ListedTool>, String> {
        let mut tools = Vec::new();
        let mut cursor: Option<String> = None;
        let mut length = 0;
        for _ in 0..MAX_PAGES {
            let params = cursor.take().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let page = match self.client.request("tools/list", params).await {
                Ok(page) => page,
                Err(RequestError::Rejected(error)) if error.code == METHOD_NOT_FOUND && !announces_tools => {
                    return Ok(Vec::new());
                }
                Err(error) => return Err(error.to_string()),
            };
            length += page.get().len();
            if length > MAX_TOOL_LIST_BYTES {
                return Err(format!("its list of tools is longer than {} kB", MAX_TOOL_LIST_BYTES >> 10));
            }
            let ListToolsResult { tools: more, next_cursor } = parse_result("tools/list", &page)?;
            if more.iter().any(|tool| tool.name.len() > MAX_TOOL_NAME_BYTES) {
                return Err(format!("the name of a tool is longer than {MAX_TOOL_NAME_BYTES} bytes"));
            }
            tools.extend(more);
            if tools.len() > MAX_TOOLS {
                return Err(format!("it offers more than {MAX_TOOLS} tools"));
            }
            match next_cursor.filter(|cursor| !cursor.is_empty()) {
                Some(next) => cursor = Some(next),
                None => return Ok(tools),
            }
        }
        Err(format!("its list of tools has more than {MAX_PAGES} pages"))
    }

    /// Kills the process tree if the connection is closed. Returns the exit status as a message if the server ended by
    /// itself, else `message`. Waits at most twice `DRAIN_TIMEOUT`: for the status and for the rest of stderr.
    pub(crate) async fn kill_and_describe(&self, message: String) -> String {
        let (Some(closed), Some(tree)) = (self.client.close_reason(), &self.tree) else {
            return message;
        };
        let mut tree = tree.lock().await;
        let status = tree.wait_for_exit_within(DRAIN_TIMEOUT).await;
        tree.kill();
        if let Some(reader) = self.stderr_reader.lock().await.take() {
            // Another process may still hold the pipe, or write without end.
            let _ = tokio::time::timeout(DRAIN_TIMEOUT, reader).await;
        }
        match (closed, status) {
            (CloseReason::EndOfOutput, Some(status)) => format!("it ended ({status})"),
            (CloseReason::EndOfOutput | CloseReason::InvalidOutput(_) | CloseReason::ClosedHere, _) => {
                message
            }
        }
    }

    pub(crate) fn stderr_tail(&self) -> StderrTail {
        self.stderr.tail()
    }

    /// Kills the process and everything that it started, without waiting for their end.
    pub(crate) async fn kill(&self) {
        if let Some(tree) = &self.tree {
            tree.lock().await.kill();
        }
    }

    /// Closes stdin of the server, then ends the process and everything that it started: after `grace` with TERM,
    /// after another `grace` with KILL.
    pub(crate) async fn shut_down(&self, grace: Duration) {
        self.client.close();
        let Some(tree) = &self.tree else { return };
        let mut tree = tree.lock().await;
        if !tree.wait_until_gone_within(grace).await {
            tree.terminate();
            tree.wait_until_gone_within(grace).await;
        }
        tree.kill();
        tree.wait_until_gone_within(KILL_TIMEOUT).await;
    }
}

/// Starts the program of a server and returns it with the pipe to its stdin. Must be called within an async runtime.
fn start_process(config: &ServerConfig) -> Result<(PipedProcess, Sender), String> {
    let program = find_program(config)?;
    let command = std::iter::once(&config.command).chain(&config.args);
    let command = CommandSpec {
        program: &program,
        arguments: &command.map(OsStr::new).collect::<Vec<_>>(),
        environment: &config.environment,
        directory: &config.directory,
    };
    PipedProcess::spawn(&config.launcher, &command).map_err(|error| match error {
        StartProcessError::Spawn(SpawnError::System(errno)) => errno.to_string(),
        StartProcessError::Spawn(SpawnError::NulByte | SpawnError::ServerLost | SpawnError::Sandbox(_))
        | StartProcessError::Pipe(_) => error.to_string(),
    })
}

/// Returns the path of the program. A relative path starts in the server's directory; a name is looked up in
/// `program_directories`.
fn find_program(config: &ServerConfig) -> Result<PathBuf, String> {
    if config.command.contains('/') {
        return Ok(config.directory.join(&config.command));
    }
    let candidates = config.program_directories.iter().map(|directory| directory.join(&config.command));
    let mut found = candidates.filter(|candidate| is_program(candidate));
    found.next().ok_or_else(|| "no such program in PATH".to_owned())
}

fn is_program(candidate: &Path) -> bool {
    candidate.is_file() && access(candidate, Access::EXEC_OK).is_ok()
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
struct ListToolsResult {
    tools: Vec<ListedTool>,
    next_cursor: Option<String>,
}

fn parse_result<'a, T: Deserialize<'a>>(method: &str, result: &'a RawValue) -> Result<T, String> {
    serde_json::from_str(result.get()).map_err(|error| {
        elide_end(&format!("its answer to `{method}` is not valid: {error}"), MAX_QUOTED_CHARS)
    })
}
