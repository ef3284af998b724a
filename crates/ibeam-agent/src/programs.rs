//! Finds the programs that this program starts: in `PATH`, but not in directories that a repository could fill.
//!
//! Skips relative directories, and directories inside a directory that a run may write. Otherwise the author of a
//! repository, or the model in an earlier run, could choose which program runs.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;

use ibeam_files::search_path::{DEFAULT_DIRECTORIES, directories_outside, is_outside};
use rustix::fs::{Access, access};

/// The directories that are searched for programs, in order: those of `PATH`, then the usual ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    directories: Vec<PathBuf>,
    /// The real paths of the directories whose programs are not used.
    roots: Vec<PathBuf>,
}

impl Programs {
    /// Returns the directories of `path`, a value of `PATH`, that are outside of `roots`, which are real paths.
    pub(crate) fn new(path: Option<&OsStr>, roots: Vec<PathBuf>) -> Self {
        let mut directories = directories_outside(path.unwrap_or_default(), &roots);
        directories.extend(DEFAULT_DIRECTORIES.map(PathBuf::from));
        Self { directories, roots }
    }

    /// Returns the directories of this process's `PATH` that are outside of the working directory, for programs of the
    /// person.
    pub fn outside_working_directory() -> Self {
        let directory = std::env::current_dir().and_then(|directory| directory.canonicalize());
        Self::new(std::env::var_os("PATH").as_deref(), directory.into_iter().collect())
    }

    /// Returns the directories for another value of `PATH`, with the same roots.
    pub(crate) fn with_path(&self, path: &OsStr) -> Self {
        Self::new(Some(path), self.roots.clone())
    }

    /// Returns the path of a program; `None` if it is not found.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let is_program = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
        self.usable_directories(name).map(|directory| directory.join(name)).find(is_program)
    }

    /// Returns the directories in which the file `name` is not a link into a root.
    pub(crate) fn usable_directories(&self, name: &str) -> impl Iterator<Item = &PathBuf> {
        // In the workspace `/` the usual directories are searched although they lie in it.
        let is_usable = move |directory: &&PathBuf| {
            let file = directory.join(name);
            !file.is_symlink() || is_outside(&file, &self.roots) || !is_outside(directory, &self.roots)
        };
        self.directories.iter().filter(is_usable)
    }

    /// Returns a command for a program, with a `PATH` and a working directory outside of the roots.
    pub fn command(&self, name: &str) -> Option<Command> {
        let mut command = Command::new(self.find(name)?);
        command.env("PATH", self.path()).current_dir("/");
        Some(command)
    }

    /// Returns the directories in order.
    pub(crate) fn directories(&self) -> &[PathBuf] {
        &self.directories
    }

    /// Returns the directories as a value of `PATH`.
    pub fn path(&self) -> OsString {
        std::env::join_paths(&self.directories).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use super::*;

    #[test]
    fn a_directory_of_the_workspace_is_skipped_however_it_is_written() {
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
    fn a_program_that_is_a_link_into_the_workspace_is_skipped() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let (workspace, own) = (root.join("workspace"), root.join("own"));
        for directory in [&workspace, &own] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::write(workspace.join("sh"), "#!/bin/false\n").unwrap();
        fs::set_permissions(workspace.join("sh"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink(workspace.join("sh"), own.join("sh")).unwrap();
        symlink(workspace.join("later"), own.join("later")).unwrap();
        let programs = Programs::new(Some(own.as_os_str()), vec![workspace]);
        assert_ne!(programs.find("sh"), Some(own.join("sh")));
        assert!(!programs.usable_directories("later").any(|directory| *directory == own));
        assert!(programs.usable_directories("other").any(|directory| *directory == own));
    }

    #[test]
    fn default_directories_are_searched_without_a_path_and_in_any_workspace() {
        for workspace in ["/", "/usr", "/somewhere"] {
            assert!(Programs::new(None, vec![PathBuf::from(workspace)]).find("sh").is_some(), "{workspace}");
        }
    }
}
