//! Finds the files at which git would wait forever: it opens files with rules and attributes in every directory of a work
//! tree, and a FIFO has no content until somebody writes to it.

use std::fs;
use std::path::{Path, PathBuf};

/// The names of files that git opens in work trees.
const OPENED_NAMES: [&str; 4] = [".gitignore", ".gitattributes", ".gitmodules", ".mailmap"];
/// Files of the object store that git opens before it knows whether it needs them.
pub(crate) const OBJECT_FILES: [&str; 2] = ["objects/info/alternates", "objects/info/commit-graph"];
/// The number of entries that are searched.
const MAX_ENTRIES: usize = 500_000;

/// Returns a file of the work tree or of its git directory that git opens and that is not a file, directory or link; `None`
/// if there is none among the first entries.
pub fn find_blocking_file(work_tree: &Path) -> Option<PathBuf> {
    let git_dir = work_tree.join(".git");
    if let Some(path) = OBJECT_FILES.iter().chain(&["index"]).find_map(|name| blocks(git_dir.join(name))) {
        return Some(path);
    }
    let mut pending = vec![work_tree.to_owned()];
    let mut left = MAX_ENTRIES;
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            left = left.checked_sub(1)?;
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if kind.is_dir() {
                if name != ".git" {
                    pending.push(entry.path());
                }
            } else if !kind.is_file()
                && !kind.is_symlink()
                && OPENED_NAMES.iter().any(|opened| name == *opened)
            {
                return Some(entry.path());
            }
        }
    }
    None
}

/// Returns the path if git would wait there for a pipe, or read a device without end.
pub(crate) fn blocks(path: PathBuf) -> Option<PathBuf> {
    path.metadata().is_ok_and(|found| !found.is_file()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifo_that_git_opens_is_found_in_any_directory() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("a/b")).unwrap();
        fs::write(home.path().join(".gitignore"), "").unwrap();
        let fifo = |path: &Path| {
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        };
        fifo(&home.path().join("a/pipe"));
        assert_eq!(find_blocking_file(home.path()), None, "git does not open it");
        let path = home.path().join("a/b/.gitattributes");
        fifo(&path);
        assert_eq!(find_blocking_file(home.path()), Some(path));
        fs::create_dir_all(home.path().join(".git/objects/info")).unwrap();
        let alternates = home.path().join(".git/objects/info/alternates");
        std::os::unix::fs::symlink("/dev/zero", &alternates).unwrap();
        assert_eq!(find_blocking_file(home.path()), Some(alternates));
    }
}
