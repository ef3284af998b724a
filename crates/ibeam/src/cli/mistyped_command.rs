//! A prompt of one or two words that is probably a command, mistyped or at the wrong place.
//!
//! Such words are rejected instead of starting a run. `--print`, `--` and a third word make any text a prompt. One word is
//! compared with the commands of this program, their sub-commands, those of a conversation, and a few of other programs.
//! Two words are compared with a command and its sub-command only, because two words are often a prompt.

use std::ffi::OsString;

use clap::{Command, CommandFactory};

use super::Cli;
use crate::cli_error::CliError;
use ibeam_agent::similar_names::{closest, is_one_edit_away};
use ibeam_conversation::conversation_commands;

/// Commands of similar programs, each with the command of this program for the same purpose, if there is one.
const OTHER_COMMANDS: &[(&str, Option<&str>)] = &[
    ("auth", Some("login")),
    ("chat", None),
    ("commands", Some("help commands")),
    ("delete", Some("sessions rm")),
    ("docs", Some("help topics")),
    ("exec", None),
    ("exit", None),
    ("export", Some("sessions export")),
    ("history", Some("sessions list")),
    ("import", Some("sessions import")),
    ("init", None),
    ("install", Some("setup")),
    ("list", Some("sessions list")),
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

/// Returns the error for a line whose prompt is probably meant as a command. `given` are the arguments before they were
/// reordered.
pub(super) fn mistyped_command(given: &[OsString], cli: &Cli) -> Option<CliError> {
    let words: Vec<&str> = cli.words.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let is_marked_as_prompt =
        cli.flags.prompt.print || cli.flags.prompt.version || given.iter().any(|arg| *arg == "--");
    let is_quoted = words.iter().any(|word| word.contains(char::is_whitespace));
    if is_marked_as_prompt || cli.flags.other.dialect.is_some() || is_quoted {
        return None;
    }
    match words.as_slice() {
        [word] => command_error(word, &Cli::command()),
        [first, second] => two_word_error(first, second, &Cli::command()),
        _ => None,
    }
}

/// Returns the error for two words that are probably meant as a command and its sub-command: the first word is similar to
/// a command that has sub-commands, and the second is one of these or similar to one; or the first is both, joined as in
/// `mcp-serve`, and the second is a command of another program, such as `start`.
fn two_word_error(first: &str, second: &str, root: &Command) -> Option<CliError> {
    let mistyped = |near: String| CliError::MistypedCommand { word: format!("{first} {second}"), near };
    let is_command = OTHER_COMMANDS.iter().any(|(name, _)| *name == second);
    if let Some(joined) = joined_command(first, root).filter(|_| is_command) {
        return Some(mistyped(joined));
    }
    if first.chars().count() < MIN_CHARS {
        return None;
    }
    let groups: Vec<(&str, &str)> = visible(root)
        .filter_map(|group| Some((group.get_name(), mistyped_subcommand(group, second)?)))
        .collect();
    let near = closest(first, groups.iter().map(|(group, _)| *group))?;
    let (group, command) = groups.iter().find(|(group, _)| *group == near)?;
    Some(mistyped(format!("{group} {command}")))
}

/// Returns the sub-command of `group` that is `word`, or that `word` is one edit away from. A plural or a past tense is a
/// word of its own: `tests`.
fn mistyped_subcommand<'a>(group: &'a Command, word: &str) -> Option<&'a str> {
    let names = || visible(group).map(Command::get_name);
    let is_inflected = |name: &str| word.strip_prefix(name).is_some_and(|end| matches!(end, "s" | "d"));
    let is_near = |name: &&str| {
        word.chars().count() >= MIN_CHARS_BELOW && is_one_edit_away(word, name) && !is_inflected(name)
    };
    names().find(|name| *name == word).or_else(|| names().find(is_near))
}

/// Returns the command and the sub-command whose names `word` joins with a hyphen.
fn joined_command(word: &str, root: &Command) -> Option<String> {
    let of_group = |group: &Command| {
        let name = word.strip_prefix(group.get_name())?.strip_prefix('-')?;
        let command = visible(group).find(|command| command.get_name() == name)?;
        Some(format!("{} {}", group.get_name(), command.get_name()))
    };
    visible(root).find_map(of_group)
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
    if let Some(joined) = joined_command(word, root) {
        return Some(mistyped(joined));
    }
    let in_conversation =
        |near: &str| CliError::ConversationCommand { word: word.to_owned(), near: near.to_owned() };
    let is_slash = |command: &&str| command.strip_prefix('/') == Some(word);
    if let Some(found) = conversation_commands().find(is_slash) {
        return Some(in_conversation(found));
    }
    let first_level = root.get_subcommands().map(Command::get_name).filter(|name| *name != "complete");
    let first_level = first_level.chain(["help"]);
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
            Err(ParseExit::Help(_) | ParseExit::Page(_) | ParseExit::Incomplete { .. }) => {
                panic!("{line:?}")
            }
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
    fn a_mistyped_command_with_its_sub_command_names_both() {
        check(&["sesions", "list"], "sessions list");
        check(&["session", "show"], "sessions show");
        check(&["sesions", "serch"], "sessions search");
        check(&["trsut", "forget"], "trust forget");
        check(&["confg", "explain"], "config explain");
        check(&["flete", "status"], "fleet status");
        check(&["mcp-serve"], "mcp serve");
        check(&["mcp-serve", "start"], "mcp serve");
        check(&["--lang", "fr", "hook", "list"], "hooks list");
    }

    #[test]
    fn two_words_that_are_no_mistyped_command_are_a_prompt() {
        for line in [
            &["-p", "sesions", "list"][..],
            &["--", "sesions", "list"],
            &["sesions", "list", "please"],
            &["sesions list"],
            &["hook", "tests"],
            &["session", "handling"],
            &["rust", "tests"],
            &["mcp-serve", "fails"],
            &["list", "sessions"],
        ] {
            assert_eq!(error(line), None, "{line:?}");
        }
    }

    /// Words with which prompts begin, and words that follow them.
    const VERBS: &[&str] = &[
        "add",
        "allow",
        "build",
        "change",
        "check",
        "clean",
        "convert",
        "count",
        "create",
        "debug",
        "delete",
        "describe",
        "document",
        "edit",
        "explain",
        "export",
        "extract",
        "find",
        "fix",
        "format",
        "generate",
        "implement",
        "import",
        "improve",
        "inline",
        "install",
        "list",
        "look",
        "make",
        "merge",
        "move",
        "open",
        "optimize",
        "port",
        "print",
        "prune",
        "read",
        "refactor",
        "remove",
        "rename",
        "replace",
        "review",
        "rewrite",
        "run",
        "search",
        "show",
        "simplify",
        "split",
        "summarize",
        "test",
        "translate",
        "undo",
        "update",
        "use",
        "validate",
        "verify",
        "why",
        "write",
    ];
    const NOUNS: &[&str] = &[
        "all",
        "branches",
        "bug",
        "bugs",
        "changes",
        "checks",
        "code",
        "comments",
        "commits",
        "config",
        "docs",
        "errors",
        "everything",
        "export",
        "fleet",
        "hooks",
        "import",
        "imports",
        "it",
        "lines",
        "list",
        "lists",
        "logs",
        "main.rs",
        "names",
        "path",
        "paths",
        "policy",
        "readme",
        "rules",
        "search",
        "server",
        "sessions",
        "show",
        "status",
        "test",
        "tests",
        "that",
        "this",
        "trust",
        "types",
        "warnings",
    ];

    proptest::proptest! {
        #[test]
        fn a_sentence_is_never_rejected(
            verb in proptest::sample::select(VERBS),
            nouns in proptest::collection::vec(proptest::sample::select(NOUNS), 1..6),
        ) {
            // The name of a command at the beginning is that command, and no prompt.
            proptest::prop_assume!(Cli::command().find_subcommand(verb).is_none());
            let line: Vec<&str> = std::iter::once(verb).chain(nouns).collect();
            proptest::prop_assert_eq!(error(&line), None, "{:?}", line);
        }

        #[test]
        fn three_words_are_always_a_prompt(words in proptest::collection::vec("[a-z]{3,9}", 3..6)) {
            proptest::prop_assume!(Cli::command().find_subcommand(&words[0]).is_none() && !["agent", "help"].contains(&words[0].as_str()));
            let line: Vec<&str> = words.iter().map(String::as_str).collect();
            proptest::prop_assert_eq!(error(&line), None, "{:?}", line);
        }
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
