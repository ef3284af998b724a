//! The flags of runs that each command uses, which its help, completions and man page list. The parser accepts the others
//! too, without effect.

/// The flags of runs that a command takes besides [`COMMON_FLAGS`].
enum FlagSet {
    /// The flags with these ids.
    Only(&'static [&'static str]),
    /// All flags but those with these ids.
    AllBut(&'static [&'static str]),
}

use FlagSet::{AllBut, Only};

/// The commands by their path, each with its flags. A row counts for the commands below it too, unless they have a row.
const COMMAND_FLAGS: &[(&str, FlagSet)] = &[
    ("about", Only(&["contract", "model"])),
    ("acp", AllBut(SINGLE_RUN_FLAGS)),
    ("batch", Only(&["api_key", "ca_file", "client_cert", "client_key", "endpoint", "header", "workspace"])),
    ("check", Only(&["contract"])),
    ("complete", Only(&[])),
    ("completions", Only(&[])),
    ("config", Only(CONFIG_FLAGS)),
    ("context", Only(CONTEXT_FLAGS)),
    ("convert", Only(&["fail_on"])),
    ("create-chat", Only(&["workspace"])),
    ("diff", Only(&["workspace"])),
    ("doctor", Only(&["add_dir", "api_key", "endpoint", "model", "sandbox", "trust", "workspace"])),
    ("errors", Only(&[])),
    ("fleet", Only(&[])),
    ("fleet apply", Only(&["workspace"])),
    ("fleet delete", Only(&["force"])),
    ("fleet logs", Only(&["output_format", "verbose"])),
    ("fleet run", Only(FLEET_FLAGS)),
    ("fleet worker", Only(FLEET_FLAGS)),
    ("hooks", Only(&["model", "trust", "workspace"])),
    ("login", Only(&["api_key", "ca_file", "client_cert", "client_key", "header"])),
    ("logout", Only(&[])),
    ("ls", Only(&["workspace"])),
    ("mcp", Only(&["approve_mcps", "mcp_config", "strict_mcp_config", "trust", "workspace"])),
    ("mcp serve", AllBut(SINGLE_RUN_FLAGS)),
    ("models", Only(&["api_key", "ca_file", "client_cert", "client_key", "endpoint", "header", "workspace"])),
    ("policy", Only(POLICY_FLAGS)),
    ("providers", Only(&["api_key", "workspace"])),
    ("quarantine", Only(&[])),
    ("replay", Only(&["contract", "output_format", "stream_partial_output", "verbose", "workspace"])),
    ("report", Only(&["workspace"])),
    ("resume", AllBut(&[])),
    ("schema", Only(&["contract"])),
    ("sessions", Only(&["workspace"])),
    ("setup", Only(&["ca_file"])),
    ("shim", Only(&[])),
    ("status", Only(&["api_key", "endpoint", "model", "workspace"])),
    ("trust", Only(&["trust", "workspace"])),
    ("undo", Only(&["force", "workspace"])),
];

/// Whether the command at `path`, e.g. `fleet run`, takes the flag of runs with this id. The empty path is a prompt.
pub(crate) fn takes_flag(path: &str, id: &str) -> bool {
    COMMON_FLAGS.contains(&id)
        || match flags_of(path) {
            None => true,
            Some(Only(ids)) => ids.contains(&id),
            Some(AllBut(ids)) => !ids.contains(&id),
        }
}

/// Whether the command at `path` runs prompts: help has its flags in the groups of those of a prompt.
pub(super) fn runs_prompts(path: &str) -> bool {
    matches!(flags_of(path), None | Some(AllBut(_)))
}

/// Returns the row of a command, or of the nearest command above it; `None` for a prompt.
fn flags_of(path: &str) -> Option<&'static FlagSet> {
    let row = COMMAND_FLAGS.iter().find(|(name, _)| *name == path);
    match (row, path.rsplit_once(' ')) {
        (Some((_, flags)), _) => Some(flags),
        (None, Some((above, _))) => flags_of(above),
        (None, None) => None,
    }
}

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

/// The flags about one prompt, one session or the output of one run, which a server of runs does not take.
const SINGLE_RUN_FLAGS: &[&str] = &[
    "continue_",
    "file",
    "fork",
    "from_atif",
    "from_plan",
    "heartbeat",
    "image",
    "input_format",
    "list_models",
    "output_format",
    "park_requests",
    "print",
    "record",
    "from_recording",
    "recording_speed",
    "resume",
    "screen_reader",
    "setup",
    "skip_worktree_setup",
    "stdin",
    "stream_partial_output",
    "unpark",
    "version",
    "worktree",
    "worktree_base",
];

/// The flags that every command takes.
const COMMON_FLAGS: &[&str] = &["error_file", "error_format", "help", "lang"];

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_command_has_a_row_and_every_row_names_a_command_and_flags() {
        let command = Cli::command();
        for name in command.get_subcommands().map(Command::get_name) {
            assert!(flags_of(name).is_some(), "{name}");
        }
        let known: Vec<&str> = command.get_arguments().map(|arg| arg.get_id().as_str()).collect();
        for (path, flags) in COMMAND_FLAGS {
            let found = path.split(' ').try_fold(&command, |above, name| above.find_subcommand(name));
            assert!(found.is_some(), "{path}");
            let (Only(ids) | AllBut(ids)) = flags;
            for id in ids.iter().chain(COMMON_FLAGS).filter(|id| **id != "help") {
                assert!(known.contains(id), "{path}: {id}");
            }
        }
    }

    #[test]
    fn a_command_without_a_row_takes_the_flags_of_the_one_above_it() {
        for (path, id, expect) in [
            ("", "max_turns", true),
            ("resume", "max_turns", true),
            ("trust list", "workspace", true),
            ("trust list", "model", false),
            ("trust list", "lang", true),
            ("fleet run", "max_turns", true),
            ("fleet status", "max_turns", false),
            ("mcp serve", "max_turns", true),
            ("mcp serve", "resume", false),
            ("mcp list", "max_turns", false),
        ] {
            assert_eq!(takes_flag(path, id), expect, "{path} {id}");
        }
    }
}
