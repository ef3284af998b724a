//! The floods of `docs/faults.md` at full size: ten gigabytes of output through an optimised build.

use std::path::Path;
use std::process::Command;

/// The figure.
const TEN_GIGABYTES: u64 = 10 << 30;

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// Not a number of bytes.
    #[error("`{0}` is not a number of bytes")]
    Bytes(String),
    /// Cargo could not be started.
    #[error("cannot start cargo: {0}")]
    Start(std::io::Error),
    /// A flood took memory or lost count; the test has said so.
    #[error("the flood was not held")]
    NotHeld,
}

/// Runs the tests of F070 to F072 with `bytes` and shows their figures.
pub(crate) fn run(root: &Path, bytes: Option<&str>) -> Result<(), Failed> {
    let bytes = match bytes {
        Some(bytes) => bytes.parse().map_err(|_| Failed::Bytes(bytes.to_owned()))?,
        None => TEN_GIGABYTES,
    };
    // One after the other: each is timed.
    let status = Command::new("cargo")
        .args([
            "test",
            "--release",
            "--locked",
            "-p",
            "ibeam",
            "--test",
            "end_to_end",
            "faults::tool::flood::",
        ])
        .args(["--", "--nocapture", "--test-threads=1"])
        .env("IBEAM_FLOOD_BYTES", bytes.to_string())
        .current_dir(root)
        .status()
        .map_err(Failed::Start)?;
    if status.success() { Ok(()) } else { Err(Failed::NotHeld) }
}
