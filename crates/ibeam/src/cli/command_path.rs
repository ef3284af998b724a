//! The name of the sub-command that a command line gives, for messages that lead to its help.
//!
//! Reads the words alone: also of a line that cannot be parsed.

use std::ffi::OsString;

use clap::CommandFactory;

use super::Cli;

/// A command and the commands below it.
pub(super) struct CommandPath {
    /// The names from the program's on, e.g. `ibeam trust show`.
    pub(super) name: String,
    /// The names of the commands below it that help lists.
    pub(super) subcommands: Vec<String>,
}

impl CommandPath {
    /// Finds the command that `args`, which begin with the program's name, give.
    pub(super) fn find(args: &[OsString]) -> Self {
        let mut command = Cli::command();
        let mut name = "ibeam".to_owned();
        for word in args.iter().skip(1).take_while(|word| *word != "--").filter_map(|word| word.to_str()) {
            let Some(found) = command.find_subcommand(word).cloned() else { continue };
            name = format!("{name} {}", found.get_name());
            command = found;
        }
        let shown = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
        let subcommands = shown.map(|subcommand| subcommand.get_name().to_owned()).collect();
        Self { name, subcommands }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, name: &str, subcommands: &[&str]) {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let found = CommandPath::find(&args);
        assert_eq!(found.name, name, "{line}");
        assert_eq!(found.subcommands, subcommands, "{line}");
    }

    #[test]
    fn the_command_is_found_among_flags_and_words() {
        check("ibeam trust", "ibeam trust", &["list", "forget", "show"]);
        check("ibeam --lang fr trust --verbose show x", "ibeam trust show", &[]);
        check("ibeam whoami --wrong", "ibeam status", &[]);
        check("ibeam help config nothing", "ibeam config", &["explain", "path"]);
        check("ibeam mcp -- list", "ibeam mcp", &["list", "list-tools", "enable", "disable"]);
    }
}
