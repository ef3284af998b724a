//! The names of the events in hook files.

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
}
