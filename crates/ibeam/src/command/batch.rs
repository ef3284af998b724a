//! `batch`: submits the parked requests of a directory in batches, and stores the answers there.
//!
//! The directory is the only state. A record is written before a batch is submitted and again with its id, so that a
//! batch whose id was lost is searched for and never submitted twice. Requests without an answer at the end of a batch
//! belong to the next one.

mod records;
mod requests;
pub(super) mod rounds;

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use ibeam_protocol::{Failure, Reason};
use serde_json::Value;

use self::records::Records;
use self::requests::RequestDir;
use self::rounds::{Rounds, Submission};
use super::printing::write;
use crate::cli_error::CliError;
use ibeam_agent::app::AppContext;

/// The options of `batch`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchOptions {
    /// Whether to poll until every request has an answer.
    pub(crate) wait: bool,
    /// The time between two polls.
    pub(crate) interval: Duration,
}

/// Submits, polls and stores; with `wait`, until every request has an answer.
pub(super) fn batch(
    app: &AppContext,
    directory: &Path,
    options: BatchOptions,
    stdout: &mut File,
) -> Result<(), CliError> {
    let mut rounds = open_rounds(app, directory)?;
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
            if is_done || !options.wait {
                return Ok::<_, CliError>(());
            }
            tokio::time::sleep(options.interval).await;
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
