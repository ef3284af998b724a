//! The four things the embedded model can do, as the lines it writes and as the calls that others see.

use ibeam_protocol::{CallId, ToolCall};
use serde_json::{Value, json};

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// See a file.
    Read { path: String },
    /// Make a file, or make it anew.
    Write { path: String, text: String },
    /// Run one line of shell.
    Shell { command: String },
}

impl Action {
    /// The call that carries it out.
    pub(crate) fn into_call(self, id: CallId) -> ToolCall {
        let (name, arguments) = match self {
            Self::Read { path } => ("read", json!({ "path": path })),
            Self::Write { path, text } => ("write", json!({ "path": path, "fileText": text })),
            Self::Shell { command } => ("shell", json!({ "command": command })),
        };
        ToolCall { id, name: name.to_owned(), arguments }
    }

    /// The step that `call` was, where it is one of ours: another model may have begun the conversation.
    pub(crate) fn from_call(call: &ToolCall) -> Option<Self> {
        let text = |key: &str| call.arguments.get(key).and_then(Value::as_str).map(str::to_owned);
        match call.name.as_str() {
            "read" => Some(Self::Read { path: text("path")? }),
            "write" => Some(Self::Write { path: text("path")?, text: text("fileText")? }),
            "shell" => Some(Self::Shell { command: text("command")? }),
            _ => None,
        }
    }

    /// The lines as the model writes them.
    pub(crate) fn lines(&self) -> String {
        match self {
            Self::Read { path } => format!("ACTION: read_file\nPATH: {path}"),
            Self::Write { path, text } => {
                let text = text.trim_end_matches('\n');
                format!("ACTION: write_file\nPATH: {path}\nCONTENT:\n```\n{text}\n```")
            }
            Self::Shell { command } => format!("ACTION: shell\nCOMMAND: {command}"),
        }
    }
}
