//! Checks that the tests exist which pages and lists name. Otherwise no test verifies the promise next to the name.
//!
//! docs/security.md names a test as `crate::path::test`, an attack as `AT-…`. ARCHITECTURE.md names the tests of an
//! invariant in the last column of its table. corpus/mutations.toml has a filter of tests for each mutation. Does not
//! check whether a test verifies the promise.

use std::collections::BTreeSet;
use std::path::Path;

use super::tree::{TidyError, read_file, tracked_files};
use crate::mutations::{self, Mutation};

const SECURITY_PAGE: &str = "docs/security.md";
const ARCHITECTURE_PAGE: &str = "ARCHITECTURE.md";
const INVARIANTS_HEADING: &str = "## Invariants";

/// A reference to an attack or to a test.
#[derive(Debug, Eq, PartialEq)]
enum Reference<'a> {
    Attack(&'a str),
    Test { package: String, function: &'a str },
}

/// Pairs of a package and a name in its sources.
type PackageNames = BTreeSet<(String, String)>;

/// The attacks, functions and modules of the tree.
#[derive(Default)]
struct Names {
    attacks: BTreeSet<String>,
    functions: PackageNames,
    /// The modules that the packages declare.
    modules: PackageNames,
}

pub(super) fn check(root: &Path) -> Result<Vec<String>, TidyError> {
    let mut names = Names::default();
    for path in tracked_files(root)? {
        if path.starts_with("corpus/attacks") && path.ends_with(".jsonl") {
            names.add_attacks(&path, &read_file(root, &path)?)?;
        } else if let Some(package) = package_of(&path) {
            names.add_source(package, &read_file(root, &path)?);
        }
    }
    let mut findings = security_findings(&read_file(root, SECURITY_PAGE)?, &names);
    findings.extend(architecture_findings(&read_file(root, ARCHITECTURE_PAGE)?, &names));
    let unreadable = |error: mutations::MutationsError| TidyError::Unreadable(error.to_string());
    for mutation in mutations::load(root).map_err(unreadable)? {
        findings.extend(mutations::read_target(root, &mutation).err().map(|error| error.to_string()));
        findings.extend(filter_findings(&mutation, &names));
    }
    Ok(findings)
}

/// Returns the package of a Rust source.
pub(crate) fn package_of(path: &str) -> Option<&str> {
    let source = path.strip_suffix(".rs")?;
    source.strip_prefix("crates/").unwrap_or(source).split('/').next()
}

/// Returns the code spans of a line: every second piece between backticks.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn security_findings(page: &str, names: &Names) -> Vec<String> {
    let missing = |(number, span): (usize, &str)| {
        let exists = match parse_reference(span)? {
            Reference::Attack(id) => names.attacks.contains(id),
            Reference::Test { package, function } => {
                names.functions.contains(&(package, function.to_owned()))
            }
        };
        (!exists).then(|| format!("{SECURITY_PAGE}:{number}: unknown test `{span}`"))
    };
    let lines = (1..).zip(page.lines());
    lines
        .flat_map(|(number, line)| code_spans(line).map(move |span| (number, span)))
        .filter_map(missing)
        .collect()
}

/// Returns the test or attack that a code span refers to, if it has the form of its name.
fn parse_reference(span: &str) -> Option<Reference<'_>> {
    if let Some(number) = span.strip_prefix("AT-") {
        return number.chars().all(|c| c.is_ascii_alphanumeric()).then_some(Reference::Attack(span));
    }
    let (package, _) = span.split_once("::")?;
    let (_, function) = span.rsplit_once("::")?;
    let is_path = span.chars().all(|c| is_name_part(c) || c == ':');
    let is_own_package = package == "xtask" || package == "ibeam" || package.starts_with("ibeam_");
    (is_path && is_own_package).then(|| Reference::Test { package: package.replace('_', "-"), function })
}

/// Finds tests in the last column of the table of invariants that do not exist.
fn architecture_findings(page: &str, names: &Names) -> Vec<String> {
    let section = (1..).zip(page.lines()).skip_while(|(_, line)| *line != INVARIANTS_HEADING).skip(1);
    let rows = section
        .take_while(|(_, line)| !line.starts_with("## "))
        .filter_map(|(number, line)| Some((number, line.trim_end().strip_suffix('|')?)));
    let mut findings: Vec<String> = Vec::new();
    let mut tests = 0;
    for (number, row) in rows {
        let held_by = row.rsplit_once('|').map_or(row, |(_, cell)| cell);
        for test in code_spans(held_by).filter(|span| span.chars().all(is_name_part)) {
            tests += 1;
            if !names.functions.iter().any(|(_, function)| function == test) {
                findings.push(format!("{ARCHITECTURE_PAGE}:{number}: unknown test `{test}`"));
            }
        }
    }
    if tests == 0 {
        findings.push(format!("{ARCHITECTURE_PAGE}: no test of an invariant below `{INVARIANTS_HEADING}`"));
    }
    findings
}

/// Finds filters of a mutation that match no test of its package. `test(TEXT)` matches tests whose path contains TEXT.
fn filter_findings(mutation: &Mutation, names: &Names) -> Vec<String> {
    let Mutation { protection, package, tests, .. } = mutation;
    let has_name = |names: &PackageNames, matches: &dyn Fn(&str) -> bool| {
        names.iter().any(|(in_package, name)| in_package == package && matches(name))
    };
    let filters = tests.split("test(").skip(1).filter_map(|rest| rest.split_once(')'));
    filters
        .filter(|(text, _)| {
            let matches = match text.strip_suffix("::") {
                Some(path) => {
                    path.split("::").all(|module| has_name(&names.modules, &|name| name.ends_with(module)))
                }
                None => {
                    let function = text.rsplit_once("::").map_or(*text, |(_, function)| function);
                    has_name(&names.functions, &|name| name.contains(function))
                }
            };
            !matches
        })
        .map(|(text, _)| format!("{}: no test matches `test({text})` for {protection}", mutations::LIST_PATH))
        .collect()
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the name that follows `keyword` in a line of code.
fn declared_name(line: &str, keyword: &str) -> Option<String> {
    let (_, rest) = line.split_once(keyword).filter(|(before, _)| !before.contains("//"))?;
    let name: String = rest.chars().take_while(|c| is_name_part(*c)).collect();
    (!name.is_empty()).then_some(name)
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

    /// Adds the functions and modules that `source` declares.
    fn add_source(&mut self, package: &str, source: &str) {
        let declared = |keyword: &'static str| {
            source
                .lines()
                .filter_map(move |line| declared_name(line, keyword))
                .map(|name| (package.to_owned(), name))
        };
        self.functions.extend(declared("fn "));
        self.modules.extend(declared("mod "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let mut names = Names::default();
        names.add_attacks("corpus/attacks.jsonl", "{\"id\":\"AT-A001\"}\n\n{\"id\":\"AT-2B003\"}\n").unwrap();
        names.add_source(
            "ibeam-tools",
            "mod links;\n#[test]\nfn a_link_is_not_followed() {}\n// fn gone() {}\npub async fn b<T>() {}",
        );
        names
    }

    #[test]
    fn existing_tests_may_be_named() {
        let page = "A promise.\n  `AT-A001` to `AT-2B003`, `ibeam_tools::links::tests::a_link_is_not_followed`,\n\
                    `ibeam_tools::b`, `Shell(x)`, `git status`, `AT-…`, `crate::path::test`";
        assert_eq!(security_findings(page, &names()), Vec::<String>::new());
    }

    #[test]
    fn a_missing_test_is_found_with_its_line() {
        let page =
            "`AT-A002`\n`ibeam_tools::gone`\n`ibeam_core::links::a_link_is_not_followed`, `xtask::a::b`";
        let missing = |line, name| format!("{SECURITY_PAGE}:{line}: unknown test `{name}`");
        let expected = [
            missing(1, "AT-A002"),
            missing(2, "ibeam_tools::gone"),
            missing(3, "ibeam_core::links::a_link_is_not_followed"),
            missing(3, "xtask::a::b"),
        ];
        assert_eq!(security_findings(page, &names()), expected);
    }

    #[test]
    fn tests_of_invariants_exist() {
        let page = |tests: &str| {
            format!(
                "# A\n\n`gone`\n\n## Invariants\n\n| rule | held by |\n|--|--|\n| `gone` | {tests} |\n\n## B\n\n`c`"
            )
        };
        let check = |tests| architecture_findings(&page(tests), &names());
        assert_eq!(check("`a_link_is_not_followed`, `b`, `cargo xtask tidy`"), Vec::<String>::new());
        assert_eq!(check("`b`, `gone`"), ["ARCHITECTURE.md:9: unknown test `gone`"]);
        assert_eq!(check("nothing").len(), 1);
    }

    #[test]
    fn filters_of_mutations_match_a_test() {
        let check = |tests: &str| {
            let mutation = Mutation {
                protection: "the check".to_owned(),
                file: String::new(),
                find: String::new(),
                replace: String::new(),
                package: "ibeam-tools".to_owned(),
                tests: tests.to_owned(),
            };
            filter_findings(&mutation, &names())
        };
        assert_eq!(check("test(links::) + test(is_not_followed)"), Vec::<String>::new());
        let missing = "corpus/mutations.toml: no test matches `test(gone)` for the check";
        assert_eq!(check("test(gone) + test(a_link)"), [missing]);
        assert_eq!(check("test(gone::)").len(), 1);
    }
}
