//! The message for a command line that cannot be parsed, and the command to whose help it refers.
//!
//! A suggestion is similar to the typed text and never allows a run more than that text.

use std::ffi::OsString;
use std::num::ParseIntError;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error};
use ibeam_protocol::{Sentence, sentence};

use super::Cli;

use ibeam_agent::similar_names::{closest, is_similar};

/// Flags that allow a run more. They are not suggested for a mistyped flag.
const GRANTING_FLAGS: &[&str] =
    &["--yolo", "--force", "--trust", "--allow", "--approve-mcps", "--insecure", "--add-dir", "--sandbox"];

/// Values of flags that allow a run more: of `--sandbox`.
const GRANTING_VALUES: &[&str] = &["disabled"];

/// The letters of other agents for flags that have no letter here, each with the flag.
const FOREIGN_LETTERS: [(&str, &str); 3] =
    [("-c", "--continue"), ("-r", "--resume ID"), ("-C", "--workspace DIR")];

/// Returns the message for a letter that is a flag of other agents.
fn foreign_letter(error: &Error) -> Option<Sentence> {
    let Some(ContextValue::String(arg)) =
        error.get(ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::UnknownArgument)
    else {
        return None;
    };
    let (letter, flag) = FOREIGN_LETTERS.iter().find(|(letter, _)| arg == letter)?;
    Some(sentence!("`{letter}` is not a flag of ibeam; use `{flag}`", letter, flag))
}

/// Whether the message of the error names what to write instead. Poor suggestions are dropped from the error.
pub(super) fn has_remedy(error: &mut Error) -> bool {
    drop_poor_suggestions(error);
    let is_about_value = matches!(
        error.kind(),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::ArgumentConflict
    );
    is_about_value || error.get(ContextKind::SuggestedArg).is_some() || foreign_letter(error).is_some()
}

/// Returns the message of `error` in one line, without clap's prefix, usage block and advice on `--help`.
pub(super) fn message(mut error: Error) -> Sentence {
    drop_poor_suggestions(&mut error);
    if let Some(sentence) = foreign_letter(&error).or_else(|| invalid_number(&error)) {
        return sentence;
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let end = text.find("\n\nUsage:").or_else(|| text.find("\n\nFor more")).unwrap_or(text.len());
    let text = text.get(..end).unwrap_or(text);
    let text = text.replace("\n\n  tip: ", "; ").replace("\n  tip: ", "; ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // The message of clap may have more parts than the sentence.
    translatable(&error).filter(|sentence| sentence.as_str() == text).unwrap_or_else(|| text.into())
}

/// Returns the message for a number that cannot be used, without the terms of the parser.
fn invalid_number(error: &Error) -> Option<Sentence> {
    let text = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.as_str()),
        _ => None,
    };
    let detail = std::error::Error::source(error)?;
    let (value, arg) = (text(ContextKind::InvalidValue)?, text(ContextKind::InvalidArg)?);
    if detail.is::<ParseIntError>() {
        return Some(sentence!(
            "invalid value '{value}' for '{arg}': it is not a whole number that can be used",
            value,
            arg
        ));
    }
    let detail = detail.to_string();
    let (low, high) = detail.split_once(" is not in ")?.1.split_once("..")?;
    // A range that ends with the type has no end for people.
    let high: Option<u32> = match high.strip_prefix('=') {
        Some(last) => last.parse().ok(),
        None => high.parse::<u32>().ok().and_then(|end| end.checked_sub(1)),
    };
    Some(match high.filter(|high| *high < u32::MAX) {
        Some(high) => sentence!(
            "invalid value '{value}' for '{arg}': it should be a whole number from {low} to {high}",
            value,
            arg,
            low,
            high
        ),
        None => sentence!(
            "invalid value '{value}' for '{arg}': it should be a whole number of at least {low}",
            value,
            arg,
            low
        ),
    })
}

/// Returns the message of the most frequent errors as a sentence that can be translated.
fn translatable(error: &Error) -> Option<Sentence> {
    let text = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) if !texts.is_empty() => Some(texts.join(", ")),
        _ => None,
    };
    let arg = || text(ContextKind::InvalidArg);
    let value = || text(ContextKind::InvalidValue);
    Some(match error.kind() {
        ErrorKind::UnknownArgument => match text(ContextKind::SuggestedArg) {
            None if error.get(ContextKind::Suggested).is_some() => {
                sentence!(
                    "unexpected argument '{arg}' found; to pass '{arg}' as a value, use '-- {arg}'",
                    arg = arg()?
                )
            }
            None => sentence!("unexpected argument '{arg}' found", arg = arg()?),
            Some(near) => {
                sentence!(
                    "unexpected argument '{arg}' found; a similar argument exists: '{near}'",
                    arg = arg()?,
                    near
                )
            }
        },
        ErrorKind::InvalidSubcommand => {
            let word = text(ContextKind::InvalidSubcommand)?;
            match text(ContextKind::SuggestedSubcommand) {
                None => sentence!("unrecognized subcommand '{word}'", word),
                Some(near) => {
                    sentence!(
                        "unrecognized subcommand '{word}'; a similar subcommand exists: '{near}'",
                        word,
                        near
                    )
                }
            }
        }
        ErrorKind::InvalidValue if value().is_none_or(|value| value.is_empty()) => {
            match text(ContextKind::ValidValue) {
                None => sentence!("a value is required for '{arg}' but none was supplied", arg = arg()?),
                Some(values) => sentence!(
                    "a value is required for '{arg}' but none was supplied [possible values: {values}]",
                    arg = arg()?,
                    values,
                ),
            }
        }
        ErrorKind::InvalidValue => {
            let values = text(ContextKind::ValidValue)?;
            match text(ContextKind::SuggestedValue) {
                None => sentence!(
                    "invalid value '{value}' for '{arg}' [possible values: {values}]",
                    value = value()?,
                    arg = arg()?,
                    values,
                ),
                Some(near) => sentence!(
                    "invalid value '{value}' for '{arg}' [possible values: {values}]; a similar value exists: '{near}'",
                    value = value()?,
                    arg = arg()?,
                    values,
                    near,
                ),
            }
        }
        ErrorKind::ValueValidation => {
            let detail = std::error::Error::source(error)?;
            sentence!("invalid value '{value}' for '{arg}': {detail}", value = value()?, arg = arg()?, detail)
        }
        ErrorKind::MissingRequiredArgument => {
            let ContextValue::Strings(args) = error.get(ContextKind::InvalidArg)? else { return None };
            sentence!("the following required arguments were not provided: {args}", args = args.join(" "))
        }
        ErrorKind::ArgumentConflict => {
            let other = text(ContextKind::PriorArg)?;
            sentence!("the argument '{arg}' cannot be used with '{other}'", arg = arg()?, other)
        }
        _ => return None,
    })
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
    /// The name without that of the program; empty without a command.
    pub(super) path: String,
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
        let path = name.split_once(' ').map(|(_, path)| path.to_owned()).unwrap_or_default();
        Self { name, path, subcommands }
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
    fn the_frequent_errors_of_parsing_are_translated() {
        for (args, expect) in [
            (
                &["--temperature", "x"][..],
                "no se esperaba el argumento '--temperature'; para pasar '--temperature' como valor, usa '-- --temperature'",
            ),
            (
                &["--heartbeet", "x"],
                "no se esperaba el argumento '--heartbeet'; existe uno parecido: '--heartbeat'",
            ),
            (&["sessions", "chek"], "subcomando desconocido 'chek'; existe uno parecido: 'check'"),
            (&["sessions", "clone"], "subcomando desconocido 'clone'"),
            (&["--model"], "falta un valor para '--model <MODEL>'"),
            (
                &["--stdin", "never", "x"],
                "valor no válido 'never' para '--stdin <HOW>' [valores posibles: auto, read, ignore]",
            ),
            (
                &["--stdin", "raed", "x"],
                "valor no válido 'raed' para '--stdin <HOW>' [valores posibles: auto, read, ignore]; existe uno \
                 parecido: 'read'",
            ),
            (
                &["--max-turns", "many", "x"],
                "valor no válido 'many' para '--max-turns <N>': no es un número entero que se pueda usar",
            ),
            (&["sessions", "show"], "faltan estos argumentos obligatorios: <SESSION>"),
            (
                &["--record", "a", "--from-recording", "b"],
                "el argumento '--record <DIR>' no se puede usar con '--from-recording <DIR>'",
            ),
        ] {
            let args: Vec<_> = args.iter().map(Into::into).collect();
            let Err(ParseExit::Error(error) | ParseExit::Incomplete { error, .. }) = parse(&args) else {
                panic!("{args:?} is understood")
            };
            assert_eq!(error.explain(&Catalogue::new(Locale::Es)).message, expect, "{args:?}");
        }
    }

    #[test]
    fn the_letters_of_other_agents_lead_to_the_flags() {
        for (args, flag) in [
            (&["-c"][..], "`--continue`"),
            (&["-pc", "go on"], "`--continue`"),
            (&["-r", "ab12", "go on"], "`--resume ID`"),
            (&["-C", "/tmp", "-p", "x"], "`--workspace DIR`"),
            (&["models", "-C", "/tmp"], "`--workspace DIR`"),
        ] {
            let args: Vec<_> = args.iter().map(Into::into).collect();
            let Err(ParseExit::Error(error)) = parse(&args) else { panic!("{args:?} is understood") };
            let message = error.explain(&Catalogue::new(Locale::En)).message;
            assert!(message.ends_with(&format!("is not a flag of ibeam; use {flag}")), "{message}");
        }
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
