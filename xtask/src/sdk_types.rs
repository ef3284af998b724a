//! The chore that writes the types of request parameters in the official client libraries, for the test of requests to every
//! model (`crates/ibeam-providers/tests/providers/matrix.rs`).
//!
//! Reads the packages that `sdk_packages.json` in the data of that test pins by version and hash. With `--check`, compares
//! the types with the committed file. A script in Python reads the sources of the packages, and executes nothing of them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::interpreter::script_python;
use crate::model_facts::ModelFactsError;
use crate::model_facts::packages::Sources;

/// The packages, in the order of the arguments of the script.
const PACKAGES: [&str; 6] = ["anthropic", "openai", "google-genai", "mistralai", "cohere", "botocore"];

/// A failure of the chore.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SdkTypesError {
    /// A package is not there, or is not the pinned one.
    #[error(transparent)]
    Package(#[from] ModelFactsError),
    /// The script could not be started.
    #[error("cannot start python3: {0}")]
    Start(io::Error),
    /// The script failed.
    #[error("the types cannot be read: {0}")]
    Script(String),
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    /// The committed file is another one.
    #[error("{0} differs from the packages; run `cargo xtask sdk-types`")]
    Differs(PathBuf),
}

/// Writes the types, or compares them with the file.
pub(crate) fn run(root: &Path, is_check: bool) -> Result<(), SdkTypesError> {
    let data = root.join("crates/ibeam-providers/tests/data");
    let sources = Sources::load(&data.join("sdk_packages.json"))?;
    let directory = root.join("target/sdk-types");
    let packages: Vec<PathBuf> =
        PACKAGES.iter().map(|name| sources.fetch(name, &directory)).collect::<Result<_, _>>()?;
    let script = root.join("xtask/src/sdk_types/read_types.py");
    let output =
        Command::new(script_python()).arg(script).args(packages).output().map_err(SdkTypesError::Start)?;
    if !output.status.success() {
        return Err(SdkTypesError::Script(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let path = data.join("sdk_types.json");
    let file_error = |source| SdkTypesError::File { path: path.clone(), source };
    if !is_check {
        return fs::write(&path, &output.stdout).map_err(file_error);
    }
    match fs::read(&path).map_err(file_error)? == output.stdout {
        true => Ok(()),
        false => Err(SdkTypesError::Differs(path)),
    }
}
