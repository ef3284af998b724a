//! Where programs of ours are found: `PATH` without what a repository could put programs into.
//!
//! Refuses directories that are relative, or in one that a run works in: whoever wrote the repository would choose
//! what runs, or the model of an earlier run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{Access, access};

/// Looked at last, whatever `PATH` says.
const USUAL: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// The directories in which programs are looked for, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Programs {
    directories: Vec<PathBuf>,
    /// Real paths, in which no program of ours is.
    roots: Vec<PathBuf>,
}

impl Programs {
    /// Those of `path`, a value of `PATH`, for a run in these `roots`, which are real paths.
    pub(crate) fn new(path: Option<&OsStr>, roots: Vec<PathBuf>) -> Self {
        let is_outside = |path: &Path| !roots.iter().any(|root| path.starts_with(root));
        let is_ours = |directory: &PathBuf| {
            directory.is_absolute()
                && is_outside(directory)
                && directory.canonicalize().is_ok_and(|real| is_outside(&real))
        };
        let given = std::env::split_paths(path.unwrap_or_default()).filter(is_ours);
        let directories = given.chain(USUAL.map(PathBuf::from)).collect();
        Self { directories, roots }
    }

    /// The same run with another `PATH`.
    pub(crate) fn with_path(&self, path: &OsStr) -> Self {
        Self::new(Some(path), self.roots.clone())
    }

    /// The program of that name; `None` when there is none.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        let is_program = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
        self.directories.iter().map(|directory| directory.join(name)).find(is_program)
    }

    /// The program of that name, ready to be started: what it finds, by name or where it runs, is not the workspace's
    /// either.
    pub(crate) fn command(&self, name: &str) -> Option<Command> {
        let mut command = Command::new(self.find(name)?);
        command.env("PATH", self.path()).current_dir("/");
        Some(command)
    }

    /// The directories, in order.
    pub(crate) fn directories(&self) -> &[PathBuf] {
        &self.directories
    }

    /// As a value of `PATH`, for programs that start others.
    pub(crate) fn path(&self) -> OsString {
        std::env::join_paths(&self.directories).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_directory_of_the_workspace_has_no_programs_however_it_is_named() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let (workspace, tools) = (root.join("workspace"), root.join("tools"));
        for directory in [&workspace.join("bin"), &tools] {
            fs::create_dir_all(directory).unwrap();
            fs::write(directory.join("tool-of-a-test"), "#!/bin/sh\n").unwrap();
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(directory.join("tool-of-a-test"), mode).unwrap();
        }
        symlink(workspace.join("bin"), root.join("link")).unwrap();
        let roots = vec![root.join("other"), workspace.clone()];
        let dots = tools.join("../workspace/bin");
        for directory in [
            Path::new("."),
            Path::new(""),
            Path::new("bin"),
            &workspace.join("bin"),
            &root.join("link"),
            &dots,
        ] {
            let path = std::env::join_paths([directory]).unwrap();
            let programs = Programs::new(Some(&path), roots.clone());
            assert_eq!(programs.find("tool-of-a-test"), None, "{}", directory.display());
            let path = std::env::join_paths([directory, &tools]).unwrap();
            let programs = Programs::new(Some(&path), roots.clone());
            assert_eq!(programs.find("tool-of-a-test"), Some(tools.join("tool-of-a-test")));
        }
    }

    #[test]
    fn what_is_usual_is_found_without_a_path_and_in_any_workspace() {
        for workspace in ["/", "/usr", "/somewhere"] {
            assert!(Programs::new(None, vec![PathBuf::from(workspace)]).find("sh").is_some(), "{workspace}");
        }
    }
}
