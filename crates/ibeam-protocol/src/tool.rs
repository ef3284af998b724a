//! Tool calls and their outcomes.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::CallId;
use crate::media::Media;
use crate::run::RunTotals;
use crate::sentence::Sentence;
use crate::tool_output::{McpOutput, ShellOutput, ToolOutput};

/// The description of a tool for the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name the model calls, e.g. `read`.
    pub name: Cow<'static, str>,
    /// The purpose and use of the tool, for the model.
    pub description: Cow<'static, str>,
    /// JSON Schema of the arguments: an object schema without `$ref`. Every request has a copy.
    pub parameters: Arc<Value>,
}

/// A call as the model made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id; generated only if the provider gave none.
    pub id: CallId,
    /// The name of the tool as the model wrote it; there may be no such tool.
    pub name: String,
    /// The arguments: a string if the model did not write valid JSON. After `Tool::prepare` accepted them, they are an
    /// object like `args` in `docs/output-format.md`.
    pub arguments: Value,
}

/// The outcome of a call. No outcome ends the run: the model receives it and continues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// The tool succeeded.
    Success {
        /// The output, for people and programs.
        output: ToolOutput,
        /// The text for the model.
        for_model: Arc<str>,
    },
    /// The tool was executed and failed.
    Failure {
        /// The failure.
        failure: ToolFailure,
        /// The text for the model.
        for_model: Sentence,
    },
    /// Policy, a hook or a person refused the call; it was not executed.
    Rejected {
        /// The reason, with the flag or rule that would allow the call.
        reason: Sentence,
    },
}

impl ToolOutcome {
    /// Returns the text for the model.
    pub fn for_model(&self) -> Arc<str> {
        match self {
            Self::Success { for_model, .. } => Arc::clone(for_model),
            Self::Failure { for_model: text, .. } | Self::Rejected { reason: text } => text.text(),
        }
    }

    /// Returns the images and documents for the model.
    pub fn media(&self) -> &[Media] {
        match self {
            Self::Success { output, .. } => output.media(),
            Self::Failure { .. } | Self::Rejected { .. } => &[],
        }
    }

    /// Returns the images and documents of an outcome that can have some.
    pub fn media_mut(&mut self) -> Option<&mut Vec<Media>> {
        match self {
            Self::Success { output, .. } => output.media_mut(),
            Self::Failure { .. } | Self::Rejected { .. } => None,
        }
    }

    /// Whether the call did not succeed.
    pub fn is_error(&self) -> bool {
        match self {
            Self::Success { .. } => false,
            Self::Failure { .. } | Self::Rejected { .. } => true,
        }
    }

    /// Sets the measured times to 0.
    pub fn zero_times(&mut self) {
        if let Self::Success { output: ToolOutput::Task(task), .. } = self {
            (task.duration_ms, task.totals.api_ms) = (0, 0);
        }
        let output = match self {
            Self::Success { output: ToolOutput::Shell(output), .. }
            | Self::Failure { failure: ToolFailure::CommandFailed(output), .. }
            | Self::Failure { failure: ToolFailure::TimedOut { partial: output, .. }, .. } => output,
            Self::Success { .. } | Self::Failure { .. } | Self::Rejected { .. } => return,
        };
        output.execution_ms = 0;
    }

    /// Returns a failure whose message is also the text for the model.
    pub fn error(message: impl Into<Sentence>) -> Self {
        let message = message.into();
        Self::Failure { for_model: message.clone(), failure: ToolFailure::Error { message } }
    }
}

/// The reason why an allowed call failed. Each variant has its own key in the `result` object of the output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolFailure {
    /// The path does not exist.
    FileNotFound {
        /// The requested path.
        #[serde(serialize_with = "crate::path_text::serialize_path")]
        path: PathBuf,
    },
    /// The system, not the policy, denied access.
    PermissionDenied {
        /// The requested path.
        #[serde(serialize_with = "crate::path_text::serialize_path")]
        path: PathBuf,
        /// The message of the system.
        error: Sentence,
    },
    /// The command exited with a non-zero code, or a signal ended it.
    CommandFailed(ShellOutput),
    /// The command reached its timeout and was ended.
    TimedOut {
        /// The timeout, in milliseconds.
        timeout_ms: u64,
        /// The output until then.
        partial: ShellOutput,
    },
    /// The command could not be started.
    SpawnFailed {
        /// The message of the system.
        message: Sentence,
    },
    /// A tool of an MCP server reported a failure.
    McpError(McpOutput),
    /// A sub-agent failed.
    TaskFailed {
        /// One line that names the cause.
        message: Sentence,
        /// The totals of its run.
        totals: Box<RunTotals>,
    },
    /// The run ended before the call did; the effect of the call is unknown.
    Interrupted,
    /// Any other failure.
    Error {
        /// One line that names the cause and a remedy.
        message: Sentence,
    },
}
