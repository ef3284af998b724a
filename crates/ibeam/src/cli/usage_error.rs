//! The message for a command line that cannot be parsed, and the command to whose help it refers.
//!
//! A suggestion is similar to the typed text and never allows a run more than that text.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Error};

use super::Cli;

use crate::similar_names::{closest, is_similar};

/// Flags that allow a run more. They are not suggested for a mistyped flag.
const GRANTING_FLAGS: &[&str] =
    &["--yolo", "--force", "--trust", "--allow", "--approve-mcps", "--insecure", "--add-dir", "--sandbox"];

/// Values of flags that allow a run more: of `--sandbox`.
const GRANTING_VALUES: &[&str] = &["disabled"];

/// Returns the message of `error` in one line, without clap's prefix, usage block and advice on `--help`.
pub(super) fn message(mut error: Error) -> String {
    drop_poor_suggestions(&mut error);
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let end = text.find("\n\nUsage:").or_else(|| text.find("\n\nFor more")).unwrap_or(text.len());
    let text = text.get(..end).unwrap_or(text);
    let text = text.replace("\n\n  tip: ", "; ").replace("\n  tip: ", "; ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes suggestions that differ too much from the typed text or allow more.
fn drop_poor_suggestions(error: &mut Error) {
    for (typed, suggested) in [
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ] {
        let Some(ContextValue::String(typed)) = error.get(typed).cloned() else { continue };
        let good = match error.remove(suggested) {
            Some(ContextValue::String(one)) if is_good_suggestion(&typed, &one) => {
                ContextValue::String(nearest_flag(&typed, one))
            }
            Some(ContextValue::Strings(mut several)) => {
                several.retain(|one| is_good_suggestion(&typed, one));
                if several.is_empty() {
                    continue;
                }
                ContextValue::Strings(several)
            }
            Some(_) | None => continue,
        };
        error.insert(suggested, good);
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg).cloned() else { return };
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        // `'models --providers' exists`: the flag of a sub-command.
        tips.retain(|tip| {
            let tip = tip.to_string();
            let flag = tip.strip_suffix("' exists").and_then(|named| named.rsplit(' ').next());
            flag.is_none_or(|flag| is_good_suggestion(&typed, flag))
        });
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
}

/// Returns `suggested`, or the flag of all commands that is more similar to `typed`: clap compares by common characters,
/// and so prefers `--mode` to `--model` for `--modle`.
fn nearest_flag(typed: &str, suggested: String) -> String {
    let (Some(name), Some(near)) = (typed.strip_prefix("--"), suggested.strip_prefix("--")) else {
        return suggested;
    };
    let command = Cli::command();
    let global = command.get_arguments().filter(|flag| flag.is_global_set() && !flag.is_hide_set());
    let names = global.filter_map(clap::Arg::get_long);
    let good = names.filter(|name| is_good_suggestion(typed, &format!("--{name}")));
    closest(name, good.chain([near])).map(|name| format!("--{name}")).unwrap_or(suggested)
}

/// Whether `suggested` is similar to `typed` and is not a flag that allows a run more.
fn is_good_suggestion(typed: &str, suggested: &str) -> bool {
    let bare = |word: &str| word.trim_start_matches('-').to_owned();
    let grants =
        GRANTING_FLAGS.iter().any(|flag| suggested.starts_with(flag)) || GRANTING_VALUES.contains(&suggested);
    !grants && is_similar(&bare(typed), &bare(suggested))
}

/// The command that a command line names, even if it cannot be parsed, and its sub-commands.
pub(super) struct CommandPath {
    /// The name with that of the program, e.g. `ibeam trust show`.
    pub(super) name: String,
    /// The names of the sub-commands that help lists.
    pub(super) subcommands: Vec<String>,
}

impl CommandPath {
    /// Finds the command in `args`, which begin with the program's name.
    pub(super) fn find(args: &[OsString]) -> Self {
        let mut command = Cli::command();
        let mut name = "ibeam".to_owned();
        for word in args.iter().skip(1).take_while(|word| *word != "--").filter_map(|word| word.to_str()) {
            let Some(found) = command.find_subcommand(word).cloned() else { continue };
            name = format!("{name} {}", found.get_name());
            command = found;
        }
        let listed = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
        let subcommands = listed.map(|subcommand| subcommand.get_name().to_owned()).collect();
        Self { name, subcommands }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibeam_output::{Catalogue, Locale};

    use crate::cli::{ParseExit, parse};

    #[track_caller]
    fn check(args: &[&str], suggests: Option<&str>) {
        let args: Vec<_> = args.iter().map(Into::into).collect();
        let Err(ParseExit::Error(error)) = parse(&args) else { panic!("{args:?} is understood") };
        let detail = error.explain(&Catalogue::new(Locale::En)).message;
        assert_eq!(detail.contains("similar") || detail.contains("' exists"), suggests.is_some(), "{detail}");
        assert!(suggests.is_none_or(|flag| detail.contains(flag)), "{detail}");
    }

    #[test]
    fn no_flag_that_allows_more_is_suggested() {
        for flag in ["--color", "--yol", "--forc", "--trus", "--allo", "--approve-mcp"] {
            check(&[flag, "x"], None);
        }
        check(&["--sandbox=disbled", "x"], None);
    }

    #[test]
    fn a_near_flag_command_or_value_is_suggested() {
        check(&["--heartbeet", "x"], Some("--heartbeat"));
        check(&["--max-turn", "x"], Some("--max-turns"));
        check(&["--modle", "x"], Some("--model"));
        check(&["--output", "x"], Some("--output-format"));
        check(&["sessions", "chek"], Some("check"));
        check(&["--output-format", "jsn", "x"], Some("json"));
    }

    #[test]
    fn a_far_one_is_not() {
        for flag in ["--temperature", "--mcp-debug", "--profile", "--no-color", "--settings"] {
            check(&[flag, "x"], None);
        }
        check(&["sessions", "clone"], None);
    }

    #[track_caller]
    fn check_command(line: &str, name: &str, subcommands: &[&str]) {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let found = CommandPath::find(&args);
        assert_eq!(found.name, name, "{line}");
        assert_eq!(found.subcommands, subcommands, "{line}");
    }

    #[test]
    fn the_command_is_found_among_flags_and_words() {
        check_command("ibeam trust", "ibeam trust", &["list", "forget", "show"]);
        check_command("ibeam --lang fr trust --verbose show x", "ibeam trust show", &[]);
        check_command("ibeam whoami --wrong", "ibeam status", &[]);
        check_command("ibeam help config nothing", "ibeam config", &["explain", "path"]);
        let expected =
            ["list", "list-tools", "add", "remove", "login", "logout", "enable", "disable", "serve"];
        check_command("ibeam mcp -- list", "ibeam mcp", &expected);
    }
}
