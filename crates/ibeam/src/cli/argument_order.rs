//! Reorders arguments for the parser: flags may come before or after the prompt or the command.
//!
//! A first word that names a command is the command unless `--print` is before it. A leading `agent` is dropped:
//! clients of the Cursor CLI write it. `--resume ID` and `--worktree NAME` take the next word unless it contains a space, as a
//! prompt does.

use std::ffi::{OsStr, OsString};

use clap::{ArgAction, CommandFactory};

use super::{Cli, LineError};
use crate::cli_error::CliError;
use crate::flags::PromptLine;

/// Arguments in an order that the parser accepts: flags, then `--` and the prompt, or the unchanged command.
pub(super) struct ReorderedArgs {
    pub(super) args: Vec<OsString>,
    /// Whether the first word is a command, not a part of a prompt.
    pub(super) names_command: bool,
    /// The argument after `resume` at the beginning of a prompt, which may be meant as a session.
    pub(super) resumed: Option<String>,
}

/// The meaning of a first word that names a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstWord {
    Command,
    Prompt,
}

/// Reorders the arguments after the program's name; `known` is the parser of a line without a command.
pub(super) fn reorder(known: &clap::Command, args: &[OsString], first_word: FirstWord) -> ReorderedArgs {
    let mut flags: Vec<OsString> = Vec::new();
    let mut words: Vec<OsString> = Vec::new();
    let mut print = first_word == FirstWord::Prompt;
    let mut rest = args.iter().enumerate();
    let mut has_word = false;
    let mut resumed = None;
    while let Some((index, arg)) = rest.next() {
        let Some(text) = arg.to_str() else {
            words.push(arg.clone());
            continue;
        };
        if text == "--" {
            words.extend(rest.map(|(_, word)| word.clone()));
            break;
        }
        let follows_resume = matches!(words.as_slice(), [word] if word == "resume");
        if follows_resume && resumed.is_none() && (is_ordinal(text) || !text.starts_with('-')) {
            resumed = Some(text.to_owned());
        }
        if text == "-" || !text.starts_with('-') {
            let first = !std::mem::replace(&mut has_word, true);
            if first && text == "agent" {
                continue;
            }
            if words.is_empty() && !print && names_command(text) {
                flags.extend(joined_values(known, args.get(index..).unwrap_or_default()));
                return ReorderedArgs { args: flags, names_command: true, resumed: None };
            }
            words.push(arg.clone());
            continue;
        }
        if let Some(flag) = text.strip_suffix('=').filter(|flag| takes_optional_value(known, flag)) {
            flags.push(with_empty_value(flag));
            continue;
        }
        if takes_optional_value(known, text) && rest.clone().next().is_some_and(|(_, next)| is_blank(next)) {
            rest.next();
            flags.push(with_empty_value(text));
            continue;
        }
        print |= is_print(known, text);
        if let Some(joined) = rest.clone().next().and_then(|(_, next)| joined_value(known, text, next)) {
            rest.next();
            flags.push(joined);
            continue;
        }
        flags.push(arg.clone());
        if takes_next_argument(known, text)
            && let Some((_, value)) = rest.next()
        {
            flags.push(value.clone());
        }
    }
    if !words.is_empty() {
        flags.push("--".into());
        flags.extend(words);
    }
    ReorderedArgs { args: flags, names_command: false, resumed }
}

/// Returns the arguments of a command, in which the words after flags with an optional value are joined to these.
fn joined_values(known: &clap::Command, args: &[OsString]) -> Vec<OsString> {
    let mut joined = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if *arg == "--" {
            joined.push(arg.clone());
            joined.extend(rest.cloned());
            break;
        }
        let value = rest.clone().next().zip(arg.to_str());
        match value.and_then(|(next, flag)| joined_value(known, flag, next)) {
            Some(value) => {
                rest.next();
                joined.push(value);
            }
            None => joined.push(arg.clone()),
        }
    }
    joined
}

/// Returns `FLAG=VALUE` for a flag with an optional value and the word after it; `None` if the word is not its value.
fn joined_value(known: &clap::Command, flag: &str, next: &OsStr) -> Option<OsString> {
    let value = if flag == "--resume" {
        session_argument(next)
    } else if flag == "--worktree" || ends_with_letter(known, flag, 'w') {
        one_word(next)
    } else {
        None
    };
    value.map(|value| format!("{flag}={value}").into())
}

/// Whether the argument is the letter of a flag, or several letters such as `-pw` with it at the end.
fn ends_with_letter(known: &clap::Command, text: &str, letter: char) -> bool {
    let takes_value = |found: char| {
        known.get_arguments().any(|arg| arg.get_short() == Some(found) && arg.get_action().takes_values())
    };
    let letters = text.strip_prefix('-').and_then(|letters| letters.strip_suffix(letter));
    // After a letter that takes a value comes that value.
    letters.is_some_and(|before| !before.starts_with('-') && !before.chars().any(takes_value))
}

/// Returns the flag with a value that is refused as empty. A flag without any value has a meaning of its own, which a
/// script with a variable that is not set does not mean.
fn with_empty_value(flag: &str) -> OsString {
    format!("{flag}= ").into()
}

/// Whether the flag is one whose value may be left out, written after `=`.
fn takes_optional_value(known: &clap::Command, flag: &str) -> bool {
    known.get_arguments().filter(|arg| arg.is_require_equals_set()).any(|arg| {
        let short = arg.get_short().is_some_and(|short| flag.strip_prefix('-') == Some(&*short.to_string()));
        short || arg.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long))
    })
}

fn is_blank(word: &OsStr) -> bool {
    word.to_str().is_some_and(|word| word.trim().is_empty())
}

/// Whether `--print` is among the arguments.
pub(super) fn has_print(known: &clap::Command, args: &[OsString]) -> bool {
    let texts = args.iter().take_while(|arg| *arg != "--").filter_map(|arg| arg.to_str());
    texts.into_iter().any(|text| is_print(known, text))
}

/// Whether the argument is `--print`, `-p`, or several letters with `p`, such as `-fp`.
fn is_print(known: &clap::Command, text: &str) -> bool {
    let Some(letters) = text.strip_prefix('-') else { return false };
    let takes_value = |letter: char| {
        known.get_arguments().any(|arg| arg.get_short() == Some(letter) && arg.get_action().takes_values())
    };
    // After a letter that takes a value comes that value.
    text == "--print"
        || letters.chars().take_while(|letter| !takes_value(*letter)).any(|letter| letter == 'p')
            && !letters.starts_with('-')
}

/// Whether the word is the name or an alias of a command.
fn names_command(word: &str) -> bool {
    let is_named =
        |sub: &clap::Command| sub.get_name() == word || sub.get_all_aliases().any(|name| name == word);
    // clap adds this command itself.
    word == "help" || Cli::command().get_subcommands().any(is_named)
}

/// Returns the session ID of a word, or its `-1`, `-2` … for the newest session, the one before …; without the end of
/// line that a script may have read with it.
fn session_argument(word: &OsStr) -> Option<&str> {
    let id = word.to_str()?.trim();
    one_word(word).or(is_ordinal(id).then_some(id))
}

/// Returns the word without the end of line that a script may have read with it; `None` for a flag and for text with spaces.
fn one_word(word: &OsStr) -> Option<&str> {
    let word = word.to_str()?.trim();
    (!word.starts_with('-') && !word.is_empty() && !word.contains(char::is_whitespace)).then_some(word)
}

/// Whether the word is `-1`, `-2` … for the newest session, the one before …
pub(super) fn is_ordinal(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Whether the flag's value is the next argument.
fn takes_next_argument(known: &clap::Command, flag: &str) -> bool {
    let takes_value = |arg: &clap::Arg| {
        matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) && !arg.is_require_equals_set()
    };
    if let Some(long) = flag.strip_prefix("--") {
        let named = |arg: &&clap::Arg| {
            arg.get_long() == Some(long) || arg.get_all_aliases().is_some_and(|names| names.contains(&long))
        };
        return known.get_arguments().find(named).is_some_and(takes_value);
    }
    // `-fm MODEL`: the value is the next argument only when the flag that takes it is the last letter, and not in `-w=NAME`.
    if flag.contains('=') {
        return false;
    }
    let mut letters = flag.chars().skip(1).peekable();
    while let Some(letter) = letters.next() {
        let arg = known.get_arguments().find(|arg| arg.get_short() == Some(letter));
        if arg.is_some_and(takes_value) {
            return letters.peek().is_none();
        }
    }
    false
}

/// Parses reordered arguments without a command; `None` if the parser rejects them or a request for help is among them.
///
/// # Errors
/// A flag that the list of models does not use.
pub(super) fn parse_prompt_line(parser: clap::Command, args: &[OsString]) -> Result<Option<Cli>, CliError> {
    match super::parse_with(parser, args) {
        Ok(PromptLine { flags, words }) => {
            Ok(Some(Cli { flags, words, command: None, command_path: None, resumed: None }))
        }
        Err(LineError::Parser(_)) => Ok(None),
        Err(LineError::UnusedFlag(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[track_caller]
    fn check(line: &str) {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let whole = Cli::try_parse_from(&args).ok();
        let plain = parse_prompt_line(PromptLine::command(), &args).unwrap();
        assert_eq!(format!("{plain:?}"), format!("{whole:?}"), "{line}");
        assert!(line.contains("--help") || line.contains("wrong") || plain.is_some(), "{line}");
    }

    #[test]
    fn both_parsers_agree_on_a_line_without_a_command() {
        check("ibeam");
        check("ibeam -p -- do it");
        check("ibeam -pfm gpt --output-format stream-json --force -- do -it");
        check("ibeam --resume=-1 --header A:b --header C:d --allow Read(*) -- x");
        check("ibeam --mode plan --mode agent --max-turns 3 --timeout 5m --worktree=w");
        check("ibeam --version");
        check("ibeam --help");
        check("ibeam --wrong");
        check("ibeam --output-format wrong");
        check("ibeam --plan --mode wrong");
    }

    #[track_caller]
    fn check_order(line: &[&str], expect: &[&str]) {
        let args: Vec<OsString> = line.iter().map(Into::into).collect();
        assert_eq!(reorder(&PromptLine::command(), &args, FirstWord::Command).args, expect, "{line:?}");
    }

    #[test]
    fn the_word_after_a_flag_with_an_optional_value_is_its_value() {
        check_order(&["-w", "fix-1", "do it"], &["-w=fix-1", "--", "do it"]);
        check_order(&["--worktree", "fix-1", "-p", "do it"], &["--worktree=fix-1", "-p", "--", "do it"]);
        check_order(&["-pw", "fix-1", "do", "it"], &["-pw=fix-1", "--", "do", "it"]);
        check_order(&["-w", "-p", "do it"], &["-w", "-p", "--", "do it"]);
        check_order(&["-w", "do it"], &["-w", "--", "do it"]);
        check_order(&["-w=a", "b"], &["-w=a", "--", "b"]);
        check_order(&["-mw", "b"], &["-mw", "--", "b"]);
        check_order(&["--resume", "ab12", "go on"], &["--resume=ab12", "--", "go on"]);
        check_order(&["resume", "-1", "-w", "a", "go on"], &["resume", "-1", "-w=a", "go on"]);
        check_order(&["context", "--resume", "ab12", "x"], &["context", "--resume=ab12", "x"]);
        check_order(&["resume", "-1", "--", "-w", "a"], &["resume", "-1", "--", "-w", "a"]);
    }

    #[test]
    fn the_end_of_line_is_no_part_of_a_session_id() {
        let rows =
            [("ab12\n", Some("ab12")), ("-1\n", Some("-1")), ("do it", None), ("", None), ("-p", None)];
        for (word, expect) in rows {
            assert_eq!(session_argument(OsStr::new(word)), expect, "{word:?}");
        }
    }
}
