//! The output of `fleet run`: results on stdout; on stderr a line about each event, and on a terminal a table below them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_fleet::{FleetObserver, SharingNote, TaskResult, TaskState, TaskStatus, task_directory};
use ibeam_output::{Catalogue, FleetLine, escape_invisible_in_json, escape_to_one_line};
use ibeam_protocol::{Reason, Sentence};

use super::export::{trajectory_file, write_trajectory};
use super::ledger_access::{io_error, now_ms};
use super::live_table::LiveTable;
use super::names::{result_text, state_name};
use super::printed_results::PrintedResults;
use ibeam_agent::app::BaseContext;
use ibeam_agent::{progress_line, stderr};

/// The time between two drawings of the table.
const REDRAW: Duration = Duration::from_secs(1);

/// Prints the events of a fleet.
pub(super) struct ResultPrinter<'a> {
    stdout: &'a mut File,
    catalogue: &'a Catalogue,
    traces: Option<TraceDirectory<'a>>,
    /// The results that earlier commands have printed.
    printed: Option<PrintedResults>,
    table: LiveTable,
    /// Whether the table is shown.
    is_live: bool,
    /// The number of lines of the table on the screen.
    drawn: usize,
    drawn_at_ms: u64,
}

/// The directory of a fleet whose results get a trace.
struct TraceDirectory<'a> {
    base: &'a BaseContext,
    tasks: PathBuf,
}

impl<'a> ResultPrinter<'a> {
    pub(super) fn new(stdout: &'a mut File, catalogue: &'a Catalogue, table: LiveTable) -> Self {
        let is_live = progress_line::is_drawable();
        Self { stdout, catalogue, traces: None, printed: None, table, is_live, drawn: 0, drawn_at_ms: 0 }
    }

    /// Writes the trajectory of each finished task into its directory in this fleet, unless it is there.
    pub(super) fn with_traces(self, base: &'a BaseContext, fleet: &Path) -> Self {
        Self { traces: Some(TraceDirectory { base, tasks: fleet.join("tasks") }), ..self }
    }

    /// Prints only the results that no earlier command on this fleet has printed.
    pub(super) fn with_record(self, fleet: &Path) -> Result<Self, Reason> {
        let printed = PrintedResults::open(fleet).map_err(|error| io_error(fleet, &error))?;
        Ok(Self { printed: Some(printed), ..self })
    }

    /// Writes the trace of a task. That of an earlier command may be impossible by now, so only others are reported.
    fn write_trace(&mut self, result: &TaskResult, is_new: bool) {
        let (Some(traces), Some(session)) = (&self.traces, &result.session_id) else { return };
        let directory = task_directory(&traces.tasks, &result.id);
        if !directory.is_dir() || trajectory_file(&directory).exists() {
            return;
        }
        match write_trajectory(traces.base, session, &directory) {
            Err(detail) if is_new => self.note(&FleetLine::NotTraced { task: &result.id, detail: &detail }),
            Ok(()) | Err(_) => {}
        }
    }

    /// Whether the table is shown, and has to be drawn again.
    fn is_due(&self) -> bool {
        self.is_live && u128::from(now_ms().saturating_sub(self.drawn_at_ms)) >= REDRAW.as_millis()
    }

    /// Removes the table.
    pub(super) fn finish(&mut self) {
        self.erase();
    }

    /// Prints a line on stderr.
    pub(super) fn note(&mut self, line: &FleetLine<'_>) {
        self.erase();
        stderr::write_line(&escape_to_one_line(&self.catalogue.line(line)));
    }

    /// Prints that a task waits until the fleet is started again.
    fn stopped(&mut self, task: &str, state: TaskState, reason: &Sentence) {
        self.table.stopped(task, state);
        let (state, reason) = (state_name(self.catalogue, state), self.catalogue.sentence(reason));
        self.note(&FleetLine::Stopped { task, state: &state, reason: &reason });
        self.draw();
    }

    fn erase(&mut self) {
        if self.drawn > 0 {
            stderr::write(&format!("\x1b[{}A\r\x1b[J", self.drawn));
            self.drawn = 0;
        }
    }

    fn draw(&mut self) {
        if self.is_live {
            self.erase();
            self.drawn_at_ms = now_ms();
            let (rows, columns) = progress_line::size();
            let lines = self.table.lines(self.catalogue, self.drawn_at_ms, rows, columns);
            self.drawn = lines.len();
            stderr::write(&lines.iter().map(|line| format!("{line}\n")).collect::<String>());
        }
    }
}

impl FleetObserver for ResultPrinter<'_> {
    fn finished(&mut self, result: &TaskResult) -> io::Result<()> {
        let is_new = self.table.settled(&TaskStatus::for_result(result));
        self.write_trace(result, is_new);
        let object = serde_json::to_string(result).map_err(io::Error::other)?;
        if self.printed.as_ref().is_some_and(|printed| printed.contains(&object)) {
            return Ok(());
        }
        self.note(&FleetLine::Finished {
            task: &result.id,
            outcome: &result_text(self.catalogue, result.outcome, result.code.as_deref()),
            seconds: result.duration_ms / 1000,
        });
        self.stdout.write_all(format!("{}\n", escape_invisible_in_json(&object)).as_bytes())?;
        if let Some(printed) = &mut self.printed {
            printed.add(&object)?;
        }
        self.draw();
        Ok(())
    }

    fn started(&mut self, task: &str) {
        self.table.started(task, now_ms());
        self.note(&FleetLine::Started { task });
        self.draw();
    }

    fn running(&mut self, tasks: &BTreeSet<String>) {
        self.table.set_running(tasks, now_ms());
    }

    fn retried(&mut self, task: &str, pause: Duration) {
        self.table.ended(task);
        self.note(&FleetLine::Retried { task, seconds: pause.as_secs() });
        self.draw();
    }

    fn parked(&mut self, task: &str, reason: &Sentence) {
        self.stopped(task, TaskState::Parked, reason);
    }

    fn undecided(&mut self, task: &str, reason: &Sentence) {
        self.stopped(task, TaskState::Undecided, reason);
    }

    fn refused(&mut self, task: &str, reason: &Sentence) {
        self.note(&FleetLine::Refused { task, reason: &self.catalogue.sentence(reason) });
        self.draw();
    }

    fn waiting(&mut self, task: &str) {
        self.table.ended(task);
        self.note(&FleetLine::Waiting { task });
        self.draw();
    }

    fn sharing(&mut self, task: &str, note: &SharingNote) {
        self.note(&match note {
            SharingNote::Restored => FleetLine::Restored { task },
            SharingNote::NotRestored(detail) => FleetLine::NotRestored { task, detail },
            SharingNote::NotStored(detail) => FleetLine::NotStored { task, detail },
            SharingNote::NotPublished(detail) => FleetLine::NotPublished { task, detail },
        });
        self.draw();
    }

    fn tick(&mut self) {
        if self.is_due() {
            self.draw();
        }
    }
}
