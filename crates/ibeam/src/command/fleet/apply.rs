//! `fleet apply`: brings the changes of tasks that passed into the repository of the user.

use std::fs::File;
use std::path::Path;

use ibeam_core::Stop;
use ibeam_fleet::{Application, Applied, ApplyMode, StopFlag, TaskQueue as _, passed_tasks};
use ibeam_output::{Catalogue, escape_to_one_line};
use ibeam_protocol::{Reason, sentence};
use serde_json::{Value, json};

use super::ledger_access::{find_git, open_ledger, queue_error, watch_signals};
use crate::cli_error::CliError;
use crate::command::printing::report;
use crate::flags::ReportFormat;
use ibeam_agent::app::AppContext;

/// Applies the changes of the tasks with these ids, or of all that passed, one after the other.
///
/// # Errors
/// `Usage` for an unknown task, `FleetNotApplied` if some could not be applied, `Io`; the reason of a signal.
pub(super) fn apply(
    app: &AppContext,
    directory: &Path,
    mode: ApplyMode,
    only: &[String],
    format: ReportFormat,
    stdout: &mut File,
) -> Result<(), CliError> {
    let mut ledger = open_ledger(directory)?;
    let (tasks, results) = (ledger.tasks().map_err(queue_error)?, ledger.results().map_err(queue_error)?);
    let passed = passed_tasks(tasks, results, only).map_err(|task| Reason::Usage {
        detail: sentence!("`--only {task}`: no task with this id has passed", task),
    })?;
    let (stop, flag) = (Stop::default(), StopFlag::default());
    watch_signals(&stop, &flag)?;
    let git = find_git(app, &stop)?;
    let workspace = app.workspace.display().to_string();
    let failed = |detail: String| CliError::from(Reason::Io { what: workspace.clone(), detail });
    let mut application = Application::open(&git, &app.workspace, mode).map_err(failed)?;
    let (mut refused, mut text, mut rows) = (0, String::new(), Vec::new());
    for task in &passed {
        let applied = application.apply(task, directory);
        if let Some(reason) = stop.reason() {
            return Err(reason.clone().into());
        }
        let applied = applied.map_err(|error| failed(error.to_string()))?;
        refused += u64::from(matches!(applied, Applied::Refused { .. }));
        text.push_str(&line(&app.base.catalogue, &task.task.id, &applied));
        rows.push(row(&task.task.id, &applied));
    }
    report(stdout, format, &text, &json!(rows))?;
    match refused {
        0 => Ok(()),
        failed => Err(CliError::FleetNotApplied { failed, total: passed.len() as u64 }),
    }
}

fn line(catalogue: &Catalogue, id: &str, applied: &Applied) -> String {
    let text = match applied {
        Applied::Branch(branch) => branch.clone(),
        Applied::Patch => catalogue.sentence(&sentence!("applied")),
        Applied::Unchanged => catalogue.sentence(&sentence!("no changes")),
        Applied::Refused { detail, files } => {
            let files = if files.is_empty() { String::new() } else { format!("{}: ", files.join(", ")) };
            let refused = catalogue.sentence(&sentence!("not applied"));
            format!("{refused}: {files}{}", catalogue.sentence(&detail.as_str().into()))
        }
    };
    format!("{id}  {}\n", escape_to_one_line(&text))
}

fn row(id: &str, applied: &Applied) -> Value {
    match applied {
        Applied::Branch(branch) => json!({ "id": id, "applied": true, "branch": branch }),
        Applied::Patch | Applied::Unchanged => json!({ "id": id, "applied": true }),
        Applied::Refused { detail, files } => {
            json!({ "id": id, "applied": false, "detail": detail, "files": files })
        }
    }
}
