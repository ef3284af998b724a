//! The flags of runs that each command uses, which its help, completions and man page list. Any other flag is an error.

use std::sync::OnceLock;

use clap::parser::ValueSource;
use clap::{ArgGroup, ArgMatches, Args as _, Command, Id};

use super::flags::Flags;

/// The flags of runs that a command takes besides [`COMMON_FLAGS`]: groups, by the names of the structs in `flags.rs`, and
/// single flags, by their ids. A new flag of a group belongs to all commands that take the group.
enum FlagSet {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

use FlagSet::{AllBut, Only};

/// The commands by their path, each with its flags. A row counts for the commands below it too, unless they have a row.
const COMMAND_FLAGS: &[(&str, FlagSet)] = &[
    ("about", Only(&["contract", "model"])),
    ("acp", AllBut(SINGLE_RUN_GROUPS)),
    ("batch", Only(&["ConnectionFlags", "trust", "workspace"])),
    ("check", Only(&["contract"])),
    ("complete", Only(&[])),
    ("completions", Only(&[])),
    ("config", Only(CONFIG_FLAGS)),
    ("context", Only(CONTEXT_FLAGS)),
    ("convert", Only(&["fail_on"])),
    ("create-chat", Only(&["workspace"])),
    ("diff", Only(&["timeout", "workspace"])),
    ("doctor", Only(&["AccessFlags", "api_key", "endpoint", "model", "workspace"])),
    ("errors", Only(&[])),
    ("fleet", Only(&[])),
    ("fleet apply", Only(&["workspace"])),
    ("fleet delete", Only(&["force"])),
    ("fleet doctor", Only(&["LimitFlags", "mode", "plan"])),
    ("fleet logs", Only(&["output_format", "verbose"])),
    ("fleet run", Only(FLEET_FLAGS)),
    ("fleet run-check", Only(FLEET_FLAGS)),
    ("fleet worker", Only(FLEET_FLAGS)),
    ("hooks", Only(&["force", "model", "trust", "workspace"])),
    ("login", Only(&["api_key", "ca_file", "client_cert", "client_key", "header"])),
    ("logout", Only(&[])),
    ("ls", Only(&["workspace"])),
    ("mcp", Only(&["McpFlags", "force", "trust", "workspace"])),
    ("mcp serve", AllBut(SINGLE_RUN_GROUPS)),
    ("models", Only(&["ConnectionFlags", "list_models", "model", "trust", "workspace"])),
    ("policy", Only(&["AccessFlags", "RuleFlags", "McpFlags", "mode", "plan", "print", "workspace"])),
    ("providers", Only(&["api_key", "trust", "workspace"])),
    ("quarantine", Only(&[])),
    ("replay", Only(&["contract", "output_format", "stream_partial_output", "verbose", "workspace"])),
    ("report", Only(&["workspace"])),
    ("resume", AllBut(&[])),
    ("schema", Only(&["contract"])),
    ("sessions", Only(&["workspace"])),
    ("sessions prune", Only(&["timeout", "workspace"])),
    ("sessions rm", Only(&["timeout", "workspace"])),
    ("setup", Only(&["ca_file"])),
    ("shim", Only(&[])),
    ("status", Only(&["api_key", "endpoint", "model", "trust", "workspace"])),
    ("trust", Only(&["trust", "workspace"])),
    ("trust show", Only(&["approve_mcps", "force", "trust", "workspace"])),
    ("undo", Only(&["force", "timeout", "workspace"])),
];

/// The flags that a command accepts, although its help does not list them.
const UNLISTED_FLAGS: &[(&str, &[&str])] = &[
    ("about", CURSOR_FLAGS),
    ("acp", CURSOR_FLAGS),
    ("create-chat", CURSOR_FLAGS),
    ("fleet logs", &["force"]),
    ("login", CURSOR_FLAGS),
    ("logout", CURSOR_FLAGS),
    ("ls", CURSOR_FLAGS),
    ("mcp disable", CURSOR_FLAGS),
    ("mcp enable", CURSOR_FLAGS),
    ("mcp list", CURSOR_FLAGS),
    ("mcp list-tools", CURSOR_FLAGS),
    ("mcp login", CURSOR_FLAGS),
    ("models", CURSOR_FLAGS),
    ("status", CURSOR_FLAGS),
];

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
    let is_row = |(name, ids): &(&str, &[&str])| *name == path && ids.contains(&id);
    takes_flag(path, id) || EVERYWHERE_FLAGS.contains(&id) || UNLISTED_FLAGS.iter().any(is_row)
}

/// Whether the command at `path`, e.g. `fleet run`, takes the flag of runs with this id. The empty path is a prompt.
pub(crate) fn takes_flag(path: &str, id: &str) -> bool {
    let names_it = |names: &[&str]| names.iter().any(|name| *name == id || Some(*name) == group_of(id));
    COMMON_FLAGS.contains(&id)
        || match flags_of(path) {
            None => true,
            Some(Only(names)) => names_it(names),
            Some(AllBut(names)) => !names_it(names),
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

/// The flags that every command accepts. `--cloud` and `--insecure` have an error of their own.
const EVERYWHERE_FLAGS: &[&str] = &["cloud", "contract", "debug", "insecure", "version", "workspace"];

/// The flags that clients of the Cursor CLI pass with each of its commands.
const CURSOR_FLAGS: &[&str] = &[
    "add_dir",
    "api_key",
    "approve_mcps",
    "endpoint",
    "force",
    "header",
    "mode",
    "model",
    "output_format",
    "plan",
    "print",
    "sandbox",
    "stream_partial_output",
    "trust",
];

/// The flags that set a value of the configuration, which `config explain` shows.
const CONFIG_FLAGS: &[&str] = &[
    "LimitFlags",
    "RuleFlags",
    "background",
    "ca_file",
    "client_cert",
    "client_key",
    "effort",
    "ephemeral",
    "force",
    "model",
    "sandbox",
    "thinking_budget",
    "trust",
    "verbose",
    "workspace",
];

/// The flags that change the first request of a run.
const CONTEXT_FLAGS: &[&str] = &[
    "AccessFlags",
    "InstructionFlags",
    "McpFlags",
    "RuleFlags",
    "api_key",
    "continue_",
    "endpoint",
    "file",
    "image",
    "model",
    "resume",
    "workspace",
];

/// The flags that `fleet run` passes to its runs.
const FLEET_FLAGS: &[&str] = &[
    "AccessFlags",
    "InstructionFlags",
    "LimitFlags",
    "McpFlags",
    "ModelFlags",
    "RuleFlags",
    "background",
    "ca_file",
    "client_cert",
    "client_key",
    "endpoint",
    "fail_on",
    "header",
];

/// The flags about one run, which a server of runs does not take.
const SINGLE_RUN_GROUPS: &[&str] = &["OutputFlags", "PromptFlags", "SessionFlags", "TrafficFlags"];

/// The flags that every command takes.
const COMMON_FLAGS: &[&str] = &["error_file", "error_format", "help", "lang"];

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::{Arg, Command, CommandFactory as _};

    use super::*;
    use crate::cli::{Cli, ParseExit, parse};
    use crate::cli_error::CliError;

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

    #[test]
    fn every_command_has_a_row_and_every_row_names_a_command_and_flags() {
        let command = Cli::command();
        for name in command.get_subcommands().map(Command::get_name) {
            assert!(flags_of(name).is_some(), "{name}");
        }
        let groups = command.get_groups().map(ArgGroup::get_id);
        let known: Vec<&str> =
            command.get_arguments().map(Arg::get_id).chain(groups).map(Id::as_str).collect();
        let listed = COMMAND_FLAGS.iter().map(|(path, Only(ids) | AllBut(ids))| (path, ids));
        for (path, ids) in listed.chain(UNLISTED_FLAGS.iter().map(|(path, ids)| (path, ids))) {
            let found = path.split(' ').try_fold(&command, |above, name| above.find_subcommand(name));
            assert!(found.is_some(), "{path}");
            let common = COMMON_FLAGS.iter().chain(EVERYWHERE_FLAGS);
            for id in ids.iter().chain(common).filter(|id| **id != "help") {
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
