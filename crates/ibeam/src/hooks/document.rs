//! The document that a hook finds on its stdin: what every event has, and what each adds.
//!
//! Names and shapes are those of the program whose hooks these are. What the run keeps out of its own record,
//! such as keys, is kept out of here too.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_core::{Access, EndedCall, Redactor};
use ibeam_protocol::tool_output::ShellOutput;
use ibeam_protocol::{
    PermissionMode, RunOutcome, SessionStarted, ToolCall, ToolFailure, ToolOutcome, ToolOutput,
};
use serde_json::{Map, Value, json};

use super::event::Event;

/// What does not change within a run.
pub(super) struct Documents {
    session: String,
    /// A name for the run.
    generation: String,
    model: String,
    workspace: PathBuf,
    mode: PermissionMode,
    redactor: Redactor,
}

impl Documents {
    /// Documents about this run, without the secrets that `redactor` knows.
    pub(super) fn of_run(head: &SessionStarted, generation: String, redactor: Redactor) -> Self {
        Self {
            session: head.session_id.to_string(),
            generation,
            model: head.model.id.clone(),
            workspace: head.cwd.clone(),
            mode: head.permission_mode,
            redactor,
        }
    }

    /// The bytes of a document about `event`, with what is particular to it.
    pub(super) fn bytes(&self, event: Event, particular: &Value) -> Vec<u8> {
        let mut document = json!({
            "conversation_id": self.session,
            "session_id": self.session,
            "generation_id": self.generation,
            "model": self.model,
            "hook_event_name": event.name(),
            "cursor_version": env!("CARGO_PKG_VERSION"),
            "workspace_roots": [self.workspace.to_string_lossy()],
            "user_email": null,
            "transcript_path": null,
        });
        if let (Some(document), Some(particular)) = (document.as_object_mut(), particular.as_object()) {
            document.extend(particular.clone());
        }
        self.redactor.redact_value(&mut document);
        let mut bytes = document.to_string().into_bytes();
        bytes.push(b'\n');
        bytes
    }

    pub(super) fn session_start(&self) -> Value {
        let mode = match self.mode {
            PermissionMode::Default | PermissionMode::Force => "agent",
            PermissionMode::Plan => "plan",
            PermissionMode::Ask => "ask",
        };
        json!({"is_background_agent": false, "composer_mode": mode})
    }

    pub(super) fn session_end(&self, status: &str, error: Option<&str>, ran: Duration) -> Value {
        let mut end = json!({
            "reason": status,
            "duration_ms": millis(ran),
            "is_background_agent": false,
            "final_status": status,
        });
        if let (Some(end), Some(error)) = (end.as_object_mut(), error) {
            end.insert("error_message".to_owned(), error.into());
        }
        end
    }

    /// `preToolUse`, and what the events after a call begin with.
    pub(super) fn tool(&self, told: &Told<'_>) -> Value {
        json!({
            "tool_name": told.name,
            "tool_input": told.input,
            "tool_use_id": told.call.id,
            "cwd": told.directory.to_string_lossy(),
        })
    }

    /// `postToolUse` or `postToolUseFailure`.
    pub(super) fn ended(&self, told: &Told<'_>, ended: &EndedCall) -> (Event, Value) {
        let mut document = self.tool(told);
        let (event, more) = match failure_type(&ended.outcome) {
            None => (Event::PostToolUse, json!({"tool_output": ended.outcome.for_model()})),
            Some(kind) => {
                let said = ended.outcome.for_model();
                let more = json!({"error_message": said, "failure_type": kind, "is_interrupt": false});
                (Event::PostToolUseFailure, more)
            }
        };
        if let (Some(document), Value::Object(more)) = (document.as_object_mut(), more) {
            document.extend(more);
            document.insert("duration".to_owned(), millis(ended.duration).into());
        }
        (event, document)
    }
}

/// A call in the words of hooks.
pub(super) struct Told<'a> {
    pub(super) call: &'a ToolCall,
    /// The tool, e.g. `Shell` or `MCP:search`.
    pub(super) name: String,
    pub(super) input: Value,
    /// Where it works.
    pub(super) directory: PathBuf,
}

impl<'a> Told<'a> {
    /// The call as hooks know it.
    pub(super) fn of(call: &'a ToolCall, workspace: &Path) -> Self {
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
            name if name.starts_with("mcp_") && call.arguments.get("toolName").is_some() => {
                input = call.arguments.get("args").cloned().unwrap_or_default();
                format!("MCP:{}", text("toolName"))
            }
            name => name.to_owned(),
        };
        Self { call, name, input, directory }
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
    pub(super) fn touches(&self, access: &Access) -> Option<(Event, String, Value)> {
        match access {
            Access::Command(command) => {
                let directory = self.directory.to_string_lossy();
                let told = json!({"command": command, "cwd": directory, "sandbox": false});
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
            Access::Read(_) | Access::Write(_) | Access::Nothing => None,
        }
    }
}

/// The event after what a call did, with its subject: a command that ran, a file that was changed.
pub(super) fn did(told: &Told<'_>, ended: &EndedCall) -> Option<(Event, String, Value)> {
    match &ended.outcome {
        ToolOutcome::Success { output, .. } => match output {
            ToolOutput::Shell(output) => Some(ran(output, ended.duration)),
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
            | ToolOutput::Mcp(_)
            | ToolOutput::Free(_) => None,
        },
        ToolOutcome::Failure { failure, .. } => match failure {
            ToolFailure::CommandFailed(output) | ToolFailure::TimedOut { partial: output, .. } => {
                Some(ran(output, ended.duration))
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

/// `completed`, `aborted` or `error`, and the class of the failure.
pub(super) fn status(outcome: &RunOutcome) -> (&'static str, Option<&str>) {
    use ibeam_protocol::Reason;
    match outcome {
        RunOutcome::Completed => ("completed", None),
        RunOutcome::Failed(failure) => match &failure.reason {
            reason @ (Reason::Signalled(_) | Reason::TimedOut { .. } | Reason::OutputClosed) => {
                ("aborted", Some(reason.said()))
            }
            reason => ("error", Some(reason.said())),
        },
    }
}

fn ran(output: &ShellOutput, duration: Duration) -> (Event, String, Value) {
    let told = json!({
        "command": output.command,
        "output": output.interleaved,
        "duration": millis(duration),
        "sandbox": false,
    });
    (Event::AfterShellExecution, output.command.clone(), told)
}

fn edited(told: &Told<'_>, path: &Path, edits: &Value) -> (Event, String, Value) {
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

fn failure_type(outcome: &ToolOutcome) -> Option<&'static str> {
    match outcome {
        ToolOutcome::Success { .. } => None,
        ToolOutcome::Rejected { .. } => Some("permission_denied"),
        ToolOutcome::Failure { failure, .. } => Some(match failure {
            ToolFailure::PermissionDenied { .. } => "permission_denied",
            ToolFailure::TimedOut { .. } => "timeout",
            ToolFailure::FileNotFound { .. }
            | ToolFailure::CommandFailed(_)
            | ToolFailure::SpawnFailed { .. }
            | ToolFailure::McpError(_)
            | ToolFailure::Interrupted
            | ToolFailure::Error { .. } => "error",
        }),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
