//! The attack runner: `cargo xtask corpus attacks [FILE.jsonl]` runs every case of a file with the real program.
//!
//! A case contains what a hostile model requests, under which policy, and which effects must not follow. The model is a
//! scripted server over real HTTP. Each case gets a fixture, a user and, where the system allows it, namespaces of its
//! own. A case with an unknown field or word is skipped with the reason; it never passes by accident.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program for developers")]

mod bare_bash;
mod canary;
mod case;
mod case_namespaces;
mod case_run;
mod effect;
mod evidence;
mod file_snapshot;
mod fixture;
mod hook;
mod journal;
mod listener;
mod mode;
mod model_script;
mod name_answers;
mod name_server;
mod options;
mod policy;
mod report;
mod run_result;
mod scheduler;
mod setup;
mod survivors;
mod terminal;
mod tracer_watch;
mod user;
mod user_commands;
mod verdict;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use options::Options;
use scheduler::{AttacksError, RUN_CASE};

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: impl Iterator<Item = String>) -> Result<(), AttacksError> {
    let mut args = args.peekable();
    if args.next_if_eq(RUN_CASE).is_some() {
        return run_case_on_stdin();
    }
    scheduler::run(&root(), &Options::parse(args).map_err(AttacksError::Usage)?)
}

/// Runs the case on stdin for `scheduler`, which starts this process where the case can do no harm.
fn run_case_on_stdin() -> Result<(), AttacksError> {
    let malformed = |error: serde_json::Error| AttacksError::Malformed(error.to_string());
    let job = serde_json::from_reader(std::io::stdin()).map_err(malformed)?;
    println!("{}", serde_json::to_string(&case_run::run_case(&job)).map_err(malformed)?);
    Ok(())
}

/// Returns the top of the repository.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).map(Path::to_owned).unwrap_or_default()
}
