//! `cargo xtask editors`: clients of the Agent Client Protocol start `ibeam acp`, and every line that the program sends to
//! them is compared with the official schema.
//!
//! The clients are installed at the versions that `clients/editors` pins into `target/editors`. What this machine lacks is
//! skipped, and the reason is printed.

mod client_runs;
mod recording;
mod scene;

use std::fs;
use std::path::{Path, PathBuf};

use ibeam_testkit::build_program;

use crate::clients::{Installer, pinned_versions};
use crate::conformance::{
    ConformanceError, NodePackages, Results, install_node, missing_if_failed, npm_versions, record,
};
use recording::MessageSchema;

const USAGE: &str = "usage: cargo xtask editors [--bin PATH] [--runners DIR]";
/// The schema, in the directory of the npm packages.
const SCHEMA: &str = "@agentclientprotocol/sdk/schema/v1/schema.json";
/// The minor version of the oldest Python 3 for which the pins of `requirements.txt` are complete.
const PYTHON_MINOR: u8 = 11;

/// The installed clients, and the program under test.
struct Clients {
    ibeam: PathBuf,
    node: PathBuf,
    /// The directory `node_modules`.
    packages: PathBuf,
    /// The Python with the packages of PyPI.
    python: Result<PathBuf, String>,
    /// `clients/editors`.
    scripts: PathBuf,
    /// The directory with further scripts that run clients; it may not exist.
    runners: PathBuf,
    schema: MessageSchema,
}

/// Runs all clients, prints a line for each, and records the result.
pub(crate) fn run(root: &Path, mut args: impl Iterator<Item = String>) -> Result<(), ConformanceError> {
    let usage = |problem: &str| ConformanceError::Usage(format!("{problem}\n{USAGE}"));
    let (mut program, mut runners) = (None, root.join("../shared/clients"));
    while let Some(arg) = args.next() {
        let path = args.next().ok_or_else(|| usage(&format!("`{arg}` needs a path")))?;
        let path = fs::canonicalize(&path).map_err(ConformanceError::system(path))?;
        match arg.as_str() {
            "--bin" => program = Some(path),
            "--runners" => runners = path,
            _ => return Err(usage(&format!("unknown option `{arg}`"))),
        }
    }
    let ibeam = match program {
        Some(program) => program,
        None => build_program(root)?,
    };
    let mut results = Results::default();
    let scripts = root.join("clients/editors");
    let mut versions = npm_versions(&scripts.join("package.json"))?;
    versions.extend(pinned_versions(&scripts.join("requirements.txt"), &["agent-client-protocol", "harbor"]));
    match install(root, ibeam, scripts, runners)? {
        Ok(clients) => client_runs::run(&clients, &mut results)?,
        Err(missing) => {
            println!("SKIP: no client of the Agent Client Protocol is run: {missing}");
            return Ok(());
        }
    }
    let failed = results.counts.failed;
    println!("acp: {} passed, {failed} failed, {} skipped", results.counts.passed, results.counts.skipped);
    record(root, "acp", results.into_suite_result(versions))?;
    if failed == 0 { Ok(()) } else { Err(ConformanceError::Cases(failed)) }
}

/// Installs the clients. `Err` of the result is the requirement that this machine lacks.
fn install(
    root: &Path,
    ibeam: PathBuf,
    scripts: PathBuf,
    runners: PathBuf,
) -> Result<Result<Clients, String>, ConformanceError> {
    let NodePackages { node, .. } = match install_node(root) {
        Ok(packages) => packages,
        Err(missing) => return Ok(Err(missing)),
    };
    let target = root.join("target/editors");
    let (installer, npm) = (Installer::new(root), target.join("npm"));
    if let Err(missing) = missing_if_failed(installer.install_from_npm(&scripts, &npm))? {
        return Ok(Err(missing));
    }
    let pins = scripts.join("requirements.txt");
    let python = installer.install_from_pypi(&pins, &target.join("python"), PYTHON_MINOR);
    let python = missing_if_failed(python)?;
    let packages = npm.join("node_modules");
    let schema = MessageSchema::load(&packages.join(SCHEMA))?;
    Ok(Ok(Clients { ibeam, node, packages, python, scripts, runners, schema }))
}
