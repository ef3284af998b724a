//! The search of files of the workspace, for the completion of `@` paths.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ignore::WalkBuilder;

/// The number of paths that a completion offers.
const MAX_PATHS: usize = 200;
/// The number of files that a search looks at.
const MAX_FILES: usize = 20_000;
/// The time in which the files are listed.
const MAX_LISTING_TIME: Duration = Duration::from_millis(150);
/// The time after which the files are listed again.
const MAX_AGE: Duration = Duration::from_secs(10);
/// The characters from which on files of all directories are searched.
const MIN_QUERY_CHARACTERS: usize = 2;

/// The files of a workspace, without those that `.gitignore` names.
pub(super) struct FileIndex {
    workspace: PathBuf,
    listed: Mutex<Option<(Instant, Vec<String>)>>,
}

impl FileIndex {
    /// Returns an index that lists the files at the first search.
    pub(super) fn new(workspace: PathBuf) -> Self {
        Self { workspace, listed: Mutex::new(None) }
    }

    /// Returns the paths that start with `query`, then those that contain its characters in their order, the best
    /// first.
    pub(super) fn search(&self, query: &str) -> Vec<String> {
        let mut paths = list_files(&self.workspace, query);
        if query.chars().count() >= MIN_QUERY_CHARACTERS {
            let query = query.to_lowercase();
            let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
            let (_, files) = match listed.take().filter(|(at, _)| at.elapsed() < MAX_AGE) {
                Some(fresh) => listed.insert(fresh),
                None => listed.insert((Instant::now(), list_all(&self.workspace))),
            };
            let mut found: Vec<_> =
                files.iter().filter_map(|path| Some((distance(path, &query)?, path.len(), path))).collect();
            found.sort();
            let others = found.into_iter().map(|(_, _, path)| path).filter(|path| !paths.contains(path));
            let others: Vec<String> = others.take(MAX_PATHS).cloned().collect();
            paths.extend(others);
        }
        paths.truncate(MAX_PATHS);
        paths
    }
}

/// Returns how far a path is from a query in lower case: 0 if its file name starts with it; `None` if it does not
/// contain the characters in their order.
fn distance(path: &str, query: &str) -> Option<u8> {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    if name.starts_with(query) {
        return Some(0);
    }
    if name.contains(query) {
        return Some(1);
    }
    if path.contains(query) {
        return Some(2);
    }
    let mut rest = path.chars();
    query.chars().all(|wanted| rest.any(|c| c == wanted)).then_some(3)
}

fn list_all(workspace: &Path) -> Vec<String> {
    let start = Instant::now();
    let walk = WalkBuilder::new(workspace).require_git(false).build();
    let in_time = walk.flatten().take_while(|_| start.elapsed() < MAX_LISTING_TIME);
    let files = in_time.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let path = |entry: ignore::DirEntry| {
        let path = entry.path().strip_prefix(workspace).ok()?.to_str()?.to_owned();
        mention_of(path)
    };
    files.filter_map(path).take(MAX_FILES).collect()
}

/// Returns a path as it follows `@` in a prompt: in quotes if it has a space; `None` if it cannot be written there.
fn mention_of(path: String) -> Option<String> {
    match path.contains(char::is_whitespace) {
        false => Some(path),
        true => (!path.contains(['"', '\n', '\r'])).then(|| format!("\"{path}\"")),
    }
}

/// Returns the paths below `workspace` that start with `prefix`, sorted; directories end with `/`. Hidden names are
/// listed only for a prefix that is hidden.
fn list_files(workspace: &Path, prefix: &str) -> Vec<String> {
    let (directory, name) = match prefix.rfind('/') {
        Some(at) => prefix.split_at(at + 1),
        None => ("", prefix),
    };
    let Ok(entries) = std::fs::read_dir(workspace.join(directory)) else { return Vec::new() };
    let listed = entries.flatten().filter_map(|entry| {
        let found = entry.file_name().into_string().ok()?;
        if !found.starts_with(name) || found.starts_with('.') && !name.starts_with('.') {
            return None;
        }
        match entry.path().is_dir() {
            // What follows the directory could not be completed inside quotes.
            true => (!found.contains(char::is_whitespace)).then(|| format!("{directory}{found}/")),
            false => mention_of(format!("{directory}{found}")),
        }
    });
    let mut paths: Vec<String> = listed.collect();
    paths.sort();
    paths.truncate(MAX_PATHS);
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_completed_a_directory_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("src/bin")).unwrap();
        for name in ["src/main.rs", "src/mod.rs", ".hidden", "setup", "two words.txt"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let listed = |prefix: &str| list_files(directory.path(), prefix);
        assert_eq!(listed("s"), ["setup", "src/"]);
        assert_eq!(listed("tw"), ["\"two words.txt\""]);
        assert_eq!(listed("src/m"), ["src/main.rs", "src/mod.rs"]);
        assert_eq!(listed(".h"), [".hidden"]);
        assert_eq!(listed("none/x"), Vec::<String>::new());
    }

    #[test]
    fn files_of_all_directories_are_found_by_parts_of_their_names() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("src/bin")).unwrap();
        for name in ["src/main.rs", "src/bin/domain.rs", "manual.md", "src/ignored.rs"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        std::fs::write(directory.path().join(".gitignore"), "ignored.rs\n").unwrap();
        let index = FileIndex::new(directory.path().to_owned());
        assert_eq!(index.search("ma"), ["manual.md", "src/main.rs", "src/bin/domain.rs"]);
        assert_eq!(index.search("srmn"), ["src/main.rs", "src/bin/domain.rs"]);
        assert_eq!(index.search("MAIN"), ["src/main.rs", "src/bin/domain.rs"]);
        assert_eq!(index.search("ignored"), Vec::<String>::new());
    }
}
