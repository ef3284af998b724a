//! The flags of runs that the help of each command lists.

/// The flags of runs that the help of each command lists. The command accepts the others too, without effect.
///
/// A new command needs a variant of [`Command`](super::Command) and a row in this table; `command::execute` executes the command.
pub(super) const LISTED_FLAGS: &[(&str, &[&str])] = &[
    ("about", &["contract", "model"]),
    ("batch", &["api_key", "ca_file", "client_cert", "client_key", "endpoint", "header", "workspace"]),
    ("check", &["contract"]),
    ("complete", &[]),
    ("completions", &[]),
    ("config", CONFIG_FLAGS),
    ("context", CONTEXT_FLAGS),
    ("convert", &["fail_on"]),
    ("create-chat", &["workspace"]),
    ("diff", &["workspace"]),
    ("doctor", &["add_dir", "api_key", "endpoint", "model", "sandbox", "trust", "workspace"]),
    ("errors", &[]),
    ("fleet", FLEET_FLAGS),
    ("hooks", &["model", "trust", "workspace"]),
    ("login", &["api_key", "ca_file", "client_cert", "client_key", "header"]),
    ("logout", &[]),
    ("ls", &["workspace"]),
    ("mcp", &["approve_mcps", "mcp_config", "strict_mcp_config", "trust", "workspace"]),
    ("models", &["api_key", "ca_file", "client_cert", "client_key", "endpoint", "header", "workspace"]),
    ("policy", POLICY_FLAGS),
    ("providers", &["api_key", "workspace"]),
    ("replay", &["contract", "output_format", "stream_partial_output", "verbose", "workspace"]),
    ("report", &["workspace"]),
    ("schema", &["contract"]),
    ("sessions", &["workspace"]),
    ("setup", &["ca_file"]),
    ("shim", &[]),
    ("status", &["api_key", "endpoint", "model", "workspace"]),
    ("trust", &["trust", "workspace"]),
    ("undo", &["force", "workspace"]),
];

/// The flags that set a value of the configuration, which `config explain` shows.
const CONFIG_FLAGS: &[&str] = &[
    "allow",
    "allow_net",
    "allow_socket",
    "approval",
    "ask",
    "background",
    "ca_file",
    "client_cert",
    "client_key",
    "deny",
    "effort",
    "max_cost",
    "max_tokens",
    "max_tool_calls",
    "max_turns",
    "model",
    "sandbox",
    "thinking_budget",
    "timeout",
    "trust",
    "verbose",
    "workspace",
];

/// The flags that change the first request of a run.
const CONTEXT_FLAGS: &[&str] = &[
    "add_dir",
    "allow",
    "allow_net",
    "append_system_prompt",
    "continue_",
    "file",
    "force",
    "image",
    "json_schema",
    "mcp_config",
    "mode",
    "model",
    "plan",
    "resume",
    "sandbox",
    "strict_mcp_config",
    "system_prompt",
    "trust",
    "without",
    "workspace",
];

/// The commands of `fleet` that pass no flag to a run.
pub(super) const FLEET_COMMANDS_WITHOUT_RUNS: &[&str] =
    &["cancel", "events", "export", "poll", "report", "status", "sync"];

/// The flags that `fleet run` passes to its runs.
const FLEET_FLAGS: &[&str] = &[
    "add_dir",
    "allow",
    "allow_net",
    "allow_socket",
    "append_system_prompt",
    "approval",
    "approve_mcps",
    "background",
    "ca_file",
    "client_cert",
    "client_key",
    "deny",
    "effort",
    "endpoint",
    "fail_on",
    "fallback_model",
    "force",
    "header",
    "json_schema",
    "max_cost",
    "max_tokens",
    "max_tool_calls",
    "max_turns",
    "mcp_config",
    "mode",
    "model",
    "sandbox",
    "strict_mcp_config",
    "system_prompt",
    "thinking_budget",
    "timeout",
    "trust",
    "without",
];

/// The flags on which the decision of a rule depends.
const POLICY_FLAGS: &[&str] = &[
    "add_dir",
    "allow",
    "allow_net",
    "allow_socket",
    "approval",
    "approve_mcps",
    "ask",
    "deny",
    "force",
    "mcp_config",
    "mode",
    "plan",
    "print",
    "sandbox",
    "strict_mcp_config",
    "trust",
    "workspace",
];

/// The flags that the help of every command lists.
pub(super) const COMMON_FLAGS: &[&str] = &["error_file", "error_format", "help", "lang"];
