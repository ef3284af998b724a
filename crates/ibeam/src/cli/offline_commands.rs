//! The commands that need no home directory, no configuration and no session.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use ibeam_dialects::DialectName;

use super::commands::ReportFormat;

/// A command that needs no home directory, no configuration and no session.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum OfflineCommand {
    /// Show a recorded session, or a file with a stream, again
    #[command(
        after_help = "`--output-format html` prints one page to read, `otlp` and `atif` print traces for other programs: `ibeam help trace`.\n\
                      stderr and the exit code are those of the replay, not of the run: `ibeam help sessions`"
    )]
    Replay {
        /// A session ID or its beginning (at least 4 characters), `-1` for the newest of this directory, `-2` …; or a file with the stream of any agent, `-` for stdin
        #[arg(value_name = "SESSION|FILE", allow_negative_numbers = true)]
        what: OsString,
        /// Only this run, counted from 1 [default: all]
        #[arg(long, value_name = "N")]
        run: Option<NonZeroU64>,
        /// `max`, `real`, or a factor of the real speed, e.g. `2` [default: max]
        #[arg(long, value_name = "SPEED")]
        speed: Option<String>,
        /// Maximum pause between two events, e.g. `2s`
        #[arg(long, value_name = "TIME")]
        longest_pause: Option<String>,
    },
    /// Check whether a stream, or a result of `json`, follows the output contract
    #[command(
        after_help = "Exit codes: 0 it follows the contract, 65 it does not. Rules: `ibeam help check`"
    )]
    Check {
        /// The file with the stream [default: stdin]
        file: Option<PathBuf>,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
        /// Same as `--format json`
        #[arg(long, conflicts_with = "format")]
        json: bool,
    },
    /// Convert the stream of one agent to that of another, and report what is lost
    #[command(
        after_help = "Exit codes: 0 done, 3 with `--fail-on loss` if something is lost, 65 not a stream of that agent.\n\
                      What maps to what: `ibeam help dialects`"
    )]
    Convert {
        /// The agent of the stream: cursor, claude, codex, gemini, opencode
        #[arg(long, value_name = "DIALECT")]
        from: DialectName,
        /// The agent to convert it to [default: cursor, which is the format of ibeam]
        #[arg(long, value_name = "DIALECT")]
        to: Option<DialectName>,
        /// Write what is lost to this file as JSON
        #[arg(long, value_name = "FILE")]
        losses: Option<PathBuf>,
        /// The file with the stream [default: stdin]
        file: Option<PathBuf>,
    },
    /// Print the table of failures: exit code, code, whether to retry
    Errors {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Print the JSON Schema of the output, or of the messages on stdin
    Schema {
        /// The format; `error` is the object of a failure, `input` a line of stdin [default: stream-json]
        #[arg(long, value_enum)]
        format: Option<SchemaFormat>,
    },
    /// Create links `agent` and `cursor-agent` to this program, for clients that start those names
    Shim {
        /// The directory for the links; created if it is missing
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Also create a script `claude` or `codex`, which prints in the format of that agent
        #[arg(long, value_enum, value_delimiter = ',', value_name = "DIALECT")]
        dialect: Vec<ScriptedDialect>,
    },
    /// Print the completion script of a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
}

/// A shell with a completion script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Elvish,
    Fish,
    Zsh,
}

/// A dialect for which `shim` can write a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScriptedDialect {
    /// The script `claude`
    Claude,
    /// The script `codex`
    Codex,
}

/// The output that a schema describes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaFormat {
    /// A description of what `text` prints
    Text,
    /// The object of `json`, or that of a failure
    Json,
    /// A line of `stream-json`
    #[default]
    StreamJson,
    /// The object of a failure, as `--error-format json` and `--error-file` give it
    Error,
    /// A line of stdin with `--input-format stream-json`
    Input,
}
