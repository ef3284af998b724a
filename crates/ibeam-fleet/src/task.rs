//! A task: a prompt, the workspace in which it runs, and how its result is checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A task, as a line of a task file defines it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The name of the task, unique in its fleet. Also the name of its directory.
    pub id: String,
    pub prompt: String,
    /// The files that the run gets a copy of.
    pub workspace: WorkspaceSource,
    /// The model, as `--model` takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<TaskMode>,
    #[serde(default, skip_serializing_if = "TaskLimits::is_empty")]
    pub limits: TaskLimits,
    /// Additional variables of the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The files that are attached to the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
    /// The command that decides whether the task is done. It runs in the workspace after the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The files that only the check sees: their paths in the workspace, and the files that are copied there before it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub check_files: BTreeMap<PathBuf, PathBuf>,
    /// The directory that only the check sees: what it has is copied into the workspace before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_dir: Option<PathBuf>,
    /// The tasks that must have passed before this one starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
}

impl Task {
    /// Returns the files and the directory that only the check sees, where they are on this machine.
    pub fn check_sources(&self) -> impl Iterator<Item = &Path> {
        self.check_files.values().chain(&self.check_dir).map(PathBuf::as_path)
    }
}

/// The source of the files of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "`workspace` should be a path, or an object with `git` and `ref`, or with `from`"
)]
pub enum WorkspaceSource {
    /// A directory. In a git repository, the commit of `HEAD` is used.
    Path(PathBuf),
    /// A commit of a repository.
    Git(GitSource),
    /// The files with which another task ended.
    Result(ResultSource),
}

impl WorkspaceSource {
    /// Returns the source of the first task, from whose result others start.
    pub fn start(&self) -> &Self {
        match self {
            Self::Result(source) => source.start(),
            Self::Path(_) | Self::Git(_) => self,
        }
    }
}

/// The result of another task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultSource {
    pub from: String,
    /// The tasks from whose results that one starts, the first one first. Found when the file is read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) earlier: Vec<String>,
    /// The source of the first of all these tasks. Found when the file is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<Box<WorkspaceSource>>,
}

impl ResultSource {
    /// Returns the tasks whose changes the workspace has, the first one first.
    pub fn tasks(&self) -> impl Iterator<Item = &str> {
        self.earlier.iter().chain([&self.from]).map(String::as_str)
    }

    pub(crate) fn start(&self) -> &WorkspaceSource {
        const NOWHERE: &WorkspaceSource = &WorkspaceSource::Path(PathBuf::new());
        self.start.as_deref().unwrap_or(NOWHERE)
    }
}

/// A commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitSource {
    /// The URL or the path of the repository.
    pub git: String,
    /// A branch, tag or commit.
    #[serde(rename = "ref", default = "head")]
    pub reference: String,
}

fn head() -> String {
    "HEAD".to_owned()
}

/// The mode of a run, as `--mode` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskMode {
    /// Work on the task.
    Agent,
    /// Read only; end with a plan.
    Plan,
    /// Read only; answer a question.
    Ask,
}

impl TaskMode {
    /// Returns the value of `--mode`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Plan => "plan",
            Self::Ask => "ask",
        }
    }
}

/// The limits of the run of a task. An absent limit is that of the command line or the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskLimits {
    /// The number of model requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// The number of tokens, prompts and answers together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The cost in millionths of a US dollar; in the task file it is in dollars.
    #[serde(
        rename = "max_cost_usd",
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::dollars"
    )]
    pub max_cost_micros: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u32>,
    /// The duration in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// The duration of the check in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_timeout_s: Option<u64>,
}

impl TaskLimits {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
