//! Tool calls and their outcomes.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::CallId;
use crate::tool_output::{McpOutput, ShellOutput, ToolOutput};

/// How a tool is offered to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name the model calls, e.g. `read`.
    pub name: Cow<'static, str>,
    /// What it does, in the model's words.
    pub description: Cow<'static, str>,
    /// JSON Schema of the arguments: an object schema without `$ref`.
    pub parameters: Value,
}

/// A call as the model made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id, echoed; made up only where it gave none.
    pub id: CallId,
    /// The tool's name as the model wrote it; it may not exist.
    pub name: String,
    /// The arguments. An object, once `Tool::prepare` accepted them in the names of contract section 4; a
    /// string when the model did not write valid JSON.
    pub arguments: Value,
}

/// How a call ended. None of these ends the run: the model is told and goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It did what it says.
    Success {
        /// The facts, for people and programs.
        output: ToolOutput,
        /// The text for the model.
        for_model: Arc<str>,
    },
    /// It ran or tried to, and failed.
    Failure {
        /// What went wrong.
        failure: ToolFailure,
        /// The text for the model.
        for_model: Arc<str>,
    },
    /// Policy, a hook or a person refused it; it did not run.
    Rejected {
        /// Why, naming the flag or token that would allow it.
        reason: String,
    },
}

impl ToolOutcome {
    /// What the model is told.
    pub fn for_model(&self) -> Arc<str> {
        match self {
            Self::Success { for_model, .. } | Self::Failure { for_model, .. } => Arc::clone(for_model),
            Self::Rejected { reason } => reason.as_str().into(),
        }
    }

    /// True unless the call succeeded.
    pub fn is_error(&self) -> bool {
        match self {
            Self::Success { .. } => false,
            Self::Failure { .. } | Self::Rejected { .. } => true,
        }
    }

    /// A failure whose message is also what the model is told.
    pub fn error(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Failure { for_model: message.as_str().into(), failure: ToolFailure::Error { message } }
    }
}

/// Why a call that was let through failed: each becomes another arm of the wire's `result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolFailure {
    /// Nothing at this path.
    FileNotFound {
        /// The path as asked.
        #[serde(serialize_with = "crate::path_text::one")]
        path: PathBuf,
    },
    /// The system, not our policy, denied access.
    PermissionDenied {
        /// The path as asked.
        #[serde(serialize_with = "crate::path_text::one")]
        path: PathBuf,
        /// The system's words.
        error: String,
    },
    /// The command ran and exited non-zero, or a signal ended it.
    CommandFailed(ShellOutput),
    /// The command was ended at its time-out.
    TimedOut {
        /// The bound, in milliseconds.
        timeout_ms: u64,
        /// What it printed until then.
        partial: ShellOutput,
    },
    /// The command could not be started.
    SpawnFailed {
        /// The system's words.
        message: String,
    },
    /// A tool of an MCP server ran and says itself that it failed.
    McpError(McpOutput),
    /// The run ended before the call did; its effect is unknown.
    Interrupted,
    /// Anything else, in words.
    Error {
        /// One line naming the thing and the way out.
        message: String,
    },
}
