//! The checks of programs of others, and the table of their results for docs/conformance.md.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::ConformanceError;
use super::suite_results::{Counts, SuiteResult};
use crate::clients::{ClientsError, MissingRequirement};

/// The checks of one use of a program.
#[derive(Default)]
pub(crate) struct Checks(Vec<Check>);

struct Check {
    name: String,
    has_passed: bool,
}

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
    pub(crate) fn add(&mut self, name: impl Into<String>, has_passed: bool, seen: impl std::fmt::Display) {
        let name = name.into();
        if !has_passed {
            println!("  failed: {name}; seen: {seen}");
        }
        self.0.push(Check { name, has_passed });
    }
}

/// The results of one use of a program.
pub(crate) struct ProgramUse {
    /// The package, for example `npm @modelcontextprotocol/inspector`.
    package: &'static str,
    /// The role of the program, the transport and the revision, for example `client over HTTP, session`.
    connection: String,
    checks: Checks,
}

/// The results of all programs, which are printed as they are added.
#[derive(Default)]
pub(crate) struct Results {
    uses: Vec<ProgramUse>,
    pub(crate) counts: Counts,
}

impl Results {
    /// Returns the result of the suite, with a table of all checks.
    pub(crate) fn into_suite_result(self, versions: Vec<String>) -> SuiteResult {
        SuiteResult { versions, counts: self.counts, details: table(&self.uses) }
    }

    /// Adds the checks of a program.
    pub(crate) fn add(&mut self, package: &'static str, connection: String, checks: Checks) {
        let failed = checks.0.iter().filter(|check| !check.has_passed).count();
        let verdict = if failed == 0 { "PASS" } else { "FAIL" };
        println!("{verdict} {package}, {connection}: {} checks", checks.0.len());
        self.counts.failed += failed;
        self.counts.passed += checks.0.len() - failed;
        self.uses.push(ProgramUse { package, connection, checks });
    }
}

/// Turns an installation that failed, for example without a registry, into a missing requirement.
pub(crate) fn missing_if_failed<T>(
    installed: Result<Result<T, MissingRequirement>, ClientsError>,
) -> Result<Result<T, MissingRequirement>, ConformanceError> {
    match installed {
        Err(ClientsError::Setup(command)) => Ok(Err(format!("{command} failed"))),
        installed => Ok(installed?),
    }
}

/// Returns the versions in a `package.json`, as text for docs/conformance.md.
pub(crate) fn npm_versions(path: &Path) -> Result<Vec<String>, ConformanceError> {
    let text = fs::read_to_string(path).map_err(ConformanceError::system(path.display()))?;
    let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
    let packages = manifest.get("dependencies").and_then(Value::as_object).into_iter().flatten();
    Ok(packages
        .map(|(name, version)| format!("npm `{name}` {}", version.as_str().unwrap_or_default()))
        .collect())
}

/// Returns a package such as `npm NAME` with its name in backticks.
fn quoted(package: &str) -> String {
    let (registry, name) = package.split_once(' ').unwrap_or_default();
    format!("{registry} `{name}`")
}

/// Returns the table of all results.
fn table(uses: &[ProgramUse]) -> Vec<String> {
    let mut lines = ["| program | role | checks | result |", "|---|---|---|---|"].map(str::to_owned).to_vec();
    for ProgramUse { package, connection, checks } in uses {
        let names: Vec<&str> = checks.0.iter().map(|check| check.name.as_str()).collect();
        let failed = checks.0.iter().filter(|check| !check.has_passed);
        let failed: Vec<&str> = failed.map(|check| check.name.as_str()).collect();
        let result = match failed.is_empty() {
            true => "passed".to_owned(),
            false => format!("failed: {}", failed.join("; ")),
        };
        lines.push(format!("| {} | {connection} | {} | {result} |", quoted(package), names.join("; ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_is_named_in_the_page() {
        let mut checks = Checks::default();
        checks.add("connects", true, "");
        checks.add("lists tools", false, "none");
        let program_use = ProgramUse { package: "npm x", connection: "client".to_owned(), checks };
        let row = "| npm `x` | client | connects; lists tools | failed: lists tools |";
        assert_eq!(table(&[program_use]).pop().unwrap(), row);
    }
}
