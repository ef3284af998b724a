//! The head of a run.

use serde::Deserialize;

/// `system`/`init`: what the run works with.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct InitEvent {
    /// Where the key of the model came from: `env`, `flag` or `login`. Published.
    #[serde(rename = "apiKeySource")]
    pub api_key_source: String,
    /// The directory of the run, absolute. Published.
    pub cwd: String,
    /// A UUID, the same in every event of the run; what `--resume` takes. Published.
    pub session_id: String,
    /// The name of the model for people, e.g. `Claude 4 Sonnet`. Published.
    pub model: String,
    /// `default` (published), `force`, `plan` or `ask` (since 0.1.0).
    #[serde(rename = "permissionMode")]
    pub permission_mode: String,
    /// The names of the tools that the model has. Announced by the page, since 0.1.0.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The MCP servers that are configured. Announced by the page, since 0.1.0.
    #[serde(default)]
    pub mcp_servers: Vec<ServerEntry>,
    /// What ibeam adds; absent in a stream of another program. Since 0.1.0.
    pub ibeam: Option<InitExtras>,
}

/// An MCP server.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ServerEntry {
    /// As the configuration names it. Since 0.1.0.
    pub name: String,
    /// `connected`, `failed`, `untrusted`, `unsupported` or `disabled`. Since 0.1.0.
    pub status: String,
}

/// `ibeam` in `init`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct InitExtras {
    /// The version of the program. Since 0.1.0.
    pub version: String,
    /// The contract that the stream keeps: `1` or `2`. Since 0.1.0.
    pub contract: String,
    /// Where the key came from, in full. Since 0.1.0.
    pub api_key: ApiKeySource,
    /// What confines the commands of the run. Since 0.1.0.
    pub sandbox: SandboxEntry,
    /// The limits of the run. Since 0.1.0.
    pub limits: LimitValues,
    /// Places where the journal of the resumed session lacks, repeats or moves events. Since 0.1.0.
    pub journal_gaps: u64,
    /// The run keeps no session: `--resume` cannot take it up. Since 0.1.0.
    pub ephemeral: bool,
}

/// Where the key of the model came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApiKeySource {
    /// A variable of the environment.
    Env,
    /// `--api-key`.
    Flag,
    /// `ibeam login`.
    Login,
    /// The model needs none.
    None,
    /// A word that this version does not know.
    #[default]
    #[serde(other)]
    Unknown,
}

/// What confines commands.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SandboxEntry {
    /// `off`, `namespaces` or `landlock`. Since 0.1.0.
    pub mode: String,
    /// The layers that stand, outermost first. Since 0.1.0.
    pub layers: Vec<String>,
    /// Commands reach some of the network. Since 0.1.0.
    pub network: bool,
    /// Directories outside of the workspace that commands may write. Since 0.1.0.
    pub writable: Vec<String>,
    /// Why it is so: one English sentence. Since 0.1.0.
    pub reason: String,
}

/// The limits of a run; `None` is no limit.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LimitValues {
    /// Model requests. Since 0.1.0.
    pub max_turns: Option<u64>,
    /// Tokens, prompts and answers together. Since 0.1.0.
    pub max_tokens: Option<u64>,
    /// US dollars. Since 0.1.0.
    pub max_cost_usd: Option<f64>,
    /// Tool calls. Since 0.1.0.
    pub max_tool_calls: Option<u64>,
    /// Milliseconds. Since 0.1.0.
    pub timeout_ms: Option<u64>,
}
