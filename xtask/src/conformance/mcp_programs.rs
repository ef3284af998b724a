//! MCP servers and clients of others, at the versions that `clients/mcp-programs` pins: ibeam uses the servers, and the
//! clients use `ibeam mcp serve`.

use std::path::PathBuf;

use super::mcp_suite::{NodePackages, install_node};
use super::program_checks::{Results, missing_if_failed, npm_versions};
use super::suite_results::SuiteResult;
use super::{ConformanceError, SuiteContext, third_party_clients, third_party_servers};
use crate::clients::{Installer, pinned_versions};

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
    Ok(Ok(results.into_suite_result(versions)))
}
