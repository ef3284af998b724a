//! The changes of a workspace as a patch for another machine, and the workspace with such a patch.
//!
//! The index of the patches stays between two snapshots of a task, so git reads only the files that have changed.

use std::fs;
use std::path::{Path, PathBuf};

use ibeam_git::Place;

use super::{COMMIT, TREE, Workspaces, base_file, borrow_objects, fresh_repository, index_repository, utf8};
use crate::task::WorkspaceSource;

impl Workspaces {
    /// Writes the changes since the workspace was created to `patch`; an empty file if there are none. Returns the base of
    /// the changes.
    ///
    /// # Errors
    /// The reason for people.
    pub(crate) fn write_patch(
        &self,
        source: &WorkspaceSource,
        path: &Path,
        patch: &Path,
    ) -> Result<String, String> {
        let recorded = recorded_base(path)?;
        let (kind, base) = split(&recorded)?;
        let objects = repository(path);
        let is_new = !objects.join("index").exists();
        if is_new {
            fresh_repository(&objects, if kind == TREE { "" } else { base })?;
            // A copy has its base in the repository that was created with it.
            let shared = match kind == TREE {
                true => index_repository(path).join("objects"),
                false => self.source_objects(source)?,
            };
            borrow_objects(&objects, &shared)?;
            self.read_base(&objects, base)?;
        }
        self.add_files(&objects, path)?;
        self.write_diff(&objects, base, patch).map_err(|error| error.to_string())?;
        Ok(recorded)
    }

    /// Creates the workspace at `path` as it was on another machine: at the same base, with the changes in `patch`.
    ///
    /// # Errors
    /// The reason for people, e.g. that the source does not have the base.
    pub(crate) fn restore(
        &self,
        source: &WorkspaceSource,
        path: &Path,
        base: &str,
        patch: &Path,
    ) -> Result<(), String> {
        let (kind, commit) = split(base)?;
        let repository = match source {
            WorkspaceSource::Git(source) => Some(source.git.clone()),
            WorkspaceSource::Path(directory) => self.repository(directory)?.map(|(top, _)| top),
            WorkspaceSource::Result(_) => None,
        };
        match (kind, repository, source) {
            (COMMIT, Some(repository), _) => {
                let mirror = self.mirror(&repository, commit)?;
                self.complete(self.clone_commit(&mirror, &repository, commit, path)?, None, path)?;
            }
            (TREE, None, WorkspaceSource::Path(directory)) => {
                self.complete(self.copy(directory, path)?, None, path)?;
            }
            _ => return Err("the workspace of the task has become another one".to_owned()),
        }
        if recorded_base(path)? != base {
            return Err("the workspace of the task differs from the one on the other machine".to_owned());
        }
        let has_changes = fs::metadata(patch).is_ok_and(|patch| patch.len() > 0);
        if !has_changes {
            return Ok(());
        }
        let git_dir = if kind == TREE { index_repository(path) } else { path.join(".git") };
        // git refuses paths outside of the workspace, in `.git` and behind links.
        let arguments = ["apply", "--binary", "--whitespace=nowarn", utf8(patch)?];
        Ok(self.git.run(Place::with_work_tree(&git_dir, path), &arguments).map(drop)?)
    }
}

/// Returns the repository with the index and the objects for the snapshots of a workspace.
pub(super) fn repository(workspace: &Path) -> PathBuf {
    workspace.with_file_name("snapshot.git")
}

/// Returns the base of the changes of a workspace.
///
/// # Errors
/// The reason for people.
pub(crate) fn recorded_base(path: &Path) -> Result<String, String> {
    fs::read_to_string(base_file(path)).map_err(|error| error.to_string())
}

/// Returns the kind and the hash of a base. The base of a snapshot becomes an argument of git.
fn split(base: &str) -> Result<(&str, &str), String> {
    let parts = base.split_once(' ');
    let is_hash = |hash: &str| hash.len() >= 40 && hash.chars().all(|c| c.is_ascii_hexdigit());
    parts.filter(|(_, hash)| is_hash(hash)).ok_or_else(|| "the file `base` is damaged".to_owned())
}

#[cfg(test)]
mod tests {
    use ibeam_git::Git;

    use super::super::tests::run_git;
    use super::*;

    /// Returns the workspaces of a fleet, and a source with one file.
    fn setup(home: &Path) -> (Workspaces, WorkspaceSource) {
        let source = home.join("source");
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("a.txt"), "a\n").unwrap();
        let fleet = home.join("fleet");
        fs::create_dir_all(&fleet).unwrap();
        (Workspaces::new(Git::from_system(home.join("views")), fleet), WorkspaceSource::Path(source))
    }

    fn commit(directory: &Path) {
        for arguments in [
            ["init", "--quiet", "."].as_slice(),
            &["add", "."],
            &["-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "--message", "m"],
        ] {
            run_git(directory, arguments);
        }
    }

    #[test]
    fn a_restored_workspace_has_the_changed_the_new_and_no_deleted_files() {
        for is_repository in [false, true] {
            let home = tempfile::tempdir().unwrap();
            let home = home.path().canonicalize().unwrap();
            let (workspaces, source) = setup(&home);
            fs::write(home.join("source/gone.txt"), "gone\n").unwrap();
            if is_repository {
                commit(&home.join("source"));
            }
            let (first, second) = (home.join("1/workspace"), home.join("2/workspace"));
            workspaces.prepare(&source, &first).unwrap();
            let patch = home.join("patch");
            let base = workspaces.write_patch(&source, &first, &patch).unwrap();
            assert_eq!(fs::read(&patch).unwrap(), b"");
            fs::write(first.join("a.txt"), "b\n").unwrap();
            fs::write(first.join("new.bin"), [0, 159, 146, 150]).unwrap();
            fs::remove_file(first.join("gone.txt")).unwrap();
            workspaces.write_patch(&source, &first, &patch).unwrap();
            workspaces.restore(&source, &second, &base, &patch).unwrap();
            assert_eq!(fs::read_to_string(second.join("a.txt")).unwrap(), "b\n");
            assert_eq!(fs::read(second.join("new.bin")).unwrap(), [0, 159, 146, 150]);
            assert!(!second.join("gone.txt").exists());
            // Where the source is another one, nothing is restored.
            fs::write(home.join("source/a.txt"), "other\n").unwrap();
            let third = home.join("3/workspace");
            assert_eq!(workspaces.restore(&source, &third, &base, &patch).is_ok(), is_repository);
        }
    }

    #[test]
    fn a_forged_patch_writes_nothing_outside_of_the_workspace() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let (workspaces, source) = setup(&home);
        commit(&home.join("source"));
        let first = home.join("1/workspace");
        workspaces.prepare(&source, &first).unwrap();
        let patch = home.join("patch");
        let base = workspaces.write_patch(&source, &first, &patch).unwrap();
        let outside = home.join("outside");
        fs::create_dir(&outside).unwrap();
        let new_file = |path: &str, mode: &str, content: &str| {
            format!(
                "diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{content}"
            )
        };
        let link =
            new_file("link", "120000", &format!("{}\n\\ No newline at end of file\n", outside.display()));
        for forged in [
            new_file("../../outside/x", "100644", "x\n"),
            new_file(".git/hooks/post-checkout", "100755", "x\n"),
            format!("{link}{}", new_file("link/x", "100644", "x\n")),
        ] {
            fs::write(&patch, &forged).unwrap();
            let second = home.join("2/workspace");
            drop(fs::remove_dir_all(home.join("2")));
            workspaces.restore(&source, &second, &base, &patch).unwrap_err();
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{forged}");
            assert!(!second.join(".git/hooks/post-checkout").exists());
        }
        for base in ["commit --upload-pack=x", "commit", "tree ../x"] {
            workspaces.restore(&source, &home.join("4/workspace"), base, &patch).unwrap_err();
        }
    }
}
