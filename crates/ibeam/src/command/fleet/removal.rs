//! `fleet delete`: deletes the directory of a fleet, or what the servers of its queue have.

use std::fs::File;
use std::io::{self, BufRead as _};
use std::os::fd::AsFd as _;
use std::path::Path;

use ibeam_fleet::{FleetDirectory, TaskQueue as _};
use ibeam_output::Catalogue;
use ibeam_protocol::{Reason, sentence};
use rustix::termios::isatty;

use super::ledger_access::{fleet_error, open_ledger, queue_error};
use super::queue;
use crate::cli_error::CliError;
use crate::command::printing::print_text;
use crate::flags::QueueFlags;
use ibeam_agent::app::AppContext;
use ibeam_agent::stderr;

/// Deletes a fleet. While tasks have no result, it asks or needs `--force`.
///
/// # Errors
/// `NoFleet`, `FleetInUse`, `Usage` where nobody can be asked, `Io`.
pub(super) fn delete(
    app: &AppContext,
    directory: Option<&Path>,
    queue: Option<&QueueFlags>,
    stdout: &mut File,
) -> Result<(), CliError> {
    let catalogue = &app.base.catalogue;
    let mut open = 0;
    if let Some(directory) = directory {
        open = open_ledger(directory)?.unfinished().map_err(queue_error)?;
    }
    if let Some(flags) = queue {
        open = open.max(queue::open_tasks(flags)?);
    }
    if open > 0 && !app.base.options.force && !confirm(catalogue, open)? {
        return Ok(());
    }
    let mut deleted = |what: &str| {
        let line = catalogue.sentence(&sentence!("deleted: {what}", what));
        print_text(stdout, &format!("{line}\n"))
    };
    // The directory is the record with which the queue could be filled again.
    if let Some(flags) = queue {
        queue::delete(flags)?;
        deleted(&flags.queue)?;
    }
    if let Some(directory) = directory {
        FleetDirectory::open(directory).and_then(FleetDirectory::remove).map_err(fleet_error)?;
        deleted(&directory.display().to_string())?;
    }
    Ok(())
}

/// Asks a person at the terminal. Returns whether the person agrees.
///
/// # Errors
/// `Usage` without a terminal.
fn confirm(catalogue: &Catalogue, open: u64) -> Result<bool, CliError> {
    let stdin = io::stdin();
    if !isatty(stdin.as_fd()) || !isatty(rustix::stdio::stderr()) {
        let detail = sentence!("the fleet has tasks without a result ({open}); `--force` deletes it", open);
        return Err(Reason::Usage { detail }.into());
    }
    let question = sentence!("The fleet has tasks without a result ({open}). Delete it? (y/n)", open);
    stderr::write(&format!("{} ", catalogue.sentence(&question)));
    let mut answer = String::new();
    let is_read = stdin.lock().read_line(&mut answer).is_ok();
    let is_confirmed = is_read && matches!(answer.trim(), "y" | "Y" | "yes");
    if !is_confirmed {
        stderr::write_line(&catalogue.sentence(&sentence!("nothing was removed")));
    }
    Ok(is_confirmed)
}
