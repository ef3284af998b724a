//! The help of the program on one screen: the usage, the most frequent commands and flags, and where the rest is.

use clap::{Command, CommandFactory as _};

use super::Cli;
use super::help::Language;

/// The heading of the lines about more help.
pub(super) const MORE: &str = "More";

/// The most frequent commands, in the order of a first day with the program.
const COMMANDS: [&str; 10] =
    ["login", "models", "resume", "sessions", "diff", "undo", "config", "mcp", "fleet", "doctor"];

/// The ids of the most frequent flags.
const FLAGS: [&str; 15] = [
    "print",
    "output_format",
    "model",
    "effort",
    "mode",
    "continue_",
    "resume",
    "file",
    "workspace",
    "allow",
    "force",
    "trust",
    "max_cost",
    "timeout",
    "help",
];

impl Language<'_> {
    /// Returns the help of the program.
    pub(super) fn overview(&self) -> String {
        let root = Cli::command();
        let commands: String = COMMANDS.iter().filter_map(|name| self.command_line(&root, name)).collect();
        let help = |id: &str| self.catalogue.help(id);
        let command = self.localize(root.clone(), "").help_template(format!(
            "{{about-with-newline}}\n{}: {{usage}}\n\n{}:\n{commands}\n{{all-args}}\n\n{}:\n{}",
            help("usage"),
            help("commands"),
            self.translate(MORE),
            self.list_lines().concat(),
        ));
        let command = command.mut_args(|arg| {
            let order = FLAGS.iter().position(|id| arg.get_id() == id);
            let text = root.get_arguments().find(|known| known.get_id() == arg.get_id());
            let text = text.and_then(clap::Arg::get_help).map(|text| self.translate(&text.to_string()));
            let arg = arg.hide(order.is_none()).display_order(order.unwrap_or_default());
            let arg = if let Some(text) = text { arg.help(text) } else { arg };
            arg.help_heading(help("options"))
        });
        super::help::render(command, std::iter::empty())
    }

    /// Returns the line of a command with the first paragraph of its description.
    fn command_line(&self, root: &Command, name: &str) -> Option<String> {
        let about = root.find_subcommand(name)?.get_about()?.to_string();
        Some(format!("  {name:<10}{}\n", self.translate(&about)))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use ibeam_output::Locale;
    use unicode_width::UnicodeWidthStr as _;

    use super::*;
    use crate::cli::help::text;

    #[test]
    fn the_help_of_the_program_fits_on_a_screen_in_every_language() {
        for locale in Locale::ALL {
            let help = text(&["ibeam", "--lang", locale.code(), "--help"].map(OsString::from));
            assert!(help.lines().count() <= 40, "{help}");
            for line in help.lines() {
                assert!(line.width() <= 80, "{}: {line}", line.width());
            }
            for word in COMMANDS {
                assert!(help.contains(&format!("\n  {word} ")), "{word}: {help}");
            }
            for place in ["ibeam help flags", "ibeam help commands", "ibeam help topics"] {
                assert!(help.contains(place), "{place}: {help}");
            }
            let flags = help.lines().filter(|line| line.trim_start().starts_with('-'));
            assert_eq!(flags.count(), FLAGS.len(), "{help}");
        }
    }

    #[test]
    fn both_flags_and_the_command_print_the_same() {
        let help = |args: &[&str]| text(&args.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(help(&["ibeam", "-h"]), help(&["ibeam", "--help"]));
        assert_eq!(help(&["ibeam", "help"]), help(&["ibeam", "--help"]));
    }
}
