//! `cargo xtask test`: sets up the requirements of the tests, then runs every check and every test. With `--all`, every sweep
//! is complete; without it, sweeps are samples that change with each commit.

mod scheduler;
mod step;
mod steps;
mod summary;

use std::path::{Path, PathBuf};
use std::process::Command;

use scheduler::Scheduler;
use steps::{Gate, Sample};

/// A failure of this subcommand, or of steps.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TestError {
    /// A file or program that could not be used.
    #[error("{0}: {1}")]
    System(String, std::io::Error),
    /// The number of failed steps, which the summary lists.
    #[error("{failed} of {all} steps failed")]
    Steps { failed: usize, all: usize },
}

impl TestError {
    fn system(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::System(what.to_string(), error)
    }
}

/// The arguments of this subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Run every sweep complete, with the distribution
    #[arg(long)]
    all: bool,
    /// Recorded answers of services, which are played too
    #[arg(long, value_name = "PATH")]
    traffic: Option<PathBuf>,
}

/// Runs the steps of the gate that the options select, and prints the summary.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), TestError> {
    let programs = std::env::current_exe()
        .and_then(|program| program.parent().map(Path::to_owned).ok_or(std::io::ErrorKind::NotFound.into()))
        .map_err(TestError::system("the directory of this program"))?;
    let gate = Gate {
        programs,
        sample: (!options.all).then(|| Sample::for_commit(&commit(root))),
        traffic: options.traffic.clone(),
        has_model: std::env::var_os("IBEAM_TEST_NO_MODEL").is_none(),
    };
    let logs = root.join("target/gate");
    std::fs::create_dir_all(&logs).map_err(TestError::system(logs.display()))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let scheduler =
        Scheduler { root, programs: &gate.programs, logs, waiting_steps: cores, memory: available_memory() };
    let finished = scheduler.run(steps::steps(&gate));
    summary::print(&finished)
}

/// Returns the hash of the commit that is checked out, or an empty text outside a repository.
fn commit(root: &Path) -> String {
    let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

/// Returns the memory that the steps may use together, in MiB: three quarters of what is free now.
fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    // Without the figure, a machine of 8 GiB is assumed.
    kibibytes.map_or(6144, |kibibytes| kibibytes / 1024 * 3 / 4)
}

/// Returns the commands of the steps of both gates, and those of the complete sweeps.
#[cfg(test)]
pub(crate) fn command_lines() -> Vec<String> {
    let gates = [None, Some(Sample::for_commit("0123456789abcdef"))].map(|sample| Gate {
        programs: "/target/debug".into(),
        sample,
        traffic: Some("../traffic".into()),
        has_model: true,
    });
    gates
        .iter()
        .flat_map(steps::steps)
        .flat_map(|step| [Some(step.command), step.complete])
        .flatten()
        .collect()
}
