//! The arguments of `sessions`.

use std::path::PathBuf;

use clap::Subcommand;

use crate::flags::ReportFormat;

/// The commands of `sessions`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum SessionsCommand {
    /// List the sessions of this directory with their sizes, newest first
    List {
        /// List the sessions of all directories
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what is known about a session: its directory, size, runs, tokens, cost, changed files
    Show {
        /// The session ID or its beginning (at least 4 characters), or `-1` for the newest of this directory, `-2` …
        #[arg(value_name = "SESSION", allow_negative_numbers = true)]
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Find sessions by words in their prompts and answers
    Search {
        /// The text to find; upper and lower case are equal
        #[arg(required = true)]
        words: Vec<String>,
        /// Search the sessions of all directories
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Give a session another title
    Rename {
        /// The session ID or its beginning (at least 4 characters), or `-1` for the newest of this directory, `-2` …
        #[arg(value_name = "SESSION", allow_negative_numbers = true)]
        id: String,
        /// The title; without one, the first prompt is the title again
        words: Vec<String>,
    },
    /// Remove sessions and their checkpoints
    #[command(
        after_help = "A session that is in use is not removed. The files of the workspace stay as they are."
    )]
    Rm {
        /// The session IDs or their beginnings (at least 4 characters each), or `-1` for the newest of this directory, `-2` …
        #[arg(value_name = "SESSION", required = true, allow_negative_numbers = true)]
        ids: Vec<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Remove the sessions of this directory that were not used for some days
    #[command(
        after_help = "A session that is in use is not removed. The files of the workspace stay as they are."
    )]
    Prune {
        /// The number of days
        #[arg(long, value_name = "DAYS")]
        older_than: u64,
        /// Remove the sessions of all directories
        #[arg(long)]
        all: bool,
        /// List what would be removed, and remove nothing
        #[arg(long)]
        dry_run: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Write a session with its large payloads to one file
    Export {
        /// The session ID or its beginning (at least 4 characters), or `-1` for the newest of this directory, `-2` …
        #[arg(value_name = "SESSION", allow_negative_numbers = true)]
        id: String,
        /// The new file [default: stdout]
        file: Option<PathBuf>,
    },
    /// Store an exported session, after a check
    Import {
        /// The file; `-` is stdin
        file: PathBuf,
    },
    /// Check whether a session is intact
    Check {
        /// The session ID or its beginning (at least 4 characters), or `-1` for the newest of this directory, `-2` …
        #[arg(value_name = "SESSION", allow_negative_numbers = true)]
        id: String,
        /// Keep what is intact and move the rest aside; nothing is deleted
        #[arg(long)]
        repair: bool,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
}
