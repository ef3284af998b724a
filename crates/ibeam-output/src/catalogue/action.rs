//! The line that `text` prints for a tool call.

use super::words::Words;

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

pub(crate) fn words(action: &Action<'_>) -> Words {
    match action {
        Action::Read => Words::new("action-read"),
        Action::Edit => Words::new("action-edit"),
        Action::Create => Words::new("action-create"),
        Action::Shell => Words::new("action-shell"),
        Action::Delete => Words::new("action-delete"),
        Action::Search => Words::new("action-search"),
        Action::Find => Words::new("action-find"),
        Action::List => Words::new("action-list"),
        Action::Todos => Words::new("action-todos"),
        Action::Fetch => Words::new("action-fetch"),
        Action::Mcp => Words::new("action-mcp"),
        Action::Other { tool } => Words::new("action-other").text("tool", tool),
    }
}
