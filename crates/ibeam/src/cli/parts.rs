//! The parts of the sub-commands that have parts.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ReportFormat;

/// What of the MCP servers.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum McpCommand {
    /// Every server that the files name; starts none
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
    /// Not supported: servers over HTTP
    #[command(hide = true)]
    Login {
        /// The server
        name: String,
    },
    /// Let runs start a server
    Enable {
        /// The server
        name: String,
    },
    /// Keep runs from starting a server
    Disable {
        /// The server
        name: String,
    },
}

/// What of the trusted workspaces.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum TrustCommand {
    /// Every workspace that is trusted, and every MCP server that was approved
    List {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Trust a workspace no longer
    Forget {
        /// Its directory [default: the workspace]
        directory: Option<PathBuf>,
    },
    /// Say what the project's files would change here if they were trusted
    Show {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
}

/// What of the stored sessions.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum SessionsCommand {
    /// Say whether a session is whole
    Check {
        /// Its id
        id: String,
        /// Keep what is whole and move the rest aside; nothing is deleted
        #[arg(long)]
        repair: bool,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
}

/// What of the configuration.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum ConfigCommand {
    /// Every value and which flag, variable or file set it
    Explain {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Where the files are looked for
    Path,
}

/// What of the policy.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum PolicyCommand {
    /// Say what would become of a command, and what each rule says of it; runs nothing
    #[command(after_help = "Exit codes: 0 allowed, 3 denied, 4 put to a person (refused when printing)")]
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
    /// The rules in force, and what set each
    List {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
}

/// What `policy test` is asked about: one of these.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct TestedAccess {
    /// The command, as the model would give it
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
    /// Reading this file or directory
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Option<String>,
    /// Writing this file
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Option<String>,
    /// Fetching this page
    #[arg(long, value_name = "URL")]
    pub(crate) fetch: Option<String>,
    /// Calling this tool of an MCP server
    #[arg(long, value_name = "SERVER:TOOL")]
    pub(crate) mcp: Option<String>,
}
