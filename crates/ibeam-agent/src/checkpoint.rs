//! Checkpoints: the files of a workspace before and after each turn that may change them, as commits of a git directory of
//! this program, which borrows the objects of the user's repository.
//!
//! The loop requests checkpoints through its port ([`RunCheckpoints`]), and the journal records their hashes, which
//! `ibeam diff` and `ibeam undo` read.

mod commit_writer;
mod file_snapshot;
mod index_file;
mod object_id;
mod object_store;
mod objects;
mod references;
mod repository;
mod restore;
mod session_changes;
mod snapshot_builder;
mod tree_writer;

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_config::Dirs;
use ibeam_core::{Checkpoints, SavedFiles};
use ibeam_policy::PathPolicy;
use ibeam_protocol::{Checkpoint, CheckpointMoment, Notice, SessionId};

use self::file_snapshot::{IgnoredFiles, Snapshot};
use crate::app::AppContext;
use crate::programs::Programs;

pub use repository::{CheckpointError, Repository};
pub use restore::{UndoAction, UndoPlan};
pub use session_changes::{SessionChanges, UndoTarget};

/// The checkpoints of a session's runs.
pub(crate) struct RunCheckpoints {
    session: SessionId,
    workspace: PathBuf,
    dirs: Dirs,
    programs: Programs,
    path_policy: PathPolicy,
    timeout: Duration,
    /// Found before the first change.
    repository: OnceLock<Option<Repository>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The checkpoint before the changes of the current turn: its tree, its commit and its reference.
    start: Option<(String, String, String)>,
    /// Whether the references of deleted sessions were removed.
    has_pruned: bool,
}

impl RunCheckpoints {
    /// Returns the checkpoints of a session in the workspace of `app`.
    pub(crate) fn new(app: &AppContext, session: SessionId, path_policy: PathPolicy) -> Self {
        Self {
            session,
            workspace: app.workspace.clone(),
            dirs: app.dirs.clone(),
            programs: app.programs.clone(),
            path_policy,
            timeout: app.base.settings.timeouts.checkpoint.value,
            repository: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    fn repository(&self) -> Option<&Repository> {
        let find = || Repository::find(&self.workspace, &self.dirs, &self.programs, self.path_policy.clone());
        self.repository.get_or_init(find).as_ref()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn save_within_limit(
        &self,
        repository: &Repository,
        moment: CheckpointMoment,
        unix_ms: u64,
    ) -> SavedFiles {
        let saving = self.save_now(repository, moment, unix_ms);
        let saved = tokio::time::timeout(self.timeout, saving).await;
        match saved.unwrap_or(Err(CheckpointError::TimedOut(self.timeout))) {
            Ok(checkpoint) => {
                let first = checkpoint.left_out.first().filter(|_| moment == CheckpointMoment::TurnStart);
                let notices = first.map(|path| Notice::CheckpointIncomplete {
                    count: checkpoint.left_out.len() as u64,
                    path: path.clone(),
                });
                SavedFiles { notices: notices.into_iter().collect(), checkpoint: Some(checkpoint) }
            }
            Err(error) => {
                let notices = vec![Notice::CheckpointSkipped { detail: error.to_string() }];
                SavedFiles { checkpoint: None, notices }
            }
        }
    }

    async fn save_now(
        &self,
        repository: &Repository,
        moment: CheckpointMoment,
        unix_ms: u64,
    ) -> Result<Checkpoint, CheckpointError> {
        let is_start = moment == CheckpointMoment::TurnStart;
        let ignored = if is_start { IgnoredFiles::Drop } else { IgnoredFiles::Keep };
        let Snapshot { tree, left_out } = repository.snapshot(ignored).await?;
        let start = if is_start { None } else { self.state().start.take() };
        if let Some((_, commit, reference)) = start.filter(|(start, ..)| *start == tree) {
            // The turn has changed nothing: nothing refers to its checkpoint any more.
            let _ = repository.delete_reference(&reference);
            return Ok(Checkpoint { moment, commit, left_out });
        }
        let (commit, reference) = repository.save(&tree, self.session, moment, unix_ms)?;
        if is_start {
            self.state().start = Some((tree, commit.clone(), reference));
        } else if !std::mem::replace(&mut self.state().has_pruned, true) {
            // A later turn tries again.
            let _ = repository.prune_references().await;
            repository.remove_index_copies();
        }
        Ok(Checkpoint { moment, commit, left_out })
    }
}

impl Repository {
    /// Stores a tree as a commit, and sets its reference. Returns both.
    fn save(
        &self,
        tree: &str,
        session: SessionId,
        moment: CheckpointMoment,
        unix_ms: u64,
    ) -> Result<(String, String), CheckpointError> {
        let (name, title) = match moment {
            CheckpointMoment::TurnStart => ("turn-start", "before the changes of a turn"),
            CheckpointMoment::TurnEnd => ("turn-end", "after a turn"),
            CheckpointMoment::UndoStart { .. } => ("undo-start", "before an undo"),
            CheckpointMoment::UndoEnd => ("undo-end", "after an undo"),
        };
        let message = format!("ibeam checkpoint {title}\n\nSession: {session}\n");
        let commit = self.write_commit(tree, &message, unix_ms)?;
        let reference = format!("refs/ibeam/{session}/{unix_ms}-{name}");
        self.set_reference(&reference, &commit)?;
        Ok((commit, reference))
    }
}

impl Checkpoints for RunCheckpoints {
    fn save(&self, moment: CheckpointMoment, unix_ms: u64) -> Option<BoxFuture<'_, SavedFiles>> {
        let repository = self.repository()?;
        Some(Box::pin(self.save_within_limit(repository, moment, unix_ms)))
    }
}
