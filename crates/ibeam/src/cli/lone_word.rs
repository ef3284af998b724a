//! A prompt of one word that is probably a command, mistyped or at the wrong place.
//!
//! Such a word is rejected instead of starting a run. `--print`, `--` and a second word make any text a prompt. The
//! words are the commands of this program with their sub-commands, those of a conversation, and a few of other programs.

use std::ffi::OsString;

use clap::{Command, CommandFactory};

use super::Cli;
use crate::cli_error::CliError;
use crate::run::conversation_commands;
use crate::similar_names::{closest, is_one_edit_away};

/// Commands of similar programs, each with the command of this program for the same purpose, if there is one.
const OTHER_COMMANDS: &[(&str, Option<&str>)] = &[
    ("auth", Some("login")),
    ("chat", None),
    ("commands", Some("help")),
    ("delete", Some("sessions rm")),
    ("docs", Some("help topics")),
    ("exec", None),
    ("exit", None),
    ("export", Some("sessions export")),
    ("history", Some("ls")),
    ("import", Some("sessions import")),
    ("init", None),
    ("install", Some("setup")),
    ("list", Some("ls")),
    ("logs", Some("replay")),
    ("man", Some("help topics")),
    ("model", Some("models")),
    ("permissions", Some("policy")),
    ("prune", Some("sessions prune")),
    ("quit", None),
    ("rename", Some("sessions rename")),
    ("run", None),
    ("search", Some("sessions search")),
    ("settings", Some("config")),
    ("show", Some("sessions show")),
    ("signin", Some("login")),
    ("start", None),
    ("uninstall", None),
    ("update", None),
    ("upgrade", None),
    ("usage", Some("help")),
];

/// Sub-commands that are tasks for a model too: `git diff | ibeam explain`.
const PROMPTS: [&str; 2] = ["explain", "test"];

/// The smallest number of characters of a word that counts as a mistyped command of the first level.
const MIN_CHARS: usize = 3;

/// The smallest number of characters of a word that counts as a mistyped command of another level. Shorter words and
/// words with more differences are too often prompts: `lint` is near `list`.
const MIN_CHARS_BELOW: usize = 5;

/// Returns the error for a line whose prompt is one word that is probably meant as a command. `given` are the arguments
/// before they were reordered.
pub(super) fn mistyped_command(given: &[OsString], cli: &Cli) -> Option<CliError> {
    let [word] = cli.words.as_slice() else { return None };
    let word = word.to_str()?;
    let is_marked_as_prompt = cli.flags.print || cli.flags.version || given.iter().any(|arg| *arg == "--");
    if is_marked_as_prompt || cli.flags.dialect.is_some() || word.contains(char::is_whitespace) {
        return None;
    }
    command_error(word, &Cli::command())
}

/// Returns the error for a word that is probably meant as a command.
fn command_error(word: &str, root: &Command) -> Option<CliError> {
    let mistyped = |near: String| CliError::MistypedCommand { word: word.to_owned(), near };
    if let Some((_, own)) = OTHER_COMMANDS.iter().find(|(name, _)| *name == word) {
        return Some(match own {
            Some(near) => mistyped((*near).to_owned()),
            None => CliError::NotACommand { word: word.to_owned() },
        });
    }
    if PROMPTS.contains(&word) {
        return None;
    }
    let below: Vec<(&str, &str)> = visible(root)
        .flat_map(|group| visible(group).map(move |command| (group.get_name(), command.get_name())))
        .collect();
    let path = |(group, command): &(&str, &str)| format!("{group} {command}");
    if let Some(found) = below.iter().find(|(_, command)| *command == word) {
        return Some(mistyped(path(found)));
    }
    let in_conversation =
        |near: &str| CliError::ConversationCommand { word: word.to_owned(), near: near.to_owned() };
    let is_slash = |command: &&str| command.strip_prefix('/') == Some(word);
    if let Some(found) = conversation_commands().find(is_slash) {
        return Some(in_conversation(found));
    }
    let first_level = visible(root).map(Command::get_name).chain(["help"]);
    let near_first = (word.chars().count() >= MIN_CHARS).then(|| closest(word, first_level)).flatten();
    if let Some(found) = near_first {
        return Some(mistyped(found.to_owned()));
    }
    if word.chars().count() < MIN_CHARS_BELOW {
        return None;
    }
    if let Some(found) = below.iter().find(|(_, command)| is_one_edit_away(word, command)) {
        return Some(mistyped(path(found)));
    }
    let near_slash =
        |command: &&str| command.strip_prefix('/').is_some_and(|name| is_one_edit_away(word, name));
    conversation_commands().find(near_slash).map(in_conversation)
}

/// Returns the sub-commands that help lists.
fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set())
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
    fn a_sub_command_without_its_command_names_both() {
        check(&["rm"], "sessions rm");
        check(&["show"], "sessions show");
        check(&["list-tools"], "mcp list-tools");
        check(&["worker"], "fleet worker");
        check(&["forget"], "trust forget");
        check(&["serch"], "sessions search");
        check(&["docs"], "help topics");
        check(&["model"], "models");
    }

    #[test]
    fn a_command_of_a_conversation_is_named_as_one() {
        for (word, near) in [
            ("cost", "/cost"),
            ("new", "/new"),
            ("compact", "/compact"),
            ("compcat", "/compact"),
            ("skills", "/skills"),
            ("transcript", "/transcript"),
        ] {
            let found = error(&[word]).unwrap_or_else(|| panic!("{word} is a prompt"));
            assert!(
                found.contains("ConversationCommand") && found.contains(&format!("\"{near}\"")),
                "{found}"
            );
        }
    }

    #[test]
    fn no_sub_command_and_no_command_of_a_conversation_is_a_prompt() {
        let command = Cli::command();
        let below = visible(&command).flat_map(visible).map(|command| command.get_name().to_owned());
        let slash = conversation_commands().map(|name| name.trim_start_matches('/').to_owned());
        let words: Vec<String> =
            below.chain(slash).filter(|word| !PROMPTS.contains(&word.as_str())).collect();
        assert!(words.len() > 40, "{words:?}");
        for word in words {
            let is_command = command.find_subcommand(&word).is_some() || word == "help";
            assert!(is_command || error(&[&word]).is_some(), "{word}");
        }
    }

    #[test]
    fn a_command_of_another_program_without_a_counterpart_is_rejected_too() {
        for word in ["update", "upgrade", "init", "exit", "quit", "run", "chat"] {
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
            &["fix"],
            &["lint"],
            &["commit"],
            &["review"],
            &["rebase"],
            &["explore"],
            &["summarize"],
            &["-p", "rm"],
            &["--", "cost"],
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
            let Some(own) = own.filter(|own| !own.starts_with("help")) else { continue };
            let below = |command: &clap::Command, name: &str| command.find_subcommand(name).cloned();
            let found = own.split(' ').try_fold(command.clone(), |command, name| below(&command, name));
            assert!(found.is_some(), "{own}");
        }
    }
}
