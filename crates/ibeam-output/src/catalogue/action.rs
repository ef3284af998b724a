//! The line that `text` prints for a tool call.

use ibeam_protocol::{ToolCall, ToolOutcome, ToolOutput};
use serde::Serialize;
use serde_json::Value;

use super::lines::CatalogueLine;
use crate::tool_call_line::mcp_tool;

/// The action of a call, as the text for people names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action<'a> {
    /// A file was read.
    Read,
    /// A file was changed or overwritten.
    Edit,
    /// A new file was written.
    Create,
    /// A command ran.
    Shell,
    /// A command was started and keeps running.
    Background,
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
    /// The web was searched.
    WebSearch,
    /// A tool of an MCP server was called.
    Mcp,
    /// A sub-agent ran.
    Task,
    /// A tool without its own text.
    Other {
        /// The name of the tool.
        tool: &'a str,
    },
}

/// The ending of a call, as the text for people distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActionEnding {
    /// The call succeeded.
    Done,
    /// The call ran and failed.
    Failed,
    /// The call was refused and did not run.
    Refused,
}

impl CatalogueLine for Action<'_> {
    const PREFIX: &'static str = "action";
}

impl<'a> Action<'a> {
    /// Returns the action of a call that ended with `outcome`.
    pub(crate) fn for_call(call: &'a ToolCall, outcome: &ToolOutcome) -> Self {
        match call.name.as_str() {
            "read" => Self::Read,
            "write" if is_overwrite(outcome) => Self::Edit,
            "write" => Self::Create,
            "edit" => Self::Edit,
            "shell" if is_background(call, outcome) => Self::Background,
            "shell" => Self::Shell,
            "grep" => Self::Search,
            "glob" => Self::Find,
            "ls" => Self::List,
            "delete" => Self::Delete,
            "update_todos" => Self::Todos,
            "web_fetch" => Self::Fetch,
            "web_search" => Self::WebSearch,
            "task" => Self::Task,
            _ if mcp_tool(call).is_some() => Self::Mcp,
            tool => Self::Other { tool },
        }
    }
}

/// Whether a command runs in the background, or was to run there.
fn is_background(call: &ToolCall, outcome: &ToolOutcome) -> bool {
    match outcome {
        ToolOutcome::Success { output: ToolOutput::Shell(shell), .. } => shell.is_background,
        ToolOutcome::Success { .. } => false,
        ToolOutcome::Failure { .. } | ToolOutcome::Rejected { .. } => {
            call.arguments.get("isBackground").and_then(Value::as_bool) == Some(true)
        }
    }
}

fn is_overwrite(outcome: &ToolOutcome) -> bool {
    matches!(outcome, ToolOutcome::Success { output: ToolOutput::Write(written), .. } if !written.created)
}

impl ActionEnding {
    /// Returns the ending of a call with this outcome.
    pub(crate) fn for_outcome(outcome: &ToolOutcome) -> Self {
        match outcome {
            ToolOutcome::Success { .. } => Self::Done,
            ToolOutcome::Failure { .. } => Self::Failed,
            ToolOutcome::Rejected { .. } => Self::Refused,
        }
    }

    /// Returns the attribute of the message that has the text for this ending.
    pub(crate) fn attribute(self) -> Option<&'static str> {
        match self {
            Self::Done => None,
            Self::Failed => Some("failed"),
            Self::Refused => Some("refused"),
        }
    }
}
