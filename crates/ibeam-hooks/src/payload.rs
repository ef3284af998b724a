//! The payload that a hook receives on stdin: the common fields, and those of each event.
//!
//! Names and shapes are those of the hooks of the Cursor CLI. Payloads are redacted like the journal.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_core::{Access, AnswerEnd, CompactionStart, FinishedCall, Redactor, Subagent};
use ibeam_protocol::tool_output::{McpOutput, ShellOutput};
use ibeam_protocol::{
    PermissionMode, Reason, RunOutcome, RunStarted, ToolCall, ToolFailure, ToolOutcome, ToolOutput,
};
use serde_json::{Map, Value, json};

use crate::claude_call::ClaudeFields;
use crate::event_name::EventName;
use crate::hook_config::HookFormat;

/// The type of a sub-agent without a definition.
pub const GENERAL_SUBAGENT: &str = "generalPurpose";

/// An event, its subject and its fields.
type EventFields = (EventName, String, Value);

/// A tool call with the names that hooks use.
pub(crate) struct ToolCallPayload<'a> {
    pub(crate) call: &'a ToolCall,
    /// The name of the tool, e.g. `Shell` or `MCP:search`.
    pub(crate) name: String,
    pub(crate) input: Value,
    pub(crate) directory: PathBuf,
    /// Whether commands of the run are sandboxed.
    is_sandboxed: bool,
}

impl<'a> ToolCallPayload<'a> {
    /// Returns the call with the names that hooks use.
    pub(crate) fn new(call: &'a ToolCall, workspace: &Path, is_sandboxed: bool) -> Self {
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
            "web_search" => "WebSearch".to_owned(),
            "task" => "Task".to_owned(),
            name if name.starts_with("mcp_") && call.arguments.get("toolName").is_some() => {
                input = call.arguments.get("args").cloned().unwrap_or_default();
                format!("MCP:{}", text("toolName"))
            }
            name => name.to_owned(),
        };
        Self { call, name, input, directory, is_sandboxed }
    }

    /// Converts the arguments that a hook returned in place of `input` to those of the tool.
    pub(crate) fn tool_arguments(&self, mut arguments: Map<String, Value>) -> Value {
        if self.name == "Shell"
            && let Some(directory) = arguments.remove("cwd")
            && self.input.get("cwd") != Some(&directory)
        {
            arguments.insert("workingDirectory".to_owned(), directory);
        }
        Value::Object(arguments)
    }

    /// Returns the event before the access of the call, with the subject that matchers test and its fields.
    pub(crate) fn access_event(&self, access: &Access) -> Option<EventFields> {
        match access {
            Access::Command { text: command, directory } => {
                // The real path in which the command starts, which is also what the policy checks.
                let directory = directory.as_ref().unwrap_or(&self.directory).to_string_lossy();
                let fields = json!({"command": command, "cwd": directory, "sandbox": self.is_sandboxed});
                Some((EventName::BeforeShellExecution, command.clone(), fields))
            }
            Access::Mcp { server, tool, .. } => {
                let input = self.input.to_string();
                let fields = json!({"tool_name": tool, "tool_input": input, "mcp_server_name": server});
                Some((EventName::BeforeMcpExecution, self.name.clone(), fields))
            }
            Access::Read(path) if self.call.name == "read" => {
                let fields = json!({"file_path": path.to_string_lossy(), "attachments": []});
                Some((EventName::BeforeReadFile, self.name.clone(), fields))
            }
            Access::Task { .. } => {
                let text = |name: &str| self.input.get(name).and_then(Value::as_str).unwrap_or_default();
                let kind = match text("subagentType") {
                    "" => GENERAL_SUBAGENT,
                    kind => kind,
                };
                let fields = json!({
                    "subagent_id": text("agentId"),
                    "subagent_type": kind,
                    "task": text("prompt"),
                    "tool_call_id": self.call.id,
                    "subagent_model": self.input.get("model"),
                    "is_parallel_worker": false,
                });
                Some((EventName::SubagentStart, kind.to_owned(), fields))
            }
            Access::Read(_) | Access::Write(_) | Access::Fetch { .. } | Access::Nothing => None,
        }
    }
}

/// Returns the event after the effect of a call: a command that ran, an answer of an MCP server, a file that was changed.
pub(crate) fn post_tool_event(call: &ToolCallPayload<'_>, finished: &FinishedCall) -> Option<EventFields> {
    match &finished.outcome {
        ToolOutcome::Success { output, .. } => {
            if let ToolOutput::Shell(output) = output {
                Some(command_event(call, output, finished.duration))
            } else if let ToolOutput::Mcp(output) = output {
                mcp_event(call, output, false, finished.duration)
            } else if let ToolOutput::Write(output) = output {
                let edits = json!([{"old_string": "", "new_string": call.input.get("fileText")}]);
                Some(edit_event(call, &output.path, &edits))
            } else if let ToolOutput::Edit(output) = output {
                Some(edit_event(call, &output.path, &replacements(&call.input)))
            } else {
                None
            }
        }
        ToolOutcome::Failure { failure, .. } => match failure {
            ToolFailure::CommandFailed(output) | ToolFailure::TimedOut { partial: output, .. } => {
                Some(command_event(call, output, finished.duration))
            }
            ToolFailure::FileNotFound { .. }
            | ToolFailure::PermissionDenied { .. }
            | ToolFailure::SpawnFailed { .. }
            | ToolFailure::TaskFailed { .. }
            | ToolFailure::Interrupted
            | ToolFailure::Error { .. } => None,
            ToolFailure::McpError(output) => mcp_event(call, output, true, finished.duration),
        },
        ToolOutcome::Rejected { .. } => None,
    }
}

fn command_event(call: &ToolCallPayload<'_>, output: &ShellOutput, duration: Duration) -> EventFields {
    let fields = json!({
        "command": output.command,
        "output": output.interleaved,
        "duration": millis(duration),
        "sandbox": call.is_sandboxed,
    });
    (EventName::AfterShellExecution, output.command.clone(), fields)
}

/// Returns the event after the answer of an MCP server; `None` for a call that is not a tool of a server.
fn mcp_event(
    call: &ToolCallPayload<'_>,
    output: &McpOutput,
    is_error: bool,
    duration: Duration,
) -> Option<EventFields> {
    let tool = call.name.strip_prefix("MCP:")?;
    let content: Vec<Value> =
        output.content.iter().map(|text| json!({"type": "text", "text": text})).collect();
    let fields = json!({
        "tool_name": tool,
        "tool_input": call.input.to_string(),
        "mcp_server_name": call.call.arguments.get("providerIdentifier"),
        "result_json": json!({"content": content, "isError": is_error}).to_string(),
        "duration": millis(duration),
    });
    Some((EventName::AfterMcpExecution, call.name.clone(), fields))
}

fn edit_event(call: &ToolCallPayload<'_>, path: &Path, edits: &Value) -> EventFields {
    let fields = json!({"file_path": path.to_string_lossy(), "edits": edits});
    (EventName::AfterFileEdit, call.name.clone(), fields)
}

/// Returns the replacements of an edit; an empty list for a patch.
fn replacements(input: &Value) -> Value {
    let one = input.get("strReplace").into_iter();
    let several = input.pointer("/multiStrReplace/edits").and_then(Value::as_array).into_iter().flatten();
    let pair = |edit: &Value| json!({"old_string": edit.get("oldText"), "new_string": edit.get("newText")});
    one.chain(several).map(pair).collect()
}

/// Builds the payloads of a run. Stores the fields that all payloads have in common.
pub(crate) struct PayloadBuilder {
    session: String,
    /// An identifier of the run.
    generation: String,
    model: String,
    workspace: PathBuf,
    mode: PermissionMode,
    is_resumed: bool,
    redactor: Redactor,
}

impl PayloadBuilder {
    /// Returns the builder for the run that `head` describes. Payloads do not contain the secrets of `redactor`.
    pub(crate) fn new(head: &RunStarted, generation: String, redactor: Redactor) -> Self {
        Self {
            session: head.session_id.to_string(),
            generation,
            model: head.model.id.clone(),
            workspace: head.cwd.clone(),
            mode: head.permission_mode,
            is_resumed: head.resumed,
            redactor,
        }
    }

    /// Returns the payload of `event` for hooks of `format` as a line of JSON: the common fields, then `fields`.
    pub(crate) fn payload_line(&self, format: HookFormat, event: EventName, fields: &Value) -> Vec<u8> {
        let mut payload = match format {
            HookFormat::HooksFile => self.common_fields(event),
            HookFormat::ClaudeSettings => self.claude_common_fields(event),
        };
        if let (Some(payload), Some(fields)) = (payload.as_object_mut(), fields.as_object()) {
            payload.extend(fields.clone());
        }
        self.redactor.redact_value(&mut payload);
        let mut bytes = payload.to_string().into_bytes();
        bytes.push(b'\n');
        bytes
    }

    fn common_fields(&self, event: EventName) -> Value {
        json!({
            "conversation_id": self.session,
            "session_id": self.session,
            "generation_id": self.generation,
            "model": self.model,
            "hook_event_name": event.as_str(),
            "cursor_version": env!("CARGO_PKG_VERSION"),
            "workspace_roots": [self.workspace.to_string_lossy()],
            "user_email": null,
            "transcript_path": null,
        })
    }

    fn claude_common_fields(&self, event: EventName) -> Value {
        let mode = match self.mode {
            PermissionMode::Default => "default",
            PermissionMode::Force => "bypassPermissions",
            PermissionMode::Plan | PermissionMode::Ask => "plan",
        };
        json!({
            "session_id": self.session,
            // ibeam stores no transcript in the format of Claude Code.
            "transcript_path": "",
            "cwd": self.workspace.to_string_lossy(),
            "permission_mode": mode,
            "hook_event_name": event.claude_name(),
        })
    }

    /// Returns the ID of the session.
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// Removes secrets from a value for hooks.
    pub(crate) fn redact(&self, value: &mut Value) {
        self.redactor.redact_value(value);
    }

    /// Returns the fields of `SessionStart` in the settings of Claude Code.
    pub(crate) fn claude_session_start(&self) -> ClaudeFields {
        let source = if self.is_resumed { "resume" } else { "startup" };
        ClaudeFields::new(source, json!({"source": source, "model": self.model}))
    }

    /// Returns the fields of `preCompact`. A window that is not known is null, and so is the share of it.
    pub(crate) fn compaction(start: CompactionStart) -> Value {
        let percent =
            start.window.filter(|window| *window > 0).map(|window| start.tokens.saturating_mul(100) / window);
        json!({
            "trigger": "auto",
            "context_usage_percent": percent,
            "context_tokens": start.tokens,
            "context_window_size": start.window,
            "message_count": start.messages,
            "messages_to_compact": start.replaced,
            "is_first_compaction": start.is_first,
        })
    }

    /// Returns the fields of `stop`.
    pub(crate) fn stop(&self, end: AnswerEnd<'_>) -> Value {
        let (status, _) = run_status(end.outcome);
        json!({"status": status, "loop_count": end.follow_ups})
    }

    /// Returns the fields of `subagentStop`.
    pub(crate) fn subagent_stop(&self, subagent: &Subagent, end: AnswerEnd<'_>) -> Value {
        let (status, _) = run_status(end.outcome);
        json!({
            "subagent_id": subagent.id,
            "subagent_type": subagent.kind,
            "task": subagent.task,
            "subagent_model": subagent.model,
            "parent_conversation_id": self.session,
            "status": status,
            "summary": end.text,
            "duration_ms": end.duration_ms,
            "tool_call_count": end.tool_calls,
            "loop_count": end.follow_ups,
            "agent_transcript_path": null,
        })
    }

    /// Returns the fields of `sessionStart`.
    pub(crate) fn session_start(&self) -> Value {
        let mode = match self.mode {
            PermissionMode::Default | PermissionMode::Force => "agent",
            PermissionMode::Plan => "plan",
            PermissionMode::Ask => "ask",
        };
        json!({"is_background_agent": false, "composer_mode": mode})
    }

    /// Returns the fields of `sessionEnd`.
    pub(crate) fn session_end(&self, status: &str, error: Option<&str>, duration: Duration) -> Value {
        let mut end = json!({
            "reason": status,
            "duration_ms": millis(duration),
            "is_background_agent": false,
            "final_status": status,
        });
        if let (Some(end), Some(error)) = (end.as_object_mut(), error) {
            end.insert("error_message".to_owned(), error.into());
        }
        end
    }

    /// Returns the fields of `preToolUse`, which the events after a call have as well.
    pub(crate) fn tool_call(&self, call: &ToolCallPayload<'_>) -> Value {
        json!({
            "tool_name": call.name,
            "tool_input": call.input,
            "tool_use_id": call.call.id,
            "cwd": call.directory.to_string_lossy(),
        })
    }

    /// Returns `postToolUse` or `postToolUseFailure` with its fields.
    pub(crate) fn finished_call(
        &self,
        call: &ToolCallPayload<'_>,
        finished: &FinishedCall,
    ) -> (EventName, Value) {
        let mut payload = self.tool_call(call);
        let (event, more) = match failure_type(&finished.outcome) {
            None => (EventName::PostToolUse, json!({"tool_output": finished.outcome.for_model()})),
            Some(kind) => {
                let message = finished.outcome.for_model();
                let more = json!({"error_message": message, "failure_type": kind, "is_interrupt": false});
                (EventName::PostToolUseFailure, more)
            }
        };
        if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
            payload.extend(more);
            payload.insert("duration".to_owned(), millis(finished.duration).into());
        }
        (event, payload)
    }
}

/// Returns `completed`, `aborted` or `error`, and the message of the failure.
pub(crate) fn run_status(outcome: &RunOutcome) -> (&'static str, Option<String>) {
    match outcome {
        RunOutcome::Completed => ("completed", None),
        RunOutcome::Failed(failure) => match &failure.reason {
            reason @ (Reason::Signalled(_) | Reason::TimedOut { .. } | Reason::OutputClosed) => {
                ("aborted", Some(reason.detail()))
            }
            reason => ("error", Some(reason.detail())),
        },
    }
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
            | ToolFailure::TaskFailed { .. }
            | ToolFailure::Interrupted
            | ToolFailure::Error { .. } => "error",
        }),
    }
}

/// Returns whole milliseconds, saturating.
fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
