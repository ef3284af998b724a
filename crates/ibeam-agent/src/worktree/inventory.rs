//! The worktrees that runs made for a repository: a list with what would be lost with each, and the removal of one.
//!
//! A removal keeps the branch, so commits are never lost with a worktree.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_core::Stop;
use ibeam_git::{
    Git, Place, RemoteSettings, RepositoryLocation, RepositoryView, read_line, unregister_worktree,
};
use ibeam_protocol::{Reason, sentence};

use super::worktrees_dir;
use crate::app::AppContext;
use crate::git::repository_root;
use crate::helper_process;
use crate::programs::Programs;

/// The time for one command of git.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The files about a worktree that lie next to it.
const SIBLINGS: [&str; 3] = ["lock", "incomplete", "not-set-up"];

/// The worktrees that runs made for the repository of a workspace.
#[derive(Debug)]
pub struct WorktreeInventory {
    location: RepositoryLocation,
    /// The directory of the worktrees.
    directory: PathBuf,
    git: Option<Git>,
}

/// A worktree that a run made.
#[derive(Clone, Debug)]
pub struct ListedWorktree {
    pub name: String,
    pub path: PathBuf,
    /// The branch that it has checked out.
    pub branch: Option<String>,
    /// The work that would be lost with it, or the reason why that cannot be determined.
    pub unsaved: Result<UnsavedWork, String>,
    /// The entry of the worktree in the repository.
    location: Option<RepositoryLocation>,
}

/// The part of the work in a worktree that is nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsavedWork {
    /// The number of files with changes that are not committed.
    pub uncommitted: u64,
    /// The number of commits that no other branch has.
    pub unmerged: u64,
}

impl WorktreeInventory {
    /// Returns the inventory for the workspace of `app`.
    ///
    /// # Errors
    /// `Usage` for a workspace outside of a repository.
    pub fn new(app: &AppContext) -> Result<Self, Reason> {
        let workspace = &app.workspace;
        let location = RepositoryLocation::for_new_worktree(workspace, repository_root(workspace));
        let location = location.ok_or_else(|| Reason::Usage {
            detail: sentence!(
                "`ibeam worktree` needs a git repository, but `{path}` is not in one",
                path = workspace.display(),
            ),
        })?;
        let programs = Programs::new(std::env::var_os("PATH").as_deref(), vec![workspace.clone()]);
        let git = programs.find("git").map(|program| {
            Git::new(program, app.dirs.git_views(), |command, input| {
                helper_process::run_blocking(command, input, &Stop::default(), TIMEOUT)
            })
            .with_variable("PATH", programs.path())
        });
        Ok(Self { directory: worktrees_dir(&app.dirs, &location.common_dir), location, git })
    }

    /// Returns the worktrees, sorted by name.
    pub fn list(&self) -> Vec<ListedWorktree> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let names = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut names: Vec<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names.into_iter().map(|name| self.read(name)).collect()
    }

    fn read(&self, name: String) -> ListedWorktree {
        let path = self.directory.join(&name);
        let path = path.canonicalize().unwrap_or(path);
        let location = RepositoryLocation::for_work_tree(&path)
            .filter(|location| location.common_dir == self.location.common_dir);
        let head = location.as_ref().and_then(|location| read_line(&location.git_dir.join("HEAD")));
        let branch =
            head.as_deref().and_then(|head| head.strip_prefix("ref: refs/heads/")).map(str::to_owned);
        let unsaved = match &location {
            Some(location) => self.unsaved_work(location, &path, branch.as_deref()),
            None => Err("the repository does not know it".to_owned()),
        };
        ListedWorktree { name, path, branch, unsaved, location }
    }

    fn unsaved_work(
        &self,
        location: &RepositoryLocation,
        path: &Path,
        branch: Option<&str>,
    ) -> Result<UnsavedWork, String> {
        if location.git_dir.join("locked").exists() {
            return Err("it is locked".to_owned());
        }
        let git = self.git.clone().ok_or("`git` is not installed")?;
        let git = git.with_variable("GIT_INDEX_FILE", location.git_dir.join("index"));
        let view = RepositoryView::open(&git, location, RemoteSettings::References)?;
        // The work tree of a submodule could name programs in its own configuration.
        let status = ["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all"];
        let files = git.run(Place::with_work_tree(view.path(), path), &status)?;
        let uncommitted = files.split(|byte| *byte == 0).filter(|file| !file.is_empty()).count();
        let own = format!("--exclude={}", branch.unwrap_or_default());
        let commits = ["rev-list", "--count", "HEAD", "--not", &own, "--branches", "--remotes"];
        let unmerged = git.line(view.place(), &commits)?;
        let unmerged = unmerged.parse().map_err(|_| format!("git: `{unmerged}`"))?;
        Ok(UnsavedWork { uncommitted: u64::try_from(uncommitted).unwrap_or(u64::MAX), unmerged })
    }

    /// Removes a worktree with its files and its entry in the repository. Its branch stays.
    ///
    /// # Errors
    /// The error of the system.
    pub fn remove(&self, worktree: &ListedWorktree) -> io::Result<()> {
        fs::remove_dir_all(&worktree.path)?;
        if let Some(location) = &worktree.location {
            unregister_worktree(location)?;
        }
        for kind in SIBLINGS {
            let file = self.directory.join(format!(".{}.{kind}", worktree.name));
            fs::remove_file(file).or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })?;
        }
        Ok(())
    }
}

impl UnsavedWork {
    /// Whether nothing would be lost.
    pub fn is_empty(self) -> bool {
        self == Self { uncommitted: 0, unmerged: 0 }
    }
}
