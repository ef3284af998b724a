//! `--json` and `--format json`: a listing accepts both, whichever of them its help shows.
//!
//! Only a line that cannot be parsed is changed, and only if its command has the other spelling.

use std::ffi::{OsStr, OsString};

use clap::{Command, CommandFactory as _};

use super::Cli;

/// Returns `args` with the spelling that the command of the line has; `None` if nothing is to be changed.
pub(super) fn respell(args: &[OsString]) -> Option<Vec<OsString>> {
    let root = Cli::command();
    let end = args.iter().position(|arg| *arg == "--").unwrap_or(args.len());
    let (line, rest) = args.split_at_checked(end)?;
    let command = command_of(&root, line);
    let has_json = command.get_arguments().any(|arg| arg.get_long() == Some("json"));
    let format = command.get_arguments().find(|arg| arg.get_long() == Some("format"));
    let respelt = match format {
        Some(format) if !has_json => {
            let values = format.get_possible_values();
            if !values.iter().any(|value| value.get_name() == "json") {
                return None;
            }
            let spelling =
                |arg: &OsString| if *arg == "--json" { "--format=json".into() } else { arg.clone() };
            line.iter().map(spelling).collect()
        }
        None if has_json => as_switch(line),
        Some(_) | None => return None,
    };
    let args: Vec<OsString> = [respelt, rest.to_vec()].concat();
    Some(args)
}

/// Returns the command that the words of a line name, or the deepest one.
fn command_of<'a>(root: &'a Command, line: &[OsString]) -> &'a Command {
    line.iter().skip(1).fold(root, |command, word| command.find_subcommand(word).unwrap_or(command))
}

/// Replaces `--format json` by `--json`, and removes `--format text`.
fn as_switch(line: &[OsString]) -> Vec<OsString> {
    let mut respelt = Vec::new();
    let mut rest = line.iter();
    while let Some(arg) = rest.next() {
        let value = match arg.to_str().and_then(|text| text.strip_prefix("--format")) {
            Some("") => rest.clone().next().map(OsString::as_os_str),
            Some(joined) => joined.strip_prefix('=').map(OsStr::new),
            None => None,
        };
        let (is_json, is_text) = (value == Some("json".as_ref()), value == Some("text".as_ref()));
        if !is_json && !is_text {
            respelt.push(arg.clone());
            continue;
        }
        if *arg == "--format" {
            rest.next();
        }
        if is_json {
            respelt.push("--json".into());
        }
    }
    respelt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &[&str], expect: Option<&[&str]>) {
        let args: Vec<OsString> = line.iter().map(Into::into).collect();
        let expect = expect.map(|words| words.iter().map(Into::into).collect::<Vec<OsString>>());
        assert_eq!(respell(&args), expect, "{line:?}");
    }

    #[test]
    fn each_listing_gets_its_own_spelling() {
        check(&["ibeam", "ls", "--json"], Some(&["ibeam", "ls", "--format=json"]));
        check(&["ibeam", "trust", "show", "--json"], Some(&["ibeam", "trust", "show", "--format=json"]));
        check(&["ibeam", "models", "--format", "json"], Some(&["ibeam", "models", "--json"]));
        check(
            &["ibeam", "sessions", "list", "--format=json", "--all"],
            Some(&["ibeam", "sessions", "list", "--json", "--all"]),
        );
        check(&["ibeam", "models", "--format=text", "--refresh"], Some(&["ibeam", "models", "--refresh"]));
        check(&["ibeam", "models", "--format", "yaml"], Some(&["ibeam", "models", "--format", "yaml"]));
    }

    #[test]
    fn other_lines_and_words_after_two_dashes_stay() {
        check(&["ibeam", "resume", "-1", "--json"], None);
        check(&["ibeam", "check", "--json"], None);
        check(
            &["ibeam", "context", "--json", "--", "--json"],
            Some(&["ibeam", "context", "--format=json", "--", "--json"]),
        );
    }
}
