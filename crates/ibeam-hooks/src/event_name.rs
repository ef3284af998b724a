//! The events of hook files: their names, what their hooks can do, and a sample of their input.

use std::path::Path;

use ibeam_protocol::SessionId;
use serde_json::{Value, json};

use crate::payload::GENERAL_SUBAGENT;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EventName {
    SessionStart,
    BeforeSubmitPrompt,
    PreToolUse,
    BeforeShellExecution,
    BeforeMcpExecution,
    BeforeReadFile,
    PostToolUse,
    PostToolUseFailure,
    AfterShellExecution,
    AfterMcpExecution,
    AfterFileEdit,
    AfterAgentResponse,
    AfterAgentThought,
    PreCompact,
    SubagentStart,
    SubagentStop,
    Stop,
    SessionEnd,
}

impl EventName {
    pub(crate) const ALL: [Self; 18] = [
        Self::SessionStart,
        Self::BeforeSubmitPrompt,
        Self::PreToolUse,
        Self::BeforeShellExecution,
        Self::BeforeMcpExecution,
        Self::BeforeReadFile,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::AfterShellExecution,
        Self::AfterMcpExecution,
        Self::AfterFileEdit,
        Self::AfterAgentResponse,
        Self::AfterAgentThought,
        Self::PreCompact,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::Stop,
        Self::SessionEnd,
    ];

    /// Parses a name from a file; `None` for an event that is not supported.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == name)
    }

    /// Returns the name as hook files spell it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "sessionStart",
            Self::BeforeSubmitPrompt => "beforeSubmitPrompt",
            Self::PreToolUse => "preToolUse",
            Self::BeforeShellExecution => "beforeShellExecution",
            Self::BeforeMcpExecution => "beforeMCPExecution",
            Self::BeforeReadFile => "beforeReadFile",
            Self::PostToolUse => "postToolUse",
            Self::PostToolUseFailure => "postToolUseFailure",
            Self::AfterShellExecution => "afterShellExecution",
            Self::AfterMcpExecution => "afterMCPExecution",
            Self::AfterFileEdit => "afterFileEdit",
            Self::AfterAgentResponse => "afterAgentResponse",
            Self::AfterAgentThought => "afterAgentThought",
            Self::PreCompact => "preCompact",
            Self::SubagentStart => "subagentStart",
            Self::SubagentStop => "subagentStop",
            Self::Stop => "stop",
            Self::SessionEnd => "sessionEnd",
        }
    }

    /// Whether a hook of this event can refuse what is about to happen.
    pub(crate) fn can_refuse(self) -> bool {
        match self {
            Self::BeforeSubmitPrompt
            | Self::PreToolUse
            | Self::BeforeShellExecution
            | Self::BeforeMcpExecution
            | Self::BeforeReadFile
            | Self::SubagentStart => true,
            Self::SessionStart
            | Self::PostToolUse
            | Self::PostToolUseFailure
            | Self::AfterShellExecution
            | Self::AfterMcpExecution
            | Self::AfterFileEdit
            | Self::AfterAgentResponse
            | Self::AfterAgentThought
            | Self::PreCompact
            | Self::SubagentStop
            | Self::Stop
            | Self::SessionEnd => false,
        }
    }

    /// Whether a hook of this event can continue a run whose answer is complete.
    pub(crate) fn can_continue(self) -> bool {
        matches!(self, Self::Stop | Self::SubagentStop)
    }

    /// Whether a hook of this event can add context for the model.
    pub(crate) fn can_add_context(self) -> bool {
        matches!(
            self,
            Self::SessionStart | Self::BeforeSubmitPrompt | Self::PostToolUse | Self::PostToolUseFailure
        )
    }

    /// Parses a name from the settings of Claude Code; `None` for an event that is not supported.
    pub(crate) fn parse_claude(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.claude_name() == Some(name))
    }

    /// Returns the name as the settings of Claude Code spell it; `None` for an event that they do not have.
    pub(crate) fn claude_name(self) -> Option<&'static str> {
        match self {
            Self::SessionStart => Some("SessionStart"),
            Self::BeforeSubmitPrompt => Some("UserPromptSubmit"),
            Self::PreToolUse => Some("PreToolUse"),
            Self::PostToolUse => Some("PostToolUse"),
            Self::PostToolUseFailure => Some("PostToolUseFailure"),
            Self::SubagentStart => Some("SubagentStart"),
            Self::SubagentStop => Some("SubagentStop"),
            Self::Stop => Some("Stop"),
            Self::SessionEnd => Some("SessionEnd"),
            Self::PreCompact => Some("PreCompact"),
            Self::BeforeShellExecution
            | Self::BeforeMcpExecution
            | Self::BeforeReadFile
            | Self::AfterShellExecution
            | Self::AfterMcpExecution
            | Self::AfterFileEdit
            | Self::AfterAgentResponse
            | Self::AfterAgentThought => None,
        }
    }

    /// Returns the sample input of the event in hook files, without the common fields.
    pub(crate) fn sample(self, workspace: &Path) -> Value {
        let cwd = workspace.to_string_lossy();
        let file = workspace.join("example.txt");
        let file = file.to_string_lossy();
        let call = json!({"tool_name": "Shell", "tool_input": {"command": "echo hello", "cwd": cwd},
            "tool_use_id": "call_1", "cwd": cwd});
        let subagent = json!({"subagent_id": SessionId::random(), "subagent_type": GENERAL_SUBAGENT,
            "task": "Say hello."});
        let with = |mut base: Value, more: Value| {
            if let (Some(base), Value::Object(more)) = (base.as_object_mut(), more) {
                base.extend(more);
            }
            base
        };
        match self {
            Self::SessionStart => json!({"is_background_agent": false, "composer_mode": "agent"}),
            Self::BeforeSubmitPrompt => json!({"prompt": "Say hello.", "attachments": []}),
            Self::PreToolUse => call,
            Self::BeforeShellExecution => json!({"command": "echo hello", "cwd": cwd, "sandbox": true}),
            Self::BeforeMcpExecution => {
                json!({"tool_name": "echo", "tool_input": "{\"text\":\"hello\"}",
                "mcp_server_name": "example"})
            }
            Self::BeforeReadFile => json!({"file_path": file, "content": "hello\n", "attachments": []}),
            Self::PostToolUse => with(call, json!({"tool_output": "hello\n", "duration": 5})),
            Self::PostToolUseFailure => with(
                call,
                json!({"error_message": "exit code 1", "failure_type": "error", "is_interrupt": false,
                    "duration": 5}),
            ),
            Self::AfterShellExecution => {
                json!({"command": "echo hello", "output": "hello\n", "duration": 5, "sandbox": true})
            }
            Self::AfterMcpExecution => {
                let result = json!({"content": [{"type": "text", "text": "hello"}], "isError": false});
                json!({"tool_name": "echo", "tool_input": "{\"text\":\"hello\"}", "mcp_server_name": "example",
                    "result_json": result.to_string(), "duration": 5})
            }
            Self::AfterFileEdit => {
                json!({"file_path": file, "edits": [{"old_string": "hello", "new_string": "hello world"}]})
            }
            Self::AfterAgentResponse | Self::AfterAgentThought => json!({"text": "hello"}),
            Self::PreCompact => json!({"trigger": "auto", "context_usage_percent": 90,
                "context_tokens": 180_000, "context_window_size": 200_000, "message_count": 40,
                "messages_to_compact": 30, "is_first_compaction": true}),
            Self::SubagentStart => with(subagent, json!({"tool_call_id": "call_1"})),
            Self::SubagentStop => {
                with(subagent, json!({"status": "completed", "summary": "hello", "loop_count": 0}))
            }
            Self::Stop => json!({"status": "completed", "loop_count": 0}),
            Self::SessionEnd => {
                json!({"reason": "completed", "final_status": "completed", "duration_ms": 5,
                    "is_background_agent": false})
            }
        }
    }

    /// Returns the sample input of the event in the settings of Claude Code, without the common fields.
    pub(crate) fn claude_sample(self) -> Value {
        let mut call =
            json!({"tool_name": "Bash", "tool_input": {"command": "echo hello"}, "tool_use_id": "call_1"});
        match self {
            Self::SessionStart => json!({"source": "startup"}),
            Self::BeforeSubmitPrompt => json!({"prompt": "Say hello."}),
            Self::PostToolUse => {
                if let Some(call) = call.as_object_mut() {
                    call.insert("tool_response".to_owned(), json!({"stdout": "hello\n", "stderr": ""}));
                }
                call
            }
            Self::PostToolUseFailure => {
                if let Some(call) = call.as_object_mut() {
                    call.insert("error".to_owned(), "exit code 1".into());
                }
                call
            }
            Self::PreToolUse => call,
            Self::SubagentStart => json!({"agent_id": "1", "agent_type": GENERAL_SUBAGENT}),
            Self::SubagentStop => json!({"agent_id": "1", "agent_type": GENERAL_SUBAGENT,
                "stop_hook_active": false, "last_assistant_message": "hello"}),
            Self::Stop => json!({"stop_hook_active": false, "last_assistant_message": "hello"}),
            Self::SessionEnd => json!({"reason": "other"}),
            Self::PreCompact => json!({"trigger": "auto", "custom_instructions": ""}),
            // Events that these settings do not have.
            Self::BeforeShellExecution
            | Self::BeforeMcpExecution
            | Self::BeforeReadFile
            | Self::AfterShellExecution
            | Self::AfterMcpExecution
            | Self::AfterFileEdit
            | Self::AfterAgentResponse
            | Self::AfterAgentThought => json!({}),
        }
    }

    /// Returns the subject that matchers of hook files test.
    pub(crate) fn subject(self, fields: &Value) -> Option<String> {
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
        match self {
            Self::BeforeShellExecution | Self::AfterShellExecution => text("command"),
            Self::PreToolUse | Self::PostToolUse | Self::PostToolUseFailure => text("tool_name"),
            Self::BeforeMcpExecution | Self::AfterMcpExecution => {
                text("tool_name").map(|name| format!("MCP:{name}"))
            }
            Self::SubagentStart | Self::SubagentStop => text("subagent_type"),
            Self::BeforeReadFile => Some("Read".to_owned()),
            Self::AfterFileEdit => Some("Edit".to_owned()),
            Self::AfterAgentResponse
            | Self::AfterAgentThought
            | Self::PreCompact
            | Self::SessionStart
            | Self::BeforeSubmitPrompt
            | Self::Stop
            | Self::SessionEnd => None,
        }
    }
}
