//! Builds the program with cargo, in one of its profiles.
//!
//! Cargo reports the path of the executable, so the target directory may be configured in any way.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// A failed build.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Cargo could not be run.
    #[error("cannot run cargo: {0}")]
    Cargo(#[from] io::Error),
    /// The build failed; cargo has printed the reason.
    #[error("`cargo build {0}` failed")]
    Failed(String),
}

/// Builds the debug build of the program, and returns the absolute path of the executable. It has the features of
/// libraries that the whole workspace has, so it is the build that `cargo nextest run --workspace` tests.
///
/// # Errors
/// As [`build_with`].
pub fn build_program(root: &Path) -> Result<PathBuf, BuildError> {
    build_with(root, &["--workspace", "--bin", "ibeam"])
}

/// Builds the program alone with these options of `cargo build`, and returns the absolute path of the executable.
///
/// # Errors
/// As [`build_with`].
pub fn build_program_with(root: &Path, options: &[&str]) -> Result<PathBuf, BuildError> {
    build_with(root, &[&["-p", "ibeam"], options].concat())
}

/// Builds with these options, and returns the absolute path of the last executable.
///
/// # Errors
/// `Cargo` when cargo cannot be run, `Failed` when the build fails.
fn build_with(root: &Path, options: &[&str]) -> Result<PathBuf, BuildError> {
    let mut cargo = Command::new("cargo")
        .args(["build", "--locked", "--message-format", "json-render-diagnostics"])
        .args(options)
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut program = None;
    if let Some(messages) = cargo.stdout.take() {
        for line in BufReader::new(messages).lines() {
            let message: Value = serde_json::from_str(&line?).unwrap_or_default();
            let path = message.get("executable").and_then(Value::as_str);
            program = path.map(PathBuf::from).or(program);
        }
    }
    match program {
        Some(program) if cargo.wait()?.success() => Ok(program),
        Some(_) | None => Err(BuildError::Failed(options.join(" "))),
    }
}
