//! The installation of clients and servers at their pinned versions, below `target` only.
//!
//! An installation with the same pins is reused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::client::{Client, ClientsError, Runtime};
use crate::interpreter::{Python, find_python};

/// Installs clients, and other packages with their pins. Stores the directories of clients and the Python that installs
/// them.
pub(crate) struct Installer {
    /// The directory with a folder for each client.
    clients: PathBuf,
    /// The directory of the installations.
    target: PathBuf,
    python: Option<&'static Python>,
}

/// An installed client.
pub(super) struct Installed {
    pub(super) version: String,
    /// The Python that runs its driver.
    pub(super) python: PathBuf,
    /// The directory of the installation.
    pub(super) directory: PathBuf,
    pub(super) driver: PathBuf,
    /// The directory of the modules that drivers share.
    pub(super) library: PathBuf,
}

/// The reason why this machine cannot run a client.
pub(crate) type MissingRequirement = String;

const NPM_LOCK_FILE: &str = "package-lock.json";
const NO_PYTHON: &str = "no Python with `venv` and `pip` found";

impl Installer {
    pub(crate) fn new(root: &Path) -> Self {
        Self { clients: root.join("clients"), target: root.join("target/clients"), python: find_python() }
    }

    /// Installs a client, or returns the requirement that this machine lacks.
    ///
    /// # Errors
    /// `Setup` if the installation fails.
    pub(super) fn install(
        &self,
        client: &Client,
    ) -> Result<Result<Installed, MissingRequirement>, ClientsError> {
        let Some(python) = self.python else {
            return Ok(Err(NO_PYTHON.to_owned()));
        };
        let folder = self.clients.join(client.name);
        let directory = self.target.join(client.name);
        let started_by = match client.runtime {
            Runtime::Python(minor) => {
                match self.install_from_pypi(&folder.join(client.lock_file()), &directory, minor)? {
                    Ok(own_python) => own_python,
                    Err(missing) => return Ok(Err(missing)),
                }
            }
            Runtime::Node => {
                if let Err(missing) = self.install_from_npm(&folder, &directory)? {
                    return Ok(Err(missing));
                }
                python.program.clone()
            }
        };
        Ok(Ok(Installed {
            version: client.version(&self.clients)?,
            python: started_by,
            directory,
            driver: folder.join("drive.py"),
            library: self.clients.join("lib"),
        }))
    }

    /// Installs the packages of the `package-lock.json` in `folder`, without install scripts, or returns the requirement
    /// that this machine lacks.
    ///
    /// # Errors
    /// `Setup` if the installation fails.
    pub(crate) fn install_from_npm(
        &self,
        folder: &Path,
        directory: &Path,
    ) -> Result<Result<(), MissingRequirement>, ClientsError> {
        if !runs_with_version_flag("node") || !runs_with_version_flag("npm") {
            return Ok(Err("no Node with npm found".to_owned()));
        }
        fs::create_dir_all(directory).map_err(ClientsError::system(directory.display()))?;
        for name in ["package.json", NPM_LOCK_FILE] {
            let (from, to) = (folder.join(name), directory.join(name));
            fs::copy(&from, &to).map_err(ClientsError::system(from.display()))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]);
        npm.current_dir(directory);
        install_once(directory, &folder.join(NPM_LOCK_FILE), [npm])?;
        Ok(Ok(()))
    }

    /// Installs the packages of a lock file in a virtual environment for Python 3.`minor` or later, and returns its Python,
    /// or the requirement that this machine lacks. The lock file is complete, so there are no dependencies to resolve.
    ///
    /// # Errors
    /// `Setup` if the installation fails.
    pub(crate) fn install_from_pypi(
        &self,
        pins: &Path,
        directory: &Path,
        minor: u8,
    ) -> Result<Result<PathBuf, MissingRequirement>, ClientsError> {
        let Some(python) = self.python else { return Ok(Err(NO_PYTHON.to_owned())) };
        if python.minor < minor {
            return Ok(Err(format!(
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
        Ok(Ok(own_python))
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
) -> Result<(), ClientsError> {
    let expected_pins = fs::read(pins).map_err(ClientsError::system(pins.display()))?;
    let installed_pins_file = directory.join("installed-pins");
    if fs::read(&installed_pins_file).is_ok_and(|installed| installed == expected_pins) {
        return Ok(());
    }
    println!("== installing {}", directory.display());
    for mut step in steps {
        let command_line = format!("{step:?}");
        let status = step.status().map_err(ClientsError::system(&command_line))?;
        if !status.success() {
            return Err(ClientsError::Setup(command_line));
        }
    }
    fs::write(&installed_pins_file, expected_pins)
        .map_err(ClientsError::system(installed_pins_file.display()))
}

fn runs_with_version_flag(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}
