//! The parts of the sub-commands that have parts.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ReportFormat;

/// What of the MCP servers.
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
    /// Not supported: servers over HTTP
    #[command(hide = true)]
    Login {
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
}

/// What of the trusted workspaces.
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

/// What of the stored sessions.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum SessionsCommand {
    /// Check whether a session is intact
    Check {
        /// The session ID
        id: String,
        /// Keep what is intact and move the rest aside; nothing is deleted
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
    /// Show every value and which flag, variable or file set it
    Explain {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// List the paths of the configuration files
    Path,
}

/// What of the policy.
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

/// What `policy test` is asked about: one of these.
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
