//! The `result` of a tool call: exactly one arm. Contract section 4.

use std::borrow::Cow;

use ibeam_protocol::{ToolFailure, ToolOutcome, ToolOutput};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::LossyPath;
use super::tool_success::{Shell, Success};

/// An outcome, as the arm that stands for it.
pub(crate) struct ToolResultObject<'a> {
    pub(crate) tool: &'a str,
    pub(crate) outcome: &'a ToolOutcome,
}

impl Serialize for ToolResultObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.outcome {
            ToolOutcome::Success { output, .. } => {
                let is_background = match output {
                    ToolOutput::Shell(shell) => shell.is_background,
                    ToolOutput::Read(_)
                    | ToolOutput::Write(_)
                    | ToolOutput::Edit(_)
                    | ToolOutput::Grep(_)
                    | ToolOutput::Glob(_)
                    | ToolOutput::Ls(_)
                    | ToolOutput::Delete(_)
                    | ToolOutput::Todos(_)
                    | ToolOutput::WebFetch(_)
                    | ToolOutput::Mcp(_)
                    | ToolOutput::Other(_) => false,
                };
                ResultObject { arm: Arm::Success(Success::new(output)), is_background }
            }
            ToolOutcome::Failure { failure, .. } => {
                let is_background =
                    matches!(failure, ToolFailure::CommandFailed(shell) if shell.is_background);
                ResultObject { arm: Arm::of_failure(failure, self.tool), is_background }
            }
            ToolOutcome::Rejected { reason } => {
                ResultObject { arm: Arm::Rejected(Rejected { reason }), is_background: false }
            }
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultObject<'a> {
    #[serde(flatten)]
    arm: Arm<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_background: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Arm<'a> {
    Success(Success<'a>),
    Failure(Shell<'a>),
    Timeout(Timeout),
    SpawnError(ErrorMessage<'a>),
    FileNotFound(FileNotFound<'a>),
    PermissionDenied(PermissionDenied<'a>),
    Rejected(Rejected<'a>),
    Error(ErrorMessage<'a>),
}

/// A command that took longer than it may.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Timeout {
    /// How long it may take.
    #[schemars(extend("x-unit" = "ms"))]
    timeout_ms: u64,
}

/// Why a call failed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ErrorMessage<'a> {
    /// One sentence, in English.
    error_message: Cow<'a, str>,
}

/// A file that is not there.
#[derive(Serialize, JsonSchema)]
pub(super) struct FileNotFound<'a> {
    /// Its path.
    path: LossyPath<'a>,
}

/// What the system did not let the call do.
#[derive(Serialize, JsonSchema)]
pub(super) struct PermissionDenied<'a> {
    /// The path it was about.
    path: LossyPath<'a>,
    /// What the system said.
    error: &'a str,
}

/// A call that was refused by policy, a hook or a person; it did not run.
#[derive(Serialize, JsonSchema)]
pub(super) struct Rejected<'a> {
    /// Why, in English.
    reason: &'a str,
}

impl<'a> Arm<'a> {
    fn of_failure(failure: &'a ToolFailure, tool: &str) -> Self {
        match failure {
            // Only these two tools have the arm; for the others a missing path is an error like any other.
            ToolFailure::FileNotFound { path } if matches!(tool, "read" | "delete") => {
                Self::FileNotFound(FileNotFound { path: LossyPath(path) })
            }
            ToolFailure::FileNotFound { path } => {
                Self::error(format!("no such file or directory: `{}`", path.display()))
            }
            ToolFailure::PermissionDenied { path, error } => {
                Self::PermissionDenied(PermissionDenied { path: LossyPath(path), error })
            }
            ToolFailure::CommandFailed(shell) => Self::Failure(Shell::new(shell)),
            ToolFailure::TimedOut { timeout_ms, .. } => Self::Timeout(Timeout { timeout_ms: *timeout_ms }),
            ToolFailure::SpawnFailed { message } => {
                Self::SpawnError(ErrorMessage { error_message: Cow::Borrowed(message) })
            }
            ToolFailure::McpError(output) => Self::Success(Success::mcp(output, true)),
            ToolFailure::Interrupted => {
                Self::error("interrupted: the run ended before the call did; its effect is unknown")
            }
            ToolFailure::Error { message } => Self::error(message.as_str()),
        }
    }

    fn error(message: impl Into<Cow<'a, str>>) -> Self {
        Self::Error(ErrorMessage { error_message: message.into() })
    }
}
