//! The entries of a git directory that make git run programs, and the changes of them that a command may make.
//!
//! `git init` and `git clone` write a configuration, sample hooks and `info/exclude`. Later, `git` writes branches into
//! the configuration. Other changes are not permitted.

use std::path::Path;

use super::rebase;
use super::snapshot::SnapshotEntry;
use crate::git_config;

/// Returns the path within the innermost git directory, and whether no other git directory is in between. The git
/// directories of submodules are in `modules`, those of linked work trees in `worktrees`.
pub(super) fn innermost_git_dir_path(rel_path: &Path) -> (&Path, bool) {
    let mut inner = rel_path;
    let is_own = !rel_path.starts_with("modules") && !rel_path.starts_with("worktrees");
    if is_own {
        return (rel_path, true);
    }
    for above in rel_path.ancestors() {
        let names = ["config", "config.worktree", "commondir", "gitdir", "hooks", "info", rebase::DIRECTORY];
        if names.iter().any(|name| above.file_name().is_some_and(|last| last == *name))
            && let Some(parent) = above.parent()
        {
            inner = rel_path.strip_prefix(parent).unwrap_or(rel_path);
        }
    }
    (inner, false)
}

/// Whether a command is permitted to create this entry, or to change it to `new_entry`. `created_by_command`: commands
/// created the repository. `is_own`: the repository does not belong to a submodule.
pub(super) fn is_permitted(
    rel_path: &Path,
    old_entry: Option<&SnapshotEntry>,
    new_entry: &SnapshotEntry,
    created_by_command: bool,
    is_own: bool,
) -> bool {
    let name = rel_path.file_name().unwrap_or_default().to_string_lossy();
    let parent = rel_path.parent().unwrap_or(Path::new(""));
    if rel_path.as_os_str().is_empty() {
        return new_entry.is_directory();
    }
    if rebase::is_rebase_entry(rel_path) {
        return rebase::is_permitted(rel_path, old_entry, new_entry);
    }
    if parent.as_os_str().is_empty() {
        return match (&*name, new_entry.content()) {
            ("hooks" | "info", _) => new_entry.is_directory(),
            ("config", Some(text)) if created_by_command => git_config::is_plain(text, !is_own),
            ("config", Some(text)) => match old_entry.and_then(SnapshotEntry::content) {
                Some(old) => git_config::differs_only_in_branches(old, text),
                None => git_config::is_plain(text, !is_own),
            },
            ("config.worktree", Some(text)) => git_config::is_plain(text, false),
            // In a linked work tree, its repository is two directories up.
            ("commondir", Some(text)) => old_entry.is_none() && !is_own && text.trim_ascii() == b"../..",
            _ => false,
        };
    }
    if parent == Path::new("hooks") {
        return name.ends_with(".sample") && new_entry.content().is_some();
    }
    // `exclude` hides files from `git status`; git recreates the others itself.
    parent == Path::new("info")
        && match &*name {
            "exclude" => (created_by_command || old_entry.is_none()) && new_entry.content().is_some(),
            "refs" | "sparse-checkout" => new_entry.content().is_some(),
            _ => false,
        }
}

/// Whether this entry may be missing after a command.
pub(super) fn may_be_missing(rel_path: &Path, old_entry: &SnapshotEntry) -> bool {
    let sample = rel_path.extension().is_some_and(|extension| extension == "sample");
    sample
        || rebase::is_rebase_entry(rel_path)
        || rel_path == Path::new("info/refs")
        || rel_path == Path::new("commondir")
        || !old_entry.is_restorable()
}
