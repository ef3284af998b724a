//! Checks files: their sizes and names, the module that declares each file, and leftovers of tools.
//!
//! A file has one subject and at most 600 lines, without tests. A reader must find a file by its name: within a crate no
//! two files have the same name with different meanings.

use std::collections::BTreeMap;
use std::path::Path;

use super::tree::{TidyError, read_file, tracked_files};

/// The maximum number of lines of a file, without its tests.
const MAX_LINES: usize = 600;

/// Names of files that do not name a subject.
const NAMES_WITHOUT_SUBJECT: &[&str] =
    &["utils", "util", "helpers", "helper", "manager", "misc", "common", "processor"];

/// Endings of files that tools leave behind.
const LEFTOVERS: &[&str] = &[".orig", ".rej", ".snap.new", ".bak"];

/// Folders whose children share one structure, so that the name of a file means the same in each.
const REPEATED_STRUCTURES: &[(&str, &str)] = &[
    ("crates/ibeam/src/command/", "each file has the name of its sub-command"),
    ("crates/ibeam-dialects/src/dialects/", "each dialect has the same files"),
    ("crates/ibeam-providers/src/protocols/", "each model API has the same files"),
];

pub(super) fn check(root: &Path) -> Result<Vec<String>, TidyError> {
    let files = tracked_files(root)?;
    let mut findings = Vec::new();
    for path in files.iter().filter(|path| path.ends_with(".rs")) {
        findings.extend(size_finding(path, &read_file(root, path)?));
        findings.extend(orphan_finding(path, &|path| read_file(root, path).ok()));
    }
    findings.extend(files.iter().filter_map(|path| name_finding(path)));
    findings.extend(shared_names(&files));
    Ok(findings)
}

fn size_finding(path: &str, text: &str) -> Option<String> {
    if is_test(path) {
        return None;
    }
    if path.ends_with("/mod.rs") {
        return Some(format!("{path}: name the file `foo.rs`, next to the folder `foo/`"));
    }
    if !text.starts_with("//!") {
        return Some(format!("{path}: does not open with `//!`, which states its subject and its limits"));
    }
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
    (lines > MAX_LINES).then(|| format!("{path}: {lines} lines; split it by subject (at most {MAX_LINES})"))
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "benches")
        || path.ends_with("tests.rs")
        || path.ends_with("_test.rs")
}

fn name_finding(path: &str) -> Option<String> {
    let (_, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.strip_suffix(".rs");
    if let Some(stem) = stem.filter(|stem| NAMES_WITHOUT_SUBJECT.contains(stem)) {
        return Some(format!("{path}: `{stem}` names no subject"));
    }
    LEFTOVERS.iter().any(|ending| path.ends_with(ending)).then(|| format!("{path}: a leftover"))
}

/// Finds files of one crate that share a name, except within a repeated structure.
fn shared_names(files: &[String]) -> Vec<String> {
    let mut by_name: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for path in files.iter().filter(|path| !is_test(path)) {
        let Some((package, inner)) = path.split_once("/src/") else { continue };
        let name = inner.rsplit_once('/').map_or(inner, |(_, name)| name);
        if name.ends_with(".rs") && !is_in_repeated_structure(path) {
            by_name.entry((package, name)).or_default().push(path);
        }
    }
    let shared = by_name.into_values().filter(|paths| paths.len() > 1);
    shared
        .map(|paths| format!("{}: the same file name in one crate; rename all but one", paths.join(", ")))
        .collect()
}

fn is_in_repeated_structure(path: &str) -> bool {
    REPEATED_STRUCTURES.iter().any(|(folder, _)| path.starts_with(folder))
}

/// Finds a file that no module declares, so that the compiler never reads it. `read` returns the text of a file, if the
/// file exists.
fn orphan_finding(path: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let (package, inner) = path.split_once("/src/")?;
    let (directory, name) = inner.rsplit_once('/').unwrap_or(("", inner));
    let name = name.strip_suffix(".rs")?;
    if directory.is_empty() && (name == "lib" || name == "main") || directory == "bin" {
        return None;
    }
    // `a/b.rs` is declared in `a.rs`, `b.rs` in the root of the crate, `b_test.rs` by `#[path]` in `b.rs`.
    let parents = match directory {
        "" => vec!["lib.rs".to_owned(), "main.rs".to_owned()],
        directory => vec![format!("{directory}.rs")],
    };
    let tested = name.strip_suffix("_test").map(|tested| format!("{directory}/{tested}.rs"));
    let is_declared = parents.iter().chain(&tested).any(|parent| {
        let parent = format!("{package}/src/{}", parent.trim_start_matches('/'));
        read(&parent).is_some_and(|text| {
            text.contains(&format!("mod {name};")) || text.contains(&format!("\"{name}.rs\""))
        })
    });
    (!is_declared).then(|| format!("{path}: no module declares it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_found_but_its_tests_do_not_count() {
        let long = format!("//! x\n{}", "a\n".repeat(600));
        assert!(size_finding("a.rs", &long).is_some());
        assert!(size_finding("crates/x/tests/a.rs", &long).is_none());
        let tested = format!("//! x\n{}#[cfg(test)]\n{}", "a\n".repeat(500), "b\n".repeat(500));
        assert!(size_finding("a.rs", &tested).is_none());
        assert!(size_finding("a.rs", "fn main() {}").is_some());
    }

    #[track_caller]
    fn check_declaration(path: &str, is_declared: bool) {
        let read = |path: &str| match path {
            "crates/x/src/lib.rs" => Some("mod a;\npub mod c;\n".to_owned()),
            "crates/x/src/a.rs" => Some("mod b;\n#[path = \"a_test.rs\"]\nmod tests;\n".to_owned()),
            _ => None,
        };
        assert_eq!(orphan_finding(path, &read).is_none(), is_declared, "{path}");
    }

    #[test]
    fn a_file_without_a_declaration_is_found() {
        check_declaration("crates/x/src/lib.rs", true);
        check_declaration("crates/x/src/a.rs", true);
        check_declaration("crates/x/src/a/b.rs", true);
        check_declaration("crates/x/src/a_test.rs", true);
        check_declaration("crates/x/src/c.rs", true);
        check_declaration("crates/x/src/d.rs", false);
        check_declaration("crates/x/src/a/d.rs", false);
        check_declaration("crates/x/tests/d.rs", true);
    }

    #[test]
    fn files_of_one_crate_do_not_share_a_name() {
        let files = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
        assert_eq!(shared_names(&files(&["crates/x/src/a/place.rs", "crates/x/src/b/place.rs"])).len(), 1);
        assert!(shared_names(&files(&["crates/x/src/place.rs", "crates/y/src/place.rs"])).is_empty());
        assert!(shared_names(&files(&["crates/x/src/a/tests.rs", "crates/x/src/b/tests.rs"])).is_empty());
    }

    #[test]
    fn leftovers_and_names_without_a_subject_are_found() {
        assert!(name_finding("crates/x/src/utils.rs").is_some());
        assert!(name_finding("docs/a.md.orig").is_some());
        assert!(name_finding("crates/x/src/layout.rs").is_none());
    }
}
