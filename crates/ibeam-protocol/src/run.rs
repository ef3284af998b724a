//! The settings of a run, its totals at the end, and its token counts.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Reason};
use crate::id::CallId;
use crate::sentence::Sentence;

/// The model of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The name of the provider in the configuration, e.g. `anthropic`.
    pub provider: String,
    /// The id in requests, e.g. `claude-sonnet-4-20250514`.
    pub id: String,
    /// The name for people, e.g. `Claude 4 Sonnet`.
    pub display: String,
}

/// The source of the API key.
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

/// The actions that a run may take without approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionMode {
    /// The run may read and write files of the workspace, and run commands that a rule allows.
    Default,
    /// The run may do everything that no rule denies.
    Force,
    /// The run may only read; its answer is a plan.
    Plan,
    /// The run may only read; it answers a question.
    Ask,
}

/// A configured MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    /// The name in the configuration.
    pub name: String,
    /// The state of the server.
    pub status: McpStatus,
}

/// The state of an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpStatus {
    /// The server runs and has listed its tools.
    Connected,
    /// The server did not start in time.
    Failed,
    /// A file of a project requests the server, and the workspace is not trusted; the server was not started.
    Untrusted,
    /// This version does not support the transport of the server.
    Unsupported,
    /// The user disabled the server.
    Disabled,
}

/// The confinement of the commands of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// The kind of confinement.
    pub mode: SandboxMode,
    /// The active layers, outermost first; empty when off.
    pub layers: Vec<String>,
    /// Whether commands can reach any network.
    pub network: bool,
    /// Directories outside of the workspace that commands may write, e.g. the repository of a linked work tree.
    #[serde(default)]
    pub writable: Vec<String>,
    /// The reason for this confinement.
    pub reason: Sentence,
}

impl Default for Sandbox {
    /// Returns no confinement: the value for sessions that earlier versions recorded.
    fn default() -> Self {
        let reason = "commands are confined by permission rules only".into();
        Self { mode: SandboxMode::Off, layers: Vec::new(), network: true, writable: Vec::new(), reason }
    }
}

/// The kind of confinement of commands.
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

/// The maxima of a run; `None`, and `u32::MAX` of `max_turns`, are unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Model requests.
    pub max_turns: u32,
    /// Tokens of all requests and answers together, cached ones included.
    #[serde(default)]
    pub max_tokens: Option<u64>,
    /// The cost of the run, in millionths of a US dollar.
    #[serde(default)]
    pub max_cost_micros: Option<u64>,
    /// Tool calls.
    #[serde(default)]
    pub max_tool_calls: Option<u32>,
    /// Wall-clock time, in milliseconds.
    pub timeout_ms: Option<u64>,
}

impl Limits {
    /// The value without any limit.
    pub const NONE: Self = Self {
        max_turns: u32::MAX,
        max_tokens: None,
        max_cost_micros: None,
        max_tool_calls: None,
        timeout_ms: None,
    };
}

/// The quantity that a limit counts.
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

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// The model ended its turn.
    Completed,
    /// The run failed.
    Failed(Failure),
}

/// The totals of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTotals {
    /// Model requests that were answered.
    pub turns: u32,
    /// Time spent waiting for the model, in milliseconds.
    pub api_ms: u64,
    /// The tokens; `None` if no answer reported any.
    pub usage: Option<Usage>,
    /// The cost of the tokens in millionths of a US dollar; `None` if the price is unknown.
    #[serde(default)]
    pub cost_micros: Option<u64>,
    /// The requests to each model, in the order of the first request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelTotals>,
    /// The changes of the model, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<ModelFallback>,
    /// Tool calls that were started.
    #[serde(default)]
    pub tool_calls: u32,
    /// Calls that were refused.
    pub denials: Vec<Denial>,
    /// Calls that failed, refusals not counted.
    pub failed_tool_calls: u32,
    /// The absolute paths that were written, edited or deleted, each once, in the order of the first change.
    #[serde(serialize_with = "crate::path_text::serialize_paths")]
    pub files_changed: Vec<PathBuf>,
    /// Model requests that were retried.
    pub retries: u32,
    /// Answers that were interrupted in their text and continued by another request.
    #[serde(default)]
    pub continuations: u32,
    /// Times the conversation was shortened to fit the model.
    pub compactions: u32,
    /// Background commands that were still running at the end and were stopped.
    #[serde(default)]
    pub background_stopped: u32,
    /// The ends of background commands that ended by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background_ended: Vec<BackgroundEnd>,
    /// Whether the run ended before the disk had confirmed the last records of the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsynced: bool,
    /// The level of reasoning that was used instead of the one that the user asked for; `None` if it was not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort_used: Option<String>,
    /// The provider's id of the last request.
    pub request_id: Option<String>,
}

/// The requests of a run to one model, with their tokens and costs. Requests for summaries and for corrections of an
/// answer are included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelTotals {
    /// The model as `PROVIDER/ID`.
    pub model: String,
    /// Requests that were answered.
    pub requests: u32,
    /// Requests that failed, whether they were retried or not.
    #[serde(default)]
    pub failed_requests: u32,
    /// Answers without token counts.
    #[serde(default)]
    pub uncounted_requests: u32,
    /// The tokens; `None` if the provider reported none.
    pub usage: Option<Usage>,
    /// The cost of the tokens in millionths of a US dollar, rounded up for each request; `None` if the price is unknown.
    pub cost_micros: Option<u64>,
    /// The cost of each class of tokens; `None` if the price is unknown.
    pub costs: Option<ClassCosts>,
}

/// A change to another model, because a model was unavailable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFallback {
    /// The model that was unavailable, as `PROVIDER/ID`.
    pub from: String,
    /// The model that took over, as `PROVIDER/ID`.
    pub to: String,
    /// The last failure of the unavailable model.
    pub reason: Box<Reason>,
}

/// The end of a background command that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundEnd {
    /// The call that started it.
    pub call_id: CallId,
    /// The command.
    pub command: String,
    /// The exit code; 128 + number for a signal.
    pub exit_code: i32,
}

impl BackgroundEnd {
    /// The exit codes after the signals with which a model ends what it started: HUP, INT and TERM.
    const ENDED_ON_PURPOSE: [i32; 3] = [129, 130, 143];

    /// Whether the command failed, and was not ended on purpose.
    pub fn has_failed(&self) -> bool {
        self.exit_code != 0 && !Self::ENDED_ON_PURPOSE.contains(&self.exit_code)
    }
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

/// The token counts of one model request, or their sums for a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens that were neither read from nor written to a cache.
    pub input: u64,
    /// Generated tokens, thinking included.
    pub output: u64,
    /// Prompt tokens read from the provider's cache.
    pub cache_read: u64,
    /// Prompt tokens written to the provider's cache.
    pub cache_write: u64,
    /// The part of `output` that was reasoning, as far as the provider reports it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
}

/// The cost of each class of tokens in millionths of a millionth of a US dollar, for one model request or as a sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassCosts {
    /// The cost of [`Usage::input`].
    pub input: u64,
    /// The cost of [`Usage::output`].
    pub output: u64,
    /// The cost of [`Usage::cache_read`].
    pub cache_read: u64,
    /// The cost of [`Usage::cache_write`].
    pub cache_write: u64,
    /// The part of `output` that was for reasoning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
}

impl ClassCosts {
    /// Returns the sum in millionths of a US dollar, rounded up; saturating.
    pub fn micros(self) -> u64 {
        let classes = [self.input, self.output, self.cache_read, self.cache_write];
        let sum = classes.iter().fold(0u128, |sum, cost| sum + u128::from(*cost));
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// Returns the sum of two costs; saturating.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }
}

/// The tokens of a failed model request, as far as the provider reported them before the failure, and their cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedUsage {
    /// The tokens.
    pub usage: Usage,
    /// The cost of each class; `None` if the price is unknown.
    #[serde(default)]
    pub costs: Option<ClassCosts>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl ModelInfo {
    /// Returns the name under which `--model` chooses this model: `PROVIDER/ID`.
    pub fn qualified_name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
}

impl Usage {
    /// Returns the sum of all counts; saturating.
    pub fn total(self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// Returns the tokens of the prompt, cached or not; saturating.
    pub fn prompt(self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Returns the sum of two counts. It saturates, since an absurd number from a provider must not end a run.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }
}
