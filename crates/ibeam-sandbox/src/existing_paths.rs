//! Selects the paths that exist from a long list, with one directory listing per directory in place of one system call
//! per path.
//!
//! The table of credentials has several hundred paths, of which few exist in a home directory, and every run checks
//! them before its first command. A path stays in the list unless its directory rules it out. A directory that is
//! missing in a listing is not opened.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The names in a directory in lower case; `None` if the directory cannot be listed and so may contain any name.
type Names = Option<HashSet<OsString>>;

/// Returns those of the `paths` that may exist, in the same order. Names are compared without the case of ASCII letters,
/// for file systems that ignore case.
pub fn paths_that_may_exist<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<&'a PathBuf> {
    let mut listings = DirectoryListings::default();
    paths.into_iter().filter(|path| listings.may_exist(path)).collect()
}

/// The listings of the directories of many paths, each read once.
#[derive(Default)]
pub(crate) struct DirectoryListings<'a> {
    /// Keyed by bytes, because hashing a path by its components takes ten times as long.
    names: HashMap<&'a OsStr, Names>,
}

impl<'a> DirectoryListings<'a> {
    /// Whether something may be at `path`. Lists its directory, unless that is known to be missing.
    pub(crate) fn may_exist(&mut self, path: &'a Path) -> bool {
        let Some(directory) = path.parent() else { return true };
        let names = match self.names.get(directory.as_os_str()) {
            Some(names) => names,
            None => {
                let is_missing = self.is_known_missing(directory);
                let names = if is_missing { Some(HashSet::new()) } else { read_names(directory) };
                &*self.names.entry(directory.as_os_str()).or_insert(names)
            }
        };
        may_contain(names, path)
    }

    /// Whether the nearest listing above `path` shows that nothing is there. Lists nothing.
    pub(crate) fn is_known_missing(&self, path: &Path) -> bool {
        let mut child = path;
        for directory in path.ancestors().skip(1) {
            if let Some(names) = self.names.get(directory.as_os_str()) {
                return !may_contain(names, child);
            }
            child = directory;
        }
        false
    }
}

/// Whether the directory with these names may contain the last name of `path`. `..` is in every directory.
fn may_contain(names: &Names, path: &Path) -> bool {
    match (names, path.file_name()) {
        (Some(names), Some(name)) => !names.is_empty() && names.contains(&name.to_ascii_lowercase()),
        (None, _) | (_, None) => true,
    }
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
        assert_eq!(paths_that_may_exist(&all), there.each_ref());
        assert_eq!(paths_that_may_exist(&[PathBuf::from("/")]), [Path::new("/")]);
    }

    #[test]
    fn a_directory_that_cannot_be_listed_may_hold_anything() {
        let top = ibeam_testkit::Workspace::new();
        std::fs::create_dir(top.path().join("closed")).unwrap();
        let closed = top.path().join("closed");
        std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o300)).unwrap();
        let all = ["closed/.ssh", "closed/.config/gh", "open/.ssh"].map(|name| top.path().join(name));
        let found = ibeam_testkit::without_root_access(|| paths_that_may_exist(&all));
        std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
        // The missing directory below it is asked for, because the one above it shows nothing.
        assert_eq!(found, [&all[0]]);
    }

    #[test]
    fn a_path_with_dots_is_not_ruled_out_by_the_listing_of_another_directory() {
        let top = ibeam_testkit::Workspace::new();
        let at = |name: &str| top.path().join(name);
        std::fs::create_dir_all(at("home/.config")).unwrap();
        std::fs::create_dir_all(at("other/.config")).unwrap();
        std::fs::write(at("other/.config/gh"), "").unwrap();
        symlink("../other/.config", at("home/link")).unwrap();
        let missing = ["home/.netrc", "home/.config/gh", "home/.ssh/.config/gh"];
        let there = ["home/../other/.config/gh", "home/link/../.config/gh", "home/link/gh"];
        let all: Vec<PathBuf> = missing.into_iter().chain(there).map(at).collect();
        assert_eq!(paths_that_may_exist(&all), there.map(at).each_ref());
    }
}
