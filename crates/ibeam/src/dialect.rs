//! `--dialect`: ibeam with the command line and the output stream of another program.
//!
//! The arguments of the other program are translated before the arguments of ibeam are parsed, and the events of a run
//! are written as lines of the other program. A flag without a counterpart is left out with a notice. If leaving it out
//! would allow the run more, the flag is a usage error. The host is the program that starts ibeam in a dialect.

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

use ibeam_config::config_file;
use ibeam_dialects::DialectName;
use ibeam_files::regular_file;
use ibeam_protocol::{Notice, Reason, sentence};

use crate::cli::ParseExit;
pub(crate) use claude::{ClaudeOptions, resolve_model as resolve_claude_model};
pub(crate) use codex::CodexOptions;
pub(crate) use control_protocol::HostAdditions;
pub(crate) use dialect_writer::DialectWriter;
pub(crate) use host::{Host, SetModelReceiver, SetModelRequest};
pub(crate) use host_hooks::HostHooks;

/// The variable that selects a dialect like `--dialect` as the first argument.
const DIALECT_VARIABLE: &str = "IBEAM_DIALECT";

/// The dialects whose arguments are translated. The other dialects take the arguments of ibeam.
const TRANSLATORS: &[(DialectName, Translator)] =
    &[(DialectName::Claude, claude::translate), (DialectName::Codex, codex::translate)];

/// Translates the arguments after the name of the dialect.
type Translator = fn(&[OsString], &Env<'_>) -> Result<TranslatedArgs, ParseExit>;

/// The options of a dialect that the flags of ibeam do not cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DialectOptions {
    pub(crate) dialect: DialectName,
    pub(crate) output: DialectOutput,
    pub(crate) input: PromptSource,
    /// Whether the stream of Claude Code contains the prompts too.
    pub(crate) echo_prompts: bool,
    /// Whether pieces of texts come before the complete text.
    pub(crate) partial_messages: bool,
    /// Whether the host is asked about calls that no rule covers.
    pub(crate) ask_host: bool,
    /// Whether the named session must not exist yet.
    pub(crate) new_session: bool,
    /// The message for an unknown session, up to its id. `None` where an unknown id names a new session.
    pub(crate) unknown_session_message: Option<&'static str>,
    /// Arguments that were left out.
    pub(crate) ignored_arguments: Vec<String>,
    pub(crate) claude: ClaudeOptions,
    pub(crate) codex: CodexOptions,
}

impl DialectOptions {
    /// Returns the notice about arguments of the other program that are ignored, where there are some.
    pub(crate) fn ignored_arguments_notice(&self) -> Option<Notice> {
        (!self.ignored_arguments.is_empty()).then(|| Notice::ArgumentsIgnored {
            dialect: self.dialect.to_string(),
            arguments: self.ignored_arguments.join(", "),
        })
    }

    /// Returns the options of a dialect whose every line is printed.
    fn new(dialect: DialectName) -> Self {
        Self {
            dialect,
            output: DialectOutput::Stream,
            input: PromptSource::Prompt,
            echo_prompts: false,
            partial_messages: false,
            ask_host: false,
            new_session: false,
            unknown_session_message: None,
            ignored_arguments: Vec::new(),
            claude: ClaudeOptions::default(),
            codex: CodexOptions::default(),
        }
    }

    fn is_claude(&self) -> bool {
        self.dialect == DialectName::Claude
    }

    /// Whether the stream lists the slash commands, the skills and the sub-agents.
    pub(crate) fn lists_commands(&self) -> bool {
        self.is_claude()
    }

    /// Whether prompts are part of the stream.
    fn writes_prompts(&self) -> bool {
        self.echo_prompts || !self.is_claude()
    }

    /// Returns the reason why a run cannot use the session `name`; `exists` is whether the session is stored.
    pub(crate) fn session_error(&self, name: &str, exists: bool) -> Option<Reason> {
        if self.new_session {
            let detail =
                sentence!("the session `{name}` already exists; use `--resume` to continue it", name);
            return exists.then_some(Reason::Usage { detail });
        }
        let must_exist = self.unknown_session_message.is_some();
        (must_exist && !exists).then(|| Reason::UnknownSession { session: name.to_owned() })
    }

    /// Returns the message that clients of the other program look for, where it differs from the message of ibeam.
    fn failure_message(&self, reason: &Reason) -> Option<String> {
        let Reason::UnknownSession { session } = reason else { return None };
        Some(format!("{}{session}", self.unknown_session_message?))
    }
}

/// The part of the dialect's stream that is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DialectOutput {
    /// Every line, as it is produced.
    Stream,
    /// The last line, at the end.
    LastLine,
    /// The final message, at the end.
    FinalMessage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptSource {
    /// The arguments and stdin, once.
    Prompt,
    /// Messages on stdin, a run for each.
    Messages,
}

/// A command line as arguments of ibeam.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TranslatedArgs {
    pub(crate) args: Vec<OsString>,
    /// `None` where the output is that of ibeam.
    pub(crate) options: Option<DialectOptions>,
}

/// The environment of a translation.
struct Env<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    read_file: fn(&str) -> io::Result<String>,
    /// Whether a directory lies in a git repository; `None` is the current directory.
    is_in_repository: fn(Option<&str>) -> bool,
}

impl Env<'_> {
    /// Reads the file that an argument names.
    fn file(&self, path: &str) -> Result<String, Reason> {
        (self.read_file)(path)
            .map_err(|error| Reason::NoInput { path: path.to_owned(), detail: error.to_string() })
    }
}

/// Translates a command line that starts with `--dialect`, or any command line where the variable names a dialect.
/// Returns other command lines unchanged.
///
/// # Errors
/// `Help` for `--version` and `--help` of the dialect. `Error` for an unknown dialect, and for arguments that the
/// dialect rejects.
pub(crate) fn translate(args: Vec<OsString>) -> Result<TranslatedArgs, ParseExit> {
    let Some((name, rest)) = requested_dialect(&args) else {
        return Ok(TranslatedArgs { args, options: None });
    };
    let dialect: DialectName = name.parse().map_err(|_| {
        ParseExit::from(flag_table::usage_error(format!(
            "unknown dialect `{name}`; use one of: {}",
            dialect_names()
        )))
    })?;
    let rest = args.get(rest..).unwrap_or_default();
    let env = Env { variable: &ibeam_agent::environment::variable, read_file, is_in_repository };
    match TRANSLATORS.iter().find(|(known, _)| *known == dialect) {
        Some((_, translate)) => translate(rest, &env),
        None => {
            let options = (dialect != DialectName::Cursor).then(|| DialectOptions::new(dialect));
            Ok(TranslatedArgs { args: rest.to_vec(), options })
        }
    }
}

/// Returns the name of the dialect, and the index of the first argument after it.
fn requested_dialect(args: &[OsString]) -> Option<(String, usize)> {
    let first = args.first().and_then(|arg| arg.to_str());
    match first {
        Some("--dialect") => {
            let name = args.get(1).map(|name| name.to_string_lossy().into_owned());
            Some((name.unwrap_or_default(), 2))
        }
        Some(first) if first.starts_with("--dialect=") => Some((first.split_once('=')?.1.to_owned(), 1)),
        Some(_) | None => ibeam_agent::environment::variable(DIALECT_VARIABLE).map(|name| (name, 0)),
    }
}

fn dialect_names() -> String {
    DialectName::ALL.iter().map(|dialect| format!("`{dialect}`")).collect::<Vec<_>>().join(", ")
}

/// Reads a regular file; anything else, such as a pipe, is an error instead of a wait.
fn read_file(path: &str) -> io::Result<String> {
    let bytes = regular_file::read(Path::new(path), config_file::MAX_BYTES)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Whether `directory` or one above it contains `.git`. True for a missing directory, because the run rejects it later.
fn is_in_repository(directory: Option<&str>) -> bool {
    let Ok(directory) = Path::new(directory.unwrap_or(".")).canonicalize() else { return true };
    ibeam_agent::git::repository_root(&directory).is_some()
}

/// Returns the arguments of a run that prints contract 1, with further `flags` and a prompt.
fn print_mode_args(flags: impl IntoIterator<Item = String>, prompt: Vec<String>) -> Vec<OsString> {
    let printing = ["--print", "--contract=1", "--output-format=stream-json"].map(str::to_owned);
    let separator = (!prompt.is_empty()).then(|| "--".to_owned());
    printing.into_iter().chain(flags).chain(separator).chain(prompt).map(OsString::from).collect()
}
