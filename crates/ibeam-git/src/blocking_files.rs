//! Finds the files at which git would wait forever: it opens files with rules and attributes in every directory of a work
//! tree, and a FIFO has no content until somebody writes to it.

use std::fs;
use std::path::{Path, PathBuf};

/// The names of files that git opens in work trees.
const OPENED_NAMES: [&str; 4] = [".gitignore", ".gitattributes", ".gitmodules", ".mailmap"];
/// The number of entries that are searched.
const MAX_ENTRIES: usize = 500_000;

/// Returns a file of the work tree that git opens and that is not a file, directory or link; `None` if there is none among
/// the first entries.
pub fn find_blocking_file(work_tree: &Path) -> Option<PathBuf> {
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
    }
}
