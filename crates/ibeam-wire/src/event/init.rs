//! The first event of a run.

use serde::{Deserialize, Serialize};

use crate::describe::{Describe, Shape, contract_object};

contract_object! {
    /// The first line of a run: its settings.
    pub struct InitEvent<S: Default = String> type "system" {
        /// The subtype of the event.
        required subtype("subtype"): InitSubtype,
        /// The source of the provider's API key; also `env` if the model needs no key, see `ibeam.api_key`.
        required api_key_source("apiKeySource", shape: Shape::Enum(&["env", "flag", "login"])): S,
        /// The absolute path of the working directory.
        required cwd("cwd", shape: Shape::AbsolutePath, pattern: "^(/|[A-Za-z]:)"): S,
        /// The id of the session, for `--resume`; the same in every line.
        required session_id("session_id", shape: Shape::Uuid): S,
        /// The display name of the model, e.g. `Claude 4 Sonnet`; not its id.
        required model("model"): S,
        /// The permission mode of the run.
        required permission_mode("permissionMode", shape: Shape::Enum(&["default", "force", "plan", "ask"])): S,
        /// The names of the tools offered to the model.
        added tools("tools"): Vec<S>,
        /// The configured MCP servers.
        added mcp_servers("mcp_servers"): Vec<ServerEntry<S>>,
        /// The settings of the run that the published page does not have.
        added ibeam("ibeam"): Option<InitExtras<S>>,
    }
}

/// The `subtype` of [`InitEvent`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InitSubtype {
    /// The first event of a run.
    #[default]
    Init,
}

impl Describe for InitSubtype {
    const SHAPE: Shape = Shape::Enum(&["init"]);
}

contract_object! {
    /// A configured MCP server.
    pub struct ServerEntry<S: Default = String> {
        /// The name in the configuration.
        required name("name"): S,
        /// The state of the server.
        required status("status", shape: Shape::OpenEnum(&["connected", "failed", "untrusted", "unsupported", "disabled"])): S,
    }
}

contract_object! {
    /// The settings of the run that the published page does not have.
    pub struct InitExtras<S: Default = String> {
        /// The version of ibeam.
        expected version("version"): S,
        /// The contract that the stream follows.
        expected contract("contract", shape: Shape::ContractName): S,
        /// The source of the provider's API key; `none` if the model needs no key.
        expected api_key("api_key"): ApiKeySource,
        /// The sandbox of the commands.
        expected sandbox("sandbox"): SandboxEntry<S>,
        /// The limits of the run; an absent key means no limit.
        expected limits("limits"): LimitValues,
        /// The number of places where the journal of the resumed session lacks, repeats or reorders events; absent if there
        /// are none.
        optional journal_gaps("journal_gaps", unit: "count"): u64,
        /// Present and true if the run stores no session, so that `--resume` cannot continue it.
        optional ephemeral("ephemeral", shape: Shape::True): bool,
        /// Present if the prompts are messages on stdin (`--input-format stream-json`). Then each message is a `user`
        /// line, each turn has a last line of its own, and only this line occurs once.
        optional input("input", shape: Shape::OpenEnum(&["stream-json"])): Option<S>,
    }
}

/// The source of an API key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApiKeySource {
    /// An environment variable.
    Env,
    /// `--api-key`.
    Flag,
    /// `ibeam login`.
    Login,
    /// The model needs no key.
    None,
    /// An unknown source.
    #[default]
    #[serde(other)]
    Unknown,
}

impl Describe for ApiKeySource {
    const SHAPE: Shape = Shape::Enum(&["env", "flag", "login", "none"]);
}

contract_object! {
    /// The sandbox of the commands of a run.
    pub struct SandboxEntry<S: Default = String> {
        /// The kind of sandbox.
        expected mode("mode", shape: Shape::OpenEnum(&["off", "namespaces", "landlock"])): S,
        /// The names of the active layers.
        expected layers("layers"): Vec<S>,
        /// Whether commands can reach at least part of the network.
        expected network("network"): bool,
        /// The directories outside the workspace that commands may write to; absent if there are none.
        optional writable("writable"): Vec<S>,
        /// The reason for this sandbox, in English.
        expected reason("reason"): S,
    }
}

contract_object! {
    /// The limits of a run.
    pub struct LimitValues {
        /// The maximum number of model requests.
        expected max_turns("max_turns", unit: "count"): u64,
        /// The maximum number of tokens, input and output together.
        optional max_tokens("max_tokens", unit: "tokens"): Option<u64>,
        /// The maximum cost.
        optional max_cost_usd("max_cost_usd", unit: "USD"): Option<f64>,
        /// The maximum number of tool calls.
        optional max_tool_calls("max_tool_calls", unit: "count"): Option<u64>,
        /// The maximum duration.
        optional timeout_ms("timeout_ms", unit: "ms"): Option<u64>,
    }
}
