//! `batch`: submits the parked requests of a directory in batches, and stores the answers there.
//!
//! The directory is the only state. A record is written before a batch is submitted and again with its id, so that a
//! batch whose id was lost is searched for and never submitted twice. Requests without an answer at the end of a batch
//! belong to the next one.

mod records;
mod requests;
pub(super) mod rounds;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ibeam_agent::app::AppContext;
use ibeam_protocol::{Failure, Reason};
use serde_json::Value;

use self::records::Records;
use self::requests::RequestDir;
use self::rounds::{Rounds, Submission};
use super::facts::CommandFacts;
use super::printing::write;
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;

/// Submit parked requests as batches, and store their answers
#[derive(Args, Clone, Debug)]
pub(crate) struct BatchArgs {
    /// The directory of `--park-requests`
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Poll until every request has an answer
    #[arg(long)]
    wait: bool,
    /// Seconds between two polls [default: 60]
    #[arg(long, value_name = "SECONDS")]
    interval: Option<u64>,
}

impl SubCommand for BatchArgs {
    const FACTS: CommandFacts = CommandFacts::new("batch")
        .uses(&["ConnectionFlags", "trust", "workspace"])
        .with_examples(&["ibeam batch parked --wait"]);

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        batch(app, self, call.stdout).map(success)
    }
}

/// Submits, polls and stores; with `wait`, until every request has an answer.
fn batch(app: &AppContext, args: &BatchArgs, stdout: &mut File) -> Result<(), CliError> {
    let interval = Duration::from_secs(args.interval.unwrap_or(60));
    let mut rounds = open_rounds(app, &args.directory)?;
    ibeam_agent::run::run_command(None, async {
        loop {
            let mut printed = Ok(());
            let mut print = |line: Value| {
                if printed.is_ok() {
                    printed = print_line(stdout, &line);
                }
            };
            let is_done = rounds.run_once(Submission::All, &mut print).await;
            printed?;
            let is_done = is_done?;
            if is_done || !args.wait {
                return Ok::<_, CliError>(());
            }
            tokio::time::sleep(interval).await;
        }
    })
}

/// Opens the requests and batches of a directory, which one process at a time uses.
///
/// # Errors
/// `NoInput`, `Io`, `SessionBusy`.
pub(super) fn open_rounds<'a>(app: &'a AppContext, directory: &Path) -> Result<Rounds<'a>, CliError> {
    let requests = RequestDir::open(directory).map_err(|error| io_error(directory, &error))?;
    let records = Records::open(&directory.join("batches")).map_err(|error| io_error(directory, &error))?;
    let Some(records) = records else {
        let (session, holder) = (directory.display().to_string(), "another `ibeam batch`".to_owned());
        return Err(Reason::SessionBusy { session, holder }.into());
    };
    Ok(Rounds::new(app, requests, records))
}

fn print_line(stdout: &mut File, line: &Value) -> Result<(), CliError> {
    write(stdout, &format!("{line}\n"))
}

/// Returns the failure to use the directory.
fn io_error(directory: &Path, error: &std::io::Error) -> Failure {
    let what = directory.display().to_string();
    match error.kind() {
        std::io::ErrorKind::NotFound => Reason::NoInput { path: what, detail: error.to_string() }.into(),
        _ => Reason::Io { what, detail: error.to_string() }.into(),
    }
}
