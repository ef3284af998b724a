//! The document that a hook finds on its stdin: what every event has, and what each adds.
//!
//! Names and shapes are those of the program whose hooks these are. What the run keeps out of its own record,
//! such as keys, is kept out of here too.

use std::path::PathBuf;
use std::time::Duration;

use ibeam_core::{FinishedCall, Redactor};
use ibeam_protocol::{PermissionMode, Reason, RunOutcome, SessionStarted, ToolFailure, ToolOutcome};
use serde_json::{Value, json};

use super::event::Event;
use super::payload::ToolCallPayload;

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
    pub(super) fn tool(&self, told: &ToolCallPayload<'_>) -> Value {
        json!({
            "tool_name": told.name,
            "tool_input": told.input,
            "tool_use_id": told.call.id,
            "cwd": told.directory.to_string_lossy(),
        })
    }

    /// `postToolUse` or `postToolUseFailure`.
    pub(super) fn ended(&self, told: &ToolCallPayload<'_>, ended: &FinishedCall) -> (Event, Value) {
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

/// `completed`, `aborted` or `error`, and the class of the failure.
pub(super) fn status(outcome: &RunOutcome) -> (&'static str, Option<String>) {
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
            | ToolFailure::Interrupted
            | ToolFailure::Error { .. } => "error",
        }),
    }
}

/// Whole milliseconds, saturating.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
