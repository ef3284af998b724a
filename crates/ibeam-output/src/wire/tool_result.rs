//! The `result` of a tool call: exactly one arm. Contract section 4.

use ibeam_protocol::{ToolFailure, ToolOutcome, ToolOutput};
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
                    | ToolOutput::Free(_) => false,
                };
                ResultObject { arm: Arm::Success(Success::new(output)), is_background }
            }
            ToolOutcome::Failure { failure, .. } => {
                let is_background =
                    matches!(failure, ToolFailure::CommandFailed(shell) if shell.is_background);
                ResultObject { arm: Arm::of_failure(failure, self.tool), is_background }
            }
            ToolOutcome::Rejected { reason } => {
                ResultObject { arm: Arm::Rejected { reason }, is_background: false }
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
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Arm<'a> {
    Success(Success<'a>),
    Failure(Shell<'a>),
    Timeout { timeout_ms: u64 },
    SpawnError { error_message: &'a str },
    FileNotFound { path: LossyPath<'a> },
    PermissionDenied { path: LossyPath<'a>, error: &'a str },
    Rejected { reason: &'a str },
    Error { error_message: String },
}

impl<'a> Arm<'a> {
    fn of_failure(failure: &'a ToolFailure, tool: &str) -> Self {
        match failure {
            // Only these two tools have the arm; for the others a missing path is an error like any other.
            ToolFailure::FileNotFound { path } if matches!(tool, "read" | "delete") => {
                Self::FileNotFound { path: LossyPath(path) }
            }
            ToolFailure::FileNotFound { path } => {
                Self::Error { error_message: format!("no such file or directory: `{}`", path.display()) }
            }
            ToolFailure::PermissionDenied { path, error } => {
                Self::PermissionDenied { path: LossyPath(path), error }
            }
            ToolFailure::CommandFailed(shell) => Self::Failure(Shell::new(shell)),
            ToolFailure::TimedOut { timeout_ms, .. } => Self::Timeout { timeout_ms: *timeout_ms },
            ToolFailure::SpawnFailed { message } => Self::SpawnError { error_message: message },
            ToolFailure::McpError(output) => Self::Success(Success::mcp(output, true)),
            ToolFailure::Interrupted => Self::Error {
                error_message: "interrupted: the run ended before the call did; its effect is unknown"
                    .to_owned(),
            },
            ToolFailure::Error { message } => Self::Error { error_message: message.clone() },
        }
    }
}
