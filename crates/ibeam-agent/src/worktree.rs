//! `--worktree`: a run in a git worktree of its own, with a branch of its own.
//!
//! The worktree lies in the state directory, `$XDG_STATE_HOME/ibeam/worktrees/REPOSITORY-HASH/NAME`, and stays after the
//! run: commands must not see the data directory. The user's git creates it without hooks and without the configuration of
//! the repository. The set-up commands of a new worktree run later, with the tools of the run.

mod creation;
mod inventory;
mod setup_commands;

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ibeam_config::{Dirs, Trust, TrustRequest};
use ibeam_core::Stop;
use ibeam_git::RepositoryLocation;
use ibeam_protocol::{Notice, Reason, SessionId, sentence};
use sha2::{Digest as _, Sha256};

use crate::app::workspace::resolve_workspace;
use crate::environment::variable;
use crate::git;
use crate::option_checks::empty_value;
use crate::programs::Programs;
use crate::run_options::RunOptions;

use creation::WorktreeSpec;
pub use inventory::{ListedWorktree, UnsavedWork, WorktreeInventory};
use setup_commands::SetupOrigin;
pub(crate) use setup_commands::WorktreeSetup;

/// The number of characters of the longest name.
const MAX_NAME_CHARS: usize = 64;

/// The worktree that is the workspace of a run.
#[derive(Clone, Debug)]
pub struct Worktree {
    /// The notices about it.
    pub(crate) notices: Vec<Notice>,
    /// The work tree from whose repository it is, and its own root.
    roots: (PathBuf, PathBuf),
    /// The set-up that it still needs.
    pub(crate) setup: Option<WorktreeSetup>,
    /// The origin of a set-up that was left out because the directory where the user started is not trusted.
    untrusted: Option<SetupOrigin>,
}

impl Worktree {
    /// Returns the copy in the worktree of a file in the work tree of the user; `None` for another file.
    pub(crate) fn copy_of(&self, path: &Path) -> Option<PathBuf> {
        let (from, to) = &self.roots;
        Some(to.join(path.strip_prefix(from).ok()?))
    }

    /// Loads the set-up that was left out, from the files of the worktree `workspace`, which is trusted now.
    ///
    /// # Errors
    /// `BadConfig` for an invalid file with set-up commands.
    pub fn load_setup(&mut self, workspace: &Path, trust: &Trust) -> Result<(), Reason> {
        let Some(origin) = &self.untrusted else { return Ok(()) };
        if let Ok(setup @ Some(_)) = WorktreeSetup::load(workspace, trust, origin)? {
            self.setup = setup;
            self.untrusted = None;
            self.notices.retain(|notice| !matches!(notice, Notice::WorktreeSetupUntrusted { .. }));
        }
        Ok(())
    }
}

/// Creates the worktree that the options ask for, or finds it, and makes it the workspace.
///
/// # Errors
/// `Usage` for an invalid name or base and outside of a repository, `CannotCreate` for a failure of git, `BadConfig` for an
/// invalid file with set-up commands; the reason of `stop`; the errors of [`resolve_workspace`].
pub fn enter(options: &mut RunOptions, stop: &Stop) -> Result<Option<Worktree>, Reason> {
    let Some(name) = options.worktree.clone() else { return Ok(None) };
    let name = match name.is_empty() {
        true => format!("run-{:.8}", SessionId::random().to_string()),
        false => checked_name(name)?,
    };
    let (workspace, dirs) = resolve_workspace(options)?;
    let no_repository = || Reason::Usage {
        detail: sentence!(
            "`--worktree` needs a git repository, but `{path}` is not in one; `git init` creates one",
            path = workspace.display(),
        ),
    };
    let top = git::repository_root(&workspace);
    let location = RepositoryLocation::for_new_worktree(&workspace, top).ok_or_else(no_repository)?;
    let top = top.unwrap_or(&workspace);
    let programs = Programs::new(std::env::var_os("PATH").as_deref(), vec![workspace.clone()]);
    let (path, branch) = (worktrees_dir(&dirs, &location.common_dir).join(&name), format!("ibeam/{name}"));
    // No name begins with a dot.
    let marker = path.with_file_name(format!(".{name}.not-set-up"));
    // `--trust` trusts the worktree, for whose run the commands are.
    let request = match options.trust_request() {
        TrustRequest::Remember => TrustRequest::ThisRun,
        request @ (TrustRequest::UseStored | TrustRequest::ThisRun) => request,
    };
    let trust = || Trust::evaluate(request, &dirs, &workspace);
    let spec = WorktreeSpec {
        programs: &programs,
        views: dirs.git_views(),
        location: &location,
        path: &path,
        branch: &branch,
        base: options.worktree_base.as_deref(),
        marker: &marker,
        is_trusted: &|| trust().is_trusted(),
        stop,
    };
    spec.create()?;
    let mut notices = vec![Notice::WorktreeUsed { path: path.display().to_string(), branch }];
    let (mut setup, mut untrusted) = (None, None);
    if !options.skip_worktree_setup && marker.exists() {
        let trust = trust();
        let origin = SetupOrigin { root: workspace.clone(), marker };
        match WorktreeSetup::load(&workspace, &trust, &origin)? {
            Ok(found) => setup = found,
            Err(notice) => {
                notices.push(notice);
                untrusted = Some(origin);
            }
        }
    }
    let prefix = workspace.strip_prefix(top).unwrap_or(Path::new(""));
    let inner = path.join(prefix);
    options.workspace = Some(if inner.is_dir() { inner } else { path.clone() });
    Ok(Some(Worktree { notices, roots: (top.to_owned(), path), setup, untrusted }))
}

/// Returns a name that may be part of a path and of a branch.
fn checked_name(name: String) -> Result<String, Reason> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_valid = name.chars().all(is_allowed)
        && name.chars().count() <= MAX_NAME_CHARS
        && !name.starts_with(['-', '.'])
        && !name.ends_with('.')
        && !name.ends_with(".lock")
        && !name.contains("..");
    match is_valid {
        true => Ok(name),
        false if name.trim().is_empty() => Err(empty_value("--worktree")),
        false => Err(Reason::Usage {
            detail: sentence!(
                "`--worktree={name}`: a name has at most {count} letters, digits, `-`, `_` and `.`",
                name,
                count = MAX_NAME_CHARS
            ),
        }),
    }
}

/// Returns the directory of the worktrees of the repository with this git directory.
fn worktrees_dir(dirs: &Dirs, common: &Path) -> PathBuf {
    let state = variable("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.unwrap_or_else(|| dirs.home.join(".local/state")).join("ibeam");
    let hash: String = Sha256::digest(common.as_os_str().as_bytes())
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    // `.git` and `.bare` lie in the directory that has the name.
    let is_hidden = common.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
    let named = if is_hidden { common.parent() } else { Some(common) };
    let repository = named.and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    state.join("worktrees").join(format!("{repository}-{hash}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_are_safe_in_paths_and_branches_are_accepted() {
        for name in ["fix", "fix-1", "A.b_c"] {
            assert_eq!(checked_name(name.to_owned()).as_deref(), Ok(name));
        }
        for name in ["-x", ".x", "a/b", "..", "a..b", "x.lock", "x.", "a b", "ä", &"x".repeat(65)] {
            assert!(checked_name(name.to_owned()).is_err(), "{name}");
        }
    }
}
