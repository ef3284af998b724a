//! The changes that this program makes in a repository of the user: a new branch, and a new worktree.
//!
//! Git prepares the worktree in a view. Its directory then moves into the repository with this program's own calls, which
//! follow no links.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::renameat;

use crate::beneath::{
    copy_tree, create_directories, create_new_directory, has_entry, open_directory, path_through, write_new,
};
use crate::command::Git;
use crate::location::{RepositoryLocation, read_line};
use crate::view::RepositoryView;

/// The directory of the registered worktrees, in that of a repository.
const WORKTREES: &str = "worktrees";

/// Creates a branch at a commit.
///
/// # Errors
/// The reason for people, e.g. that it exists.
pub fn create_branch(
    git: &Git,
    view: &RepositoryView,
    location: &RepositoryLocation,
    branch: &str,
    commit: &str,
) -> Result<(), String> {
    let reference = format!("refs/heads/{branch}");
    if view.has_reftable() {
        let tables = location.common_dir.join("reftable");
        let is_own = tables
            .symlink_metadata()
            .is_ok_and(|found| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw());
        if !is_own {
            return Err(format!("`{}` is not a directory that belongs to you", tables.display()));
        }
        let nothing = "0".repeat(commit.len());
        let arguments = ["update-ref", &reference, commit, &nothing];
        return git.run(view.place(), &arguments).map(drop).map_err(String::from);
    }
    // A branch with the name of a directory may be in the file of packed references.
    for above in
        Path::new(branch).ancestors().skip(1).filter_map(Path::to_str).filter(|above| !above.is_empty())
    {
        let above = format!("refs/heads/{above}");
        if git.find(view.place(), &["show-ref", "--quiet", "--verify", &above])?.is_some() {
            return Err(format!("the branch `{branch}` conflicts with the branch `{above}`"));
        }
    }
    let create = || {
        let path = Path::new(&reference);
        let name = path.file_name().unwrap_or_default();
        let directory = create_directories(
            &open_directory(&location.common_dir)?,
            path.parent().unwrap_or(Path::new("")),
        )?;
        let mut lock = name.to_owned();
        lock.push(".lock");
        let file = write_new(&directory, &lock, format!("{commit}\n").as_bytes())?;
        file.sync_all()?;
        if has_entry(&directory, name) {
            rustix::fs::unlinkat(&directory, &lock, rustix::fs::AtFlags::empty())?;
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(renameat(&directory, &lock, &directory, name)?)
    };
    create().map_err(|error: io::Error| format!("`{reference}`: {error}"))
}

/// A worktree to create, with a branch that exists.
#[derive(Clone, Copy, Debug)]
pub struct NewWorktree<'a> {
    pub location: &'a RepositoryLocation,
    pub path: &'a Path,
    pub branch: &'a str,
}

impl NewWorktree<'_> {
    /// Creates the worktree. What is registered for its path although nothing is there is replaced.
    ///
    /// # Errors
    /// The reason for people.
    pub fn create(&self, git: &Git, view: &RepositoryView) -> Result<(), String> {
        let path = self.path.to_str().ok_or("the path is not UTF-8")?;
        let failed = |error: io::Error| format!("`{}`: {error}", self.location.common_dir.display());
        let repository = open_directory(&self.location.common_dir).map_err(failed)?;
        let registered = create_directories(&repository, Path::new(WORKTREES)).map_err(failed)?;
        self.release(&registered)?;
        git.run(view.place(), &["worktree", "add", "--quiet", "--", path, self.branch])?;
        let prepared = view.path().join(WORKTREES);
        let mut entries = fs::read_dir(&prepared).map_err(failed)?.flatten();
        let prepared = entries.next().ok_or("git has registered no worktree")?.path();
        let (name, directory) = self.new_entry(&registered).map_err(failed)?;
        if view.has_worktree_config() {
            self.copy_settings(git, view, &prepared)?;
        }
        copy_tree(&prepared, &directory).map_err(failed)?;
        let registered = self.location.common_dir.join(WORKTREES).join(name);
        let pointer = format!("gitdir: {}\n", registered.display());
        fs::write(self.path.join(".git"), pointer).map_err(failed)
    }

    /// Removes what is registered for the path of the worktree, at which nothing is.
    ///
    /// # Errors
    /// It is locked, or the branch is that of another worktree.
    fn release(&self, registered: &OwnedFd) -> Result<(), String> {
        let own = self.path.join(".git");
        let head = format!("ref: refs/heads/{}", self.branch);
        let used = |place: &Path| format!("the branch `{}` is used at `{}`", self.branch, place.display());
        if read_line(&self.location.common_dir.join("HEAD")).is_some_and(|found| found == head) {
            return Err(used(&self.location.common_dir));
        }
        let names = fs::read_dir(path_through(registered, OsStr::new("."))).into_iter().flatten().flatten();
        for name in names.map(|entry| entry.file_name()) {
            let entry = path_through(registered, &name);
            let Some(place) = read_line(&entry.join("gitdir")).map(PathBuf::from) else { continue };
            if place == own {
                if has_entry_named(&entry, "locked") {
                    return Err(format!("the worktree `{}` is locked", self.path.display()));
                }
                fs::remove_dir_all(&entry).map_err(|error| error.to_string())?;
            } else if place.exists() && read_line(&entry.join("HEAD")).is_some_and(|found| found == head) {
                return Err(used(place.parent().unwrap_or(&place)));
            }
        }
        Ok(())
    }

    /// Creates the directory of the worktree in the repository; a name that is taken gets a number, as git does.
    fn new_entry(&self, registered: &OwnedFd) -> io::Result<(OsString, OwnedFd)> {
        let base = self.path.file_name().unwrap_or_default();
        let mut number = 0_u32;
        loop {
            let mut name = base.to_owned();
            if number > 0 {
                name.push(number.to_string());
            }
            match create_new_directory(registered, &name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                created => return created.map(|directory| (name, directory)),
            }
        }
    }

    /// Gives the worktree the settings that the work tree of the user has alone, as git does. They have an effect for the
    /// user's own git only.
    fn copy_settings(&self, git: &Git, view: &RepositoryView, prepared: &Path) -> Result<(), String> {
        let content =
            ibeam_files::regular_file::read(&self.location.git_dir.join("config.worktree"), 1 << 20);
        let Ok(content) = content else { return Ok(()) };
        let copy = prepared.join("config.worktree");
        fs::write(&copy, content).map_err(|error| error.to_string())?;
        let copy = copy.to_str().ok_or("the path is not UTF-8")?;
        for key in ["core.bare", "core.worktree"] {
            // It fails where the key is missing.
            let _ = git.run(view.place(), &["config", "--file", copy, "--unset-all", key]);
        }
        Ok(())
    }
}

/// Removes the entry of a worktree from its repository. `location` is that of the worktree, whose directory is gone.
///
/// # Errors
/// The error of the system; `InvalidInput` for the main work tree.
pub fn unregister_worktree(location: &RepositoryLocation) -> io::Result<()> {
    // Both are real paths, so no link leads elsewhere.
    if location.git_dir.parent() != Some(&location.common_dir.join(WORKTREES)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    fs::remove_dir_all(&location.git_dir)
}

fn has_entry_named(directory: &Path, name: &str) -> bool {
    directory.join(name).symlink_metadata().is_ok()
}

#[cfg(test)]
#[path = "registration_test.rs"]
mod tests;
