//! The differences between the scans before and after a command, and what they mean.

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

use super::git_dir_rules;
use super::snapshot::{Snapshot, SnapshotEntry};
use super::watched_directory::{WatchKind, WatchedDirectory};

/// Directories of third-party packages: protected names in a package are a part of it.
const PACKAGE_DIRECTORY: &str = "node_modules";

/// The scans before and after a command.
pub(super) struct SnapshotDiff<'a> {
    pub(super) watched: &'a WatchedDirectory<'a>,
    pub(super) old: &'a Snapshot,
    pub(super) new: &'a Snapshot,
    /// Git directories at the first scan.
    pub(super) repositories_at_start: &'a BTreeSet<PathBuf>,
}

pub(super) struct GitDirPath<'a> {
    /// The path within the innermost git directory.
    pub(super) rel_path: &'a Path,
    /// Whether it is outside the git directories of submodules and linked work trees.
    pub(super) is_own: bool,
    /// Whether the repository did not exist at the first scan.
    pub(super) created_by_command: bool,
    /// The repository does not exist any more.
    pub(super) is_gone: bool,
    pub(super) name: String,
}

impl SnapshotDiff<'_> {
    /// Returns the position of `rel_path` in a git directory.
    pub(super) fn git_dir_path<'a>(&self, rel_path: &'a Path) -> Option<GitDirPath<'a>> {
        match self.watched.watch {
            WatchKind::Root => {
                let repository = self
                    .new
                    .enclosing_repository(rel_path)
                    .or_else(|| self.old.enclosing_repository(rel_path))?;
                let (inner, is_own) =
                    git_dir_rules::innermost_git_dir_path(rel_path.strip_prefix(repository).ok()?);
                let path = self.watched.path.join(repository);
                Some(GitDirPath {
                    rel_path: inner,
                    is_own,
                    created_by_command: !self.repositories_at_start.contains(repository),
                    is_gone: !self.new.repositories.contains(repository),
                    name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                })
            }
            WatchKind::Repository | WatchKind::WorkTree => {
                let is_git = self.watched.path.iter().any(|name| name == ".git");
                let name = self.watched.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                Some(GitDirPath {
                    rel_path: git_dir_rules::innermost_git_dir_path(rel_path).0,
                    is_own: true,
                    created_by_command: false,
                    is_gone: self.new.entries.is_empty(),
                    name: if is_git { ".git".to_owned() } else { name },
                })
            }
        }
    }

    /// Returns the protected paths that could be listed completely before the command and cannot now.
    pub(super) fn newly_incomplete(&self) -> impl Iterator<Item = &Path> {
        self.new.incomplete.iter().filter(|top| !self.old.incomplete.contains(*top)).map(PathBuf::as_path)
    }

    /// Returns the outermost of the new directories that could not be listed.
    pub(super) fn newly_unlisted(&self) -> impl Iterator<Item = &Path> {
        let unseen =
            self.new.inventory.unlisted.iter().filter(|rel_path| !self.old.inventory.is_unlisted(rel_path));
        let is_new = |rel_path: &Path| {
            !rel_path.as_os_str().is_empty() && !self.old.inventory.directories.contains_key(rel_path)
        };
        unseen.filter_map(move |rel_path| rel_path.ancestors().filter(|above| is_new(above)).last())
    }

    /// Whether a new entry at `rel_path` may have existed before without being scanned.
    pub(super) fn may_have_existed(&self, rel_path: &Path) -> bool {
        let is_new_gitlink = self.new.is_in_gitlink(rel_path) && !self.old.is_in_gitlink(rel_path);
        self.old.may_have_missed(rel_path) && !is_new_gitlink
    }

    /// Whether the directory of `rel_path` was only moved, with an unchanged entry at `rel_path`.
    pub(super) fn was_moved(&self, rel_path: &Path, entry: &SnapshotEntry) -> bool {
        self.was_dot_git_renamed(rel_path, entry) || self.was_moved_with_directory(rel_path, entry)
    }

    /// Whether a directory `.git` was renamed, so that git does not find it.
    fn was_dot_git_renamed(&self, rel_path: &Path, entry: &SnapshotEntry) -> bool {
        let Some(repository) = self.new.enclosing_repository(rel_path) else { return false };
        let Some(new) = self.new.inventory.directories.get(repository) else { return false };
        let Ok(rest) = rel_path.strip_prefix(repository) else { return false };
        let named_git =
            self.old.repositories.iter().filter(|old| old.file_name().is_some_and(|name| name == ".git"));
        let mut moved = named_git
            .filter(|old| self.old.entries.get(*old).is_some_and(|entry| entry.identity() == new.identity()));
        moved.any(|old| {
            self.old
                .entries
                .get(&old.join(rest))
                .is_some_and(|old_entry| old_entry.equals_ignoring_times(entry))
        })
    }

    fn was_moved_with_directory(&self, rel_path: &Path, entry: &SnapshotEntry) -> bool {
        let inventory = &self.new.inventory;
        let Some((above, directory)) = inventory.enclosing_directory(rel_path) else { return false };
        if above.as_os_str().is_empty() {
            return false;
        }
        let Ok(rest) = rel_path.strip_prefix(above) else { return false };
        // What a package brings stays there unchecked, so it must not be moved out.
        let leaves_packages = |before: &Path| is_in_packages(before) && !is_in_packages(above);
        self.old.inventory.directories.iter().any(|(before, old)| {
            let is_same_directory = old.identity() == directory.identity() && before != above;
            let has_left =
                inventory.directories.get(before).is_none_or(|new| new.identity() != old.identity());
            let same = || {
                self.old
                    .entries
                    .get(&before.join(rest))
                    .is_some_and(|old_entry| old_entry.equals_ignoring_times(entry))
            };
            is_same_directory && has_left && !leaves_packages(before) && same()
        })
    }

    /// Whether the directory of `rel_path` was removed or replaced.
    pub(super) fn was_removed_with_directory(&self, rel_path: &Path) -> bool {
        self.old.inventory.enclosing_directory(rel_path).is_some_and(|(above, old)| {
            let new = self.new.inventory.directories.get(above);
            !above.as_os_str().is_empty() && new.is_none_or(|new| new.identity() != old.identity())
        })
    }

    /// Whether `rel_path` lies in a package directory that the command created.
    pub(super) fn is_part_of_new_package(&self, rel_path: &Path) -> bool {
        self.new.inventory.enclosing_directory(rel_path).is_some_and(|(above, new)| {
            let old = self.old.inventory.directories.get(above);
            is_in_packages(above)
                && above.file_name().is_some_and(|name| name != PACKAGE_DIRECTORY)
                && old.is_none_or(|old| old.identity() != new.identity())
        })
    }
}

fn is_in_packages(rel_path: &Path) -> bool {
    rel_path.iter().any(|name| name == PACKAGE_DIRECTORY)
}
