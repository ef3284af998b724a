//! Runs tests at full size and prints their figures: bounds of memory and time, floods of output, the kill sweep.
//!
//! `bounds` covers a session of 10,000 turns and an answer of 48 MiB (docs/reliability.md). `flood` sends ten gigabytes
//! of output through an optimised build (docs/faults.md). `kill-sweep` kills runs at each step and sums up its counts.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use ibeam_testkit::{
    BuildError, PROGRAM_VARIABLE, SWEEP_VARIABLE, TEST_FEATURES, build_program_with, cargo_command,
};

use crate::suite::ProgramOption;
use crate::test_runner::TestRunner;

/// The names of the counts in a line of the kill sweep, in their order.
const COUNTS: [&str; 6] =
    ["points", "lost events", "repeated executions", "orphans", "mixed files", "resumable"];

/// A failure of the tests.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FullSizeError {
    /// Cargo could not be run.
    #[error("cannot run cargo: {0}")]
    Cargo(#[from] std::io::Error),
    /// The program could not be built.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// A test failed and has printed the reason.
    #[error("the tests failed")]
    Tests,
}

/// Runs the tests of the bounds with an optimised build and prints their figures.
pub(crate) fn run_bounds(root: &Path) -> Result<(), FullSizeError> {
    let sizes = [("IBEAM_BOUNDS_TURNS", "1000,3000,10000"), ("IBEAM_BOUNDS_ANSWER_MB", "1,4,16,48")];
    run_optimised(root, "ibeam", "bounds::", &sizes)
}

/// Runs the tests of F070 to F072 with `bytes` and prints their figures.
pub(crate) fn run_flood(root: &Path, bytes: u64) -> Result<(), FullSizeError> {
    run_optimised(root, "ibeam-tools", "faults::flood::", &[("IBEAM_FLOOD_BYTES", &bytes.to_string())])
}

/// Runs end-to-end tests of a package one after the other, since they measure time.
fn run_optimised(
    root: &Path,
    package: &str,
    filter: &str,
    environment: &[(&str, &str)],
) -> Result<(), FullSizeError> {
    let status = cargo_command()
        .args(["test", "--release", "--locked", "-p", package, "--test", "end_to_end", filter])
        .args(["--", "--nocapture", "--test-threads=1"])
        .env(PROGRAM_VARIABLE, build_program_with(root, &["--release"])?)
        .envs(environment.iter().copied())
        .current_dir(root)
        .status()?;
    if status.success() { Ok(()) } else { Err(FullSizeError::Tests) }
}

/// The arguments of the kill sweep.
#[derive(Debug, clap::Args)]
pub(crate) struct KillSweepOptions {
    /// The seed of the random instants at which runs are killed
    seed: Option<u64>,
    #[command(flatten)]
    program: ProgramOption,
}

/// Runs the complete kill sweep and prints the sums of its counts.
pub(crate) fn run_kill_sweep(root: &Path, options: &KillSweepOptions) -> Result<(), FullSizeError> {
    let runner = TestRunner::find(root);
    let mut command = runner.command(root);
    // With the features that the libraries have for all tests of the workspace, so that nothing is built again.
    command.args(["--workspace", "--test", "session"]).args(TEST_FEATURES).arg("crash::");
    // A run that was killed is waited for more than it computes.
    let threads = (2 * std::thread::available_parallelism().map_or(1, usize::from)).to_string();
    command.args(match runner {
        TestRunner::Nextest(_) => ["--success-output", "immediate", "--test-threads", &threads],
        TestRunner::CargoTest => ["--", "--nocapture", "--test-threads", &threads],
    });
    command.env(SWEEP_VARIABLE, "whole");
    if let Some(path) = &options.program.path {
        command.env(PROGRAM_VARIABLE, std::fs::canonicalize(path)?);
    }
    if let Some(seed) = options.seed {
        command.env("IBEAM_KILL_SEED", seed.to_string());
    }
    let mut tests = command.current_dir(root).stderr(Stdio::piped()).spawn()?;
    let mut sums = [0; COUNTS.len()];
    if let Some(output) = tests.stderr.take() {
        for line in BufReader::new(output).lines() {
            let line = line?;
            eprintln!("{line}");
            for (sum, count) in sums.iter_mut().zip(sweep_counts(&line)) {
                *sum += count;
            }
        }
    }
    let counts: Vec<String> = sums.iter().zip(COUNTS).map(|(sum, name)| format!("{sum} {name}")).collect();
    println!("kill sweep, all: {}", counts.join(", "));
    if tests.wait()?.success() { Ok(()) } else { Err(FullSizeError::Tests) }
}

/// Returns the counts of a line of the kill sweep, or none for another line.
fn sweep_counts(line: &str) -> Vec<u64> {
    let counts = line.split_once("kill sweep: ").and_then(|(_, rest)| rest.rsplit_once(": "));
    let parts = counts.map(|(_, counts)| counts.split(", ")).into_iter().flatten();
    let numbers = parts.zip(COUNTS).map(|(part, name)| part.strip_suffix(name)?.trim().parse().ok());
    numbers.collect::<Option<Vec<u64>>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::sweep_counts;

    #[test]
    fn only_lines_of_the_sweep_count() {
        let line = "    kill sweep: text, killed: 45 points, 1 lost events, 2 repeated executions, 3 orphans, \
                    4 mixed files, 44 resumable";
        assert_eq!(sweep_counts(line), [45, 1, 2, 3, 4, 44]);
        assert!(sweep_counts("PASS kill_sweep: 45 points").is_empty());
        assert!(sweep_counts("kill sweep: text: forty points").is_empty());
    }
}
