//! Workspaces that start with the results of other tasks of the fleet: their patches are applied to a new workspace.

use std::fs;
use std::path::Path;

use ibeam_git::{GitError, Place};

use super::{COMMIT, NewWorkspace, TREE, WorkspaceError, Workspaces, base_file, index_repository, utf8};
use crate::task::ResultSource;
use crate::task_dir::TaskDir;
use ibeam_governor::task_directory;

/// The author of the commits with the changes of other tasks.
const AUTHOR: [&str; 4] = ["-c", "user.name=ibeam", "-c", "user.email=ibeam@localhost"];

impl Workspaces {
    /// Returns the commit at which the first of the tasks started; `None` if its workspace was a copy.
    pub(super) fn first_commit(&self, source: &ResultSource) -> Result<Option<String>, WorkspaceError> {
        let Some(first) = source.tasks().next() else { return Ok(None) };
        let workspace = task_directory(&self.fleet.join("tasks"), first).join("workspace");
        let base = fs::read_to_string(base_file(&workspace)).map_err(|error| {
            WorkspaceError::NoStart(format!("the workspace of `{first}` is gone: {error}"))
        })?;
        Ok(base.strip_prefix(COMMIT).map(|commit| commit.trim().to_owned()))
    }

    /// Applies the changes of the tasks to a new workspace at `path`. In a clone, each gets a commit. What the workspace has
    /// then is the base of its own changes.
    pub(super) fn apply_results(
        &self,
        source: &ResultSource,
        new: &mut NewWorkspace,
        path: &Path,
    ) -> Result<(), WorkspaceError> {
        let index = index_repository(path);
        for task in source.tasks() {
            let dir = TaskDir::open(&self.fleet.join("tasks"), task)
                .map_err(|error| WorkspaceError::Unavailable(error.to_string()))?;
            let no_start =
                |detail: &str| WorkspaceError::NoStart(format!("the result of `{task}`: {detail}"));
            let result = dir.result().ok_or_else(|| no_start("it is gone"))?;
            if let Some(message) = result.message {
                // The changes could not be read.
                return Err(no_start(&message));
            }
            if result.patch.is_none() {
                continue;
            }
            let (patch, is_clone) = (dir.patch(), new.is_clone());
            let git_dir = if is_clone { new.path.join(".git") } else { index.clone() };
            let place = Place::with_work_tree(&git_dir, &new.path);
            // git refuses paths outside of the workspace, in `.git` and behind links.
            let mut arguments = vec!["apply", "--binary", "--whitespace=nowarn"];
            arguments.extend(is_clone.then_some("--index"));
            arguments.push(utf8(&patch)?);
            match self.git.run(place, &arguments) {
                Err(GitError::Failed(detail)) => return Err(no_start(&detail)),
                applied => applied.map(drop)?,
            }
            if is_clone {
                let message = format!("fleet: {task}");
                let commit =
                    ["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--allow-empty", "-m", &message];
                self.git.run(place, &[&AUTHOR[..], &commit].concat())?;
            }
        }
        self.add_files(&index, &new.path)?;
        let tree = self.git.line(Place::bare(&index), &["write-tree"])?;
        new.base = format!("{TREE} {tree}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ibeam_git::Git;

    use super::super::tests::run_git;
    use super::*;
    use crate::task::WorkspaceSource;
    use crate::task_result::{Outcome, TaskResult};

    /// Ends a task with the changes in its workspace.
    fn end(workspaces: &Workspaces, source: &WorkspaceSource, task: &Path) {
        let changes =
            workspaces.changes(source, &task.join("workspace"), &task.join("changes.patch")).unwrap();
        let mut result = TaskResult::without_run("a", Outcome::Passed, String::new());
        result.message = None;
        result.patch = changes.has_patch.then(|| task.join("changes.patch"));
        fs::write(task.join("result.json"), serde_json::to_vec(&result).unwrap()).unwrap();
    }

    fn from(task: &str, earlier: &[&str], start: &WorkspaceSource) -> WorkspaceSource {
        WorkspaceSource::Result(ResultSource {
            from: task.to_owned(),
            earlier: earlier.iter().map(|id| (*id).to_owned()).collect(),
            start: Some(Box::new(start.clone())),
        })
    }

    #[test]
    fn a_workspace_starts_with_the_changes_of_two_tasks_and_has_only_its_own() {
        for is_repository in [false, true] {
            let home = tempfile::tempdir().unwrap();
            let home = home.path().canonicalize().unwrap();
            let source = home.join("source");
            fs::create_dir_all(&source).unwrap();
            fs::write(source.join("a.txt"), "a\n").unwrap();
            if is_repository {
                for arguments in [
                    ["init", "--quiet", "."].as_slice(),
                    &["add", "."],
                    &["-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "--message", "m"],
                ] {
                    run_git(&source, arguments);
                }
            }
            let fleet = home.join("fleet");
            fs::create_dir_all(fleet.join("tasks")).unwrap();
            let workspaces = Workspaces::new(Git::from_system(home.join("views")), fleet.clone());
            let start = WorkspaceSource::Path(source.clone());
            let sources = [start.clone(), from("a", &[], &start), from("b", &["a"], &start)];
            for (id, source) in ["a", "b", "c"].into_iter().zip(&sources) {
                let task = task_directory(&fleet.join("tasks"), id);
                let workspace = task.join("workspace");
                workspaces.prepare(source, &workspace).unwrap();
                let text = fs::read_to_string(workspace.join("a.txt")).unwrap();
                fs::write(workspace.join("a.txt"), format!("{text}{id}\n")).unwrap();
                fs::write(workspace.join(format!("{id}.bin")), [0, 159]).unwrap();
                end(&workspaces, source, &task);
                if is_repository {
                    // What earlier tasks did is committed, and only what this one did is not.
                    let git_dir = workspace.join(".git");
                    let status = workspaces
                        .git
                        .line(Place::with_work_tree(&git_dir, &workspace), &["status", "--porcelain"])
                        .unwrap();
                    assert_eq!(status, format!(" M a.txt\n?? {id}.bin"));
                }
            }
            let last = task_directory(&fleet.join("tasks"), "c");
            assert_eq!(fs::read_to_string(last.join("workspace/a.txt")).unwrap(), "a\na\nb\nc\n");
            assert!(last.join("workspace/a.bin").exists());
            let patch = fs::read_to_string(last.join("changes.patch")).unwrap();
            assert!(patch.contains("+c\n") && !patch.contains("+b\n") && !patch.contains("b.bin"), "{patch}");

            // A patch that is gone, and one that cannot be applied.
            fs::remove_file(task_directory(&fleet.join("tasks"), "a").join("changes.patch")).unwrap();
            let error = workspaces.prepare(&sources[1], &fleet.join("tasks/d/workspace")).unwrap_err();
            assert!(matches!(&error, WorkspaceError::NoStart(_)), "{error:?}");
            assert!(!fleet.join("tasks/d/workspace").exists());
        }
    }
}
