//! The head of a run: what `system`/`init` says beyond the published keys.

use ibeam_protocol::{
    KeySource, Limits, McpServer, McpStatus, PermissionMode, Sandbox, SandboxMode, SessionStarted,
};
use serde::Serialize;

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

/// An entry of `mcp_servers`.
#[derive(Serialize)]
pub(crate) struct ServerEntry<'a> {
    name: &'a str,
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

/// `ibeam` in `init`.
#[derive(Serialize)]
pub(crate) struct InitExtras<'a> {
    version: &'a str,
    contract: &'static str,
    api_key: &'static str,
    sandbox: SandboxEntry<'a>,
    limits: LimitValues,
}

impl<'a> InitExtras<'a> {
    pub(crate) fn new(started: &'a SessionStarted) -> Self {
        let Limits { max_turns, max_tokens, max_cost_micros, max_tool_calls, timeout_ms } = started.limits;
        let max_cost_usd = max_cost_micros.map(dollars);
        Self {
            version: &started.version,
            contract: "1",
            api_key: match started.key_source {
                KeySource::Env => "env",
                KeySource::Flag => "flag",
                KeySource::Login => "login",
                KeySource::None => "none",
            },
            sandbox: SandboxEntry::new(&started.sandbox),
            limits: LimitValues { max_turns, max_tokens, max_cost_usd, max_tool_calls, timeout_ms },
        }
    }
}

/// What confines the commands of a run.
#[derive(Serialize)]
struct SandboxEntry<'a> {
    mode: &'static str,
    layers: &'a [String],
    network: bool,
    reason: &'a str,
}

impl<'a> SandboxEntry<'a> {
    fn new(sandbox: &'a Sandbox) -> Self {
        let Sandbox { mode, layers, network, reason } = sandbox;
        let mode = match mode {
            SandboxMode::Off => "off",
            SandboxMode::Namespaces => "namespaces",
            SandboxMode::Landlock => "landlock",
        };
        Self { mode, layers, network: *network, reason }
    }
}

/// Millionths as dollars: exact to the sixth place.
pub(crate) fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[derive(Serialize)]
struct LimitValues {
    max_turns: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tool_calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}
