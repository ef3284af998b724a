//! The line that `text` prints for a tool call.

use super::message::Message;

/// What was done, as people name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// A file was read.
    Read,
    /// A file was changed, or written over.
    Edit,
    /// A new file was written.
    Create,
    /// A command ran.
    Shell,
    /// A file was deleted.
    Delete,
    /// Contents were searched.
    Search,
    /// Files were found by name.
    Find,
    /// A directory was listed.
    List,
    /// The to-do list changed.
    Todos,
    /// A page was fetched from the web.
    Fetch,
    /// A tool of an MCP server was called.
    Mcp,
    /// A tool without a phrase of its own.
    Other {
        /// Its name.
        tool: &'a str,
    },
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As asked.
    Done,
    /// It was tried and failed.
    Failed,
    /// It was refused and not tried.
    Refused,
}

impl Ending {
    pub(crate) fn attribute(self) -> Option<&'static str> {
        match self {
            Self::Done => None,
            Self::Failed => Some("failed"),
            Self::Refused => Some("refused"),
        }
    }
}

pub(crate) fn message_for(action: &Action<'_>) -> Message {
    match action {
        Action::Read => Message::new("action-read"),
        Action::Edit => Message::new("action-edit"),
        Action::Create => Message::new("action-create"),
        Action::Shell => Message::new("action-shell"),
        Action::Delete => Message::new("action-delete"),
        Action::Search => Message::new("action-search"),
        Action::Find => Message::new("action-find"),
        Action::List => Message::new("action-list"),
        Action::Todos => Message::new("action-todos"),
        Action::Fetch => Message::new("action-fetch"),
        Action::Mcp => Message::new("action-mcp"),
        Action::Other { tool } => Message::new("action-other").text("tool", tool),
    }
}
