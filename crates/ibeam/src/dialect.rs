//! `--dialect`: ibeam with the command line of another program.
//!
//! The arguments of the other program are translated before the arguments of ibeam are parsed. A flag without a counterpart is left out with a notice. If leaving it out
//! would allow the run more, the flag is a usage error.

mod claude;
mod codex;
mod flag_table;

use std::ffi::OsString;
use std::io;
use std::path::Path;

use ibeam_config::config_file;
use ibeam_dialects::DialectName;
use ibeam_files::regular_file;
use ibeam_protocol::{Reason, sentence};

use crate::cli::ParseExit;
use ibeam_serve::dialect::DialectOptions;

/// The variable that selects a dialect like `--dialect` as the first argument.
const DIALECT_VARIABLE: &str = "IBEAM_DIALECT";

/// The dialects whose arguments are translated. The other dialects take the arguments of ibeam.
const TRANSLATORS: &[(DialectName, Translator)] =
    &[(DialectName::Claude, claude::translate), (DialectName::Codex, codex::translate)];

/// Translates the arguments after the name of the dialect.
type Translator = fn(&[OsString], &Env<'_>) -> Result<TranslatedArgs, ParseExit>;

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
        ParseExit::from(flag_table::usage_error(sentence!(
            "unknown dialect `{name}`; use one of: {names}",
            name,
            names = dialect_names()
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
