//! The packages: fetched with the clients of their registries, checked by their hashes, and unpacked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::{ModelFactsError, read_file};
use crate::interpreter::script_python;

/// The pinned packages.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sources {
    /// The day on which the packages were chosen, `YYYY-MM-DD`. A model that retired before it is not current.
    pub(super) read: String,
    packages: Vec<Package>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Package {
    registry: Registry,
    name: String,
    version: String,
    file: String,
    sha256: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Registry {
    Pypi,
    Npm,
}

impl Sources {
    pub(crate) fn load(path: &Path) -> Result<Self, ModelFactsError> {
        let bad = |error: serde_json::Error| ModelFactsError::Content {
            path: path.to_owned(),
            detail: error.to_string(),
        };
        serde_json::from_str(&read_file(path)?).map_err(bad)
    }

    /// Returns the directory of an unpacked package below `directory`. A package that is there is not fetched again.
    pub(crate) fn fetch(&self, name: &str, directory: &Path) -> Result<PathBuf, ModelFactsError> {
        let package = self.packages.iter().find(|package| package.name == name).ok_or_else(|| {
            let path = "sources.json".into();
            ModelFactsError::Content { path, detail: format!("the package {name} is missing") }
        })?;
        let file = directory.join(&package.file);
        if !file.exists() {
            fs::create_dir_all(directory)
                .map_err(|source| ModelFactsError::File { path: directory.to_owned(), source })?;
            package.check(package.fetch_command().current_dir(directory).output())?;
        }
        let bytes = fs::read(&file).map_err(|source| ModelFactsError::File { path: file.clone(), source })?;
        let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if found != package.sha256 {
            return Err(ModelFactsError::Hash { package: package.label(), found });
        }
        let unpacked = directory.join(format!("{}-unpacked", package.file));
        fs::create_dir_all(&unpacked)
            .map_err(|source| ModelFactsError::File { path: unpacked.clone(), source })?;
        package.check(package.unpack_command(&file, &unpacked).output())?;
        Ok(unpacked)
    }
}

impl Package {
    fn label(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// Returns the command that fetches the file. The platform is that of the pinned file, not that of this machine.
    fn fetch_command(&self) -> Command {
        match self.registry {
            Registry::Pypi => {
                let mut command = Command::new(script_python());
                command.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]);
                command.args(["--platform", "manylinux_2_28_x86_64", "--python-version", "3.12"]);
                command.arg(format!("{}=={}", self.name, self.version));
                command
            }
            Registry::Npm => {
                let mut command = Command::new("npm");
                command.args(["pack", "--silent"]).arg(format!("{}@{}", self.name, self.version));
                command
            }
        }
    }

    fn unpack_command(&self, file: &Path, directory: &Path) -> Command {
        let mut command = match self.registry {
            Registry::Pypi => {
                let mut command = Command::new(script_python());
                command.args(["-m", "zipfile", "-e"]).arg(file).arg(directory);
                command
            }
            Registry::Npm => {
                let mut command = Command::new("tar");
                command.arg("-xzf").arg(file).arg("-C").arg(directory);
                command
            }
        };
        command.current_dir(directory);
        command
    }

    fn check(&self, output: std::io::Result<Output>) -> Result<(), ModelFactsError> {
        let detail = match output {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        Err(ModelFactsError::Fetch { package: self.label(), detail })
    }
}
