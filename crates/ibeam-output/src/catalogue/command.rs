//! Lines that sub-commands print about what they changed or did not find.

use super::words::Words;

/// A line of a sub-command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubcommandLine<'a> {
    /// `logout` deleted so many keys, which may be none.
    LoggedOut {
        /// How many.
        count: u64,
    },
    /// `trust forget` removed a workspace from the list.
    TrustRemoved {
        /// The workspace.
        path: &'a str,
    },
    /// `trust forget` where no workspace is trusted.
    NotTrusted {
        /// The workspace.
        path: &'a str,
    },
    /// `trust list` where no workspace is trusted.
    NoTrustedWorkspaces,
    /// What `trust list` adds to an approved MCP server.
    ApprovedTools {
        /// The day of the approval.
        since: &'a str,
        /// How many tools were approved.
        count: u64,
    },
    /// `mcp list` where no server is configured.
    NoServers,
}

pub(crate) fn words(line: &SubcommandLine<'_>) -> Words {
    match *line {
        SubcommandLine::LoggedOut { count } => Words::new("command-logged-out").count("count", count),
        SubcommandLine::TrustRemoved { path } => Words::new("command-forgotten").text("path", path),
        SubcommandLine::NotTrusted { path } => Words::new("command-nothing-to-forget").text("path", path),
        SubcommandLine::NoTrustedWorkspaces => Words::new("command-nothing-trusted"),
        SubcommandLine::ApprovedTools { since, count } => {
            Words::new("command-approved-tools").text("since", since).count("count", count)
        }
        SubcommandLine::NoServers => Words::new("command-no-servers"),
    }
}
