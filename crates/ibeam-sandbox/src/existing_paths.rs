//! Which of many paths are there: one list of names for each directory, in place of one system call for each path.
//!
//! The table of credentials has several hundred paths, of which a home directory has a few, and a run looks for them
//! before its first request. Keeps every path that it cannot rule out.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The names in a directory, folded; `None` where they cannot be listed, so that anything may be in it.
type Names = Option<HashSet<OsString>>;

/// Returns those of `paths` that may be there. A path whose directory can be listed is there under this name, or, for
/// the few file systems that fold names, under one that differs in the case of ASCII letters.
pub fn existing(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut directories: HashMap<PathBuf, Names> = HashMap::new();
    let may_exist = |path: &PathBuf| {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return true };
        if !directories.contains_key(parent) {
            directories.insert(parent.to_owned(), names(parent));
        }
        let names = directories.get(parent).and_then(Option::as_ref);
        names.is_none_or(|names| names.contains(&name.to_ascii_lowercase()))
    };
    let mut paths = paths;
    paths.retain(may_exist);
    paths
}

fn names(directory: &Path) -> Names {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Some(HashSet::new());
        }
        // A directory that may be entered and not listed.
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
    fn only_what_may_be_there_is_left_in_the_same_order() {
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
        assert_eq!(existing(all), there);
        assert_eq!(existing(vec![PathBuf::from("/")]), [PathBuf::from("/")]);
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
        assert_eq!(existing(hidden.clone()), hidden);
        std::fs::set_permissions(top.path(), PermissionsExt::from_mode(0o700)).unwrap();
    }
}
