//! The head of a run: what `system`/`init` says beyond the published keys.

use ibeam_protocol::{
    KeySource, Limits, McpServer, McpStatus, PermissionMode, Sandbox, SandboxMode, SessionStarted,
};
use schemars::JsonSchema;
use serde::Serialize;

use ibeam_wire::Contract;

/// `apiKeySource`: strict clients drop the event at any other word, so a model without a key says `env`.
pub(crate) fn key_source(source: KeySource) -> &'static str {
    match source {
        KeySource::Env | KeySource::None => "env",
        KeySource::Flag => "flag",
        KeySource::Login => "login",
    }
}

/// `permissionMode`.
pub(crate) fn permission_mode(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Default => "default",
        PermissionMode::Force => "force",
        PermissionMode::Plan => "plan",
        PermissionMode::Ask => "ask",
    }
}

/// An MCP server that is configured.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ServerEntry<'a> {
    /// Its name in the configuration.
    name: &'a str,
    /// Whether it answers, and if not, why.
    #[schemars(extend("enum" = ["connected", "failed", "untrusted", "unsupported", "disabled"]))]
    status: &'static str,
}

impl<'a> ServerEntry<'a> {
    pub(crate) fn new(server: &'a McpServer) -> Self {
        let status = match server.status {
            McpStatus::Connected => "connected",
            McpStatus::Failed => "failed",
            McpStatus::Untrusted => "untrusted",
            McpStatus::Unsupported => "unsupported",
            McpStatus::Disabled => "disabled",
        };
        Self { name: &server.name, status }
    }
}

/// What the run begins with, beyond the published keys.
#[derive(Serialize, JsonSchema)]
pub(crate) struct InitExtras<'a> {
    /// The version of ibeam.
    version: &'a str,
    /// The contract that the stream keeps.
    #[schemars(extend("const" = "1"))]
    contract: &'static str,
    /// Where the key of the provider comes from; `none` where the model needs no key.
    #[schemars(extend("enum" = ["env", "flag", "login", "none"]))]
    api_key: &'static str,
    /// What confines the commands of the run.
    sandbox: SandboxEntry<'a>,
    /// The bounds of the run; what is absent has no bound.
    limits: LimitValues,
    /// The number of places where the journal of the resumed session lacks, repeats or moves events; absent where there
    /// is none.
    #[schemars(extend("x-unit" = "count"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    journal_gaps: Option<u64>,
    /// Present and true where the run keeps no session, so that `--resume` cannot take it up.
    #[schemars(with = "Option<bool>", extend("const" = true))]
    #[serde(skip_serializing_if = "Option::is_none")]
    ephemeral: Option<bool>,
}

impl<'a> InitExtras<'a> {
    pub(crate) fn new(started: &'a SessionStarted, contract: Contract) -> Self {
        let Limits { max_turns, max_tokens, max_cost_micros, max_tool_calls, timeout_ms } = started.limits;
        let max_cost_usd = max_cost_micros.map(dollars);
        Self {
            version: &started.version,
            contract: contract.as_str(),
            api_key: match started.key_source {
                KeySource::Env => "env",
                KeySource::Flag => "flag",
                KeySource::Login => "login",
                KeySource::None => "none",
            },
            sandbox: SandboxEntry::new(&started.sandbox),
            limits: LimitValues { max_turns, max_tokens, max_cost_usd, max_tool_calls, timeout_ms },
            journal_gaps: Some(started.journal_gaps).filter(|gaps| *gaps > 0),
            ephemeral: started.ephemeral.then_some(true),
        }
    }
}

/// What confines the commands of a run.
#[derive(Serialize, JsonSchema)]
struct SandboxEntry<'a> {
    /// How commands are confined.
    #[schemars(extend("enum" = ["off", "namespaces", "landlock"]))]
    mode: &'static str,
    /// The layers that stand, by name.
    layers: &'a [String],
    /// Whether commands reach some of the network.
    network: bool,
    /// Directories outside of the workspace that commands may write; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    writable: Option<&'a [String]>,
    /// Why it is so, in English.
    reason: &'a str,
}

impl<'a> SandboxEntry<'a> {
    fn new(sandbox: &'a Sandbox) -> Self {
        let Sandbox { mode, layers, network, writable, reason } = sandbox;
        let writable = Some(writable.as_slice()).filter(|writable| !writable.is_empty());
        let mode = match mode {
            SandboxMode::Off => "off",
            SandboxMode::Namespaces => "namespaces",
            SandboxMode::Landlock => "landlock",
        };
        Self { mode, layers, network: *network, writable, reason }
    }
}

/// Millionths as dollars: exact to the sixth place.
pub(crate) fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// The bounds of a run.
#[derive(Serialize, JsonSchema)]
struct LimitValues {
    /// The most requests to the model.
    #[schemars(extend("x-unit" = "count"))]
    max_turns: u32,
    /// The most tokens, prompts and answers together.
    #[schemars(extend("x-unit" = "tokens"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    /// The most it may cost.
    #[schemars(range(min = 0), extend("x-unit" = "USD"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_cost_usd: Option<f64>,
    /// The most calls of tools.
    #[schemars(extend("x-unit" = "count"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tool_calls: Option<u32>,
    /// The longest it may take.
    #[schemars(extend("x-unit" = "ms"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}
