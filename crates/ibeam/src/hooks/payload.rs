//! A call in the words of hooks: the tool's name, its input, what it is about to touch, what it did.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_core::{Access, FinishedCall};
use ibeam_protocol::tool_output::ShellOutput;
use ibeam_protocol::{ToolCall, ToolFailure, ToolOutcome, ToolOutput};
use serde_json::{Map, Value, json};

use super::document::millis;
use super::event::Event;

/// A call in the words of hooks.
pub(super) struct ToolCallPayload<'a> {
    pub(super) call: &'a ToolCall,
    /// The tool, e.g. `Shell` or `MCP:search`.
    pub(super) name: String,
    pub(super) input: Value,
    /// Where it works.
    pub(super) directory: PathBuf,
    /// Commands of the run are confined.
    sandboxed: bool,
}

impl<'a> ToolCallPayload<'a> {
    /// The call as hooks know it.
    pub(super) fn of(call: &'a ToolCall, workspace: &Path, sandboxed: bool) -> Self {
        let text = |name: &str| call.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut directory = workspace.to_owned();
        let mut input = call.arguments.clone();
        let name = match call.name.as_str() {
            "shell" => {
                if !text("workingDirectory").is_empty() {
                    directory = workspace.join(text("workingDirectory"));
                }
                if let Some(input) = input.as_object_mut() {
                    input.insert("cwd".to_owned(), directory.to_string_lossy().into());
                }
                "Shell".to_owned()
            }
            "read" => "Read".to_owned(),
            "write" => "Write".to_owned(),
            "edit" => "Edit".to_owned(),
            "delete" => "Delete".to_owned(),
            "glob" => "Glob".to_owned(),
            "grep" => "Grep".to_owned(),
            "ls" => "LS".to_owned(),
            "update_todos" => "TodoWrite".to_owned(),
            "web_fetch" => "WebFetch".to_owned(),
            name if name.starts_with("mcp_") && call.arguments.get("toolName").is_some() => {
                input = call.arguments.get("args").cloned().unwrap_or_default();
                format!("MCP:{}", text("toolName"))
            }
            name => name.to_owned(),
        };
        Self { call, name, input, directory, sandboxed }
    }

    /// The arguments that a hook put in the place of `input`, as the tool takes them.
    pub(super) fn rewritten(&self, mut arguments: Map<String, Value>) -> Value {
        if self.name == "Shell"
            && let Some(directory) = arguments.remove("cwd")
            && self.input.get("cwd") != Some(&directory)
        {
            arguments.insert("workingDirectory".to_owned(), directory);
        }
        Value::Object(arguments)
    }

    /// The event before what the call is about to touch, with its subject: what matchers look at.
    pub(super) fn access_event(&self, access: &Access) -> Option<(Event, String, Value)> {
        match access {
            Access::Command { text: command, directory } => {
                // Links followed: where the command starts, and what policy judges.
                let directory = directory.as_ref().unwrap_or(&self.directory).to_string_lossy();
                let told = json!({"command": command, "cwd": directory, "sandbox": self.sandboxed});
                Some((Event::BeforeShellExecution, command.clone(), told))
            }
            Access::Mcp { server, tool, .. } => {
                let input = self.input.to_string();
                let told = json!({"tool_name": tool, "tool_input": input, "mcp_server_name": server});
                Some((Event::BeforeMcpExecution, self.name.clone(), told))
            }
            Access::Read(path) if self.call.name == "read" => {
                let told = json!({"file_path": path.to_string_lossy(), "attachments": []});
                Some((Event::BeforeReadFile, self.name.clone(), told))
            }
            Access::Read(_) | Access::Write(_) | Access::Fetch { .. } | Access::Nothing => None,
        }
    }
}

/// The event after what a call did, with its subject: a command that ran, a file that was changed.
pub(super) fn post_tool_event(
    told: &ToolCallPayload<'_>,
    ended: &FinishedCall,
) -> Option<(Event, String, Value)> {
    match &ended.outcome {
        ToolOutcome::Success { output, .. } => match output {
            ToolOutput::Shell(output) => Some(ran(told, output, ended.duration)),
            ToolOutput::Write(output) => {
                let edits = json!([{"old_string": "", "new_string": told.input.get("fileText")}]);
                Some(edited(told, &output.path, &edits))
            }
            ToolOutput::Edit(output) => Some(edited(told, &output.path, &replacements(&told.input))),
            ToolOutput::Read(_)
            | ToolOutput::Grep(_)
            | ToolOutput::Glob(_)
            | ToolOutput::Ls(_)
            | ToolOutput::Delete(_)
            | ToolOutput::Todos(_)
            | ToolOutput::WebFetch(_)
            | ToolOutput::Mcp(_)
            | ToolOutput::Other(_) => None,
        },
        ToolOutcome::Failure { failure, .. } => match failure {
            ToolFailure::CommandFailed(output) | ToolFailure::TimedOut { partial: output, .. } => {
                Some(ran(told, output, ended.duration))
            }
            ToolFailure::FileNotFound { .. }
            | ToolFailure::PermissionDenied { .. }
            | ToolFailure::SpawnFailed { .. }
            | ToolFailure::McpError(_)
            | ToolFailure::Interrupted
            | ToolFailure::Error { .. } => None,
        },
        ToolOutcome::Rejected { .. } => None,
    }
}

fn ran(told: &ToolCallPayload<'_>, output: &ShellOutput, duration: Duration) -> (Event, String, Value) {
    let told = json!({
        "command": output.command,
        "output": output.interleaved,
        "duration": millis(duration),
        "sandbox": told.sandboxed,
    });
    (Event::AfterShellExecution, output.command.clone(), told)
}

fn edited(told: &ToolCallPayload<'_>, path: &Path, edits: &Value) -> (Event, String, Value) {
    let document = json!({"file_path": path.to_string_lossy(), "edits": edits});
    (Event::AfterFileEdit, told.name.clone(), document)
}

/// What an edit replaced; nothing for a patch, which has no such pairs.
fn replacements(input: &Value) -> Value {
    let one = input.get("strReplace").into_iter();
    let several = input.pointer("/multiStrReplace/edits").and_then(Value::as_array).into_iter().flatten();
    let pair = |edit: &Value| json!({"old_string": edit.get("oldText"), "new_string": edit.get("newText")});
    one.chain(several).map(pair).collect()
}
