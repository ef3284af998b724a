//! The layouts of repositories that count only where the user asks for a worktree: a git directory of its own, and a bare
//! repository.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ibeam_files::regular_file;

use crate::location::{RepositoryLocation, common_dir, git_dir, read_line};

/// The size limit of the configuration of a git directory in bytes.
const MAX_CONFIG_BYTES: u64 = 1024 * 1024;

impl RepositoryLocation {
    /// Returns the repository of a new worktree for `workspace`, a real path. `top` is the root of the work tree that contains
    /// it, if there is one.
    ///
    /// Two more layouts count than in [`Self::for_work_tree`]: a git directory of its own, which `git init
    /// --separate-git-dir` makes and which does not name its work tree, and a bare repository: the workspace itself, or one
    /// directly in the root (`.git` is a file that names it). A `.git` file never leads to the git directory of another work
    /// tree, nor to a bare repository elsewhere.
    pub fn for_new_worktree(workspace: &Path, top: Option<&Path>) -> Option<Self> {
        let git_dir = match top {
            Some(top) => git_dir(top).or_else(|| separate_git_dir(top))?,
            None => (configured_layout(workspace)? == Layout::Bare).then(|| workspace.to_owned())?,
        };
        Some(Self { common_dir: common_dir(&git_dir)?, git_dir })
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn temp_repository() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let top = home.path().canonicalize().unwrap().join("top");
        fs::create_dir(&top).unwrap();
        (home, top)
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
            let found = RepositoryLocation::for_new_worktree(&top, Some(&top));
            let git_dir_found = found.map(|found| found.git_dir);
            assert_eq!(git_dir_found, is_accepted.then_some(git), "{directory} {core}");
            assert_eq!(git_dir(&top), None, "without a request: {directory} {core}");
        }
        let (_home, top) = temp_repository();
        assert_eq!(RepositoryLocation::for_new_worktree(&top, None), None);
        write_git_dir(&top, "bare = true");
        let bare = RepositoryLocation { git_dir: top.clone(), common_dir: top.clone() };
        assert_eq!(RepositoryLocation::for_new_worktree(&top, None), Some(bare));
    }
}
