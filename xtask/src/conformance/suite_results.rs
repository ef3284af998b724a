//! The results of suites: the record in `clients/results.json`, and `docs/conformance.md`, which is rendered from it.
//!
//! A subcommand that has run a suite completely calls [`record`]. The record has no dates and times, so an equal result
//! leaves both files unchanged. A gate changes no file of the repository: the pages are part of the program, which would
//! then be built again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ibeam_testkit::PROGRAMS_VARIABLE;

use super::{SUITES, Source, Suite};
use crate::suite::{Counts, SuiteError, SuiteResult};

/// The record, relative to the root of the repository.
const RECORD: &str = "clients/results.json";
/// The page, relative to the root of the repository.
const PAGE: &str = "docs/conformance.md";

/// The file that is locked while a result is recorded, relative to the root.
const LOCK: &str = "target/suite-results.lock";

/// The environment variable with the path to which a program of the workspace writes its [`Counts`].
const COUNTS_VARIABLE: &str = "IBEAM_SUITE_COUNTS";

/// Parses what a program of the workspace wrote: the numbers in the order of the fields, separated by spaces.
fn parse_counts(text: &str) -> Option<Counts> {
    let mut numbers = text.split_whitespace().map(str::parse::<usize>);
    let mut next = || numbers.next()?.ok();
    Some(Counts { passed: next()?, failed: next()?, known_failures: next()?, skipped: next()? })
}

/// Records the result of a suite and writes the page. A result is not recorded in a gate, and not if this machine skipped
/// more cases than the machine of the recorded result.
///
/// # Errors
/// `Failed` if the list of suites lacks the name; `System` if a file cannot be read or written.
pub(crate) fn record(root: &Path, name: &str, result: SuiteResult) -> Result<(), SuiteError> {
    let is_gate = std::env::var_os(PROGRAMS_VARIABLE).is_some();
    record_unless(is_gate, root, name, result)
}

fn record_unless(is_gate: bool, root: &Path, name: &str, result: SuiteResult) -> Result<(), SuiteError> {
    if !SUITES.iter().any(|suite| suite.name == name) {
        return Err(SuiteError::Failed(format!(
            "there is no suite `{name}`; add it to `SUITES` in xtask/src/conformance.rs"
        )));
    }
    // Suites run at the same time.
    let lock = fs::create_dir_all(root.join("target")).and_then(|()| fs::File::create(root.join(LOCK)));
    let lock = lock.map_err(SuiteError::system(LOCK))?;
    lock.lock().map_err(SuiteError::system(LOCK))?;
    let mut results = read_record(root)?;
    let skipped = result.counts.skipped;
    if results.get(name).is_some_and(|recorded| skipped > recorded.counts.skipped) {
        println!("{PAGE} keeps its result of `{name}`, because {skipped} cases were skipped here");
        return Ok(());
    }
    let is_changed =
        results.insert(name.to_owned(), result.clone()).is_none_or(|recorded| recorded != result);
    if is_gate {
        if is_changed {
            println!("{PAGE} has another result of `{name}`, and is not written in a gate");
        }
        return Ok(());
    }
    let text = serde_json::to_string_pretty(&results)
        .map_err(|error| SuiteError::System(RECORD.to_owned(), std::io::Error::other(error)))?;
    write_if_changed(&root.join(RECORD), &format!("{text}\n"))?;
    write_if_changed(&root.join(PAGE), &render(SUITES, &results))
}

/// Runs a program of the workspace, which writes its counts, and records them as the result of the suite `name`. `None`
/// records nothing. Returns whether the program succeeded.
///
/// # Errors
/// As [`record`], and `System` if the program cannot be started.
pub(crate) fn record_program(
    root: &Path,
    name: Option<&str>,
    mut command: std::process::Command,
    versions: Vec<String>,
) -> Result<bool, SuiteError> {
    let path = root.join("target").join(format!("suite-counts-{}", std::process::id()));
    let display = format!("{command:?}");
    let status = command.env(COUNTS_VARIABLE, &path).status().map_err(SuiteError::system(display))?;
    let counts = fs::read_to_string(&path).ok().and_then(|text| parse_counts(&text));
    // The program may have ended before it counted.
    let _ = fs::remove_file(&path);
    if let (Some(name), Some(counts)) = (name, counts) {
        record(root, name, SuiteResult { versions, counts, details: Vec::new() })?;
    }
    Ok(status.success())
}

/// Returns a finding if the page differs from the record.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, SuiteError> {
    let results = read_record(root)?;
    let page = fs::read_to_string(root.join(PAGE)).map_err(SuiteError::system(PAGE))?;
    let mut findings = Vec::new();
    if page != render(SUITES, &results) {
        findings.push(format!("{PAGE} does not match {RECORD}; run `cargo xtask conformance --page`"));
    }
    for name in results.keys().filter(|name| !SUITES.iter().any(|suite| suite.name == **name)) {
        findings.push(format!("{RECORD}: there is no suite `{name}`"));
    }
    Ok(findings)
}

/// Writes the page from the record.
pub(crate) fn write_page(root: &Path) -> Result<(), SuiteError> {
    write_if_changed(&root.join(PAGE), &render(SUITES, &read_record(root)?))
}

fn read_record(root: &Path) -> Result<BTreeMap<String, SuiteResult>, SuiteError> {
    let path = root.join(RECORD);
    let text = fs::read_to_string(&path).map_err(SuiteError::system(RECORD))?;
    serde_json::from_str(&text)
        .map_err(|error| SuiteError::System(RECORD.to_owned(), std::io::Error::other(error)))
}

fn write_if_changed(path: &Path, text: &str) -> Result<(), SuiteError> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(path, text).map_err(SuiteError::system(path.display()))
}

/// Returns the page with the results of the suites, in their order.
fn render(suites: &[Suite], results: &BTreeMap<String, SuiteResult>) -> String {
    let mut page = String::from(
        "# Conformance\n\n<!-- Written from clients/results.json by the subcommands below; see \
         `cargo xtask conformance`. -->\n\n\
         The suites that this program is tested with, their versions, and the results. Most of the suites and programs are \
         those of others, unmodified, at the given versions. All of them run in every complete test of the repository.\n\n\
         | suite | passed | known failures | failed | skipped | run by |\n|---|--:|--:|--:|--:|---|\n",
    );
    for suite in suites {
        if let Source::Test(test) = suite.source {
            let _ =
                writeln!(page, "| [{}](#{}) | all | – | – | – | test `{test}` |", suite.title, anchor(suite));
        } else if let Some(SuiteResult { counts, .. }) = results.get(suite.name) {
            let Counts { passed, failed, known_failures, skipped } = counts;
            let (title, anchor, command) = (suite.title, anchor(suite), suite.command());
            let _ = writeln!(
                page,
                "| [{title}](#{anchor}) | {passed} | {known_failures} | {failed} | {skipped} | `{command}` |"
            );
        }
    }
    page.push_str(
        "\nA known failure is a case that fails for a reason that is written down. A skipped case needs something that the \
         machine lacks.\n",
    );
    for suite in suites {
        let result = results.get(suite.name);
        if result.is_none() && !matches!(suite.source, Source::Test(_)) {
            continue;
        }
        let _ = writeln!(page, "\n## {}\n\n{}", suite.title, suite.about);
        let Some(SuiteResult { versions, details, .. }) = result else { continue };
        if !versions.is_empty() {
            let _ = writeln!(page, "\nVersions: {}.", versions.join(", "));
        }
        if !details.is_empty() {
            let _ = writeln!(page, "\n{}", details.join("\n"));
        }
    }
    page
}

/// Returns the fragment of the heading of a suite in the page.
fn anchor(suite: &Suite) -> String {
    let lower = suite.title.to_lowercase();
    lower
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: [Suite; 3] = [
        Suite {
            name: "one",
            title: "First suite, of others",
            about: "About one.",
            source: Source::Subcommand("sdks"),
        },
        Suite { name: "two", title: "Second", about: "About two.", source: Source::Subcommand("clients") },
        Suite { name: "three", title: "Third", about: "About three.", source: Source::Test("a_test") },
    ];

    #[test]
    fn the_page_has_a_row_and_a_section_for_each_recorded_suite() {
        let counts = Counts { passed: 3, failed: 0, known_failures: 1, skipped: 2 };
        let versions = vec!["npm `x` 1.0".to_owned()];
        let result = SuiteResult { versions, counts, details: vec!["| a |".to_owned()] };
        let page = render(&LIST, &BTreeMap::from([("one".to_owned(), result)]));
        assert!(page.contains(
            "| [First suite, of others](#first-suite-of-others) | 3 | 1 | 0 | 2 | `cargo xtask sdks` |\n"
        ));
        assert!(
            page.contains("\n## First suite, of others\n\nAbout one.\n\nVersions: npm `x` 1.0.\n\n| a |\n")
        );
        assert!(page.contains("| [Third](#third) | all | – | – | – | test `a_test` |\n"));
        assert!(!page.contains("Second"), "{page}");
    }

    #[test]
    fn the_counts_of_a_program_are_parsed() {
        let counts = Counts { passed: 1, failed: 2, known_failures: 3, skipped: 4 };
        assert_eq!(parse_counts("1 2 3 4\n"), Some(counts));
        assert_eq!(parse_counts("1 2 3"), None);
    }

    #[test]
    fn a_result_with_more_skipped_cases_does_not_replace_the_record() {
        let root = tempfile::tempdir().unwrap();
        for directory in ["clients", "docs"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        fs::write(root.path().join(RECORD), "{}").unwrap();
        let result = |passed, skipped| SuiteResult {
            counts: Counts { passed, skipped, ..Counts::default() },
            ..SuiteResult::default()
        };
        record_unless(false, root.path(), "sdks", result(3, 1)).unwrap();
        record_unless(false, root.path(), "sdks", result(2, 2)).unwrap();
        assert_eq!(read_record(root.path()).unwrap()["sdks"], result(3, 1));
        record_unless(false, root.path(), "sdks", result(4, 0)).unwrap();
        assert_eq!(read_record(root.path()).unwrap()["sdks"], result(4, 0));
        assert_eq!(check(root.path()).unwrap(), Vec::<String>::new());
        let text = fs::read_to_string(root.path().join(RECORD)).unwrap();
        record_unless(true, root.path(), "sdks", result(5, 0)).unwrap();
        assert_eq!(fs::read_to_string(root.path().join(RECORD)).unwrap(), text, "a gate writes nothing");

        let error = record_unless(false, root.path(), "nobody", result(1, 0)).unwrap_err();
        assert!(error.to_string().contains("nobody"), "{error}");
    }
}
