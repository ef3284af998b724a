//! What a call is about to touch.

use std::path::PathBuf;

/// The access a call needs, as its tool declares it. Paths are absolute and resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing outside our own process.
    Nothing,
    /// Reads a file or a tree.
    Read(PathBuf),
    /// Creates, changes or removes a file.
    Write(PathBuf),
    /// Runs a command with `bash -c`.
    Command {
        /// The command.
        text: String,
        /// The directory in which it starts; `None` is the workspace.
        directory: Option<PathBuf>,
    },
    /// Fetches from the web.
    Fetch {
        /// The address, as the model gave it.
        url: String,
    },
    /// Calls a tool of an MCP server.
    Mcp {
        /// The name that people gave the server.
        server: String,
        /// The tool's name, as the server has it.
        tool: String,
        /// The server says that the tool changes nothing.
        read_only: bool,
    },
}

impl Access {
    /// Returns the access of a command that starts in the workspace.
    pub fn command(text: impl Into<String>) -> Self {
        Self::Command { text: text.into(), directory: None }
    }

    /// True when the call changes nothing, so that several may run at once.
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::Nothing | Self::Read(_) | Self::Fetch { .. } => true,
            Self::Mcp { read_only, .. } => *read_only,
            Self::Write(_) | Self::Command { .. } => false,
        }
    }
}
