//! MCP servers and clients of others, at the versions that `clients/mcp-programs` pins: ibeam uses the servers, and the
//! clients use `ibeam mcp serve`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::mcp_suite::{NodePackages, install_node};
use super::suite_results::{Counts, SuiteResult};
use super::{ConformanceError, SuiteContext, third_party_clients, third_party_servers};
use crate::clients::{ClientsError, Installer, MissingRequirement, pinned_versions};

/// The minor version of the oldest Python 3 for which the pins of `requirements.txt` are complete.
const PYTHON_MINOR: u8 = 11;

/// The installed programs of others, and the program under test.
pub(super) struct Programs {
    pub(super) ibeam: PathBuf,
    pub(super) node: PathBuf,
    /// The directory `node_modules`.
    pub(super) packages: PathBuf,
    /// The Python with the SDK; `None` if this machine cannot install it.
    pub(super) python: Option<PathBuf>,
    /// `clients/mcp-programs`.
    pub(super) scripts: PathBuf,
}

/// The checks of one use of a program.
#[derive(Default)]
pub(super) struct Checks(Vec<Check>);

struct Check {
    name: String,
    has_passed: bool,
}

impl Checks {
    /// Adds a check. A failed one is printed with what was seen instead.
    pub(super) fn add(&mut self, name: impl Into<String>, has_passed: bool, seen: impl std::fmt::Display) {
        let name = name.into();
        if !has_passed {
            println!("  failed: {name}; seen: {seen}");
        }
        self.0.push(Check { name, has_passed });
    }
}

/// The results of one use of a program.
pub(super) struct ProgramUse {
    /// The package, for example `npm @modelcontextprotocol/inspector`.
    package: &'static str,
    /// The role of the program, the transport and the revision, for example `client over HTTP, session`.
    connection: String,
    checks: Checks,
}

/// The results of all programs, which are printed as they are added.
#[derive(Default)]
pub(super) struct Results {
    uses: Vec<ProgramUse>,
    counts: Counts,
}

impl Results {
    /// Adds the checks of a program.
    pub(super) fn add(&mut self, package: &'static str, connection: String, checks: Checks) {
        let failed = checks.0.iter().filter(|check| !check.has_passed).count();
        let verdict = if failed == 0 { "PASS" } else { "FAIL" };
        println!("{verdict} {package}, {connection}: {} checks", checks.0.len());
        self.counts.failed += failed;
        self.counts.passed += checks.0.len() - failed;
        self.uses.push(ProgramUse { package, connection, checks });
    }
}

/// Installs the programs and runs all checks. `Err` of the result is the requirement that this machine lacks.
pub(super) fn run(context: &SuiteContext<'_>) -> Result<Result<SuiteResult, String>, ConformanceError> {
    let SuiteContext { root, program } = context;
    let NodePackages { node, .. } = match install_node(root) {
        Ok(packages) => packages,
        Err(missing) => return Ok(Err(missing)),
    };
    let (scripts, target) = (root.join("clients/mcp-programs"), root.join("target/conformance/programs"));
    let installer = Installer::new(root);
    let directory = target.join("npm");
    if let Err(missing) = missing_if_failed(installer.install_from_npm(&scripts, &directory))? {
        return Ok(Err(missing));
    }
    let pins = scripts.join("requirements.txt");
    let mut versions = npm_versions(&scripts.join("package.json"))?;
    versions.extend(pinned_versions(&pins, &["mcp"]));
    let mut results = Results::default();
    let python =
        match missing_if_failed(installer.install_from_pypi(&pins, &target.join("python"), PYTHON_MINOR))? {
            Ok(python) => Some(python),
            Err(missing) => {
                println!("SKIP: the MCP SDK for Python: {missing}");
                results.counts.skipped += 1;
                None
            }
        };
    let ibeam = program.to_path_buf();
    let programs = Programs { ibeam, node, packages: directory.join("node_modules"), python, scripts };
    third_party_servers::run(&programs, &mut results)?;
    third_party_clients::run(&programs, &mut results)?;
    let details = table(&results.uses);
    Ok(Ok(SuiteResult { versions, counts: results.counts, details }))
}

/// Turns an installation that failed, for example without a registry, into a missing requirement.
fn missing_if_failed<T>(
    installed: Result<Result<T, MissingRequirement>, ClientsError>,
) -> Result<Result<T, MissingRequirement>, ConformanceError> {
    match installed {
        Err(ClientsError::Setup(command)) => Ok(Err(format!("{command} failed"))),
        installed => Ok(installed?),
    }
}

/// Returns the versions in a `package.json`, as text for docs/conformance.md.
fn npm_versions(path: &Path) -> Result<Vec<String>, ConformanceError> {
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
