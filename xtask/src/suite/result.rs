//! The results of a suite, which are printed as they are added.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SuiteError;

/// The numbers of cases of a suite by their result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    /// Cases that failed without a known reason.
    pub(crate) failed: usize,
    /// Cases that failed for a reason that is written down.
    pub(crate) known_failures: usize,
    /// Cases that this machine or this program cannot run.
    pub(crate) skipped: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, known_failures, skipped } = self;
        write!(formatter, "{passed} passed, {failed} failed, ")?;
        if *known_failures > 0 {
            write!(formatter, "{known_failures} known failures, ")?;
        }
        write!(formatter, "{skipped} skipped")
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SuiteResult {
    /// The programs of the suite with their versions, for example "npm `acpx` 1.2.3".
    pub(crate) versions: Vec<String>,
    pub(crate) counts: Counts,
    /// Lines of Markdown for the section of the suite, after its description.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) details: Vec<String>,
}

impl SuiteResult {
    /// Prints and counts a case. `details` follow the verdict.
    pub(crate) fn add(&mut self, name: &str, is_passed: bool, details: &str) {
        let verdict = if is_passed { "PASS" } else { "FAIL" };
        println!("{verdict} {name}{details}");
        *(if is_passed { &mut self.counts.passed } else { &mut self.counts.failed }) += 1;
    }

    /// Prints and counts a case that this machine cannot run.
    pub(crate) fn skip(&mut self, name: &str, missing: impl fmt::Display) {
        println!("SKIP: {name}: {missing}");
        self.counts.skipped += 1;
    }

    /// Returns a value, or `None` if a requirement is missing, which is printed and counted.
    ///
    /// # Errors
    /// Every error but `Missing`.
    pub(crate) fn available<T>(
        &mut self,
        name: &str,
        value: Result<T, SuiteError>,
    ) -> Result<Option<T>, SuiteError> {
        match value {
            Ok(value) => Ok(Some(value)),
            Err(SuiteError::Missing(missing)) => {
                self.skip(name, missing);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Prints and counts the checks of a use of a program, and adds a row to the table of `details`.
    ///
    /// `package` is for example `npm @modelcontextprotocol/inspector`. `connection` is the role of the program, the transport
    /// and the revision, for example `client over HTTP, session`.
    pub(crate) fn add_program(&mut self, package: &str, connection: &str, checks: &Checks) {
        let failed = checks.failed();
        let verdict = if failed.is_empty() { "PASS" } else { "FAIL" };
        println!("{verdict} {package}, {connection}: {} checks", checks.0.len());
        self.counts.failed += failed.len();
        self.counts.passed += checks.0.len() - failed.len();
        if self.details.is_empty() {
            self.details =
                ["| program | role | checks | result |", "|---|---|---|---|"].map(str::to_owned).into();
        }
        self.details.push(checks.row(package, connection));
    }
}

/// The checks of one use of a program: the name of each, and whether it passed.
#[derive(Default)]
pub(crate) struct Checks(Vec<(String, bool)>);

impl Checks {
    /// Adds the checks that a script printed: a JSON object with `check`, `holds` and `seen` on each line.
    pub(crate) fn add_printed(&mut self, stdout: &[u8]) {
        for line in String::from_utf8_lossy(stdout).lines() {
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let Some(name) = line.get("check").and_then(Value::as_str) else { continue };
            let has_passed = line.get("holds").and_then(Value::as_bool) == Some(true);
            self.add(name, has_passed, line.get("seen").cloned().unwrap_or_default());
        }
    }

    /// Adds a check. A failed one is printed with what was seen instead.
    pub(crate) fn add(&mut self, name: impl Into<String>, has_passed: bool, seen: impl fmt::Display) {
        let name = name.into();
        if !has_passed {
            println!("  failed: {name}; seen: {seen}");
        }
        self.0.push((name, has_passed));
    }

    fn failed(&self) -> Vec<&str> {
        self.0.iter().filter(|(_, has_passed)| !has_passed).map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the row of docs/conformance.md.
    fn row(&self, package: &str, connection: &str) -> String {
        let (registry, package) = package.split_once(' ').unwrap_or_default();
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        let failed = self.failed();
        let result =
            if failed.is_empty() { "passed".to_owned() } else { format!("failed: {}", failed.join("; ")) };
        format!("| {registry} `{package}` | {connection} | {} | {result} |", names.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_is_named_in_the_page() {
        let mut checks = Checks::default();
        checks.add("connects", true, "");
        checks.add("lists tools", false, "none");
        let mut result = SuiteResult::default();
        result.add_program("npm x", "client", &checks);
        let row = "| npm `x` | client | connects; lists tools | failed: lists tools |";
        assert_eq!(result.details.pop().unwrap(), row);
        assert_eq!(result.counts.to_string(), "1 passed, 1 failed, 0 skipped");
    }
}
