//! Tool calls and events in the form that hooks of the settings of Claude Code receive.

use ibeam_core::{AnswerEnd, FinishedCall, Subagent};
use ibeam_protocol::{ToolCall, ToolOutcome};
use serde_json::{Map, Value, json};

/// A tool call with the names of Claude Code.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaudeCall {
    pub name: String,
    /// The names of all tools of Claude Code that correspond to the tool, for matchers.
    pub names: Vec<String>,
    pub input: Value,
    /// The result; null before the end.
    pub response: Value,
}

/// Converts tool calls to the form of Claude Code and back.
pub trait ClaudeCalls: Send + Sync {
    /// Returns the form of a call, with its outcome if it has ended.
    ///
    /// # Errors
    /// The reason why the call has no such form.
    fn call(&self, call: &ToolCall, outcome: Option<&ToolOutcome>) -> Result<ClaudeCall, String>;

    /// Returns the arguments of the tool for another input of the same call.
    ///
    /// # Errors
    /// The reason why the input has no such arguments.
    fn arguments(&self, call: &ClaudeCall, input: Map<String, Value>) -> Result<Value, String>;
}

/// The subjects of an event that matchers test, and its fields. Without subjects, every matcher accepts the event.
#[derive(Debug, Default)]
pub(crate) struct ClaudeFields {
    pub(crate) subjects: Vec<String>,
    pub(crate) fields: Value,
}

impl ClaudeFields {
    /// Returns the fields of an event with one subject.
    pub(crate) fn new(subject: &str, fields: Value) -> Self {
        Self { subjects: vec![subject.to_owned()], fields }
    }

    /// Returns the fields of an event that matchers do not select.
    pub(crate) fn without_subject(fields: Value) -> Self {
        Self { subjects: Vec::new(), fields }
    }

    /// Returns the fields of `PreToolUse`.
    pub(crate) fn before_call(call: &ToolCall, form: &ClaudeCall) -> Self {
        let fields = json!({"tool_name": form.name, "tool_input": form.input, "tool_use_id": call.id});
        Self { subjects: form.names.clone(), fields }
    }

    /// Returns the fields of `PostToolUse` or `PostToolUseFailure`.
    pub(crate) fn after_call(finished: &FinishedCall, form: &ClaudeCall) -> Self {
        let mut result = Self::before_call(&finished.call, form);
        let more = match &finished.outcome {
            ToolOutcome::Success { .. } => json!({"tool_response": form.response}),
            ToolOutcome::Failure { .. } | ToolOutcome::Rejected { .. } => {
                json!({"error": finished.outcome.for_model(), "is_interrupt": false})
            }
        };
        if let (Some(fields), Value::Object(more)) = (result.fields.as_object_mut(), more) {
            fields.extend(more);
            let milliseconds = u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX);
            fields.insert("duration_ms".to_owned(), milliseconds.into());
        }
        result
    }

    /// Returns the fields of `PreCompact`. No command of the user starts a compaction, so it has no instructions.
    pub(crate) fn compaction() -> Self {
        Self::new("auto", json!({"trigger": "auto", "custom_instructions": ""}))
    }

    /// Returns the fields of `Stop`.
    pub(crate) fn stop(end: AnswerEnd<'_>) -> Self {
        let fields = json!({"stop_hook_active": end.follow_ups > 0, "last_assistant_message": end.text});
        Self::without_subject(fields)
    }

    /// Returns the fields of `SubagentStop`.
    pub(crate) fn subagent_stop(subagent: &Subagent, end: AnswerEnd<'_>) -> Self {
        let fields = json!({
            "agent_id": subagent.id,
            "agent_type": subagent.kind,
            "agent_transcript_path": "",
            "stop_hook_active": end.follow_ups > 0,
            "last_assistant_message": end.text,
        });
        Self::new(&subagent.kind, fields)
    }
}
