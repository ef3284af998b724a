//! The directory of a command: policy judges it, and what was judged is where the command starts.
//!
//! A call is judged before it runs, and between the two a link may change. So the directory is found again when the
//! command starts, and must be the one that was judged. git must not find a bare repository there: git would obey
//! its configuration, which anybody can have put into the workspace.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ibeam_core::Access;
use ibeam_policy::{PathPolicy, Verdict};
use ibeam_protocol::{ToolFailure, ToolOutcome};

use crate::bounded_look::within_bound;
use crate::workspace::Workspace;

/// The directories of the calls that were judged.
pub(super) struct Directories {
    path_policy: PathPolicy,
    judged: Mutex<Judged>,
}

#[derive(Default)]
struct Judged {
    calls: Vec<JudgedCall>,
    /// A command has started since the last call was judged, so those of `calls` have had their turn.
    is_over: bool,
}

struct JudgedCall {
    command: String,
    /// The directory, as the model gave it.
    asked: String,
    /// Where that led.
    real: PathBuf,
}

impl Directories {
    pub(super) fn new(path_policy: PathPolicy) -> Self {
        Self { path_policy, judged: Mutex::default() }
    }

    /// Returns the access of a command, with the directory to which `asked` leads. It is remembered for the call.
    pub(super) fn access(&self, workspace: &Workspace, command: String, asked: &str) -> Access {
        let path = if asked.is_empty() { "." } else { asked };
        let (here, named) = (workspace.clone(), path.to_owned());
        let real = within_bound(move || here.target(&named)).unwrap_or_else(|| workspace.plain(path));
        let mut judged = self.lock();
        if std::mem::take(&mut judged.is_over) {
            judged.calls.clear();
        }
        judged.calls.push(JudgedCall {
            command: command.clone(),
            asked: asked.to_owned(),
            real: real.clone(),
        });
        drop(judged);
        access_in(workspace, command, real)
    }

    /// Checks that a command may start in `real`, to which `asked` leads now.
    ///
    /// # Errors
    /// It leads elsewhere than when it was judged, to what is denied, or git would find a bare repository.
    pub(super) fn check(
        &self,
        workspace: &Workspace,
        command: &str,
        asked: &str,
        real: &Path,
    ) -> Result<(), Box<ToolOutcome>> {
        let (was_judged, has_changed) = {
            let mut judged = self.lock();
            judged.is_over = true;
            let mut same =
                judged.calls.iter().filter(|call| call.command == command && call.asked == asked).peekable();
            // Two equal calls that led to two places: which one was permitted cannot be told.
            (same.peek().is_some(), same.any(|call| call.real != real))
        };
        let refused = |error: String| {
            let path = real.to_owned();
            let for_model = format!("not executed: {error}").into();
            let failure = ToolFailure::PermissionDenied { path, error };
            Err(Box::new(ToolOutcome::Failure { failure, for_model }))
        };
        if has_changed {
            return refused(format!(
                "the directory `{asked}` leads elsewhere now than when the command was judged; look again"
            ));
        }
        let access = access_in(workspace, command.to_owned(), real.to_owned());
        let is_elsewhere = real != workspace.root();
        if is_elsewhere
            && !was_judged
            && let Some(Verdict::Deny { reason, .. }) = self.path_policy.verdict(real, false)
        {
            return refused(reason);
        }
        match self
            .path_policy
            .git_search_directories(&access)
            .into_iter()
            .find_map(|place| bare_repository(&place))
        {
            Some(bare) => refused(format!(
                "git would run in the bare repository `{}`, whose configuration can name programs to run; name it \
                 with `--git-dir`, which needs a rule such as `Shell(git:*)`",
                bare.display()
            )),
            None => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Judged> {
        // It is whole at every moment.
        self.judged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn access_in(workspace: &Workspace, command: String, real: PathBuf) -> Access {
    let directory = Some(real).filter(|real| real != workspace.root());
    Access::Command { text: command, directory }
}

/// Returns the bare repository that git would find from `place` on: `place` itself, or the first directory above it
/// that is a repository of any kind.
fn bare_repository(place: &Path) -> Option<PathBuf> {
    for directory in place.canonicalize().ok()?.ancestors() {
        // Symbolic links count, also those that lead nowhere: git follows them itself.
        if directory.join(".git").symlink_metadata().is_ok() {
            return None;
        }
        // As git does, a directory of a repository is told by three names.
        let has = |name: &str| directory.join(name).symlink_metadata().is_ok();
        if has("HEAD") && (has("commondir") || (has("objects") && has("refs"))) {
            // `.git` itself, and the directories of submodules and work trees in it, belong to a work tree.
            let is_inside = directory.components().any(|name| name.as_os_str() == ".git");
            return (!is_inside).then(|| directory.to_owned());
        }
    }
    None
}
