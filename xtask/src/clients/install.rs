//! Clients at their pinned versions, in `target/clients`: nothing of the user's is touched.
//!
//! What is there already with the same pins is kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::ClientsError;
use super::client::{Client, Runtime};

/// Where clients are put, and the Python they are put there with.
pub(super) struct Installer {
    clients: PathBuf,
    target: PathBuf,
    python: Option<Python>,
}

struct Python {
    program: PathBuf,
    minor: u8,
}

/// A client that can be started.
pub(super) struct Installed {
    pub(super) version: String,
    /// Runs its driver.
    pub(super) python: PathBuf,
    /// Its directory.
    pub(super) directory: PathBuf,
    pub(super) driver: PathBuf,
    /// What drivers share.
    pub(super) library: PathBuf,
}

/// Why a client cannot be had on this machine.
pub(super) type MissingRequirement = String;

impl Installer {
    pub(super) fn new(root: &Path) -> Self {
        Self { clients: root.join("clients"), target: root.join("target/clients"), python: newest_python() }
    }

    /// The client, ready; or what this machine lacks for it.
    ///
    /// # Errors
    /// `Setup` when the registry does not give it.
    pub(super) fn install(
        &self,
        client: &Client,
    ) -> Result<Result<Installed, MissingRequirement>, ClientsError> {
        let Some(python) = &self.python else {
            return Ok(Err("there is no Python with `venv` and `pip`".to_owned()));
        };
        let folder = self.clients.join(client.name);
        let directory = self.target.join(client.name);
        let started_by = match client.runtime {
            Runtime::Python(minor) if python.minor < minor => {
                return Ok(Err(format!(
                    "it needs Python 3.{minor} or later, and this machine has 3.{}",
                    python.minor
                )));
            }
            Runtime::Python(_) => {
                let mut venv = Command::new(&python.program);
                venv.args(["-m", "venv", "--without-pip", "--clear"]).arg(&directory);
                let own_python = directory.join("bin/python");
                let mut pip = Command::new(&python.program);
                pip.args(["-m", "pip", "--python"]).arg(&own_python);
                // The pins are the whole list, so nothing has to be resolved.
                pip.args(["install", "-q", "--no-deps", "--disable-pip-version-check", "-r"]);
                let pins = folder.join(client.pins());
                pip.arg(&pins);
                install_once(&directory, &pins, [venv, pip])?;
                own_python
            }
            Runtime::Node => {
                if !works("node") || !works("npm") {
                    return Ok(Err("there is no Node with npm".to_owned()));
                }
                fs::create_dir_all(&directory).map_err(ClientsError::system(directory.display()))?;
                for name in ["package.json", client.pins()] {
                    let (from, to) = (folder.join(name), directory.join(name));
                    fs::copy(&from, &to).map_err(ClientsError::system(from.display()))?;
                }
                let mut npm = Command::new("npm");
                npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]);
                npm.current_dir(&directory);
                install_once(&directory, &folder.join(client.pins()), [npm])?;
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
}

/// Runs the steps unless they were run to their end with these pins.
fn install_once<const N: usize>(
    directory: &Path,
    pins: &Path,
    steps: [Command; N],
) -> Result<(), ClientsError> {
    let wanted = fs::read(pins).map_err(ClientsError::system(pins.display()))?;
    let mark = directory.join("installed-pins");
    if fs::read(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    println!("== installing {}", directory.display());
    for mut step in steps {
        let displayed = format!("{step:?}");
        let status = step.status().map_err(ClientsError::system(&displayed))?;
        if !status.success() {
            return Err(ClientsError::Setup(displayed));
        }
    }
    fs::write(&mark, wanted).map_err(ClientsError::system(mark.display()))
}

/// The newest Python of 3.N that makes environments: those in `PATH`, then those that pyenv keeps.
fn newest_python() -> Option<Python> {
    let named = ["python3.13", "python3.12", "python3"].map(PathBuf::from);
    let versions = std::env::home_dir().map(|home| home.join(".pyenv/versions"));
    let kept = versions.and_then(|versions| fs::read_dir(versions).ok());
    let kept = kept.into_iter().flatten().flatten().map(|entry| entry.path().join("bin/python3"));
    let mut found: Vec<Python> = named.into_iter().chain(kept).filter_map(probe_python).collect();
    // The first of several that are equally new.
    found.reverse();
    found.into_iter().max_by_key(|python| python.minor)
}

/// A shim of pyenv's is there and does not work, so each is asked.
fn probe_python(program: PathBuf) -> Option<Python> {
    let script = "import sys, venv, pip; print(sys.version_info.minor) if sys.version_info[0] == 3 else 1/0";
    let output = Command::new(&program).args(["-c", script]).output().ok()?;
    let minor = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
    output.status.success().then_some(Python { program, minor })
}

fn works(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}
