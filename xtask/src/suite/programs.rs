//! Programs of others at the versions that a folder of `clients` pins: packages of npm, and those of PyPI.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{SuiteContext, SuiteError, SuiteResult};
use crate::clients::pinned_versions;
use crate::conformance::install_node;

/// The minor version of the oldest Python 3 for which the pins of `requirements.txt` are complete.
const PYTHON_MINOR: u8 = 11;

/// The installed programs of others, and the program under test.
pub(crate) struct Programs {
    pub(crate) ibeam: PathBuf,
    pub(crate) node: PathBuf,
    /// The directory `node_modules`.
    pub(crate) packages: PathBuf,
    /// The Python with the packages of PyPI; `None` if this machine cannot install them.
    pub(crate) python: Option<PathBuf>,
    /// The folder with the pins and the scripts.
    pub(crate) scripts: PathBuf,
}

impl Programs {
    /// Installs the pins of a folder of `clients` below `target`, and adds their versions and a missing Python to the result.
    /// `pypi` are the packages of PyPI whose versions docs/conformance.md has.
    ///
    /// # Errors
    /// `Missing` without Node and the packages of npm.
    pub(crate) fn install(
        context: &SuiteContext,
        folder: &str,
        target: &str,
        pypi: &[&str],
        result: &mut SuiteResult,
    ) -> Result<Self, SuiteError> {
        let SuiteContext { root, program, installer } = context;
        let (scripts, target) = (root.join("clients").join(folder), root.join(target));
        let (node, _) = install_node(root)?;
        let npm = target.join("npm");
        installer.install_from_npm(&scripts, &npm).map_err(SuiteError::setup_as_missing)?;
        let pins = scripts.join("requirements.txt");
        result.versions = npm_versions(&scripts.join("package.json"))?;
        result.versions.extend(pinned_versions(&pins, pypi));
        let python = installer.install_from_pypi(&pins, &target.join("python"), PYTHON_MINOR);
        let python = result.available("what uses Python", python.map_err(SuiteError::setup_as_missing))?;
        Ok(Self { ibeam: program.clone(), node, packages: npm.join("node_modules"), python, scripts })
    }
}

/// Returns the versions in a `package.json`, as text for docs/conformance.md.
fn npm_versions(path: &Path) -> Result<Vec<String>, SuiteError> {
    let text = fs::read_to_string(path).map_err(SuiteError::system(path.display()))?;
    let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
    let packages = manifest.get("dependencies").and_then(Value::as_object).into_iter().flatten();
    Ok(packages
        .map(|(name, version)| format!("npm `{name}` {}", version.as_str().unwrap_or_default()))
        .collect())
}
