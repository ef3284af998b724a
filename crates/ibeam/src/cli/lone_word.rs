//! A prompt of one word that is probably a mistyped command, or a command of another program.
//!
//! Such a word is rejected instead of starting a run. `--print`, `--` and a second word make any text a prompt.

use std::ffi::OsString;

use clap::CommandFactory;

use super::Cli;
use crate::cli_error::CliError;
use crate::similar_names::closest;

/// Commands of similar programs, each with the command of this program for the same purpose, if there is one.
const OTHER_COMMANDS: &[(&str, Option<&str>)] = &[
    ("auth", Some("login")),
    ("commands", Some("help")),
    ("exit", None),
    ("export", Some("sessions export")),
    ("history", Some("ls")),
    ("import", Some("sessions import")),
    ("init", None),
    ("install", Some("setup")),
    ("list", Some("ls")),
    ("logs", Some("replay")),
    ("permissions", Some("policy")),
    ("prune", Some("sessions prune")),
    ("quit", None),
    ("rename", Some("sessions rename")),
    ("search", Some("sessions search")),
    ("settings", Some("config")),
    ("signin", Some("login")),
    ("uninstall", None),
    ("update", None),
    ("upgrade", None),
    ("usage", Some("help")),
];

/// The smallest number of characters of a word that counts as a mistyped command.
const MIN_CHARS: usize = 3;

/// Returns the error for a line whose prompt is one word that is probably meant as a command. `given` are the arguments
/// before they were reordered.
pub(super) fn mistyped_command(given: &[OsString], cli: &Cli) -> Option<CliError> {
    let [word] = cli.words.as_slice() else { return None };
    let word = word.to_str()?;
    let is_marked_as_prompt = cli.flags.print || cli.flags.version || given.iter().any(|arg| *arg == "--");
    if is_marked_as_prompt || cli.flags.dialect.is_some() || word.chars().count() < MIN_CHARS {
        return None;
    }
    if word.contains(char::is_whitespace) {
        return None;
    }
    let other = OTHER_COMMANDS.iter().find(|(name, _)| *name == word);
    let command = Cli::command();
    let names = command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(clap::Command::get_name);
    let near = match other {
        Some((_, own)) => *own,
        None => Some(closest(word, names.chain(["help"]))?),
    };
    let word = word.to_owned();
    Some(match near {
        Some(near) => CliError::MistypedCommand { word, near: near.to_owned() },
        None => CliError::NotACommand { word },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{ParseExit, parse};

    /// Returns the debug form of the error; `None` if the line is a prompt.
    fn error(line: &[&str]) -> Option<String> {
        let args: Vec<OsString> = line.iter().map(OsString::from).collect();
        match parse(&args) {
            Ok(cli) => {
                assert!(cli.command.is_none(), "{line:?}");
                None
            }
            Err(ParseExit::Error(error)) => Some(format!("{error:?}")),
            Err(ParseExit::Help(_) | ParseExit::MissingSubcommand { .. }) => panic!("{line:?}"),
        }
    }

    #[track_caller]
    fn check(line: &[&str], near: &str) {
        let found = error(line).unwrap_or_else(|| panic!("{line:?} is a prompt"));
        assert!(found.contains("MistypedCommand") && found.contains(&format!("\"{near}\"")), "{found}");
    }

    #[test]
    fn a_mistyped_command_names_the_nearest_one() {
        check(&["logni"], "login");
        check(&["--lang", "fr", "sesions"], "sessions");
        check(&["agent", "modles"], "models");
        check(&["docter", "--verbose"], "doctor");
        check(&["hlep"], "help");
        check(&["export"], "sessions export");
    }

    #[test]
    fn a_command_of_another_program_without_a_counterpart_is_rejected_too() {
        for word in ["update", "upgrade", "init", "exit", "quit"] {
            assert!(error(&[word]).is_some_and(|error| error.contains("NotACommand")), "{word}");
        }
    }

    #[test]
    fn any_other_text_is_a_prompt() {
        for line in [
            &["-p", "logni"][..],
            &["logni", "--print"],
            &["-fp", "logni"],
            &["--", "logni"],
            &["logni to the server"],
            &["logni", "now"],
            &["hello"],
            &["refactor"],
            &["explain"],
            &["test"],
            &["hi"],
            &["README.md"],
        ] {
            assert_eq!(error(line), None, "{line:?}");
        }
    }

    #[test]
    fn every_counterpart_is_a_command_and_no_listed_word_is_one() {
        let command = Cli::command();
        for (word, own) in OTHER_COMMANDS {
            assert!(command.find_subcommand(word).is_none(), "{word}");
            let Some(own) = own.filter(|own| *own != "help") else { continue };
            let below = |command: &clap::Command, name: &str| command.find_subcommand(name).cloned();
            let found = own.split(' ').try_fold(command.clone(), |command, name| below(&command, name));
            assert!(found.is_some(), "{own}");
        }
    }
}
