//! The result of a task: a line of the output of a fleet, and `result.json` of the task.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The result of a task. Fields are added, never renamed or removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskResult {
    pub id: String,
    pub outcome: Outcome,
    /// The class of the failure, as in the line `error` of a run: docs/output-format.md, "Failure". Also `killed` for a
    /// run that ended too often without its last line, and `workspace` for a repository without the commit of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The exit code of the last run, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The session, which `--resume` takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The model of the task, else the one that the run reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tokens that the runs of the task reported.
    pub usage: TaskUsage,
    /// The cost that the runs reported; absent if one of them did not know its price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The sum of the durations that the runs reported.
    pub duration_ms: u64,
    /// The number of processes that worked on the task.
    pub runs: u32,
    /// The number of those that ended without their last line. What they consumed is not in `usage` and `cost_usd`.
    pub interrupted_runs: u32,
    /// The files that differ from the source, relative to the workspace's repository or directory.
    pub changed_files: Vec<String>,
    /// The patch with the changes; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<PathBuf>,
    /// The reason for which changes have no patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch_omitted: Option<String>,
    /// The result of the command `check`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckResult>,
    /// The directory of the task; absent if it never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The run completed, and the check, if there is one, passed.
    Passed,
    /// The run completed, and the check did not pass.
    CheckFailed,
    Failed,
    /// A task that this one needs did not pass, so it was not started.
    Skipped,
}

impl Outcome {
    /// Returns the word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::CheckFailed => "check_failed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// The tokens of the runs of a task. The classes do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskUsage {
    /// Tokens of prompts, without those of the cache.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Tokens read from the provider's cache.
    pub cache_read_tokens: u64,
    /// Tokens written to the provider's cache.
    pub cache_write_tokens: u64,
}

impl TaskUsage {
    /// Returns the tokens of all classes.
    pub fn total(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.output_tokens)
            .saturating_add(self.cache_read_tokens)
            .saturating_add(self.cache_write_tokens)
    }

    /// Adds the tokens of another run.
    pub(crate) fn add(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    pub command: String,
    /// Whether it ended with exit code 0.
    pub passed: bool,
    /// Its exit code; absent if it could not be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The reason for which it could not be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The classes of failures that say something about the model. All others are those of the infrastructure: of the machine,
/// the network, the service, the configuration, or ibeam itself.
const MODEL_CLASSES: [&str; 7] = ["failed", "denied", "context", "limit", "empty", "refused", "timeout"];

impl TaskResult {
    /// Whether the task failed in a way that says nothing about the model.
    pub fn is_of_infrastructure(&self) -> bool {
        let class = self.code.as_deref().unwrap_or_default();
        // A worker refuses a task before it runs; a model declines in a run.
        let is_of_model = MODEL_CLASSES.contains(&class) && (class != "refused" || self.runs > 0);
        self.outcome == Outcome::Failed && !is_of_model
    }

    /// Returns a result without any run.
    pub fn without_run(id: &str, outcome: Outcome, message: String) -> Self {
        Self {
            id: id.to_owned(),
            outcome,
            code: None,
            message: Some(message),
            exit_code: None,
            session_id: None,
            model: None,
            usage: TaskUsage::default(),
            cost_usd: None,
            duration_ms: 0,
            runs: 0,
            interrupted_runs: 0,
            changed_files: Vec::new(),
            patch: None,
            patch_omitted: None,
            check: None,
            directory: None,
        }
    }

    /// Returns the result of a task whose need `needed` did not pass.
    pub fn skipped(id: &str, needed: &str) -> Self {
        Self::without_run(id, Outcome::Skipped, format!("the task `{needed}` did not pass"))
    }
}
