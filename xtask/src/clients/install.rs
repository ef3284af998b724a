//! The installation of clients and servers at their pinned versions, below `target` only.
//!
//! An installation with the same pins is reused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::client::{Client, Runtime};
use crate::interpreter::{Python, find_python};
use crate::suite::SuiteError;

/// Installs clients, and other packages with their pins. Stores the directories of clients and the Python that installs
/// them.
pub(crate) struct Installer {
    /// The directory with a folder for each client.
    clients: PathBuf,
    target: PathBuf,
    python: Option<&'static Python>,
}

pub(super) struct Installed {
    pub(super) version: String,
    /// The Python that runs its driver.
    pub(super) python: PathBuf,
    pub(super) directory: PathBuf,
    pub(super) driver: PathBuf,
    /// The directory of the modules that drivers share.
    pub(super) library: PathBuf,
}

const NPM_LOCK_FILE: &str = "package-lock.json";
pub(crate) const NO_PYTHON: &str = "no Python with `venv` and `pip` found";

impl Installer {
    pub(crate) fn new(root: &Path) -> Self {
        Self { clients: root.join("clients"), target: root.join("target/clients"), python: find_python() }
    }

    /// Installs a client.
    ///
    /// # Errors
    /// `Setup` if the installation fails, `Missing` if this machine lacks a requirement.
    pub(super) fn install(&self, client: &Client) -> Result<Installed, SuiteError> {
        let python = self.python()?;
        let folder = self.clients.join(client.name);
        let directory = self.target.join(client.name);
        let started_by = match client.runtime {
            Runtime::Python(minor) => {
                self.install_from_pypi(&folder.join(client.lock_file()), &directory, minor)?
            }
            Runtime::Node => {
                self.install_from_npm(&folder, &directory)?;
                python.program.clone()
            }
        };
        Ok(Installed {
            version: client.version(&self.clients)?,
            python: started_by,
            directory,
            driver: folder.join("drive.py"),
            library: self.clients.join("lib"),
        })
    }

    /// Returns the Python that installs packages.
    fn python(&self) -> Result<&'static Python, SuiteError> {
        self.python.ok_or_else(|| SuiteError::Missing(NO_PYTHON.to_owned()))
    }

    /// Installs the packages of the `package-lock.json` in `folder`, without install scripts.
    ///
    /// # Errors
    /// As [`Self::install`].
    pub(crate) fn install_from_npm(&self, folder: &Path, directory: &Path) -> Result<(), SuiteError> {
        if !runs_with_version_flag("node") || !runs_with_version_flag("npm") {
            return Err(SuiteError::Missing("no Node with npm found".to_owned()));
        }
        fs::create_dir_all(directory).map_err(SuiteError::system(directory.display()))?;
        for name in ["package.json", NPM_LOCK_FILE] {
            let (from, to) = (folder.join(name), directory.join(name));
            fs::copy(&from, &to).map_err(SuiteError::system(from.display()))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]);
        npm.current_dir(directory);
        install_once(directory, &folder.join(NPM_LOCK_FILE), [npm])
    }

    /// Installs the packages of a lock file in a virtual environment for Python 3.`minor` or later, and returns its Python.
    /// The lock file is complete, so there are no dependencies to resolve.
    ///
    /// # Errors
    /// As [`Self::install`].
    pub(crate) fn install_from_pypi(
        &self,
        pins: &Path,
        directory: &Path,
        minor: u8,
    ) -> Result<PathBuf, SuiteError> {
        let python = self.python()?;
        if python.minor < minor {
            return Err(SuiteError::Missing(format!(
                "needs Python 3.{minor} or later; the newest here is 3.{}",
                python.minor
            )));
        }
        let mut venv = Command::new(&python.program);
        venv.args(["-m", "venv", "--without-pip", "--clear"]).arg(directory);
        let own_python = directory.join("bin/python");
        let mut pip = Command::new(&python.program);
        pip.args(["-m", "pip", "--python"]).arg(&own_python);
        pip.args(["install", "-q", "--no-deps", "--disable-pip-version-check", "-r"]).arg(pins);
        install_once(directory, pins, [venv, pip])?;
        Ok(own_python)
    }
}

/// Returns the versions of packages in a file of pins of PyPI, as text for docs/conformance.md.
pub(crate) fn pinned_versions(pins: &Path, packages: &[&str]) -> Vec<String> {
    let text = fs::read_to_string(pins).unwrap_or_default();
    let version = |package: &&str| {
        let version = text.lines().find_map(|line| line.strip_prefix(*package)?.strip_prefix("=="))?;
        Some(format!("PyPI `{package}` {}", version.split_whitespace().next()?))
    };
    packages.iter().filter_map(version).collect()
}

/// Runs the steps unless they have completed with the same pins.
fn install_once<const N: usize>(
    directory: &Path,
    pins: &Path,
    steps: [Command; N],
) -> Result<(), SuiteError> {
    let expected_pins = fs::read(pins).map_err(SuiteError::system(pins.display()))?;
    let installed_pins_file = directory.join("installed-pins");
    if fs::read(&installed_pins_file).is_ok_and(|installed| installed == expected_pins) {
        return Ok(());
    }
    println!("== installing {}", directory.display());
    for mut step in steps {
        let command_line = format!("{step:?}");
        let status = step.status().map_err(SuiteError::system(&command_line))?;
        if !status.success() {
            return Err(SuiteError::Setup(command_line));
        }
    }
    fs::write(&installed_pins_file, expected_pins).map_err(SuiteError::system(installed_pins_file.display()))
}

fn runs_with_version_flag(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}
