//! `fleet status`: the states of the tasks, once or as they change.

use std::collections::HashMap;
use std::fs::File;
use std::time::Duration;

use ibeam_fleet::{FleetTotals, Outcome, TaskState, TaskStatus};
use ibeam_output::{Catalogue, escape_to_one_line};
use ibeam_protocol::sentence;
use serde::Serialize;
use serde_json::{Value, json};

use super::live_table::LiveTable;
use super::names::{counted, result_text, state_name};
use super::{FleetSource, now_ms, open_ledger, queue, queue_error};
use crate::cli::ReportFormat;
use crate::cli_error::CliError;
use crate::command::{report, write};
use crate::progress_line;

/// The time between two looks at the ledger.
const INTERVAL: Duration = Duration::from_millis(500);

/// Reads the states of all tasks.
pub(super) type StatusReader = Box<dyn Fn() -> Result<Vec<TaskStatus>, CliError>>;

/// Returns a reader of the states of the tasks of a fleet.
///
/// # Errors
/// The errors of the ledger and of the queue.
pub(super) fn reader(source: &FleetSource<'_>) -> Result<StatusReader, CliError> {
    match source {
        FleetSource::Directory(directory) => {
            let ledger = open_ledger(directory)?;
            Ok(Box::new(move || ledger.statuses().map_err(queue_error)))
        }
        FleetSource::Queue(flags) => queue::status_reader(flags),
    }
}

/// Shows the state of each task.
pub(super) fn status(
    catalogue: &Catalogue,
    read: &StatusReader,
    format: ReportFormat,
    stdout: &mut File,
) -> Result<(), CliError> {
    let statuses = read()?;
    let totals: FleetTotals = statuses.iter().collect();
    let mut counts = serde_json::Map::new();
    let mut text = String::new();
    for state in TaskState::ALL {
        let count = totals.count(state);
        counts.insert(state.as_str().to_owned(), count.into());
        text.push_str(&counted(catalogue, &state_name(catalogue, state), count));
    }
    let (rate, seconds_left) = (totals.pass_rate(), totals.seconds_left());
    let figures = [
        (sentence!("pass_rate"), rate.map(|rate| format!("{:.1} %", rate * 100.0))),
        (sentence!("cost_usd"), Some(format!("{:.4}", totals.cost_usd))),
        (sentence!("tokens"), Some(totals.tokens.to_string())),
        (sentence!("seconds_left"), seconds_left.map(|seconds| seconds.to_string())),
    ];
    for (name, value) in figures {
        let Some(value) = value else { continue };
        text.push_str(&counted(catalogue, &catalogue.sentence(&name), value));
    }
    if format == ReportFormat::Text {
        text.extend(statuses.iter().map(|status| line(catalogue, status)));
    }
    let tasks = statuses
        .iter()
        .map(|status| StatusRow {
            id: &status.id,
            state: status.state.as_str(),
            outcome: status.outcome,
            code: status.code.as_deref(),
            reason: status.reason.as_deref(),
        })
        .collect();
    let totals = json!({
        "pass_rate": rate,
        "cost_usd": totals.cost_usd,
        "tokens": totals.tokens,
        "seconds_left": seconds_left,
    });
    report(stdout, format, &text, &StatusReport { counts, totals, tasks })
}

/// The JSON object of a fleet. Its rows are no `Value`s, which need many times the memory.
#[derive(Serialize)]
struct StatusReport<'a> {
    counts: serde_json::Map<String, Value>,
    totals: Value,
    tasks: Vec<StatusRow<'a>>,
}

#[derive(Serialize)]
struct StatusRow<'a> {
    id: &'a str,
    state: &'a str,
    outcome: Option<Outcome>,
    code: Option<&'a str>,
    reason: Option<&'a str>,
}

/// Shows every change until all tasks are finished or parked: on a terminal as a table, elsewhere as a line for each.
pub(super) fn watch(catalogue: &Catalogue, read: &StatusReader, stdout: &mut File) -> Result<(), CliError> {
    let started_ms = now_ms();
    let is_live = rustix::termios::isatty(&*stdout) && progress_line::is_drawable();
    let mut known: HashMap<String, String> = HashMap::new();
    let mut since: HashMap<String, u64> = HashMap::new();
    loop {
        let statuses = read()?;
        if is_live {
            let mut table = LiveTable::new(statuses.len() as u64, started_ms);
            for status in &statuses {
                match status.state {
                    TaskState::Running => {
                        table.started(&status.id, *since.entry(status.id.clone()).or_insert_with(now_ms));
                    }
                    TaskState::Waiting => {}
                    TaskState::Passed
                    | TaskState::Failed
                    | TaskState::Undecided
                    | TaskState::Parked
                    | TaskState::Refused => {
                        table.settled(status);
                    }
                }
            }
            let (rows, columns) = progress_line::size();
            let lines = table.lines(catalogue, now_ms(), rows, columns).join("\x1b[K\n");
            write(stdout, &format!("\x1b[H\x1b[2J{lines}\n"))?;
        } else {
            let mut text = String::new();
            for status in &statuses {
                let line = line(catalogue, status);
                if known.get(&status.id) != Some(&line) {
                    text.push_str(&line);
                    known.insert(status.id.clone(), line);
                }
            }
            write(stdout, &text)?;
        }
        if !statuses.iter().any(|status| status.state.is_open()) {
            return Ok(());
        }
        std::thread::sleep(INTERVAL);
    }
}

/// Returns the line of a task.
fn line(catalogue: &Catalogue, status: &TaskStatus) -> String {
    let state = match status.outcome {
        Some(outcome) => result_text(catalogue, outcome, status.code.as_deref()),
        None => state_name(catalogue, status.state),
    };
    let reason = status.reason.as_deref().map(|reason| catalogue.in_language(reason));
    let reason = reason.map(|reason| format!(": {}", escape_to_one_line(&reason)));
    format!("{}  {state}{}\n", status.id, reason.unwrap_or_default())
}
