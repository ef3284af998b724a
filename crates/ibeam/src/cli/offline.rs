//! Commands that need no home, no configuration and no session: what they are.
//!
//! What such a user has may be broken or missing altogether; only a session that `replay` names is looked for.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use ibeam_dialects::Dialect;

use super::ReportFormat;

/// A command that works on what it is given.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Offline {
    /// Show what was recorded again, offline: a session, or a file with a stream
    #[command(after_help = "With `--output-format html` it makes one page to read.\n\
                      stderr and the exit code are those of the replay, not of the run: docs/sessions.md")]
    Replay {
        /// A session's id, `-1` for the newest of this directory, `-2` …; or a file, `-` for stdin
        #[arg(value_name = "SESSION|FILE", allow_negative_numbers = true)]
        what: OsString,
        /// That run alone, from 1 [default: all]
        #[arg(long, value_name = "N")]
        run: Option<NonZeroU64>,
        /// `max`, `real`, or how many times as fast as it happened [default: max]
        #[arg(long, value_name = "SPEED")]
        speed: Option<String>,
        /// The longest pause between two events, e.g. `2s`
        #[arg(long, value_name = "TIME")]
        longest_pause: Option<String>,
    },
    /// Say whether a stream, or a result of `json`, keeps the output contract
    #[command(after_help = "Exit codes: 0 it does, 65 it does not. Rules: docs/check.md")]
    Check {
        /// What was printed; `-` or nothing is stdin
        file: Option<PathBuf>,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
        /// The same as `--format json`
        #[arg(long, conflicts_with = "format")]
        json: bool,
    },
    /// Turn the stream of one agent into that of another, and say what is lost
    #[command(
        after_help = "Exit codes: 0 done, 3 with `--fail-on loss` if something is lost, 65 not of that agent.\n\
                      What maps to what: docs/dialects.md"
    )]
    Convert {
        /// Whose stream it is: cursor, claude, codex, gemini, opencode
        #[arg(long, value_name = "DIALECT")]
        from: Dialect,
        /// Whose stream it becomes [default: cursor, which is ours]
        #[arg(long, value_name = "DIALECT")]
        to: Option<Dialect>,
        /// Write what is lost to this file, as JSON
        #[arg(long, value_name = "FILE")]
        losses: Option<PathBuf>,
        /// The stream; `-` or nothing is stdin
        file: Option<PathBuf>,
    },
    /// Print the table of failures: exit code, code, whether to try again
    Errors {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Print the JSON Schema of what is printed
    Schema {
        /// Of which output format; `error` is the object of a failure alone [default: stream-json]
        #[arg(long, value_enum)]
        format: Option<SchemaFormat>,
    },
    /// Make links `agent` and `cursor-agent` to this program, for clients that start it under those names
    Shim {
        /// Where; made if it is missing
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// A script `claude` or `codex` too, which speaks that dialect
        #[arg(long, value_enum, value_delimiter = ',', value_name = "DIALECT")]
        dialect: Vec<ScriptedDialect>,
    },
    /// Print the completions of a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

/// A dialect whose program clients start by a name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScriptedDialect {
    /// Of `claude`
    Claude,
    /// Of `codex`
    Codex,
}

/// What a schema is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaFormat {
    /// What `text` prints, told rather than defined
    Text,
    /// The object of `json`, or that of a failure
    Json,
    /// A line of `stream-json`
    #[default]
    StreamJson,
    /// The object of a failure, as `--error-format json` and `--error-file` give it
    Error,
}
