//! The reasons for which a workspace cannot be used. None of them says anything about the work of its task, but that its
//! repository lacks the commit, and that the result from which it starts cannot be used.

use std::io;

use ibeam_git::GitError;

/// The reason for which a workspace cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkspaceError {
    /// The repository does not have the commit of the task.
    #[error("`{reference}` is not a commit of `{repository}`")]
    NoCommit { repository: String, reference: String },
    /// The result of another task from which the task starts cannot be used.
    #[error("{0}")]
    NoStart(String),
    /// The source cannot be read now, or the machine cannot hold the copy.
    #[error("{0}")]
    Unavailable(String),
    /// A git that was killed has answered nothing.
    #[error("{0}")]
    Undecided(String),
}

impl From<String> for WorkspaceError {
    fn from(message: String) -> Self {
        Self::Unavailable(message)
    }
}

impl From<io::Error> for WorkspaceError {
    fn from(error: io::Error) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<GitError> for WorkspaceError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Failed(message) => Self::Unavailable(message),
            GitError::Undecided(message) => Self::Undecided(message),
        }
    }
}

impl From<WorkspaceError> for String {
    fn from(error: WorkspaceError) -> Self {
        error.to_string()
    }
}
