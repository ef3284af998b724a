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
    #[error("`cargo build -p ibeam {0}` failed")]
    Failed(String),
}

/// Builds the program with these options of `cargo build`, and returns the absolute path of the executable. Without
/// options, the result is a debug build.
///
/// # Errors
/// `Cargo` when cargo cannot be run, `Failed` when the build fails.
pub fn build_program(root: &Path, options: &[&str]) -> Result<PathBuf, BuildError> {
    let mut cargo = Command::new("cargo")
        .args(["build", "-p", "ibeam", "--locked", "--message-format", "json-render-diagnostics"])
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
