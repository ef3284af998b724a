//! The flags of runs that each command uses, which its help, completions and man page list. Any other flag is an error.

use std::sync::OnceLock;

use clap::parser::ValueSource;
use clap::{ArgGroup, ArgMatches, Args as _, Command, Id};

use crate::command::{FlagSet, facts_on_path};
use crate::flags::Flags;

/// Returns the path of the sub-command in `matches` and the first flag in the line that it does not use. `command` is the
/// parser that made the matches. A line without a sub-command uses every flag, unless it lists models.
pub(super) fn unused_flag<'a>(command: &'a Command, matches: &ArgMatches) -> Option<(String, &'a str)> {
    let (mut path, mut last, mut rest) = (Vec::new(), command, matches);
    while let Some((name, below)) = rest.subcommand() {
        path.push(name);
        (last, rest) = (last.find_subcommand(name)?, below);
    }
    if path.is_empty() && matches.get_flag("list_models") {
        path.push("models");
    }
    let path = path.join(" ");
    // A command may have an argument of its own under the id of a flag of runs.
    let is_own = |id| last.get_arguments().any(|arg| arg.get_id() == id && !arg.is_global_set());
    let is_given = |id: &Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
    let flags = command.get_arguments().filter(|arg| arg.is_global_set());
    let unused = flags
        .map(|arg| (arg.get_id(), arg.get_long().unwrap_or_default()))
        .find(|(id, _)| is_given(id) && !accepts_flag(&path, id.as_str()) && !is_own(*id));
    unused.map(|(_, flag)| (path, flag))
}

/// Whether the command at `path` accepts the flag with this id. The empty path is a prompt.
fn accepts_flag(path: &str, id: &str) -> bool {
    let ignores_it = || facts_on_path(path).last().is_some_and(|facts| facts.ignored_flags.contains(&id));
    uses_flag(path, id) || EVERYWHERE_FLAGS.contains(&id) || ignores_it()
}

/// Whether the command at `path`, e.g. `fleet run`, uses the flag of runs with this id. The empty path is a prompt.
pub(super) fn uses_flag(path: &str, id: &str) -> bool {
    let names_it = |names: &[&str]| names.iter().any(|name| *name == id || Some(*name) == group_of(id));
    COMMON_FLAGS.contains(&id)
        || match flags_of(path) {
            None => true,
            Some(FlagSet::Only(names)) => names_it(names),
            Some(FlagSet::AllBut(names)) => !names_it(names),
        }
}

/// Returns the name of the struct in `flags.rs` that has the flag with this id.
fn group_of(id: &str) -> Option<&'static str> {
    static FLAGS: OnceLock<Command> = OnceLock::new();
    let flags = FLAGS.get_or_init(|| Flags::augment_args(Command::new("")));
    let has_flag = |group: &&ArgGroup| group.get_args().any(|arg| arg == id);
    flags.get_groups().find(has_flag).map(|group| group.get_id().as_str())
}

/// Whether the command at `path` runs prompts: help has its flags in the groups of those of a prompt.
pub(super) fn runs_prompts(path: &str) -> bool {
    matches!(flags_of(path), None | Some(FlagSet::AllBut(_)))
}

/// Returns the flags of the command at `path`, or of the nearest command above it; `None` for a prompt.
fn flags_of(path: &str) -> Option<FlagSet> {
    facts_on_path(path).iter().rev().find_map(|facts| facts.flags)
}

/// The flags that every command accepts. `--cloud` and `--insecure` have an error of their own.
const EVERYWHERE_FLAGS: &[&str] = &["cloud", "contract", "debug", "insecure", "version", "workspace"];

/// The flags that every command uses.
const COMMON_FLAGS: &[&str] = &["error_file", "error_format", "help", "lang"];

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::{Arg, Command, CommandFactory as _};

    use super::*;
    use crate::cli::{Cli, ParseExit, parse};
    use crate::cli_error::CliError;
    use crate::command::{CommandFacts, GROUPS};

    /// Returns the command at the end of a line and the flag that it does not use; `None` if the line is accepted.
    fn unused(line: &[&str]) -> Option<String> {
        let args: Vec<OsString> = line.iter().map(Into::into).collect();
        match parse(&args) {
            Ok(_) => None,
            Err(ParseExit::Error(CliError::CommandUsage { command, detail })) => {
                let text = detail.to_string();
                assert!(text.starts_with(&format!("`{command}` does not use")), "{line:?}: {text}");
                Some(text)
            }
            Err(_) => panic!("{line:?}"),
        }
    }

    /// Returns an argument with a value that its parser accepts.
    fn with_value(arg: &Arg) -> String {
        let values = arg.get_possible_values();
        let value = match (arg.get_id().as_str(), values.first()) {
            ("from", _) => "codex".to_owned(),
            (_, Some(value)) => value.get_name().to_owned(),
            (_, None) => "1".to_owned(),
        };
        match (arg.get_long(), arg.get_action().takes_values()) {
            (None, _) => value,
            (Some(long), true) => format!("--{long}={value}"),
            (Some(long), false) => format!("--{long}"),
        }
    }

    /// Returns the lines of all commands with the arguments that each needs, and the commands.
    fn lines(command: &Command, path: &[String]) -> Vec<(Vec<String>, String, Command)> {
        let below: Vec<_> = command
            .get_subcommands()
            .flat_map(|sub| lines(sub, &[path, &[sub.get_name().to_owned()]].concat()))
            .collect();
        if !below.is_empty() {
            return below;
        }
        let needs_one = ["fleet delete", "fleet status", "policy test"].contains(&&*path.join(" "));
        let required = command.get_arguments().filter(|arg| arg.is_required_set()).map(with_value);
        let words = path.iter().cloned().chain(required).chain(needs_one.then(|| "1".to_owned()));
        vec![(words.collect(), path.join(" "), command.clone())]
    }

    #[test]
    fn every_command_refuses_the_flags_that_it_does_not_use_and_no_others() {
        let (root, mut parser) = (Cli::command(), Cli::command());
        let all = lines(&root, &[]);
        assert!(all.len() > 60, "{}", all.len());
        for (words, path, command) in all {
            for flag in root.get_arguments().filter(|arg| arg.is_global_set()) {
                let id = flag.get_id().as_str();
                if command.get_arguments().any(|arg| arg.get_id() == id) {
                    continue;
                }
                let given = with_value(flag);
                let line: Vec<&str> = words.iter().map(String::as_str).collect();
                let line = [&["ibeam"], &line[..1], &[given.as_str()], &line[1..]].concat();
                // One parser for all lines, since its construction takes most of the time.
                let matches = parser.try_get_matches_from_mut(&line).unwrap();
                let is_refused = unused_flag(&parser, &matches).is_some();
                assert_eq!(is_refused, !accepts_flag(&path, id), "{line:?}");
            }
        }
    }

    #[test]
    fn the_flag_and_its_command_are_named() {
        for (line, expect) in [
            ("trust list --model foo", Some("`ibeam trust list` does not use `--model`; leave it out")),
            ("--model=foo trust list", Some("`ibeam trust list` does not use `--model`; leave it out")),
            ("-m foo trust list", Some("`ibeam trust list` does not use `--model`; leave it out")),
            ("sessions list --yolo", Some("`ibeam sessions list` does not use `--force`; leave it out")),
            ("fleet run x --api-key k", Some("`ibeam fleet run` does not use `--api-key`; leave it out")),
            ("fleet poll --model x", Some("`ibeam fleet poll` does not use `--model`; leave it out")),
            ("--list-models --record x", Some("`ibeam models` does not use `--record`; leave it out")),
            ("trust list --lang fr --workspace x --error-format json --debug x", None),
            ("agent models --print --output-format json --model m --force --api-key k", None),
            ("agent --model m --force whoami --format json", None),
            ("agent --api-key k --endpoint u --header a:b create-chat", None),
            ("--list-models --model m --trust", None),
            ("check file.ndjson", None),
            ("mcp add -H a:b name https://example.com", None),
            ("fleet logs -f x", None),
            ("trust list --model foo --version", None),
        ] {
            let line: Vec<&str> = line.split(' ').collect();
            assert_eq!(unused(&line).as_deref(), expect, "{line:?}");
        }
    }

    /// Checks that each of `facts`, and of those below, names a command below `above` and existing flags.
    fn check_names(facts: &[CommandFacts], above: &Command, known: &[&str]) {
        for facts in facts {
            let command = above.find_subcommand(facts.name);
            assert!(command.is_some(), "{}", facts.name);
            let used = facts.flags.iter().flat_map(|flags| match flags {
                FlagSet::Only(ids) | FlagSet::AllBut(ids) => ids.iter(),
            });
            let helped = facts.flag_help.iter().map(|(id, _)| id);
            for id in used.chain(facts.ignored_flags).chain(helped) {
                assert!(known.contains(id), "{}: {id}", facts.name);
            }
            check_names(facts.below, command.unwrap(), known);
        }
    }

    #[test]
    fn the_facts_name_commands_and_flags_and_each_command_of_the_first_level_has_flags() {
        let command = Cli::command();
        let groups = command.get_groups().map(ArgGroup::get_id);
        let known: Vec<&str> =
            command.get_arguments().map(Arg::get_id).chain(groups).map(Id::as_str).collect();
        for group in GROUPS {
            check_names(group.commands, &command, &known);
            assert!(group.commands.iter().all(|facts| facts.flags.is_some()));
        }
        for id in COMMON_FLAGS.iter().chain(EVERYWHERE_FLAGS).filter(|id| **id != "help") {
            assert!(known.contains(id), "{id}");
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
            assert_eq!(uses_flag(path, id), expect, "{path} {id}");
        }
    }

    #[test]
    fn no_documented_line_has_a_flag_that_its_command_does_not_use() {
        let pages = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).unwrap();
        let pages: Vec<_> = pages.map(|page| page.unwrap().path()).filter(|path| path.is_file()).collect();
        let mut lines = 0;
        for page in &pages {
            let text = std::fs::read_to_string(page).unwrap();
            for line in text.split(['\n', '`', '|', '(', ')', ';', '>', '&', '#']) {
                let Some(line) = line.trim().strip_prefix("ibeam ") else { continue };
                lines += 1;
                let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
                let Err(ParseExit::Error(CliError::CommandUsage { detail, .. })) = parse(&args) else {
                    continue;
                };
                assert!(!detail.to_string().contains("does not use"), "{}: {line}", page.display());
            }
        }
        assert!(lines > 300, "{lines}");
    }
}
