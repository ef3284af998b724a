//! What a command may do in a directory of git, of what makes git run something.
//!
//! `git init` and `git clone` write a configuration, sample hooks and `info/exclude`: a repository made so is a
//! repository. Later, `git` writes branches into the configuration. Anything else there is somebody's plan.

use std::path::Path;

use super::rebase;
use super::snapshot::Entry;
use crate::git_config;

/// The way within the innermost directory of git, and whether that is the one it began in: submodules have
/// directories in `modules`, linked work trees in `worktrees`.
pub(super) fn innermost(rel_path: &Path) -> (&Path, bool) {
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

/// Whether a command may have made or changed this; `created_by_command` when commands have made the repository, `is_own` when it
/// is not one of a submodule.
pub(super) fn is_permitted(
    rel_path: &Path,
    was: Option<&Entry>,
    now: &Entry,
    created_by_command: bool,
    is_own: bool,
) -> bool {
    let name = rel_path.file_name().unwrap_or_default().to_string_lossy();
    let parent = rel_path.parent().unwrap_or(Path::new(""));
    if rel_path.as_os_str().is_empty() {
        return now.is_directory();
    }
    if rebase::contains(rel_path) {
        return rebase::is_permitted(rel_path, was, now);
    }
    if parent.as_os_str().is_empty() {
        return match (&*name, now.content()) {
            ("hooks" | "info", _) => now.is_directory(),
            ("config", Some(text)) if created_by_command => git_config::is_plain(text, !is_own),
            ("config", Some(text)) => match was.and_then(Entry::content) {
                Some(old) => git_config::differs_in_branches(old, text),
                None => git_config::is_plain(text, !is_own),
            },
            ("config.worktree", Some(text)) => git_config::is_plain(text, false),
            // Of a work tree that is linked: two up is the repository it is in.
            ("commondir", Some(text)) => was.is_none() && !is_own && text.trim_ascii() == b"../..",
            _ => false,
        };
    }
    if parent == Path::new("hooks") {
        return name.ends_with(".sample") && now.content().is_some();
    }
    // `exclude` hides files from `git status`; the others git makes again by itself.
    parent == Path::new("info")
        && match &*name {
            "exclude" => (created_by_command || was.is_none()) && now.content().is_some(),
            "refs" | "sparse-checkout" => now.content().is_some(),
            _ => false,
        }
}

/// Whether this may be missing after a command.
pub(super) fn may_be_missing(rel_path: &Path, was: &Entry) -> bool {
    let sample = rel_path.extension().is_some_and(|extension| extension == "sample");
    sample
        || rebase::contains(rel_path)
        || rel_path == Path::new("info/refs")
        || rel_path == Path::new("commondir")
        || !was.is_restorable()
}
