//! What is fixed for a run and what is summed up at its end.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::id::CallId;
use crate::usage::Usage;

/// The model of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The provider's name in our configuration, e.g. `anthropic`.
    pub provider: String,
    /// The id sent over the wire, e.g. `claude-sonnet-4-20250514`.
    pub id: String,
    /// The name for people, e.g. `Claude 4 Sonnet`.
    pub display: String,
}

/// Where the key came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// An environment variable.
    Env,
    /// A command-line flag.
    Flag,
    /// `ibeam login`.
    Login,
    /// The model needs no key.
    None,
}

/// What the run may do without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionMode {
    /// Files of the workspace; commands that a rule covers.
    Default,
    /// Everything that is not denied.
    Force,
    /// Reading only; the answer is a plan.
    Plan,
    /// Reading only; the answer is an answer.
    Ask,
}

/// An MCP server that is configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    /// The name that people gave it.
    pub name: String,
    /// Whether its tools are there.
    pub status: McpStatus,
}

/// Whether the tools of an MCP server are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpStatus {
    /// It runs and has told its tools.
    Connected,
    /// It did not start, or not in time.
    Failed,
    /// A project's file asks for it and the workspace is not trusted; it was not started.
    Untrusted,
    /// It is reached in a way that we do not speak.
    Unsupported,
    /// The user switched it off.
    Disabled,
}

/// What confines the commands of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Whether anything does.
    pub mode: SandboxMode,
    /// The layers that hold, outermost first; empty when off.
    pub layers: Vec<String>,
    /// Commands reach some of the network.
    pub network: bool,
    /// Directories outside of the workspace that commands may write, such as the repository of a linked work tree.
    #[serde(default)]
    pub writable: Vec<String>,
    /// Why it is so, in English.
    pub reason: String,
}

impl Default for Sandbox {
    /// Nothing does; what sessions of earlier versions were recorded with.
    fn default() -> Self {
        let reason = "commands are confined by permission rules only".to_owned();
        Self { mode: SandboxMode::Off, layers: Vec::new(), network: true, writable: Vec::new(), reason }
    }
}

/// Whether commands are confined by the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// Permission rules only.
    #[default]
    Off,
    /// Namespaces, Landlock and seccomp.
    Namespaces,
    /// Landlock and seccomp: the system refuses namespaces.
    Landlock,
}

/// The bounds of a run; `None` is unbounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Model requests.
    pub max_turns: u32,
    /// Tokens of all requests and answers together, cached ones included.
    #[serde(default)]
    pub max_tokens: Option<u64>,
    /// What the run may cost, in millionths of a US dollar.
    #[serde(default)]
    pub max_cost_micros: Option<u64>,
    /// Tool calls.
    #[serde(default)]
    pub max_tool_calls: Option<u32>,
    /// Wall-clock time, in milliseconds.
    pub timeout_ms: Option<u64>,
}

impl Limits {
    /// No bound at all.
    pub const NONE: Self = Self {
        max_turns: u32::MAX,
        max_tokens: None,
        max_cost_micros: None,
        max_tool_calls: None,
        timeout_ms: None,
    };
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Model requests.
    Turns,
    /// Tokens.
    Tokens,
    /// Money.
    Cost,
    /// Tool calls.
    ToolCalls,
    /// Wall-clock time.
    Time,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// The model ended its turn.
    Completed,
    /// Anything else.
    Failed(Failure),
}

/// The sums of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTotals {
    /// Model requests answered.
    pub turns: u32,
    /// Time spent waiting for the model, in milliseconds.
    pub api_ms: u64,
    /// Tokens; `None` when no answer told any.
    pub usage: Option<Usage>,
    /// What the tokens cost, in millionths of a US dollar; `None` when the price is not known.
    #[serde(default)]
    pub cost_micros: Option<u64>,
    /// Tool calls started.
    #[serde(default)]
    pub tool_calls: u32,
    /// Calls that policy refused.
    pub denials: Vec<Denial>,
    /// Calls that failed, refusals not counted.
    pub failed_tool_calls: u32,
    /// Absolute paths written, edited or deleted, each once, in order of first change.
    #[serde(serialize_with = "crate::path_text::many")]
    pub files_changed: Vec<PathBuf>,
    /// Model requests repeated after an error.
    pub retries: u32,
    /// Answers that were interrupted in their text and continued by another request.
    #[serde(default)]
    pub continuations: u32,
    /// Times the conversation was shortened to fit the model.
    pub compactions: u32,
    /// Background commands that were still running at the end and were stopped.
    #[serde(default)]
    pub background_stopped: u32,
    /// The disk has not confirmed the last records of the session: it was not waited for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsynced: bool,
    /// The provider's id of the last request.
    pub request_id: Option<String>,
}

/// A refused call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The call.
    pub call_id: CallId,
    /// The tool's name.
    pub tool: String,
    /// The rule that decided, e.g. `Shell(rm)` or `default`.
    pub rule: String,
}
