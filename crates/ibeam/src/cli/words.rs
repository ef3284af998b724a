//! Which words are prompt, which is the command: flags may stand before or after both.
//!
//! A first word that names a command is one unless `--print` stands before it; a leading `agent` is dropped, for clients
//! of the original write it. `--resume ID` takes the next word unless it holds a space, as a prompt does.

use std::ffi::{OsStr, OsString};

use clap::{ArgAction, CommandFactory};

use super::{Cli, prompt_line};

/// Arguments in an order that the parser takes: flags, then `--` and the prompt, or the command as it stands.
pub(super) struct Sorted {
    pub(super) args: Vec<OsString>,
    pub(super) names_command: bool,
}

/// What a first word that names a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstWord {
    Command,
    Prompt,
}

/// Sorts the arguments after the program's name.
pub(super) fn sort(args: &[OsString], first_word: FirstWord) -> Sorted {
    let known = prompt_line::flags();
    let mut flags: Vec<OsString> = Vec::new();
    let mut words: Vec<OsString> = Vec::new();
    let mut print = first_word == FirstWord::Prompt;
    let mut rest = args.iter().enumerate();
    let mut begun = false;
    while let Some((index, arg)) = rest.next() {
        let Some(text) = arg.to_str() else {
            words.push(arg.clone());
            continue;
        };
        if text == "--" {
            words.extend(rest.map(|(_, word)| word.clone()));
            break;
        }
        if text == "-" || !text.starts_with('-') {
            let first = !std::mem::replace(&mut begun, true);
            if first && text == "agent" {
                continue;
            }
            if words.is_empty() && !print && names_command(text) {
                flags.extend(args.get(index..).unwrap_or_default().iter().cloned());
                return Sorted { args: flags, names_command: true };
            }
            words.push(arg.clone());
            continue;
        }
        if text == "--resume" {
            let value = rest.clone().next().map(|(_, next)| next).filter(|next| is_session_word(next));
            flags.push(match value {
                Some(value) => {
                    rest.next();
                    [OsStr::new("--resume="), value.as_os_str()].iter().copied().collect()
                }
                None => arg.clone(),
            });
            continue;
        }
        flags.push(arg.clone());
        print |= is_print(&known, text);
        if takes_next(&known, text)
            && let Some((_, value)) = rest.next()
        {
            flags.push(value.clone());
        }
    }
    if !words.is_empty() {
        flags.push("--".into());
        flags.extend(words);
    }
    Sorted { args: flags, names_command: false }
}

/// Whether `--print` is among the arguments.
pub(super) fn has_print(args: &[OsString]) -> bool {
    let known = prompt_line::flags();
    let texts = args.iter().take_while(|arg| *arg != "--").filter_map(|arg| arg.to_str());
    texts.into_iter().any(|text| is_print(&known, text))
}

/// Whether the argument is `--print`, `-p`, or letters with `p` among them, as `-fp`.
fn is_print(known: &clap::Command, text: &str) -> bool {
    let Some(letters) = text.strip_prefix('-') else { return false };
    let takes_value = |letter: char| {
        known.get_arguments().any(|arg| arg.get_short() == Some(letter) && arg.get_action().takes_values())
    };
    // Behind a letter that takes a value is that value.
    text == "--print"
        || letters.chars().take_while(|letter| !takes_value(*letter)).any(|letter| letter == 'p')
            && !letters.starts_with('-')
}

fn names_command(word: &str) -> bool {
    let is_named =
        |sub: &clap::Command| sub.get_name() == word || sub.get_all_aliases().any(|name| name == word);
    // That one is made by the parser, as late as it can.
    word == "help" || Cli::command().get_subcommands().any(is_named)
}

/// A session id, or `-1`, `-2` … for the newest, the one before.
fn is_session_word(word: &OsStr) -> bool {
    let Some(word) = word.to_str() else { return false };
    let ordinal = word.strip_prefix('-').is_some_and(|number| number.parse::<u32>().is_ok());
    ordinal || (!word.starts_with('-') && !word.is_empty() && !word.contains(char::is_whitespace))
}

/// Whether the flag's value is the next argument.
fn takes_next(known: &clap::Command, flag: &str) -> bool {
    let takes_value = |arg: &clap::Arg| {
        matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) && !arg.is_require_equals_set()
    };
    if let Some(long) = flag.strip_prefix("--") {
        let named = |arg: &&clap::Arg| {
            arg.get_long() == Some(long) || arg.get_all_aliases().is_some_and(|names| names.contains(&long))
        };
        return known.get_arguments().find(named).is_some_and(takes_value);
    }
    // `-fm MODEL`: the value is the next argument only when the flag that takes it is the last letter.
    let mut letters = flag.chars().skip(1).peekable();
    while let Some(letter) = letters.next() {
        let arg = known.get_arguments().find(|arg| arg.get_short() == Some(letter));
        if arg.is_some_and(takes_value) {
            return letters.peek().is_none();
        }
    }
    false
}
