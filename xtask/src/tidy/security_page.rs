//! The tests that docs/security.md names: each must exist, or nothing holds the promise next to it.
//!
//! A code span `crate::path::test` is a function in the sources of that crate, `AT-…` a case of the corpus of attacks.
//! Does not judge whether a test holds the promise.

use std::collections::BTreeSet;
use std::path::Path;

use super::tree::{TidyError, read_file, tracked_files};

const PAGE: &str = "docs/security.md";

/// A reference to an attack or to a test.
#[derive(Debug, Eq, PartialEq)]
enum Reference<'a> {
    Attack(&'a str),
    Test { package: String, function: &'a str },
}

/// The attacks and functions of the tree.
#[derive(Default)]
struct Names {
    attacks: BTreeSet<String>,
    /// Packages with the functions in their sources.
    functions: BTreeSet<(String, String)>,
}

pub(super) fn check(root: &Path) -> Result<Vec<String>, TidyError> {
    let mut names = Names::default();
    for path in tracked_files(root)? {
        if path.starts_with("corpus/attacks") && path.ends_with(".jsonl") {
            names.add_attacks(&path, &read_file(root, &path)?)?;
        } else if let Some(package) = package_of(&path) {
            names.add_functions(package, &read_file(root, &path)?);
        }
    }
    Ok(findings(&read_file(root, PAGE)?, &names))
}

/// Returns the package of a Rust source.
fn package_of(path: &str) -> Option<&str> {
    let source = path.strip_suffix(".rs")?;
    source.strip_prefix("crates/").unwrap_or(source).split('/').next()
}

fn findings(page: &str, names: &Names) -> Vec<String> {
    let missing = |(number, span): (usize, &str)| {
        let exists = match reference(span)? {
            Reference::Attack(id) => names.attacks.contains(id),
            Reference::Test { package, function } => {
                names.functions.contains(&(package, function.to_owned()))
            }
        };
        (!exists).then(|| format!("{PAGE}:{number}: unknown test `{span}`"))
    };
    let lines = (1..).zip(page.lines());
    // Every second piece between backticks is code.
    lines
        .flat_map(|(number, line)| line.split('`').skip(1).step_by(2).map(move |span| (number, span)))
        .filter_map(missing)
        .collect()
}

/// Returns the test or attack that a code span refers to, if it has the form of its name.
fn reference(span: &str) -> Option<Reference<'_>> {
    if let Some(number) = span.strip_prefix("AT-") {
        return number.chars().all(|c| c.is_ascii_alphanumeric()).then_some(Reference::Attack(span));
    }
    let (package, _) = span.split_once("::")?;
    let (_, function) = span.rsplit_once("::")?;
    let is_path = span.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':');
    let is_own_package = package == "xtask" || package == "ibeam" || package.starts_with("ibeam_");
    (is_path && is_own_package).then(|| Reference::Test { package: package.replace('_', "-"), function })
}

impl Names {
    /// # Errors
    /// `Unreadable` for an invalid case.
    fn add_attacks(&mut self, path: &str, lines: &str) -> Result<(), TidyError> {
        for (number, line) in (1..).zip(lines.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let case: serde_json::Value = serde_json::from_str(line)
                .map_err(|error| TidyError::Unreadable(format!("{path}:{number}: {error}")))?;
            self.attacks.extend(case.get("id").and_then(serde_json::Value::as_str).map(str::to_owned));
        }
        Ok(())
    }

    fn add_functions(&mut self, package: &str, source: &str) {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let named = |line: &str| {
            let (_, rest) = line.split_once("fn ").filter(|(before, _)| !before.contains("//"))?;
            let name: String = rest.chars().take_while(|c| is_part(*c)).collect();
            (!name.is_empty()).then(|| (package.to_owned(), name))
        };
        self.functions.extend(source.lines().filter_map(named));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(page: &str) -> Vec<String> {
        let mut names = Names::default();
        names.add_attacks("corpus/attacks.jsonl", "{\"id\":\"AT-A001\"}\n\n{\"id\":\"AT-2B003\"}\n").unwrap();
        names.add_functions(
            "ibeam-tools",
            "#[test]\nfn a_link_is_not_followed() {}\n// fn gone() {}\npub async fn b<T>() {}",
        );
        findings(page, &names)
    }

    #[test]
    fn existing_tests_may_be_named() {
        let page = "A promise.\n  `AT-A001` to `AT-2B003`, `ibeam_tools::links::tests::a_link_is_not_followed`,\n\
                    `ibeam_tools::b`, `Shell(x)`, `git status`, `AT-…`, `crate::path::test`";
        assert_eq!(check(page), Vec::<String>::new());
    }

    #[test]
    fn a_missing_test_is_found_with_its_line() {
        let page =
            "`AT-A002`\n`ibeam_tools::gone`\n`ibeam_core::links::a_link_is_not_followed`, `xtask::a::b`";
        let missing = |line, name| format!("{PAGE}:{line}: unknown test `{name}`");
        let expected = [
            missing(1, "AT-A002"),
            missing(2, "ibeam_tools::gone"),
            missing(3, "ibeam_core::links::a_link_is_not_followed"),
            missing(3, "xtask::a::b"),
        ];
        assert_eq!(check(page), expected);
    }
}
