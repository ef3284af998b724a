//! Selects the paths that exist from a long list, with one directory listing per directory in place of one system call
//! per path.
//!
//! The table of credentials has several hundred paths, of which few exist in a home directory, and every run checks
//! them before its first request. A path stays in the list unless its directory rules it out.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The names in a directory in lower case; `None` if the directory cannot be listed and so may contain any name.
type Names = Option<HashSet<OsString>>;

/// Returns the `paths` that may exist. Names are compared without the case of ASCII letters, for file systems that
/// ignore case.
pub fn paths_that_may_exist(paths: &[PathBuf]) -> Vec<PathBuf> {
    // Keyed by bytes, because hashing a path by its components takes ten times as long.
    let mut directories: HashMap<&OsStr, Names> = HashMap::new();
    let mut found = Vec::new();
    for path in paths {
        let may_exist = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => {
                let names = directories.entry(parent.as_os_str()).or_insert_with(|| read_names(parent));
                names.as_ref().is_none_or(|names| names.contains(&name.to_ascii_lowercase()))
            }
            (None, _) | (_, None) => true,
        };
        if may_exist {
            found.push(path.clone());
        }
    }
    found
}

fn read_names(directory: &Path) -> Names {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Some(HashSet::new());
        }
        // A directory that can be entered but not listed.
        Err(_) => return None,
    };
    let mut names = HashSet::new();
    for entry in entries {
        names.insert(entry.ok()?.file_name().to_ascii_lowercase());
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_possible_paths_are_left_in_the_same_order() {
        let top = ibeam_testkit::Workspace::new();
        let at = |name: &str| top.path().join(name);
        std::fs::create_dir_all(at("home/.config/gh")).unwrap();
        std::fs::write(at("home/.netrc"), "").unwrap();
        std::fs::write(at("home/.file"), "").unwrap();
        symlink("nowhere", at("home/.aws")).unwrap();
        symlink("home", at("link")).unwrap();
        let there = ["home/.netrc", "home/.config/gh", "home/.aws", "link/.netrc", "home/.NetRC"].map(at);
        let missing = ["home/.ssh", "home/.config/op", "home/none/a/b", "home/.file/x", "home/.netr"].map(at);
        let all: Vec<PathBuf> =
            there.iter().zip(&missing).flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
        assert_eq!(paths_that_may_exist(&all), there);
        assert_eq!(paths_that_may_exist(&[PathBuf::from("/")]), [PathBuf::from("/")]);
    }

    #[test]
    fn a_directory_that_cannot_be_listed_may_hold_anything() {
        if rustix::process::geteuid().is_root() {
            eprintln!("SKIP: root may list every directory");
            return;
        }
        let top = ibeam_testkit::Workspace::new();
        std::fs::set_permissions(top.path(), PermissionsExt::from_mode(0o300)).unwrap();
        let hidden = vec![top.path().join(".ssh")];
        assert_eq!(paths_that_may_exist(&hidden), hidden);
        std::fs::set_permissions(top.path(), PermissionsExt::from_mode(0o700)).unwrap();
    }
}
