//! The flags of runs that the help of each command lists.

/// The flags of runs that the help of each command lists. The command accepts the others too, without effect.
///
/// A new command needs a variant of [`Command`](super::Command) and a row in this table; `command::execute` executes the command.
pub(super) const LISTED_FLAGS: &[(&str, &[&str])] = &[
    ("about", &["contract", "model"]),
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
    "file",
    "force",
    "image",
    "json_schema",
    "mcp_config",
    "mode",
    "model",
    "plan",
    "sandbox",
    "strict_mcp_config",
    "system_prompt",
    "trust",
    "without",
    "workspace",
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
