//! `fleet run --dry-run`: prints the tasks that the command would run.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use ibeam_fleet::{FleetDirectory, Outcome, Task, TaskFile, TaskStatus};
use ibeam_output::escape_invisible_in_json;
use serde_json::json;

use super::ledger_access::{open_ledger, queue_error};
use crate::cli_error::CliError;
use crate::command::printing::write;

/// Prints the definitions of the tasks that have no result yet, or whose result the command would withdraw. The values of
/// variables may be secrets, so they are left out.
///
/// # Errors
/// `FleetTaskChanged`, `Io`.
pub(super) fn print_tasks(
    tasks: TaskFile,
    directory: &Path,
    retries_failed: bool,
    stdout: &mut File,
) -> Result<(), CliError> {
    let (mut known, mut outcomes) = (HashMap::new(), HashMap::new());
    if FleetDirectory::ledger(directory).exists() {
        let ledger = open_ledger(directory)?;
        known =
            ledger.tasks().map_err(queue_error)?.into_iter().map(|task| (task.id.clone(), task)).collect();
        let statuses = ledger.statuses().map_err(queue_error)?.into_iter();
        outcomes = statuses.map(|TaskStatus { id, outcome, .. }| (id, outcome)).collect();
    }
    let is_run = |task: &Task| match outcomes.get(&task.id).copied().flatten() {
        None => true,
        Some(Outcome::Failed | Outcome::Skipped) => retries_failed,
        Some(Outcome::Passed | Outcome::CheckFailed) => false,
    };
    for task in &tasks.tasks {
        if known.get(&task.id).is_some_and(|known| known != task) {
            let (task, directory) = (task.id.clone(), directory.display().to_string());
            return Err(CliError::FleetTaskChanged { task, directory });
        }
    }
    for mut task in tasks.tasks.into_iter().filter(is_run) {
        task.env.values_mut().for_each(String::clear);
        write(stdout, &format!("{}\n", escape_invisible_in_json(&json!(task).to_string())))?;
    }
    Ok(())
}
