//! `--dialect`: another program's command line in, its stream out, the run itself ours.
//!
//! Arguments become ours before ours are parsed; contract 1 becomes theirs as its lines are born. A flag of theirs
//! that has no counterpart is told and left out; where leaving it out would allow more, it is a usage error. Costs
//! nothing where no dialect is asked for.

mod claude;
mod codex;
mod control_protocol;
mod dialect_writer;
mod flag_table;
mod host;
mod host_hooks;
mod host_mcp;
mod partial_messages;

use std::ffi::OsString;
use std::io;
use std::path::Path;

use ibeam_config::source;
use ibeam_dialects::DialectName;
use ibeam_files::regular_file;
use ibeam_protocol::Reason;

use crate::cli::ParseExit;
pub(crate) use claude::model as resolve_claude_model;
pub(crate) use control_protocol::Additions;
pub(crate) use dialect_writer::DialectWriter;
pub(crate) use host::{Host, HostPrompt, PromptReceiver, SetModelReceiver, SetModelRequest};
pub(crate) use host_hooks::HostHooks;

/// The variable that says what a first `--dialect` says.
const VARIABLE: &str = "IBEAM_DIALECT";

/// What of a dialect outlasts the parsing of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DialectOptions {
    pub(crate) dialect: DialectName,
    pub(crate) output: Output,
    pub(crate) input: Input,
    /// PromptReceiver are said again.
    pub(crate) echo_prompts: bool,
    /// Pieces of texts come before the whole.
    pub(crate) partial_messages: bool,
    /// What no rule decides is put to the program that started us.
    pub(crate) ask_host: bool,
    /// The session that is named is a new one.
    pub(crate) new_session: bool,
    /// What the arguments of Codex ask for beside the stream.
    pub(crate) codex: codex::Request,
    /// Arguments that were left out, for people.
    pub(crate) ignored_arguments: Vec<String>,
    /// What the arguments of Claude Code say beyond that.
    pub(crate) claude: claude::Request,
}

impl DialectOptions {
    /// Returns the request for every line of a dialect and nothing else.
    fn output_of(dialect: DialectName) -> Self {
        Self {
            dialect,
            output: Output::Stream,
            input: Input::Prompt,
            echo_prompts: false,
            partial_messages: false,
            ask_host: false,
            new_session: false,
            claude: claude::Request::default(),
            codex: codex::Request::default(),
            ignored_arguments: Vec::new(),
        }
    }

    /// Returns the reason that a run cannot use the session `name`, which `exists` or not.
    ///
    /// Here an unknown id claims a new session; in other programs it is an error, and their clients rely on it.
    pub(crate) fn session_error(&self, name: &str, exists: bool) -> Option<Reason> {
        if self.new_session {
            let detail = format!("there is a session `{name}` already; `--resume` goes on with it");
            return exists.then_some(Reason::Usage { detail });
        }
        match self.dialect {
            DialectName::Claude | DialectName::Codex if !exists => {
                Some(Reason::UnknownSession { session: name.to_owned() })
            }
            DialectName::Cursor
            | DialectName::Claude
            | DialectName::Codex
            | DialectName::Gemini
            | DialectName::Opencode => None,
        }
    }

    /// Returns the words that clients of the other program look for in a failure, where they differ from ours.
    fn words_of(&self, reason: &Reason) -> Option<String> {
        let Reason::UnknownSession { session } = reason else { return None };
        match self.dialect {
            DialectName::Claude => Some(format!("No conversation found with session ID: {session}")),
            DialectName::Codex => Some(format!("no rollout found for thread id {session}")),
            DialectName::Cursor | DialectName::Gemini | DialectName::Opencode => None,
        }
    }
}

/// What of the dialect's stream is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Every line, as it is produced.
    Stream,
    /// The last line, at the end.
    LastLine,
    /// The final message, at the end.
    FinalMessage,
}

/// Where prompts come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// The words and stdin, once.
    Prompt,
    /// Messages on stdin, a run for each.
    Messages,
}

/// A command line in our own forms.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Translated {
    pub(crate) args: Vec<OsString>,
    pub(crate) options: Option<DialectOptions>,
}

/// What a translation may look at beside the arguments.
struct Env<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    read: fn(&str) -> io::Result<String>,
    /// Whether a directory lies in a git repository; the current one where none is named.
    is_in_repository: fn(Option<&str>) -> bool,
}

/// Whether `directory` or one above it holds `.git`. A directory that is not there is for the run to refuse.
fn is_in_repository(directory: Option<&str>) -> bool {
    let Ok(directory) = std::path::Path::new(directory.unwrap_or(".")).canonicalize() else { return true };
    crate::git::repository_root(&directory).is_some()
}

/// Translates a command line that new_session with `--dialect`, or where the variable says one; any other stays as it is.
///
/// # Errors
/// `Said` for `--version`; `Wrong` for a dialect that there is not, or what its own forms refuse.
pub(crate) fn translate(args: Vec<OsString>) -> Result<Translated, ParseExit> {
    let Some((name, rest)) = asked(&args) else { return Ok(Translated { args, options: None }) };
    let wrong = |reason: Reason| ParseExit::from(reason);
    let dialect: DialectName = name.parse().map_err(|_| {
        wrong(flag_table::usage(format!("there is no dialect `{name}`; there are {}", names())))
    })?;
    let rest = args.get(rest..).unwrap_or_default();
    let env = Env { variable: &crate::environment::variable, read: text_of, is_in_repository };
    match dialect {
        DialectName::Claude => claude::translate(rest, &env),
        DialectName::Codex => codex::translate(rest, &env),
        // Their output alone: the arguments are ours.
        DialectName::Cursor => Ok(Translated { args: rest.to_vec(), options: None }),
        DialectName::Gemini | DialectName::Opencode => {
            Ok(Translated { args: rest.to_vec(), options: Some(DialectOptions::output_of(dialect)) })
        }
    }
}

/// The name of the dialect, and where the rest of the arguments new_session.
fn asked(args: &[OsString]) -> Option<(String, usize)> {
    let first = args.first().and_then(|arg| arg.to_str());
    match first {
        Some("--dialect") => Some((args.get(1).map(text).unwrap_or_default(), 2)),
        Some(first) if first.starts_with("--dialect=") => Some((first.split_once('=')?.1.to_owned(), 1)),
        Some(_) | None => crate::environment::variable(VARIABLE).map(|name| (name, 0)),
    }
}

/// The text of a file that an argument names: whatever else stands there is not waited for.
fn text_of(path: &str) -> io::Result<String> {
    let bytes = regular_file::read(Path::new(path), source::MAX_BYTES)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn text(arg: &OsString) -> String {
    arg.to_string_lossy().into_owned()
}

fn names() -> String {
    DialectName::ALL.iter().map(|dialect| format!("`{dialect}`")).collect::<Vec<_>>().join(", ")
}

/// The text behind a flag that takes a file.
fn file(env: &Env<'_>, path: &str) -> Result<String, Reason> {
    (env.read)(path).map_err(|error| Reason::NoInput { path: path.to_owned(), detail: error.to_string() })
}

/// What the model is told where its answer should keep a schema.
fn kept_schema(schema: &str) -> String {
    format!("Your last message is one JSON value and nothing else. It keeps this schema:\n{schema}")
}

/// The arguments of a run that prints contract 1, and `flags` behind them.
fn ours(flags: impl IntoIterator<Item = String>, words: Vec<String>) -> Vec<OsString> {
    let printing = ["--print", "--contract=1", "--output-format=stream-json"].map(str::to_owned);
    let prompt =
        if words.is_empty() { Vec::new() } else { ["--".to_owned()].into_iter().chain(words).collect() };
    printing.into_iter().chain(flags).chain(prompt).map(OsString::from).collect()
}
