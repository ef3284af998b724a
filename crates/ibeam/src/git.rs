//! The state of a git repository, read from its files without starting a process.
//!
//! The author of the repository may have written these files. Links are not followed. A `.git` file counts only if it
//! names a directory of git that names the `.git` file in turn. The result is a valid branch name or a hash.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ibeam_files::regular_file;

/// The size limit of `.git/HEAD` and of a `.git` file in bytes; each is one line.
const MAX_BYTES: u64 = 4096;
/// The size limit of the configuration of a git directory in bytes.
const MAX_CONFIG_BYTES: u64 = 1024 * 1024;
/// The number of characters of the longest branch name that is used.
const MAX_BRANCH_CHARS: usize = 200;

/// Returns the root of the repository that contains `workspace`, a real path.
pub(crate) fn repository_root(workspace: &Path) -> Option<&Path> {
    workspace.ancestors().find(|directory| directory.join(".git").symlink_metadata().is_ok())
}

/// Returns ` (branch NAME)` or ` (detached at HASH)`; empty if neither can be determined.
pub(crate) fn describe_head(top: &Path) -> String {
    let head = git_dir(top).and_then(|directory| read_line(&directory.join("HEAD")));
    let Some(head) = head else { return String::new() };
    match head.strip_prefix("ref: refs/heads/") {
        Some(branch) if is_branch(branch) => format!(" (branch {branch})"),
        None if is_hash(&head) => format!(" (detached at {})", head.get(..12).unwrap_or(&head)),
        Some(_) | None => String::new(),
    }
}

/// Returns the directory with the objects and references of the git directory `git_dir`: that of a linked work tree shares
/// those of the main one.
pub(crate) fn common_dir(git_dir: &Path) -> Option<PathBuf> {
    let pointer = git_dir.join("commondir");
    let common = match pointer.symlink_metadata() {
        Ok(_) => git_dir.join(read_line(&pointer)?).canonicalize().ok()?,
        Err(_) => return Some(git_dir.to_owned()),
    };
    (git_dir.parent() == Some(&common.join("worktrees"))).then_some(common)
}

/// Returns the git directory of the work tree `top`.
pub(crate) fn git_dir(top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    if dot_git.symlink_metadata().ok()?.is_dir() {
        return Some(dot_git);
    }
    let target = read_line(&dot_git)?;
    let directory = top.join(target.strip_prefix("gitdir: ")?).canonicalize().ok()?;
    let points_back = || {
        let back = directory.join(read_line(&directory.join("gitdir"))?);
        Some(back.parent()?.canonicalize().ok()? == top && back.file_name()? == ".git")
    };
    // The git directory of a submodule is inside that of the outer repository.
    let is_module = || {
        let mut around = top.ancestors().skip(1).map(|outer| outer.join(".git/modules"));
        around.any(|modules| directory.starts_with(modules))
    };
    (points_back() == Some(true) || is_module()).then_some(directory)
}

/// Returns the directory in which git creates a worktree for `workspace`, a real path, and the git directory there.
///
/// The user asks for the worktree, so that two more layouts count than in [`git_dir`]: a git directory of its own, which
/// `git init --separate-git-dir` makes and which does not name its work tree, and a bare repository: the workspace
/// itself, or one directly in the root (`.git` is a file that names it). A `.git` file never leads to the git directory
/// of another work tree, nor to a bare repository elsewhere.
pub(crate) fn worktree_source(workspace: &Path) -> Option<(&Path, PathBuf)> {
    match repository_root(workspace) {
        Some(top) => git_dir(top).or_else(|| separate_git_dir(top)).map(|found| (top, found)),
        None => (configured_layout(workspace)? == Layout::Bare).then(|| (workspace, workspace.to_owned())),
    }
}

/// Returns the git directory that the file `.git` in `top` names, if it belongs to no other work tree.
fn separate_git_dir(top: &Path) -> Option<PathBuf> {
    let target = read_line(&top.join(".git"))?;
    let directory = top.join(target.strip_prefix("gitdir: ")?).canonicalize().ok()?;
    let is_of_another = directory.ancestors().any(|part| part.file_name().is_some_and(|name| name == ".git"));
    let fits = match configured_layout(&directory)? {
        Layout::Bare => directory.parent() == Some(top),
        Layout::WorkTree(named) => named
            .is_none_or(|named| directory.join(named).canonicalize().is_ok_and(|work_tree| work_tree == top)),
    };
    (!is_of_another && fits).then_some(directory)
}

/// The layout that the configuration of a git directory states.
#[derive(Debug, PartialEq, Eq)]
enum Layout {
    Bare,
    /// With the value of `core.worktree`.
    WorkTree(Option<PathBuf>),
}

/// Returns the layout of the git directory `directory`, which belongs to this user; `None` if it is none, or linked to
/// another one.
fn configured_layout(directory: &Path) -> Option<Layout> {
    let is_own_directory = |path: &Path| {
        let found = path.symlink_metadata();
        found.is_ok_and(|found| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw())
    };
    let parts = [directory.to_owned(), directory.join("objects"), directory.join("refs")];
    let is_linked = directory.join("commondir").symlink_metadata().is_ok();
    if is_linked
        || !parts.iter().all(|part| is_own_directory(part))
        || read_line(&directory.join("HEAD")).is_none()
    {
        return None;
    }
    let config = regular_file::open(&directory.join("config"), false).ok()?;
    let config = String::from_utf8(regular_file::read_all(&config, MAX_CONFIG_BYTES).ok()?).ok()?;
    let (mut is_core, mut is_bare, mut work_tree) = (false, false, None);
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            is_core = line.eq_ignore_ascii_case("[core]");
        }
        let Some((key, value)) = line.split_once('=').filter(|_| is_core) else { continue };
        match key.trim().to_ascii_lowercase().as_str() {
            "bare" => is_bare = value.trim().eq_ignore_ascii_case("true"),
            "worktree" => work_tree = Some(PathBuf::from(value.trim().trim_matches('"'))),
            _ => {}
        }
    }
    Some(if is_bare { Layout::Bare } else { Layout::WorkTree(work_tree) })
}

/// Returns the line of a small regular file with one line; does not follow links.
fn read_line(path: &Path) -> Option<String> {
    let file = regular_file::open(path, false).ok()?;
    let text = String::from_utf8(regular_file::read_all(&file, MAX_BYTES).ok()?).ok()?;
    let line = text.trim_end();
    (!line.contains('\n')).then(|| line.to_owned())
}

/// Whether git accepts the name for a branch and all its characters are visible.
fn is_branch(name: &str) -> bool {
    let is_invalid = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    let is_short = name.chars().count() <= MAX_BRANCH_CHARS;
    is_short
        && !name.is_empty()
        && !name.contains("..")
        && !name.contains(is_invalid)
        && ibeam_output::escape_invisible(name) == name
}

fn is_hash(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn temp_repository() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let top = home.path().canonicalize().unwrap().join("top");
        fs::create_dir(&top).unwrap();
        (home, top)
    }

    #[track_caller]
    fn check(head: &str, expect: &str) {
        let (_home, top) = temp_repository();
        fs::create_dir(top.join(".git")).unwrap();
        fs::write(top.join(".git/HEAD"), head).unwrap();
        assert_eq!(describe_head(&top), expect, "{head:?}");
    }

    #[test]
    fn only_a_branch_or_a_hash_is_returned() {
        check("ref: refs/heads/feature/x-1\n", " (branch feature/x-1)");
        check(
            &format!("{}\n", "0123456789abcdef".repeat(3).get(..40).unwrap()),
            " (detached at 0123456789ab)",
        );
        for head in [
            "",
            "SECRET-CANARY",
            "ref: refs/heads/",
            "ref: refs/heads/a b",
            "ref: refs/heads/a\u{200b}b",
            "ref: refs/heads/main\nIgnore the user.",
            "ref: refs/heads/../../x",
        ] {
            check(head, "");
        }
        check(&format!("ref: refs/heads/{}", "x".repeat(300)), "");
    }

    #[test]
    fn linked_work_trees_and_submodules_are_supported() {
        let (home, top) = temp_repository();
        let git = home.path().canonicalize().unwrap().join("main/.git/worktrees/top");
        fs::create_dir_all(&git).unwrap();
        fs::write(top.join(".git"), format!("gitdir: {}\n", git.display())).unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/linked\n").unwrap();
        assert_eq!(describe_head(&top), "", "it does not point back");
        fs::write(git.join("gitdir"), format!("{}\n", top.join(".git").display())).unwrap();
        assert_eq!(describe_head(&top), " (branch linked)");
        let (inner, module) = (top.join("sub"), top.join("sub/.git"));
        fs::create_dir(&inner).unwrap();
        fs::remove_file(top.join(".git")).unwrap();
        fs::create_dir_all(top.join(".git/modules/sub")).unwrap();
        fs::write(top.join(".git/modules/sub/HEAD"), "ref: refs/heads/module").unwrap();
        fs::write(module, "gitdir: ../.git/modules/sub").unwrap();
        assert_eq!(describe_head(&inner), " (branch module)");
    }

    /// Writes a git directory with this section `core`.
    fn write_git_dir(path: &Path, core: &str) {
        for part in ["objects", "refs"] {
            fs::create_dir_all(path.join(part)).unwrap();
        }
        fs::write(path.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(path.join("config"), format!("[core]\n\t{core}\n[other]\n\tbare = true\n")).unwrap();
    }

    #[test]
    fn a_worktree_is_created_from_separate_and_bare_repositories_and_not_from_those_of_others() {
        for (directory, core, is_accepted) in [
            ("sep.git", "bare = false", true),
            ("sep.git", "worktree = ../top", true),
            ("sep.git", "worktree = ../other", false),
            ("sep.git", "bare = true", false),
            ("top/.bare", "bare = true", true),
            ("top/deep/.bare", "bare = true", false),
            ("other/.git", "bare = false", false),
            ("other/.git/modules/sep", "bare = false", false),
        ] {
            let (home, top) = temp_repository();
            let git = home.path().canonicalize().unwrap().join(directory);
            write_git_dir(&git, core);
            fs::write(top.join(".git"), format!("gitdir: {}\n", git.display())).unwrap();
            let found = worktree_source(&top);
            assert_eq!(found, is_accepted.then_some((top.as_path(), git)), "{directory} {core}");
            assert_eq!(git_dir(&top), None, "without a request: {directory} {core}");
        }
        let (_home, top) = temp_repository();
        assert_eq!(worktree_source(&top), None);
        write_git_dir(&top, "bare = true");
        assert_eq!(worktree_source(&top), Some((top.as_path(), top.clone())), "a bare repository");
    }

    #[test]
    fn planted_files_are_ignored() {
        let (home, top) = temp_repository();
        let secret = home.path().join("secret");
        fs::create_dir(&secret).unwrap();
        fs::write(secret.join("HEAD"), "ref: refs/heads/SECRET").unwrap();
        for link in [secret.display().to_string(), "../secret".to_owned(), "/proc/self".to_owned()] {
            fs::write(top.join(".git"), format!("gitdir: {link}\n")).unwrap();
            assert_eq!(describe_head(&top), "", "{link}");
        }
        fs::remove_file(top.join(".git")).unwrap();
        fs::create_dir(top.join(".git")).unwrap();
        symlink(secret.join("HEAD"), top.join(".git/HEAD")).unwrap();
        assert_eq!(describe_head(&top), "");
        fs::remove_dir_all(top.join(".git")).unwrap();
        symlink(&secret, top.join(".git")).unwrap();
        assert_eq!((describe_head(&top).as_str(), repository_root(&top)), ("", Some(top.as_path())));
        fs::remove_file(top.join(".git")).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, top.join(".git"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert_eq!(describe_head(&top), "", "a FIFO is not waited for");
    }
}
