//! The working directory of a command, which policy checks with the command.
//!
//! git must not find a bare repository there: git would use its configuration, which anyone may have put into the
//! workspace.

use std::path::{Path, PathBuf};

use ibeam_core::Access;
use ibeam_policy::PathPolicy;
use ibeam_protocol::{ToolFailure, ToolOutcome};

use crate::workspace::Workspace;

/// Returns the access of a command that starts in `directory`, which is absolute and without links.
pub(super) fn access(workspace: &Workspace, command: &str, directory: &Path) -> Access {
    let directory = Some(directory.to_owned()).filter(|directory| directory != workspace.root());
    Access::Command { text: command.to_owned(), directory }
}

/// Checks that git would not find a bare repository from any directory in which a command of this access runs it.
///
/// # Errors
/// git would find one.
pub(super) fn check(
    path_policy: &PathPolicy,
    access: &Access,
    directory: &Path,
) -> Result<(), Box<ToolOutcome>> {
    match path_policy.git_search_directories(access).into_iter().find_map(|place| bare_repository(&place)) {
        Some(bare) => {
            let error = format!(
                "git would run in the bare repository `{}`, whose configuration can name programs to run; name it \
                 with `--git-dir`, which needs a rule such as `Shell(git:*)`",
                bare.display()
            );
            let for_model = format!("not executed: {error}").into();
            let failure = ToolFailure::PermissionDenied { path: directory.to_owned(), error: error.into() };
            Err(Box::new(ToolOutcome::Failure { failure, for_model }))
        }
        None => Ok(()),
    }
}

/// Returns the bare repository that git would find from `place` on: `place` itself, or the first parent that is a
/// repository of any kind.
fn bare_repository(place: &Path) -> Option<PathBuf> {
    for directory in place.canonicalize().ok()?.ancestors() {
        // Symbolic links count too, even dangling ones: git follows them itself.
        if directory.join(".git").symlink_metadata().is_ok() {
            return None;
        }
        // Like git, identifies a repository by three names.
        let has = |name: &str| directory.join(name).symlink_metadata().is_ok();
        if has("HEAD") && (has("commondir") || (has("objects") && has("refs"))) {
            // `.git` itself, and the directories of submodules and work trees in it, belong to a work tree.
            let is_inside = directory.components().any(|name| name.as_os_str() == ".git");
            return (!is_inside).then(|| directory.to_owned());
        }
    }
    None
}
