//! Lines that sub-commands print about what they changed or did not find.

use super::message::Message;

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

pub(crate) fn message_for(line: &SubcommandLine<'_>) -> Message {
    match *line {
        SubcommandLine::LoggedOut { count } => Message::new("command-logged-out").count("count", count),
        SubcommandLine::TrustRemoved { path } => Message::new("command-forgotten").text("path", path),
        SubcommandLine::NotTrusted { path } => Message::new("command-nothing-to-forget").text("path", path),
        SubcommandLine::NoTrustedWorkspaces => Message::new("command-nothing-trusted"),
        SubcommandLine::ApprovedTools { since, count } => {
            Message::new("command-approved-tools").text("since", since).count("count", count)
        }
        SubcommandLine::NoServers => Message::new("command-no-servers"),
    }
}
