//! `fleet status`: the states of the tasks, once or as they change.

use std::collections::HashMap;
use std::fs::File;
use std::time::Duration;

use ibeam_fleet::{FleetTotals, Ledger, Outcome, TaskState, TaskStatus};
use ibeam_output::{Catalogue, escape_to_one_line};
use ibeam_protocol::sentence;
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::ledger_access::{FleetSource, now_ms, open_ledger, queue_error};
use super::listing::{Listing, ListingForm};
use super::live_table::LiveTable;
use super::names::{counted, result_text, state_name};
use super::queue;
use crate::cli_error::CliError;
use crate::command::printing::{report, write};
use crate::flags::ReportFormat;
use ibeam_agent::progress_line;

/// The time between two looks at the ledger.
const INTERVAL: Duration = Duration::from_millis(500);

/// A reader of the states of all tasks.
pub(super) enum StatusReader {
    /// Reads a ledger, which passes the states one after the other.
    Ledger(Ledger),
    #[cfg_attr(
        not(feature = "nats"),
        expect(dead_code, reason = "only a build with the client of queues reads one")
    )]
    Queue(Box<dyn Fn() -> Result<Vec<TaskStatus>, CliError>>),
}

impl StatusReader {
    /// Returns the states now.
    fn list(&self) -> Result<Vec<TaskStatus>, CliError> {
        match self {
            Self::Ledger(ledger) => ledger.statuses().map_err(queue_error),
            Self::Queue(read) => read(),
        }
    }

    /// Returns the states now, which can be read several times.
    fn state(&self) -> Result<FleetState<'_>, CliError> {
        match self {
            Self::Ledger(ledger) => {
                ledger.keep_state().map_err(queue_error)?;
                Ok(FleetState::Ledger(ledger))
            }
            Self::Queue(read) => read().map(FleetState::List),
        }
    }
}

/// The states of all tasks at one time.
enum FleetState<'a> {
    Ledger(&'a Ledger),
    List(Vec<TaskStatus>),
}

impl FleetState<'_> {
    /// Passes the state of each task to `each`, until that fails.
    fn each(&self, mut each: impl FnMut(&TaskStatus) -> Result<(), CliError>) -> Result<(), CliError> {
        match self {
            Self::Ledger(ledger) => ledger.each_task(|status, _| each(&status)).map_err(queue_error)?,
            Self::List(statuses) => statuses.iter().try_for_each(each),
        }
    }
}

/// Returns a reader of the states of the tasks of a fleet.
///
/// # Errors
/// The errors of the ledger and of the queue.
pub(super) fn reader(source: &FleetSource<'_>) -> Result<StatusReader, CliError> {
    match source {
        FleetSource::Directory(directory) => open_ledger(directory).map(StatusReader::Ledger),
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
    let state = read.state()?;
    let mut totals = FleetTotals::default();
    state.each(|status| {
        totals.add(status);
        Ok(())
    })?;
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
        let mut listing = Listing::new(stdout, ListingForm::Lines);
        listing.push(&text)?;
        state.each(|status| listing.push(&line(catalogue, status)))?;
        return listing.finish();
    }
    let totals = json!({
        "pass_rate": rate,
        "cost_usd": totals.cost_usd,
        "tokens": totals.tokens,
        "seconds_left": seconds_left,
    });
    report(stdout, format, "", &StatusReport { counts, totals, tasks: &state })
}

/// The JSON object of a fleet. Its rows are read while they are written.
#[derive(Serialize)]
struct StatusReport<'a> {
    counts: serde_json::Map<String, Value>,
    totals: Value,
    tasks: &'a FleetState<'a>,
}

impl Serialize for FleetState<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(None)?;
        let mut write = |status: &TaskStatus| {
            rows.serialize_element(&StatusRow {
                id: &status.id,
                state: status.state.as_str(),
                outcome: status.outcome,
                code: status.code.as_deref(),
                reason: status.reason.as_deref(),
            })
        };
        match self {
            Self::Ledger(ledger) => {
                ledger.each_task(|status, _| write(&status)).map_err(S::Error::custom)??
            }
            Self::List(statuses) => statuses.iter().try_for_each(write)?,
        }
        rows.end()
    }
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
        let statuses = read.list()?;
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

fn line(catalogue: &Catalogue, status: &TaskStatus) -> String {
    let state = match status.outcome {
        Some(outcome) => result_text(catalogue, outcome, status.code.as_deref()),
        None => state_name(catalogue, status.state),
    };
    let reason = status.reason.as_deref().map(|reason| catalogue.sentence(&reason.into()));
    let reason = reason.map(|reason| format!(": {}", escape_to_one_line(&reason)));
    format!("{}  {state}{}\n", status.id, reason.unwrap_or_default())
}
