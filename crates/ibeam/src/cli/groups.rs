//! The groups of `--help`: each command and each flag of a run belongs to one.

/// A group of commands and flags.
pub(super) struct Group {
    /// The title; `locales/help.txt` translates it.
    pub(super) title: &'static str,
    /// The names of the commands.
    pub(super) commands: &'static [&'static str],
    /// The ids of the flags.
    pub(super) flags: &'static [&'static str],
}

/// The groups in the order of `--help`.
pub(super) const GROUPS: [Group; 6] = [
    Group {
        title: "run",
        commands: &["context", "fleet", "acp", "batch"],
        flags: &[
            "append_system_prompt",
            "approve_mcps",
            "background",
            "fail_on",
            "file",
            "image",
            "input_format",
            "json_schema",
            "max_cost",
            "max_tokens",
            "max_tool_calls",
            "max_turns",
            "mcp_config",
            "mode",
            "print",
            "stdin",
            "strict_mcp_config",
            "system_prompt",
            "timeout",
            "workspace",
            "worktree",
            "worktree_base",
            "skip_worktree_setup",
        ],
    },
    Group {
        title: "sessions",
        commands: &["resume", "diff", "undo", "replay", "sessions", "create-chat"],
        flags: &["continue_", "ephemeral", "fork", "from_atif", "from_plan", "resume"],
    },
    Group {
        title: "models",
        commands: &["login", "logout", "status", "models", "setup"],
        flags: &[
            "api_key",
            "ca_file",
            "client_cert",
            "client_key",
            "effort",
            "endpoint",
            "fallback_model",
            "header",
            "model",
            "park_requests",
            "record",
            "from_recording",
            "recording_speed",
            "setup",
            "thinking_budget",
            "unpark",
        ],
    },
    Group {
        title: "permissions",
        commands: &["policy", "trust", "quarantine", "hooks", "mcp"],
        flags: &[
            "add_dir",
            "allow",
            "allow_net",
            "allow_socket",
            "approval",
            "ask",
            "deny",
            "force",
            "sandbox",
            "trust",
            "without",
        ],
    },
    Group {
        title: "output",
        commands: &["check", "convert", "schema", "errors"],
        flags: &[
            "contract",
            "debug",
            "dialect",
            "error_file",
            "error_format",
            "heartbeat",
            "output_format",
            "screen_reader",
            "stream_partial_output",
            "trace_file",
            "verbose",
        ],
    },
    Group {
        title: "setup",
        commands: &["config", "doctor", "report", "about", "completions", "shim", "help"],
        flags: &["help", "lang", "version"],
    },
];

/// Returns the title of the group of a flag.
pub(super) fn title_of_flag(id: &str) -> Option<&'static str> {
    GROUPS.iter().find(|group| group.flags.contains(&id)).map(|group| group.title)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_command_and_every_flag_is_in_one_group() {
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        let mut names: Vec<&str> = visible.map(clap::Command::get_name).chain(["help"]).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        names.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, names);
        let options = command.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set());
        let mut ids: Vec<&str> = options.map(|arg| arg.get_id().as_str()).chain(["help"]).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.flags).copied().collect();
        ids.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, ids);
    }
}
