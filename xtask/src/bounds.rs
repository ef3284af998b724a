//! The bounds of docs/reliability.md at full size: a session of 10,000 turns, an answer of 48 MiB.

use std::path::Path;
use std::process::Command;

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// Cargo could not be started.
    #[error("cannot start cargo: {0}")]
    Start(std::io::Error),
    /// Memory grew beyond its bounds; the test has said so.
    #[error("a bound was not held")]
    NotHeld,
}

/// Runs the tests of the bounds with an optimised build and shows their figures.
pub(crate) fn run(root: &Path) -> Result<(), Failed> {
    let status = Command::new("cargo")
        .args(["test", "--release", "--locked", "-p", "ibeam", "--test", "end_to_end", "bounds::"])
        .args(["--", "--nocapture", "--test-threads=1"])
        .env("IBEAM_BOUNDS_TURNS", "1000,3000,10000")
        .env("IBEAM_BOUNDS_ANSWER_MB", "1,4,16,48")
        .current_dir(root)
        .status()
        .map_err(Failed::Start)?;
    if status.success() { Ok(()) } else { Err(Failed::NotHeld) }
}
