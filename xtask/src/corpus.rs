//! The corpus runner: `cargo xtask corpus attacks FILE.jsonl` plays every case of a file with the real program.
//!
//! A case says what a hostile model asks for, under which policy, and what must not come of it. The model is a scripted
//! server over real HTTP; each case has a ground, a user and, where the system lets it, a little machine of its own.
//! Refuses to pass what it does not understand: such a case is skipped, with the reason.

mod alive;
mod arrange;
mod attacks;
mod bare;
mod case;
mod compiled;
mod cron;
mod effect;
mod evidence;
mod ground;
mod hook;
mod isolation;
mod journal;
mod leak;
mod listener;
mod names;
mod options;
mod person;
mod play;
mod policy;
mod ran;
mod report;
mod resolve;
mod script;
mod skip;
mod terminal;
mod trace;
mod tracer;
mod verdict;
mod way;
mod who;

use std::path::Path;

use options::{Options, USAGE};

use crate::program::NotBuilt;

/// Why the cases did not all pass.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// The words after the command.
    #[error("{0}\n{USAGE}")]
    Usage(String),
    /// A file is missing or not to be written.
    #[error("`{0}`: {1}")]
    File(String, std::io::Error),
    /// A file is not what it should be.
    #[error("{0}")]
    Malformed(String),
    /// The program could not be built.
    #[error(transparent)]
    Program(#[from] NotBuilt),
    /// Already printed.
    #[error("{0} case(s) failed")]
    Cases(usize),
}

/// Runs what the words after `corpus` say.
pub(crate) fn run(root: &Path, mut words: impl Iterator<Item = String>) -> Result<(), Failed> {
    match words.next().as_deref() {
        Some("attacks") => attacks::run(root, &Options::parse(words).map_err(Failed::Usage)?),
        Some("play") => play_one(),
        _ => Err(Failed::Usage("which corpus?".to_owned())),
    }
}

/// Plays the case on stdin, for `attacks`, which starts it where it can do no harm.
fn play_one() -> Result<(), Failed> {
    let job =
        serde_json::from_reader(std::io::stdin()).map_err(|error| Failed::Malformed(error.to_string()))?;
    let played =
        serde_json::to_string(&play::play(&job)).map_err(|error| Failed::Malformed(error.to_string()))?;
    println!("{played}");
    Ok(())
}
