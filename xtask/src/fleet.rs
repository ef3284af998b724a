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

use std::io;
use std::path::{Path, PathBuf};

use ibeam_testkit::{BuildError, build_program};

const USAGE: &str =
    "usage: cargo xtask fleet [TASKS] [--peers TASKS] [--sizes] [--waiting RUNS] [--bin PATH]";

/// The number of tasks whose processes are killed, unless it is given.
const TASKS: usize = 300;

/// The number of runs that wait for batches, unless it is given.
const WAITING: usize = 10_000;

/// A failure of this subcommand, or of a check.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FleetError {
    /// Invalid arguments.
    #[error("{0}\n{USAGE}")]
    Usage(String),
    /// A program could not be started, or a file could not be used.
    #[error("{0}: {1}")]
    System(String, io::Error),
    /// The program could not be built.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// A fleet did not end as it should. The text has its last messages.
    #[error("{0}")]
    Failed(String),
}

impl FleetError {
    pub(crate) fn system(what: impl std::fmt::Display) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::System(what.to_string(), error)
    }
}

/// The arguments of this subcommand.
struct Options {
    tasks: usize,
    /// The number of tasks of the comparison with other tools; no comparison without it.
    peer_tasks: Option<usize>,
    /// Whether only the sizes of large fleets are measured.
    sizes: bool,
    waiting: usize,
    program: Option<PathBuf>,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, FleetError> {
        let mut options =
            Self { tasks: TASKS, peer_tasks: None, sizes: false, waiting: WAITING, program: None };
        let number = |word: &str| {
            let number = word.parse().ok().filter(|number| *number > 0);
            number.ok_or_else(|| FleetError::Usage(format!("`{word}` is not a number of tasks")))
        };
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| FleetError::Usage(format!("`{word}` needs a value")));
            match word.as_str() {
                "--bin" => options.program = Some(value()?.into()),
                "--sizes" => options.sizes = true,
                "--waiting" => options.waiting = number(&value()?)?,
                "--peers" => options.peer_tasks = Some(number(&value()?)?),
                word => options.tasks = number(word)?,
            }
        }
        Ok(options)
    }
}

/// Runs all parts.
pub(crate) fn run(root: &Path, words: impl Iterator<Item = String>) -> Result<(), FleetError> {
    let Options { tasks, peer_tasks, sizes, waiting, program } = Options::parse(words)?;
    let is_optimised = program.is_some();
    let program = match program {
        Some(path) => path.canonicalize().map_err(FleetError::system(path.display()))?,
        None => build_program(root)?,
    };
    if sizes {
        return sizes::run(&program, waiting, is_optimised);
    }
    refusals::run(&program)?;
    if let Some(tasks) = peer_tasks {
        peers::run(root, &program, tasks)?;
    }
    kills::run(&program, tasks)
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn parse(words: &str) -> Result<Options, String> {
        Options::parse(words.split_whitespace().map(str::to_owned)).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_of_tasks_are_positive() {
        let options = parse("10 --peers 20 --bin ibeam").unwrap();
        assert_eq!((options.tasks, options.peer_tasks), (10, Some(20)));
        let options = parse("--sizes --waiting 5").unwrap();
        assert_eq!((options.sizes, options.waiting), (true, 5));
        for words in ["0", "ten", "--peers", "--peers 0", "--unknown"] {
            assert!(parse(words).is_err(), "{words}");
        }
    }
}
