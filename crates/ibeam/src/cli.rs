//! The parser of the command line, and help. The flags are in `flags.rs`, the sub-commands in `command.rs`.
//!
//! Reads neither files nor variables.

mod argument_order;
mod command_flags;
mod complete;
mod examples;
mod format_spelling;
mod help;
mod mistyped_command;
mod overview;
mod topics;
mod translations;
mod usage_error;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches, Parser};
use ibeam_protocol::{Reason, sentence};

use self::argument_order::{FirstWord, ReorderedArgs};
pub(crate) use self::complete::complete;
use self::usage_error::CommandPath;
use crate::cli_error::CliError;
use crate::command::Command;
use crate::exit::ErrorOutput;
use crate::flags::{ErrorFormat, Flags, PromptLine};

/// A coding agent for the command line that other programs can rely on.
#[derive(Parser, Debug)]
#[command(args_override_self = true)]
#[command(name = "ibeam", version, disable_version_flag = true)]
#[command(override_usage = "ibeam [OPTIONS] [PROMPT]...\n       ibeam [OPTIONS] <COMMAND>")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) flags: Flags,

    /// The task; piped stdin is added to it as context
    #[arg(value_name = "PROMPT")]
    pub(crate) words: Vec<OsString>,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// The program and the sub-command that was given, e.g. `ibeam trust show`.
    #[arg(skip)]
    pub(crate) command_path: Option<String>,

    /// The word after `resume` at the beginning of the prompt. If it names a session, the line is probably meant as the
    /// command `resume`.
    #[arg(skip)]
    pub(crate) resumed: Option<String>,
}

/// The result of parsing without a command line to execute.
pub(crate) enum ParseExit {
    /// Help was requested: text for stdout, exit code 0.
    Help(String),
    /// A page of the documentation was requested: its Markdown, exit code 0.
    Page(String),
    /// A usage error.
    Error(CliError),
    /// A command without the sub-command or the arguments that it needs: its help, for stderr, and the error.
    Incomplete { help: String, error: CliError },
}

impl From<Reason> for ParseExit {
    fn from(reason: Reason) -> Self {
        Self::Error(reason.into())
    }
}

/// Parses the arguments after the program's name.
///
/// # Errors
/// `Help` for help; `Page` for a page of the documentation; `Incomplete` for a command without its sub-command or arguments;
/// `Error` for anything else that cannot be understood.
pub(crate) fn parse(given: &[OsString]) -> Result<Cli, ParseExit> {
    let parser = PromptLine::command();
    let reorder = |first_word: FirstWord| {
        let ReorderedArgs { args, names_command, resumed } =
            argument_order::reorder(&parser, given, first_word);
        (std::iter::once("ibeam".into()).chain(args).collect::<Vec<OsString>>(), names_command, resumed)
    };
    let (mut args, mut names_command, mut resumed) = reorder(FirstWord::Command);
    if names_command && argument_order::has_print(&parser, &args) && has_surplus_words(&args) {
        // `models of trains -p`: with more words than the command accepts, the line is a prompt.
        (args, names_command, resumed) = reorder(FirstWord::Prompt);
    }
    if let Some(session) = resumed.take_if(|session| argument_order::is_ordinal(session)) {
        return Err(ParseExit::Error(CliError::ResumeInPrompt { session }));
    }
    if !names_command
        && let Some(cli) = argument_order::parse_prompt_line(parser, &args).map_err(ParseExit::Error)?
    {
        return match mistyped_command::mistyped_command(given, &cli) {
            Some(error) => Err(ParseExit::Error(error)),
            None => Ok(Cli { resumed, ..cli }),
        };
    }
    if names_command && let Some(exit) = help::topic(&args) {
        return Err(exit);
    }
    let mut parsed = parse_all(&args);
    if names_command
        && matches!(&parsed, Err(LineError::Parser(error)) if error.kind() == ErrorKind::UnknownArgument)
        && let Some(respelt) = format_spelling::respell(&args)
        && let respelt = parse_all(&respelt)
        && !matches!(respelt, Err(LineError::Parser(_)))
    {
        parsed = respelt;
    }
    match parsed {
        Ok(cli) => {
            let command_path = names_command.then(|| CommandPath::find(&args).name);
            Ok(Cli { command_path, ..cli })
        }
        Err(LineError::UnusedFlag(error)) => Err(ParseExit::Error(error)),
        Err(LineError::Parser(error)) if !error.use_stderr() => Err(ParseExit::Help(help::text(&args))),
        // The line is parsed again, so that the message lists the values that a flag has for this command only.
        Err(LineError::Parser(error)) => {
            let command_error = help::command(&args).try_get_matches_from(&args).err();
            Err(parse_failure(&args, names_command, command_error.unwrap_or(error)))
        }
    }
}

/// The reason for which a line is rejected.
enum LineError {
    /// The parser does not understand it.
    Parser(clap::Error),
    /// The line has a flag that its command does not use.
    UnusedFlag(CliError),
}

/// Parses a line that may have a command.
fn parse_all(args: &[OsString]) -> Result<Cli, LineError> {
    parse_with(Cli::command(), args)
}

/// Parses a line with the parser of `T`, and rejects flags that its command does not use.
fn parse_with<T: FromArgMatches>(mut parser: clap::Command, args: &[OsString]) -> Result<T, LineError> {
    let mut matches = parser.try_get_matches_from_mut(args).map_err(LineError::Parser)?;
    // `--version` prints the version, whatever else the line has.
    if !matches.get_flag("version")
        && let Some((command, flag)) = command_flags::unused_flag(&parser, &matches)
    {
        let flag = format!("--{flag}");
        let detail = sentence!("`ibeam {command}` does not use `{flag}`; leave it out", command, flag);
        let command = format!("ibeam {command}");
        return Err(LineError::UnusedFlag(CliError::CommandUsage { command, detail }));
    }
    T::from_arg_matches_mut(&mut matches).map_err(LineError::Parser)
}

/// Returns all commands with all flags as they are in the command line `args`, for completion.
pub(crate) fn full_command(args: &[OsString]) -> clap::Command {
    let mut command = help::command(args);
    command.build();
    command
}

/// Returns the words that `ibeam help` takes besides commands, each with its title.
pub(crate) fn topic_titles() -> Vec<(String, String)> {
    let lists = help::LISTS.iter().map(|(name, about)| ((*name).to_owned(), (*about).to_owned()));
    lists.chain(topics::titles()).collect()
}

/// Returns the error for `args`, which cannot be parsed. For a command without its sub-command or without all its
/// arguments, adds the help of the command.
fn parse_failure(args: &[OsString], names_command: bool, mut error: clap::Error) -> ParseExit {
    if !names_command {
        let has_remedy = usage_error::has_remedy(&mut error);
        let detail = usage_error::message(error);
        return ParseExit::Error(match has_remedy {
            true => Reason::Usage { detail }.into(),
            false => CliError::LineUsage { detail },
        });
    }
    let CommandPath { name, path, subcommands } = CommandPath::find(args);
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let detail =
            sentence!("`{name}` needs a command: {commands}", name, commands = subcommands.join(", "));
        let error = CliError::CommandUsage { command: name, detail };
        return ParseExit::Incomplete { help: help_of(args), error };
    }
    let is_bare = args.len() == 1 + path.split(' ').count();
    let lacks_arguments = error.kind() == ErrorKind::MissingRequiredArgument;
    let error = CliError::CommandUsage { command: name, detail: usage_error::message(error) };
    match is_bare && lacks_arguments {
        true => ParseExit::Incomplete { help: help_of(args), error },
        false => ParseExit::Error(error),
    }
}

/// Returns the help of the command that `args` name.
fn help_of(args: &[OsString]) -> String {
    let args: Vec<OsString> = args.iter().cloned().chain(["-h".into()]).collect();
    help::text(&args)
}

/// Whether a command has more words than it accepts.
fn has_surplus_words(args: &[OsString]) -> bool {
    let surplus = [ErrorKind::UnknownArgument, ErrorKind::InvalidSubcommand];
    Cli::try_parse_from(args).is_err_and(|error| surplus.contains(&error.kind()))
}

/// Returns how to report the error of a line that cannot be parsed.
pub(crate) fn requested_error_output(args: &[OsString]) -> ErrorOutput {
    let json = value_of(args, "--error-format") == Some("json");
    let format = if json { ErrorFormat::Json } else { ErrorFormat::Text };
    ErrorOutput { format, file: value_of(args, "--error-file").map(PathBuf::from) }
}

/// Returns the language that a line requests, without parsing it.
pub(crate) fn requested_lang(args: &[OsString]) -> Option<&str> {
    value_of(args, "--lang")
}

/// Returns the value of a flag, without parsing the line.
fn value_of<'a>(args: &'a [OsString], flag: &str) -> Option<&'a str> {
    let end = args.iter().position(|arg| *arg == "--").unwrap_or(args.len());
    let flags = args.get(..end).unwrap_or_default();
    let joined = flags.iter().find_map(|arg| arg.to_str()?.strip_prefix(flag)?.strip_prefix('='));
    let apart = flags.windows(2).find_map(|pair| match pair {
        [name, value] if *name == *flag => value.to_str(),
        _ => None,
    });
    joined.or(apart)
}
