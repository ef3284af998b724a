//! One life of a server: its process, the handshake, its list of tools, its last words.

use std::sync::Arc;
use std::time::Duration;

use ibeam_protocol::elide_end;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::ServerConfig;
use crate::last_words::{LastWords, StderrRing};
use crate::message::{MAX_QUOTED_CHARS, METHOD_NOT_FOUND};
use crate::peer::{Closed, Peer, RequestError};
use crate::process::Process;

/// The revision we speak.
const REVISION: &str = "2025-06-18";
/// The revisions that are the same in all we use.
const KNOWN_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", REVISION, "2025-11-25"];
/// Tools of one server; more than any model can choose among.
const MOST_TOOLS: usize = 1000;
/// Bytes of their list; what is longer leaves a model no room.
const LONGEST_LIST: usize = 1 << 20;
/// Bytes of a tool's name.
const LONGEST_NAME: usize = 256;
/// Pages of the list; a cursor that leads nowhere ends here.
const MOST_PAGES: usize = 100;
/// How long the exit status and the rest of stderr are waited for, once stdout has ended.
const OBITUARY: Duration = Duration::from_millis(200);

/// Why a server is not there.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program does not run: a wrong name, no right to run it.
    #[error("`{command}` cannot be started: {said}")]
    NotStarted {
        /// The program as configured.
        command: String,
        /// The system's words.
        said: String,
    },
    /// It said too little within the bound, and was killed.
    #[error("it was not ready within {} s and was killed{last_words}", after.as_secs_f64())]
    TimedOut {
        /// The bound.
        after: Duration,
        /// What it said on stderr.
        last_words: LastWords,
    },
    /// A server that somebody else runs did not answer within the bound.
    #[error("it was not ready within {} s", after.as_secs_f64())]
    Silent {
        /// The bound.
        after: Duration,
    },
    /// It ended, or what it says is not the protocol.
    #[error("{said}{last_words}")]
    Failed {
        /// What happened.
        said: String,
        /// What it said on stderr.
        last_words: LastWords,
    },
}

/// A tool as its server describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedTool {
    /// Its name, any text.
    pub name: String,
    /// What it does, for the model.
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    #[serde(default)]
    pub input_schema: Value,
    #[serde(default)]
    annotations: Option<Annotations>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    read_only_hint: Option<bool>,
}

impl ListedTool {
    /// Its server says that it changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.annotations.as_ref().and_then(|annotations| annotations.read_only_hint) == Some(true)
    }
}

/// A running server that has been greeted. Dropping it kills the process and everything it started.
pub(crate) struct Connection {
    pub(crate) peer: Peer,
    /// `None` for a server that somebody else runs.
    process: Option<Mutex<Process>>,
    stderr: Arc<StderrRing>,
    stderr_reader: Mutex<Option<JoinHandle<()>>>,
}

impl Connection {
    /// Starts the server, greets it and asks for its tools, all within `config.start_timeout`; a server that is
    /// not ready by then is killed.
    pub(crate) async fn open(config: &ServerConfig) -> Result<(Self, Vec<ListedTool>), StartError> {
        let stderr = Arc::new(StderrRing::default());
        let ready = async {
            let connection = Self::start(config, &stderr)?;
            match connection.greet().await {
                Ok(tools) => Ok((connection, tools)),
                Err(said) => {
                    let said = connection.obituary(said).await;
                    Err(StartError::Failed { said, last_words: stderr.last_words() })
                }
            }
        };
        let after = config.start_timeout;
        tokio::time::timeout(after, ready)
            .await
            .unwrap_or_else(|_| Err(StartError::TimedOut { after, last_words: stderr.last_words() }))
    }

    /// Greets a server that somebody else runs, over `input` and `output`, and asks for its tools, all within `after`.
    pub(crate) async fn attach(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        after: Duration,
    ) -> Result<(Self, Vec<ListedTool>), StartError> {
        let stderr = Arc::new(StderrRing::default());
        let last_words = stderr.last_words();
        let peer = Peer::new(input, output);
        let connection = Self { peer, process: None, stderr, stderr_reader: Mutex::new(None) };
        match tokio::time::timeout(after, connection.greet()).await {
            Ok(Ok(tools)) => Ok((connection, tools)),
            Ok(Err(said)) => Err(StartError::Failed { said, last_words }),
            Err(_) => Err(StartError::Silent { after }),
        }
    }

    fn start(config: &ServerConfig, stderr: &Arc<StderrRing>) -> Result<Self, StartError> {
        let (process, pipes) = Process::start(config).map_err(|error| StartError::NotStarted {
            command: config.command.clone(),
            said: error.to_string(),
        })?;
        let ring = Arc::clone(stderr);
        let reader = tokio::spawn(async move { ring.follow(pipes.stderr).await });
        Ok(Self {
            peer: Peer::new(pipes.stdin, pipes.stdout),
            process: Some(Mutex::new(process)),
            stderr: Arc::clone(stderr),
            stderr_reader: Mutex::new(Some(reader)),
        })
    }

    /// The handshake, then every page of the list.
    async fn greet(&self) -> Result<Vec<ListedTool>, String> {
        let hello = json!({
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": { "name": "ibeam", "version": env!("CARGO_PKG_VERSION") },
        });
        let answer = self.peer.request("initialize", hello).await.map_err(|error| error.to_string())?;
        let Welcome { protocol_version, capabilities } = read("initialize", &answer)?;
        if !KNOWN_REVISIONS.contains(&protocol_version.as_str()) {
            let revision = elide_end(&protocol_version, MAX_QUOTED_CHARS);
            return Err(format!("it speaks revision `{revision}` of MCP, which is not known here"));
        }
        self.peer.notify("notifications/initialized", json!({}));
        let has_tools = capabilities.get("tools").is_some();
        let mut tools = Vec::new();
        let mut cursor: Option<String> = None;
        let mut length = 0;
        for _ in 0..MOST_PAGES {
            let params = cursor.take().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let page = match self.peer.request("tools/list", params).await {
                Ok(page) => page,
                Err(RequestError::Refused(error)) if error.code == METHOD_NOT_FOUND && !has_tools => {
                    return Ok(Vec::new());
                }
                Err(error) => return Err(error.to_string()),
            };
            length += page.get().len();
            if length > LONGEST_LIST {
                return Err(format!("its list of tools is longer than {} kB", LONGEST_LIST >> 10));
            }
            let Page { tools: more, next_cursor } = read("tools/list", &page)?;
            if more.iter().any(|tool| tool.name.len() > LONGEST_NAME) {
                return Err(format!("the name of a tool is longer than {LONGEST_NAME} bytes"));
            }
            tools.extend(more);
            if tools.len() > MOST_TOOLS {
                return Err(format!("it offers more than {MOST_TOOLS} tools"));
            }
            match next_cursor.filter(|cursor| !cursor.is_empty()) {
                Some(next) => cursor = Some(next),
                None => return Ok(tools),
            }
        }
        Err(format!("its list of tools has more than {MOST_PAGES} pages"))
    }

    /// What ended the conversation: the exit status where there is one, else `said`. Waits a little for that to be
    /// known, then ends what is left of the process.
    pub(crate) async fn obituary(&self, said: String) -> String {
        let (Some(closed), Some(process)) = (self.peer.closed(), &self.process) else { return said };
        let mut process = process.lock().await;
        let status = process.status(OBITUARY).await;
        process.kill();
        if let Some(rest) = self.stderr_reader.lock().await.take() {
            // Somebody else may still hold the pipe, or the flood go on.
            let _in_time = tokio::time::timeout(OBITUARY, rest).await;
        }
        match (closed, status) {
            (Closed::Ended, Some(status)) => format!("it ended ({status})"),
            (Closed::Ended | Closed::Broken(_) | Closed::HungUp, _) => said,
        }
    }

    pub(crate) fn last_words(&self) -> LastWords {
        self.stderr.last_words()
    }

    /// Ends the process and everything it started, soon after this call.
    pub(crate) async fn kill(&self) {
        if let Some(process) = &self.process {
            process.lock().await.kill();
        }
    }

    /// Closes its stdin, then ends the process and everything it started, within twice `grace` and a little.
    pub(crate) async fn end(&self, grace: Duration) {
        self.peer.hang_up();
        if let Some(process) = &self.process {
            process.lock().await.end(grace).await;
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Welcome {
    protocol_version: String,
    #[serde(default)]
    capabilities: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<ListedTool>,
    next_cursor: Option<String>,
}

fn read<'a, T: Deserialize<'a>>(method: &str, answer: &'a RawValue) -> Result<T, String> {
    serde_json::from_str(answer.get()).map_err(|error| {
        elide_end(&format!("its answer to `{method}` is not as it should be: {error}"), MAX_QUOTED_CHARS)
    })
}
