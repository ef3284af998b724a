//! The groups of `--help`: each command belongs to one. A flag of runs has the title of its group as its help heading.

/// A group of commands.
pub(super) struct Group {
    /// The title; `locales/help.txt` translates it.
    pub(super) title: &'static str,
    /// The names of the commands.
    pub(super) commands: &'static [&'static str],
}

/// The groups in the order of `--help`.
pub(super) const GROUPS: [Group; 6] = [
    Group { title: "run", commands: &["context", "fleet", "acp", "batch"] },
    Group { title: "sessions", commands: &["resume", "diff", "undo", "replay", "sessions", "create-chat"] },
    Group { title: "models", commands: &["login", "logout", "status", "models", "setup"] },
    Group { title: "permissions", commands: &["policy", "trust", "quarantine", "hooks", "mcp"] },
    Group { title: "output", commands: &["check", "convert", "schema", "errors"] },
    Group {
        title: "setup",
        commands: &["config", "doctor", "report", "about", "completions", "shim", "help"],
    },
];

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
        for arg in command.get_arguments().filter(|arg| !arg.is_positional()) {
            let is_group = |title| GROUPS.iter().any(|group| group.title == title);
            assert!(arg.get_help_heading().is_some_and(is_group), "{}", arg.get_id());
        }
    }
}
