//! The events that hooks are run for, by the names that files use.

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
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

impl Event {
    /// All of them.
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

    /// The event of that name; `None` for one that no hooks are run for.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
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

    /// A hook may refuse what it is told of.
    pub(super) fn can_refuse(self) -> bool {
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
