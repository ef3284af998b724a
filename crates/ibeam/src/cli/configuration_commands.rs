//! The arguments of the commands on what configures a run: `config`, `policy`, `hooks`,
//! `quarantine` and `trust`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::commands::ReportFormat;

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

/// The commands of `quarantine`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum QuarantineCommand {
    /// List what was moved to the quarantine, with the place that it came from
    List {
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
    },
    /// Move a file or directory back; nothing is overwritten
    Restore {
        /// Its name in the list
        #[arg(value_name = "ID")]
        id: String,
        /// Another place for it [default: where it came from]
        #[arg(long, value_name = "PATH")]
        to: Option<PathBuf>,
        /// Text or JSON
        #[arg(long, value_enum)]
        format: Option<ReportFormat>,
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
