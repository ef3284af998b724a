//! The program, built by cargo in one of its profiles.
//!
//! Cargo says itself where it has put it, so every setting of its directories counts.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Why there is no program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotBuilt {
    /// Cargo could not be run.
    #[error("cannot run cargo: {0}")]
    Cargo(#[from] io::Error),
    /// The build failed; it has said why.
    #[error("`cargo build -p ibeam {0}` failed")]
    Failed(String),
}

/// Builds it with these options of `cargo build`; none are a debug build. Gives its whole path.
pub(crate) fn built(root: &Path, options: &[&str]) -> Result<PathBuf, NotBuilt> {
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
        Some(_) | None => Err(NotBuilt::Failed(options.join(" "))),
    }
}
