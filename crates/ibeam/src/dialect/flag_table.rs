//! Parses the command line of another program by a table of its flags.
//!
//! The table has the names, the number of values and the effect of each flag. A flag that is not in the table is
//! refused, because its number of values and its effect are unknown.

use std::collections::VecDeque;
use std::ffi::OsString;

use ibeam_protocol::{Reason, Sentence, sentence};
pub(super) use ibeam_serve::dialect::usage_error;

/// The number of values of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arity {
    /// No value.
    Nothing,
    /// The next argument, whatever it is.
    Value,
    /// The next argument, unless it is a flag.
    OptionalValue,
    /// Every argument up to the next flag.
    Values,
}

/// The effect of a flag.
pub(super) enum FlagAction<D> {
    /// The flag requests what ibeam always does.
    NoOp,
    /// The flag is left out with a notice.
    Ignore,
    /// The flag must not be left out and has no counterpart; with the reason.
    Reject(&'static str),
    /// The flag changes the draft: once for each value, or once with an empty text.
    Apply(fn(&mut D, &str) -> Result<(), Reason>),
}

/// A flag with all its spellings.
pub(super) struct Flag<D> {
    pub(super) names: &'static [&'static str],
    pub(super) arity: Arity,
    pub(super) action: FlagAction<D>,
}

/// The arguments that are not part of the draft.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RemainingArgs {
    /// The arguments that are not flags, in order.
    pub(super) words: Vec<String>,
    /// The flags that were left out, as they were written.
    pub(super) ignored: Vec<String>,
}

/// Reads `args` by `table` into `draft`.
///
/// # Errors
/// `Usage` for a flag that is unknown, refused or lacks its value; `NotText`; the error of a flag about its value.
pub(super) fn parse_args<D>(
    table: &[Flag<D>],
    args: &[OsString],
    draft: &mut D,
) -> Result<RemainingArgs, Reason> {
    let mut rest = RemainingArgs::default();
    let mut args = VecDeque::from(args_as_text(args)?);
    while let Some(arg) = args.pop_front() {
        if arg == "--" {
            rest.words.extend(args);
            break;
        }
        if arg == "-" || !arg.starts_with('-') {
            rest.words.push(arg);
            continue;
        }
        if let Some((first, second)) = split_short_flags(table, &arg) {
            args.push_front(second);
            args.push_front(first);
            continue;
        }
        let (name, joined) = match arg.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name.to_owned(), Some(value.to_owned())),
            Some(_) | None => (arg, None),
        };
        let flag = table.iter().find(|flag| flag.names.contains(&name.as_str()));
        let flag =
            flag.ok_or_else(|| usage_error(sentence!("there is no `{name}` in this dialect", name)))?;
        let mut values: Vec<String> = joined.into_iter().collect();
        let is_value = |arg: &mut String| !arg.starts_with('-') || arg == "-";
        match flag.arity {
            Arity::Nothing if !values.is_empty() => {
                return Err(usage_error(sentence!("`{name}` takes no value", name)));
            }
            Arity::Nothing => {}
            Arity::Value if values.is_empty() => values.extend(args.pop_front()),
            Arity::OptionalValue if values.is_empty() => values.extend(args.pop_front_if(is_value)),
            Arity::Value | Arity::OptionalValue => {}
            Arity::Values => {
                while let Some(value) = args.pop_front_if(is_value) {
                    values.push(value);
                }
            }
        }
        if values.is_empty() && matches!(flag.arity, Arity::Value | Arity::Values) {
            return Err(usage_error(sentence!("`{name}` needs a value", name)));
        }
        match &flag.action {
            FlagAction::NoOp => {}
            FlagAction::Ignore => rest.ignored.push(name),
            FlagAction::Reject(why) => return Err(usage_error(unsupported(&name, why))),
            FlagAction::Apply(take) if values.is_empty() => take(draft, "")?,
            FlagAction::Apply(take) => values.iter().try_for_each(|value| take(draft, value))?,
        }
    }
    Ok(rest)
}

/// Returns the help: `usage`, then the flags by their effect.
pub(super) fn help_text<D>(usage: &str, table: &[Flag<D>]) -> String {
    let mut groups =
        [("Apply", String::new()), ("Left out with a warning", String::new()), ("Refused", String::new())];
    let [(_, taken), (_, ignored), (_, refused)] = &mut groups;
    for flag in table {
        let names = flag.names.join(", ");
        let value = match flag.arity {
            Arity::Nothing => "",
            Arity::Value => " VALUE",
            Arity::OptionalValue => " [VALUE]",
            Arity::Values => " VALUE…",
        };
        match flag.action {
            FlagAction::NoOp | FlagAction::Apply(_) => taken.push_str(&format!("  {names}{value}\n")),
            FlagAction::Ignore => ignored.push_str(&format!("  {names}{value}\n")),
            FlagAction::Reject(why) => refused.push_str(&format!("  {names}{value}: {why}\n")),
        }
    }
    let groups: String = groups.iter().map(|(name, flags)| format!("{name}:\n{flags}\n")).collect();
    format!("Usage: {usage}\n\n{groups}What they mean here: ibeam help dialects\n")
}

/// Returns the arguments as text.
///
/// # Errors
/// `NotText` with the position of the argument.
fn args_as_text(args: &[OsString]) -> Result<Vec<String>, Reason> {
    let text = |(at, arg): (usize, &OsString)| {
        let not_text = || Reason::NotText { what: format!("argument {}", at + 1) };
        arg.to_str().filter(|arg| !arg.contains('\0')).map(str::to_owned).ok_or_else(not_text)
    };
    args.iter().enumerate().map(text).collect()
}

/// Splits short flags that are written together, `-pc` or `-mMODEL`, after the first; `None` for other arguments.
fn split_short_flags<D>(table: &[Flag<D>], arg: &str) -> Option<(String, String)> {
    let letters = arg.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    let (letter, behind) = letters.split_at_checked(1).filter(|(_, behind)| !behind.is_empty())?;
    let name = format!("-{letter}");
    let flag = table.iter().find(|flag| flag.names.contains(&name.as_str()))?;
    let behind = match flag.arity {
        Arity::Nothing => format!("-{behind}"),
        Arity::Value | Arity::OptionalValue | Arity::Values => {
            behind.strip_prefix('=').unwrap_or(behind).to_owned()
        }
    };
    Some((name, behind))
}

fn unsupported(name: &str, why: &str) -> Sentence {
    sentence!("`{name}` is not supported: {why}", name, why = Sentence::from(why))
}

/// Returns the reasons of refused flags that are English in another language.
#[cfg(test)]
pub(super) fn untranslated_reasons<D>(table: &[Flag<D>]) -> Vec<Sentence> {
    use ibeam_output::{Catalogue, Locale};

    let reasons = table.iter().filter_map(|flag| match flag.action {
        FlagAction::Reject(why) => Some(Sentence::from(why)),
        FlagAction::NoOp | FlagAction::Ignore | FlagAction::Apply(_) => None,
    });
    let locales = Locale::ALL.into_iter().filter(|locale| *locale != Locale::En);
    let catalogues: Vec<Catalogue> = locales.map(Catalogue::new).collect();
    let is_english =
        |reason: &Sentence| catalogues.iter().any(|known| known.sentence(reason) == reason.as_str());
    reasons.filter(is_english).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Flag<Vec<String>>] = &[
        Flag { names: &["--print", "-p"], arity: Arity::Nothing, action: FlagAction::NoOp },
        Flag { names: &["--model", "-m"], arity: Arity::Value, action: FlagAction::Apply(take) },
        Flag { names: &["--resume"], arity: Arity::OptionalValue, action: FlagAction::Apply(take) },
        Flag { names: &["--dirs"], arity: Arity::Values, action: FlagAction::Apply(take) },
        Flag { names: &["--ide"], arity: Arity::Nothing, action: FlagAction::Ignore },
        Flag { names: &["--guard"], arity: Arity::Value, action: FlagAction::Reject("no guards") },
    ];

    fn take(draft: &mut Vec<String>, value: &str) -> Result<(), Reason> {
        draft.push(value.to_owned());
        Ok(())
    }

    /// `expect` contains the words and the values, or a part of the error.
    #[track_caller]
    fn check(args: &[&str], expect: Result<(&[&str], &[&str]), &str>) {
        let args: Vec<OsString> = args.iter().map(Into::into).collect();
        let mut draft = Vec::new();
        match (parse_args(TABLE, &args, &mut draft), expect) {
            (Ok(rest), Ok((words, values))) => {
                assert_eq!(rest.words, words, "{args:?}");
                assert_eq!(draft, values, "{args:?}");
            }
            (Err(Reason::Usage { detail }), Err(part)) => assert!(detail.as_str().contains(part), "{detail}"),
            (read, expect) => panic!("{args:?}: {read:?}, not {expect:?}"),
        }
    }

    #[test]
    fn each_flag_has_its_number_of_values() {
        check(&["-p", "do", "it"], Ok((&["do", "it"], &[])));
        check(&["--model", "--odd", "x"], Ok((&["x"], &["--odd"])));
        check(&["--model=a=b", "x"], Ok((&["x"], &["a=b"])));
        check(&["--resume", "-p", "x"], Ok((&["x"], &[""])));
        check(&["--resume", "id", "x"], Ok((&["x"], &["id"])));
        check(&["--dirs", "a", "b", "-p", "x"], Ok((&["x"], &["a", "b"])));
        check(&["--dirs=a", "b"], Ok((&[], &["a", "b"])));
        check(&["-pm", "a", "-"], Ok((&["-"], &["a"])));
        check(&["-pma", "x"], Ok((&["x"], &["a"])));
        check(&["-m=a", "--", "--model", "-pm"], Ok((&["--model", "-pm"], &["a"])));
    }

    #[test]
    fn unreadable_arguments_are_errors() {
        check(&["--unheard-of"], Err("there is no `--unheard-of`"));
        check(&["-x"], Err("there is no `-x`"));
        check(&["--model"], Err("needs a value"));
        check(&["--print=yes"], Err("takes no value"));
        check(&["--guard", "x"], Err("not supported: no guards"));
    }

    #[test]
    fn ignored_flags_are_returned() {
        let args: Vec<OsString> = ["--ide", "x"].iter().map(Into::into).collect();
        let rest = parse_args(TABLE, &args, &mut Vec::new()).unwrap();
        assert_eq!(rest, RemainingArgs { words: vec!["x".to_owned()], ignored: vec!["--ide".to_owned()] });
    }
}
