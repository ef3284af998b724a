//! Brings the changes of tasks that passed into a repository of the user: as a branch for each, or as patches of its work
//! tree.
//!
//! Git reads the repository through a view without its configuration. A task is applied whole or not at all: a branch is
//! created when its commit is complete, and git checks a patch before it writes the first file. Files with changes that are
//! not committed are never changed.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use ibeam_git::{Git, GitError, Place, RemoteSettings, RepositoryLocation, RepositoryView, create_branch};

use crate::task::{Task, WorkspaceSource};
use crate::task_result::{Outcome, TaskResult};
use ibeam_governor::task_directory;

/// The name of the committer where the user's configuration of git has none.
const COMMITTER: [&str; 4] = ["-c", "user.name=ibeam", "-c", "user.email=ibeam@localhost"];
/// The number of characters of the longest subject of a commit.
const MAX_SUBJECT_CHARS: usize = 72;

/// The form in which changes are applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyMode {
    /// A branch for each task, whose name is this prefix and the id.
    Branches(String),
    /// Changes of the work tree.
    Patches,
}

/// The effect of the changes of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The branch has the changes.
    Branch(String),
    /// The work tree has the changes.
    Patch,
    /// The task changed nothing.
    Unchanged,
    /// No change was made.
    Refused {
        detail: String,
        /// The files in conflict, as far as they are known.
        files: Vec<String>,
    },
}

#[derive(Clone, Debug)]
pub struct PassedTask {
    pub task: Task,
    pub result: TaskResult,
}

/// The application of changes to a repository.
pub struct Application {
    git: Git,
    /// The git whose index is that of this application.
    indexed: Git,
    location: RepositoryLocation,
    view: RepositoryView,
    top: PathBuf,
    mode: ApplyMode,
    /// The commits with the results of tasks, or the reason why there is none.
    commits: HashMap<String, Result<String, String>>,
    /// The files of the work tree that differ from the last commit.
    uncommitted: HashSet<String>,
}

impl Application {
    /// Opens the repository of the work tree that `directory` is in.
    ///
    /// # Errors
    /// The reason for people.
    pub fn open(git: &Git, directory: &Path, mode: ApplyMode) -> Result<Self, String> {
        let found =
            directory.ancestors().find_map(|top| Some((top, RepositoryLocation::for_work_tree(top)?)));
        let (top, location) =
            found.ok_or_else(|| format!("`{}` is not in a work tree of git", directory.display()))?;
        let view = RepositoryView::open(git, &location, RemoteSettings::References)?;
        let indexed = git.clone().with_variable("GIT_INDEX_FILE", view.path().join("apply.index"));
        let mut application = Self {
            git: git.clone(),
            indexed,
            top: top.to_owned(),
            location,
            view,
            mode,
            commits: HashMap::new(),
            uncommitted: HashSet::new(),
        };
        if application.mode == ApplyMode::Patches {
            application.uncommitted = application.find_uncommitted()?;
        }
        Ok(application)
    }

    fn find_uncommitted(&self) -> Result<HashSet<String>, GitError> {
        let place = Place::with_work_tree(self.view.path(), &self.top);
        self.indexed.run(place, &["read-tree", "HEAD"])?;
        let listed = self
            .indexed
            .run(place, &["diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", "HEAD"])?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Applies the changes of a task. Those of the task from whose result it started come before.
    ///
    /// # Errors
    /// `Undecided`: git was killed or ended.
    pub fn apply(&mut self, passed: &PassedTask, fleet: &Path) -> Result<Applied, GitError> {
        let directory = result_directory(fleet, &passed.result);
        let applied = match self.mode.clone() {
            ApplyMode::Branches(prefix) => self.create_branch(passed, &directory, &prefix),
            ApplyMode::Patches => self.patch(passed, &directory),
        };
        match applied {
            Err(GitError::Failed(detail)) => Ok(Applied::Refused { detail, files: Vec::new() }),
            applied => applied,
        }
    }

    fn create_branch(
        &mut self,
        passed: &PassedTask,
        directory: &Path,
        prefix: &str,
    ) -> Result<Applied, GitError> {
        let id = &passed.task.id;
        let made = self.commit(passed, directory);
        let known = made.as_ref().map(|commit| commit.0.clone()).map_err(ToString::to_string);
        self.commits.insert(id.clone(), known);
        let (commit, parent) = made?;
        if commit == parent {
            return Ok(Applied::Unchanged);
        }
        let branch = format!("{prefix}{id}");
        let reference = format!("refs/heads/{branch}");
        let place = self.view.place();
        if self.git.find(place, &["check-ref-format", &reference])?.is_none() {
            return Err(format!("`{branch}` is not a valid name of a branch").into());
        }
        let revisions = |commit: &str| [format!("{commit}^{{tree}}"), format!("{commit}^")];
        let resolve = |revision: &String| {
            self.git.find(place, &["rev-parse", "--verify", "--quiet", "--end-of-options", revision])
        };
        if let Some(found) = resolve(&reference)? {
            // An earlier application has created it.
            for (old, new) in revisions(&found).iter().zip(&revisions(&commit)) {
                if resolve(old)? != resolve(new)? {
                    return Err(format!("the branch `{branch}` exists").into());
                }
            }
            self.commits.insert(id.clone(), Ok(found));
            return Ok(Applied::Branch(branch));
        }
        create_branch(&self.git, &self.view, &self.location, &branch, &commit)?;
        Ok(Applied::Branch(branch))
    }

    /// Returns the commit with the result of a task, and its parent; both are the same if the task changed nothing.
    fn commit(&self, passed: &PassedTask, directory: &Path) -> Result<(String, String), GitError> {
        let PassedTask { task, result } = passed;
        let place = self.view.place();
        let parent = match &task.workspace {
            WorkspaceSource::Result(source) => match self.commits.get(&source.from) {
                Some(Ok(commit)) => commit.clone(),
                Some(Err(_)) | None => {
                    return Err(format!("the changes of `{}` were not applied", source.from).into());
                }
            },
            WorkspaceSource::Path(_) | WorkspaceSource::Git(_) => base_commit(directory)?,
        };
        let revision = format!("{parent}^{{commit}}");
        if self
            .git
            .find(place, &["rev-parse", "--verify", "--quiet", "--end-of-options", &revision])?
            .is_none()
        {
            return Err(format!("the repository does not have the commit `{parent}`").into());
        }
        let Some(patch) = patch_file(result, directory)? else { return Ok((parent.clone(), parent)) };
        self.indexed.run(place, &["read-tree", &parent])?;
        self.indexed.run(place, &["apply", "--cached", "--binary", "--whitespace=nowarn", &patch])?;
        let tree = self.indexed.line(place, &["write-tree"])?;
        let commit = ["commit-tree", &tree, "-p", &parent, "-F", "-"];
        let message = message(task);
        let made = match self.git.run_with_input(place, &commit, message.as_bytes()) {
            // The user has no name.
            Err(GitError::Failed(_)) => {
                self.git.run_with_input(place, &[&COMMITTER[..], &commit].concat(), message.as_bytes())
            }
            made => made,
        };
        Ok((String::from_utf8_lossy(&made?).trim().to_owned(), parent))
    }

    fn patch(&mut self, passed: &PassedTask, directory: &Path) -> Result<Applied, GitError> {
        let PassedTask { task, result } = passed;
        let refused = |detail: String, files| Ok(Applied::Refused { detail, files });
        // The value stands for the work tree.
        self.commits.insert(task.id.clone(), Err(String::new()));
        if let WorkspaceSource::Result(source) = &task.workspace
            && !matches!(self.commits.get(&source.from), Some(Ok(_)))
        {
            return refused(format!("the changes of `{}` were not applied", source.from), Vec::new());
        }
        let applied = match patch_file(result, directory)? {
            None => Applied::Unchanged,
            Some(patch) => {
                let is_uncommitted = |file: &&String| self.uncommitted.contains(*file);
                let files: Vec<String> =
                    result.changed_files.iter().filter(is_uncommitted).cloned().collect();
                if !files.is_empty() {
                    return refused("it has changes that are not committed".to_owned(), files);
                }
                let place = Place::with_work_tree(self.view.path(), &self.top);
                match self.git.run(place, &["apply", "--binary", "--whitespace=nowarn", &patch]) {
                    Err(GitError::Failed(detail)) => {
                        let files = conflicts(&detail, &result.changed_files);
                        return refused(detail, files);
                    }
                    applied => applied.map(|_| Applied::Patch)?,
                }
            }
        };
        self.commits.insert(task.id.clone(), Ok(String::new()));
        Ok(applied)
    }
}

/// Returns the directory of a task: that of the fleet, which may have been moved, or that of the result.
fn result_directory(fleet: &Path, result: &TaskResult) -> PathBuf {
    let own = task_directory(&fleet.join("tasks"), &result.id);
    match &result.directory {
        Some(directory) if !own.join("base").exists() => directory.clone(),
        Some(_) | None => own,
    }
}

/// Returns the commit at which a task started.
fn base_commit(directory: &Path) -> Result<String, String> {
    let path = directory.join("base");
    let base = fs::read_to_string(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    let commit = base.strip_prefix("commit ").map(str::trim);
    let is_hash = |hash: &&str| hash.len() >= 40 && hash.chars().all(|c| c.is_ascii_hexdigit());
    let commit = commit.filter(is_hash).ok_or("the task did not start at a commit; use `--patch`")?;
    Ok(commit.to_owned())
}

/// Returns the file with the changes of a task; `None` if it changed nothing.
fn patch_file(result: &TaskResult, directory: &Path) -> Result<Option<String>, String> {
    if result.patch.is_none() {
        return Ok(None);
    }
    let path = directory.join("changes.patch");
    let path = path.canonicalize().map_err(|error| format!("`{}`: {error}", path.display()))?;
    path.to_str()
        .map(|path| Some(path.to_owned()))
        .ok_or_else(|| format!("`{}` is not UTF-8", path.display()))
}

/// Returns the message of the commit of a task: its id and the first line of its prompt.
fn message(task: &Task) -> String {
    let line = task.prompt.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let subject: String = format!("{}: {}", task.id, line.trim()).chars().take(MAX_SUBJECT_CHARS).collect();
    format!("{subject}\n")
}

/// Returns the files that git names in its reasons for refusing a patch, or all files of the patch.
fn conflicts(detail: &str, files: &[String]) -> Vec<String> {
    let is_named = |file: &&String| {
        detail.contains(&format!("error: {file}: ")) || detail.contains(&format!("patch failed: {file}:"))
    };
    let named: Vec<String> = files.iter().filter(is_named).cloned().collect();
    if named.is_empty() { files.to_vec() } else { named }
}

/// Returns the tasks that passed: those with these ids, or all if there are none, and those from whose results they start,
/// which come first.
///
/// # Errors
/// An id that no task which passed has.
pub fn passed_tasks(
    tasks: Vec<Task>,
    results: Vec<TaskResult>,
    only: &[String],
) -> Result<Vec<PassedTask>, String> {
    let passed = results.into_iter().filter(|result| result.outcome == Outcome::Passed);
    let mut passed: HashMap<String, TaskResult> = passed.map(|result| (result.id.clone(), result)).collect();
    if let Some(unknown) = only.iter().find(|id| !passed.contains_key(*id)) {
        return Err(unknown.clone());
    }
    let sources = |task: &Task| match &task.workspace {
        WorkspaceSource::Result(source) => source.tasks().map(str::to_owned).collect(),
        WorkspaceSource::Path(_) | WorkspaceSource::Git(_) => Vec::new(),
    };
    let named = tasks.iter().filter(|task| only.contains(&task.id));
    let wanted: HashSet<String> =
        named.flat_map(|task| sources(task).into_iter().chain([task.id.clone()])).collect();
    let mut found: Vec<PassedTask> = tasks
        .into_iter()
        .filter(|task| only.is_empty() || wanted.contains(&task.id))
        .filter_map(|task| passed.remove(&task.id).map(|result| PassedTask { task, result }))
        .collect();
    // Each has more sources than the tasks from which it starts.
    found.sort_by_key(|passed| sources(&passed.task).len());
    Ok(found)
}
