//! The names of the events in hook files.

/// The name of an event.
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
    AfterFileEdit,
    Stop,
    SessionEnd,
}

impl EventName {
    /// All names.
    const ALL: [Self; 12] = [
        Self::SessionStart,
        Self::BeforeSubmitPrompt,
        Self::PreToolUse,
        Self::BeforeShellExecution,
        Self::BeforeMcpExecution,
        Self::BeforeReadFile,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::AfterShellExecution,
        Self::AfterFileEdit,
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
            Self::AfterFileEdit => "afterFileEdit",
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
            | Self::BeforeReadFile => true,
            Self::SessionStart
            | Self::PostToolUse
            | Self::PostToolUseFailure
            | Self::AfterShellExecution
            | Self::AfterFileEdit
            | Self::Stop
            | Self::SessionEnd => false,
        }
    }
}
