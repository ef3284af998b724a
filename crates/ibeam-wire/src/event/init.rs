//! The head of a run.

use serde::{Deserialize, Serialize};

use crate::describe::{Describe, Shape, contract_object};

contract_object! {
    /// The head of the run: the first line, once.
    pub struct InitEvent<S: Default = String> type "system" {
        /// Which line of its type this is.
        required subtype("subtype"): InitSubtype,
        /// Where the key of the provider comes from; `env` too where the model needs none, see `ibeam.api_key`.
        required api_key_source("apiKeySource", shape: Shape::Enum(&["env", "flag", "login"])): S,
        /// The absolute path of the directory the run works in.
        required cwd("cwd", shape: Shape::AbsolutePath, pattern: "^(/|[A-Za-z]:)"): S,
        /// The session of the run: the same in every line, and what `--resume` takes.
        required session_id("session_id", shape: Shape::Uuid): S,
        /// The name of the model for people, e.g. `Claude 4 Sonnet`; not its id.
        required model("model"): S,
        /// What may be done without asking.
        required permission_mode("permissionMode", shape: Shape::Enum(&["default", "force", "plan", "ask"])): S,
        /// The names of the tools that the model is offered.
        added tools("tools"): Vec<S>,
        /// The MCP servers that are configured.
        added mcp_servers("mcp_servers"): Vec<ServerEntry<S>>,
        /// What the run begins with, beyond the published keys.
        added ibeam("ibeam"): Option<InitExtras<S>>,
    }
}

/// The `subtype` of [`InitEvent`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InitSubtype {
    /// The head of a run.
    #[default]
    Init,
}

impl Describe for InitSubtype {
    const SHAPE: Shape = Shape::Enum(&["init"]);
}

contract_object! {
    /// An MCP server that is configured.
    pub struct ServerEntry<S: Default = String> {
        /// Its name in the configuration.
        required name("name"): S,
        /// Whether it answers, and if not, why.
        required status("status", shape: Shape::OpenEnum(&["connected", "failed", "untrusted", "unsupported", "disabled"])): S,
    }
}

contract_object! {
    /// What the run begins with, beyond the published keys.
    pub struct InitExtras<S: Default = String> {
        /// The version of ibeam.
        expected version("version"): S,
        /// The contract that the stream keeps.
        expected contract("contract", shape: Shape::ContractName): S,
        /// Where the key of the provider comes from; `none` where the model needs no key.
        expected api_key("api_key"): ApiKeySource,
        /// What confines the commands of the run.
        expected sandbox("sandbox"): SandboxEntry<S>,
        /// The bounds of the run; what is absent has no bound.
        expected limits("limits"): LimitValues,
        /// The number of places where the journal of the resumed session lacks, repeats or moves events; absent where there
        /// is none.
        optional journal_gaps("journal_gaps", unit: "count"): u64,
        /// Present and true where the run keeps no session, so that `--resume` cannot take it up.
        optional ephemeral("ephemeral", shape: Shape::True): bool,
    }
}

/// Where the key of the model came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

impl Describe for ApiKeySource {
    const SHAPE: Shape = Shape::Enum(&["env", "flag", "login", "none"]);
}

contract_object! {
    /// What confines the commands of a run.
    pub struct SandboxEntry<S: Default = String> {
        /// How commands are confined.
        expected mode("mode", shape: Shape::OpenEnum(&["off", "namespaces", "landlock"])): S,
        /// The layers that stand, by name.
        expected layers("layers"): Vec<S>,
        /// Whether commands reach some of the network.
        expected network("network"): bool,
        /// Directories outside of the workspace that commands may write; absent where there is none.
        optional writable("writable"): Vec<S>,
        /// Why it is so, in English.
        expected reason("reason"): S,
    }
}

contract_object! {
    /// The bounds of a run.
    pub struct LimitValues {
        /// The most requests to the model.
        expected max_turns("max_turns", unit: "count"): u64,
        /// The most tokens, prompts and answers together.
        optional max_tokens("max_tokens", unit: "tokens"): Option<u64>,
        /// The most it may cost.
        optional max_cost_usd("max_cost_usd", unit: "USD"): Option<f64>,
        /// The most calls of tools.
        optional max_tool_calls("max_tool_calls", unit: "count"): Option<u64>,
        /// The longest it may take.
        optional timeout_ms("timeout_ms", unit: "ms"): Option<u64>,
    }
}
