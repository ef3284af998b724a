//! `cargo xtask fleet`: fleets of many scripted tasks.
//!
//! Processes are killed while a fleet runs, a provider refuses requests, and the cost of a fleet is compared with that of
//! a shell loop's tools. Each part prints its figures. Lost or repeated tasks and needless requests fail.

pub(crate) mod checked_tasks;
pub(crate) mod killer;
mod kills;
mod peers;
pub(crate) mod process;
mod refusals;
pub(crate) mod scripted_fleet;
mod sizes;

use std::num::NonZeroUsize;
use std::path::Path;

use crate::suite::{ProgramOption, SuiteError};

/// The arguments of this subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The number of tasks whose processes are killed
    #[arg(default_value = "300")]
    tasks: NonZeroUsize,
    /// Compare a fleet of this number of tasks with GNU parallel and a pool of threads in Python
    #[arg(long, value_name = "TASKS")]
    peers: Option<NonZeroUsize>,
    /// Measure only the sizes of large fleets
    #[arg(long)]
    sizes: bool,
    /// The number of runs that wait for batches, for `--sizes`
    #[arg(long, value_name = "RUNS", default_value = "10000")]
    waiting: NonZeroUsize,
    #[command(flatten)]
    program: ProgramOption,
}

/// Runs all parts.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), SuiteError> {
    let is_optimised = options.program.path.is_some();
    let program = options.program.find(root)?;
    if options.sizes {
        return sizes::run(&program, options.waiting.get(), is_optimised);
    }
    refusals::run(&program)?;
    if let Some(tasks) = options.peers {
        peers::run(root, &program, tasks.get())?;
    }
    kills::run(&program, options.tasks.get())
}
