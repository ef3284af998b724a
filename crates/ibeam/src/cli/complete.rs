//! The candidates for the shells: `ibeam complete -- WORDS`, which the scripts of `completions` call.
//!
//! Prints a candidate per line with its description after a tab. `:files` and `:directories` stand for the names that
//! the shell finds. Sends no request, and reads only the list of sessions and the cached lists of models.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;

use clap::{Arg, Command};
use ibeam_agent::app::AppContext;
use ibeam_agent::model::{self, ListCache};
use ibeam_dialects::DialectName;
use ibeam_providers::default_models::default_model;

use super::command_flags::uses_flag;
use super::{full_command, topic_titles};
use crate::cli_error::CliError;
use crate::command::print_text;

/// The largest number of candidates of one kind.
const MAX_CANDIDATES: usize = 500;
/// The longest description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 60;

/// The kind of text that an argument takes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Commands,
    Directories,
    Files,
    Flags,
    Models,
    Nothing,
    Providers,
    Sessions,
    SessionsAndFiles,
    Topics,
    Values(Vec<(String, String)>),
}

/// The position of the cursor: the command there, the kinds of text that fit, and the text before the completed part.
struct Position {
    command: Command,
    /// The path of the command; empty before it.
    path: String,
    kinds: Vec<Kind>,
    prefix: String,
    typed: String,
}

pub(crate) fn complete(app: &AppContext, words: &[OsString], stdout: &mut File) -> Result<(), CliError> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let position = find_position(&words);
    let (mut text, mut seen) = (String::new(), BTreeSet::new());
    for (value, description) in position.kinds.iter().flat_map(|kind| candidates(app, kind, &position)) {
        // `help` has topics with the names of commands.
        if !seen.insert(value.clone()) {
            continue;
        }
        if value.starts_with(':') {
            text.push_str(&format!("{value}\n"));
        } else if value.starts_with(&position.typed) {
            let description: String = description.chars().take(MAX_DESCRIPTION_CHARS).collect();
            let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
            text.push_str(&format!("{}{value}\t{description}\n", position.prefix));
        }
    }
    print_text(stdout, &text)
}

/// Finds the kinds of text that fit at the last of `words`, which follow the name of the program.
fn find_position(words: &[String]) -> Position {
    let (typed, before) =
        words.split_last().map_or(("", [].as_slice()), |(last, before)| (last.as_str(), before));
    // The first word would be the program.
    let args: Vec<OsString> =
        std::iter::once("ibeam").chain(before.iter().map(String::as_str)).map(Into::into).collect();
    let mut command = full_command(&args);
    let (mut path, mut positionals) = (String::new(), 0_usize);
    let mut pending: Option<Arg> = None;
    let mut ended = false;
    for word in before {
        if pending.take().is_some() {
            continue;
        }
        if word == "--" {
            ended = true;
        } else if let Some(flag) = word.strip_prefix('-').filter(|_| !ended) {
            pending = find_flag(&command, flag).filter(|arg| takes_next_word(arg)).cloned();
        } else if let Some(found) = command.find_subcommand(word).filter(|_| positionals == 0 && !ended) {
            let found = found.clone();
            command = found;
            path = format!("{path} {}", command.get_name()).trim_start().to_owned();
        } else {
            positionals += 1;
        }
    }
    let at = |kinds, prefix: &str, typed: &str| Position {
        command: command.clone(),
        path: path.clone(),
        kinds,
        prefix: prefix.to_owned(),
        typed: typed.to_owned(),
    };
    if let Some(arg) = pending {
        return at(vec![kind_of(&arg)], "", typed);
    }
    if let Some((flag, value)) = typed.split_once('=').filter(|_| typed.starts_with("--") && !ended) {
        let kind = find_flag(&command, flag.trim_start_matches('-')).map_or(Kind::Nothing, kind_of);
        return at(vec![kind], &format!("{flag}="), value);
    }
    if typed.starts_with('-') && !ended {
        return at(vec![Kind::Flags], "", typed);
    }
    let mut kinds = Vec::new();
    if positionals == 0 && !ended {
        kinds.push(Kind::Commands);
    }
    if command.get_name() == "help" {
        kinds.push(Kind::Topics);
    }
    let mut args = command.get_positionals();
    kinds.extend(args.nth(positionals).map(kind_of).filter(|kind| *kind != Kind::Nothing));
    at(kinds, "", typed)
}

/// Returns the flag with this name, which has no leading `-` or only the second one.
fn find_flag<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let long = name.strip_prefix('-').unwrap_or(name);
    let mut letters = name.chars();
    let letter = letters.next().filter(|_| letters.next().is_none());
    command.get_arguments().find(|arg| {
        arg.get_long() == Some(long)
            || arg.get_all_aliases().is_some_and(|names| names.contains(&long))
            || (letter.is_some() && arg.get_short() == letter)
    })
}

fn takes_next_word(arg: &Arg) -> bool {
    let is_optional = arg.get_num_args().is_some_and(|count| count.min_values() == 0);
    // `--resume ID` takes the next word although it could be left out.
    arg.get_action().takes_values() && (!is_optional || arg.get_id() == "resume")
}

/// Returns the kind of text that an argument takes, from its values, its id and the name of its value.
fn kind_of(arg: &Arg) -> Kind {
    let values = arg.get_possible_values();
    if !values.is_empty() {
        let values = values.iter().filter(|value| !value.is_hide_set());
        let describe = |value: &clap::builder::PossibleValue| {
            (value.get_name().to_owned(), value.get_help().map(ToString::to_string).unwrap_or_default())
        };
        return Kind::Values(values.map(describe).collect());
    }
    let value_name = arg.get_value_names().and_then(|names| names.first()).map(|name| name.as_str());
    match (arg.get_id().as_str(), value_name) {
        ("model" | "fallback_model", _) => Kind::Models,
        ("provider", _) => Kind::Providers,
        (_, Some("SESSION|FILE")) => Kind::SessionsAndFiles,
        ("resume" | "from_plan" | "id", _) | (_, Some("SESSION")) => Kind::Sessions,
        ("lang", _) => Kind::Values(
            ibeam_output::Locale::ALL.map(|locale| (locale.code().to_owned(), String::new())).into(),
        ),
        ("effort", _) => plain_values(ibeam_config::choices("effort").iter().copied()),
        ("approval", _) => plain_values(ibeam_config::choices("approval").iter().copied()),
        ("from" | "to", Some("DIALECT")) => plain_values(DialectName::ALL.iter().map(|name| name.as_str())),
        (_, Some("DIR")) | ("directory", _) => Kind::Directories,
        (_, Some("FILE" | "PATH" | "FILE|JSON" | "JSON|FILE")) | ("file", _) => Kind::Files,
        _ => Kind::Nothing,
    }
}

fn plain_values<'a>(values: impl IntoIterator<Item = &'a str>) -> Kind {
    Kind::Values(values.into_iter().map(|value| (value.to_owned(), String::new())).collect())
}

/// Returns the candidates of a kind with their descriptions.
fn candidates(app: &AppContext, kind: &Kind, position: &Position) -> Vec<(String, String)> {
    let plain = |names: Vec<String>| names.into_iter().map(|name| (name, String::new())).collect();
    match kind {
        Kind::Nothing => Vec::new(),
        Kind::Files => plain(vec![":files".to_owned()]),
        Kind::Directories => plain(vec![":directories".to_owned()]),
        Kind::Values(values) => values.clone(),
        Kind::Topics => topic_titles(),
        Kind::Providers => plain(model::provider_names(app)),
        Kind::Models => models(app),
        Kind::Sessions => sessions(app),
        Kind::SessionsAndFiles => [sessions(app), plain(vec![":files".to_owned()])].concat(),
        Kind::Commands => {
            let listed = position.command.get_subcommands().filter(|command| !command.is_hide_set());
            let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
            listed.map(|command| (command.get_name().to_owned(), about(command))).collect()
        }
        Kind::Flags => {
            let is_taken = |arg: &Arg| uses_flag(&position.path, arg.get_id().as_str());
            let is_listed = |arg: &&Arg| !arg.is_hide_set() && (!arg.is_global_set() || is_taken(arg));
            let listed = position.command.get_arguments().filter(is_listed);
            let described = listed.filter_map(|arg| {
                Some((
                    format!("--{}", arg.get_long()?),
                    arg.get_help().map(ToString::to_string).unwrap_or_default(),
                ))
            });
            described.collect()
        }
    }
}

/// Returns the aliases, the models of the cached lists, and the default models.
fn models(app: &AppContext) -> Vec<(String, String)> {
    let mut names: Vec<(String, String)> = model::aliases(app);
    names.extend(ListCache::load(&app.dirs.cache).names().map(|name| (name, String::new())));
    let today = ibeam_agent::clock::utc_date();
    for provider in model::provider_names(app) {
        names.extend(
            default_model(&provider, &today).map(|model| (format!("{provider}/{model}"), String::new())),
        );
    }
    if cfg!(feature = "embedded") {
        names.push((model::EMBEDDED_PROVIDER.to_owned(), model::EMBEDDED_DISPLAY.to_owned()));
    }
    names.sort();
    names.dedup_by(|left, right| left.0 == right.0);
    names.truncate(MAX_CANDIDATES);
    names
}

/// Returns the sessions of this directory, newest first.
fn sessions(app: &AppContext) -> Vec<(String, String)> {
    let listed = ibeam_session::list(&app.dirs.sessions(), Some(&app.workspace)).unwrap_or_default();
    let own = listed.into_iter().filter(|session| session.parent.is_none()).take(MAX_CANDIDATES);
    own.map(|session| (session.id.to_string(), session.title.unwrap_or_default())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, kinds: &[Kind], prefix: &str, typed: &str) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let found = find_position(&words);
        assert_eq!(
            (found.kinds.as_slice(), found.prefix.as_str(), found.typed.as_str()),
            (kinds, prefix, typed),
            "{line}"
        );
    }

    #[test]
    fn values_of_flags_are_completed_by_their_kind() {
        check("--model ", &[Kind::Models], "", "");
        check("-p -m cla", &[Kind::Models], "", "cla");
        check("--model=an", &[Kind::Models], "--model=", "an");
        check("--resume 0", &[Kind::Sessions], "", "0");
        check("-p --workspace sr", &[Kind::Directories], "", "sr");
        check("--file a", &[Kind::Files], "", "a");
        check("--max-turns 5", &[Kind::Nothing], "", "5");
        check("--output", &[Kind::Flags], "", "--output");
        let names = |line: &str| -> Vec<String> {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            match find_position(&words).kinds.as_slice() {
                [Kind::Values(values)] => values.iter().map(|(name, _)| name.clone()).collect(),
                kinds => panic!("{line}: {kinds:?}"),
            }
        };
        assert_eq!(names("--approval "), ["sandboxed", "allowlist", "strict"]);
        assert_eq!(names("convert --from "), ["cursor", "claude", "codex", "gemini", "opencode"]);
        assert!(names("--effort ").contains(&"xhigh".to_owned()));
        let has_html = |line: &str| names(line).contains(&"html".to_owned());
        assert!(has_html("replay -1 --output-format ") && !has_html("-p --output-format "));
    }

    #[test]
    fn arguments_of_commands_are_completed_by_their_kind() {
        check("log", &[Kind::Commands], "", "log");
        check("--lang fr mcp ", &[Kind::Commands], "", "");
        check("login an", &[Kind::Commands, Kind::Providers], "", "an");
        check("resume ", &[Kind::Commands, Kind::Sessions], "", "");
        check("replay x", &[Kind::Commands, Kind::SessionsAndFiles], "", "x");
        check("diff --turn 2 ", &[Kind::Commands, Kind::Sessions], "", "");
        check("shim b", &[Kind::Commands, Kind::Directories], "", "b");
        check("explain thi", &[], "", "thi");
    }
}
