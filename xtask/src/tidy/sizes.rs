//! A file has one noun: about 200 lines, 600 at the most. Tests and pure data are left out.

use std::path::Path;

use super::{Untidy, tracked};

const MOST_LINES: usize = 600;

pub(super) fn check(root: &Path) -> Result<Vec<String>, Untidy> {
    let mut findings = Vec::new();
    for path in tracked(root)?.iter().filter(|path| path.ends_with(".rs")) {
        let text = std::fs::read_to_string(root.join(path))
            .map_err(|error| Untidy::Unreadable(format!("{path}: {error}")))?;
        findings.extend(finding(path, &text));
    }
    Ok(findings)
}

fn finding(path: &str, text: &str) -> Option<String> {
    if path.split('/').any(|part| part == "tests" || part == "benches")
        || path.ends_with("tests.rs")
        || path.ends_with("_test.rs")
    {
        return None;
    }
    if path.ends_with("/mod.rs") {
        return Some(format!("{path}: write `foo.rs` beside `foo/`"));
    }
    if !text.starts_with("//!") {
        return Some(format!("{path}: opens without `//!` saying what it is for and what it refuses"));
    }
    let code = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
    (code > MOST_LINES).then(|| format!("{path}: {code} lines; split it by noun ({MOST_LINES} at the most)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_found_but_its_tests_do_not_count() {
        let long = format!("//! x\n{}", "a\n".repeat(600));
        assert!(finding("a.rs", &long).is_some());
        assert!(finding("crates/x/tests/a.rs", &long).is_none());
        let tested = format!("//! x\n{}#[cfg(test)]\n{}", "a\n".repeat(500), "b\n".repeat(500));
        assert!(finding("a.rs", &tested).is_none());
        assert!(finding("a.rs", "fn main() {}").is_some());
    }
}
