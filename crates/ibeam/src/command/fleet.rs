//! `fleet`: runs the tasks of a file, shows their states, and reports on their results.

mod forwarded_flags;

use std::fs::File;
use std::future::pending;
use std::io::{self, Read as _, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use ibeam_core::Stop;
use ibeam_fleet::{
    Budget, DriverOptions, FleetDirectory, FleetEnd, FleetError, FleetObserver, FleetReport, HaltReason,
    Ledger, ModelRow, QueueError, RunProgram, StopFlag, TaskFile, TaskQueue as _, TaskResult, TaskState,
    run_fleet,
};
use ibeam_output::{Catalogue, FleetLine, escape_invisible_in_json, escape_to_one_line};
use ibeam_protocol::{Failure, Reason};
use serde_json::{Value, json};

use self::forwarded_flags::ForwardedFlags;
use super::report;
use crate::app::AppContext;
use crate::cli::{FleetCommand, ReportFormat};
use crate::cli_error::CliError;
use crate::pump::CurrentStop;
use crate::{run, signals, stderr};

pub(super) fn fleet(app: &Arc<AppContext>, what: &FleetCommand, stdout: &mut File) -> Result<(), CliError> {
    match what {
        FleetCommand::Run {
            tasks,
            dir,
            jobs,
            skip_invalid,
            budget_usd,
            budget_tokens,
            max_runs,
            discard_workspaces,
        } => {
            let cost_micros = match budget_usd {
                Some(usd) => Some(Budget::from_usd(*usd).filter(|micros| *micros > 0).ok_or_else(|| {
                    Reason::Usage { detail: "`--budget-usd` should be above 0".to_owned() }
                })?),
                None => None,
            };
            let options = DriverOptions {
                lease: DriverOptions::LEASE,
                jobs: NonZeroUsize::try_from(*jobs).unwrap_or(NonZeroUsize::MIN),
                max_runs: max_runs.get(),
                budget: Budget { cost_micros, tokens: budget_tokens.map(|tokens| tokens.get()) },
                discards_workspaces: *discard_workspaces,
            };
            let directory = fleet_directory(tasks, dir.as_deref())?;
            let tasks = read_tasks(tasks, *skip_invalid)?;
            run_tasks(app, &tasks, &directory, &options, stdout)
        }
        FleetCommand::Status { directory, format } => status(directory, format.unwrap_or_default(), stdout),
        FleetCommand::Report { directory, format, json } => {
            let format = if *json { ReportFormat::Json } else { format.unwrap_or_default() };
            let mut ledger = open_ledger(directory)?;
            let unfinished = ledger.unfinished().map_err(queue_error)?;
            let found = FleetReport::new(ledger.results().map_err(queue_error)?, unfinished);
            let object = serde_json::to_value(&found).map_err(|error| io_error(directory, &error))?;
            report(stdout, format, &report_text(&found), &object)
        }
        FleetCommand::RunCheck { command } => Ok(run::run_check(app, command, stdout)?),
    }
}

/// Returns the directory of the fleet with these tasks.
fn fleet_directory(tasks: &Path, given: Option<&Path>) -> Result<PathBuf, Reason> {
    match given {
        Some(directory) => Ok(directory.to_owned()),
        None if tasks == Path::new("-") => {
            Err(Reason::Usage { detail: "tasks on stdin need `--dir DIR`".to_owned() })
        }
        None => Ok(tasks.with_extension("fleet")),
    }
}

/// Reads and validates the tasks.
///
/// # Errors
/// `NoInput`; `InvalidTasks`, unless invalid tasks are skipped.
fn read_tasks(path: &Path, skip_invalid: bool) -> Result<TaskFile, CliError> {
    let source = if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() };
    let unread = |error: io::Error| Reason::NoInput { path: source.clone(), detail: error.to_string() };
    let (bytes, base) = if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(unread)?;
        (bytes, PathBuf::from("."))
    } else {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        (std::fs::read(path).map_err(unread)?, parent.unwrap_or(Path::new(".")).to_owned())
    };
    let text = String::from_utf8(bytes).map_err(|_| Reason::NotText { what: source.clone() })?;
    let tasks = TaskFile::parse(&text, &base.canonicalize().map_err(unread)?);
    for invalid in &tasks.invalid {
        let detail = escape_to_one_line(&invalid.detail);
        stderr::write_line(&format!("warning: {source}:{}: {detail}", invalid.line));
    }
    match tasks.invalid.first() {
        Some(first) if !skip_invalid => Err(CliError::InvalidTasks {
            source,
            line: first.line,
            detail: escape_to_one_line(&first.detail),
            count: tasks.invalid.len() as u64,
        }),
        Some(_) | None => Ok(tasks),
    }
}

/// Runs the tasks, and those of the directory that are not finished.
///
/// # Errors
/// `FleetInUse`, `FleetTaskChanged`, `FleetTasksFailed`, `FleetUnfinished`, `Io`; the reason of a signal.
fn run_tasks(
    app: &AppContext,
    tasks: &TaskFile,
    directory: &Path,
    options: &DriverOptions,
    stdout: &mut File,
) -> Result<(), CliError> {
    let flags = ForwardedFlags::new(&app.base.flags)?;
    let program = std::env::current_exe().map_err(|error| io_error(Path::new("ibeam"), &error))?;
    let git = app.programs.find("git").ok_or_else(|| Reason::NoInput {
        path: "git".to_owned(),
        detail: "the workspaces of tasks need the program git".to_owned(),
    })?;
    let program = RunProgram { program, git, sandbox_flags: flags.sandbox, run_flags: flags.run };
    let held = FleetDirectory::open(directory).map_err(fleet_error)?;
    let mut ledger = Ledger::open(&FleetDirectory::ledger(held.path())).map_err(queue_error)?;
    ledger.submit(&tasks.tasks).map_err(|error| match error {
        QueueError::TaskChanged { id } => {
            CliError::FleetTaskChanged { task: id, directory: directory.display().to_string() }
        }
        error @ (QueueError::Ledger { .. } | QueueError::Service { .. }) => queue_error(error),
    })?;
    let (stop, flag) = (Stop::default(), StopFlag::default());
    watch_signals(&stop, &flag)?;
    let mut observer = ResultPrinter { stdout, catalogue: &app.base.catalogue };
    let end = run_fleet(&held, ledger, &program, options, &flag, &mut observer).map_err(fleet_error)?;
    if let Some(reason) = stop.reason() {
        return Err(reason.clone().into());
    }
    let FleetEnd { passed, failed, unfinished, halt } = end;
    if unfinished > 0 {
        let detail = match halt {
            Some(HaltReason::Exhausted(reason)) => escape_to_one_line(&reason),
            Some(HaltReason::BudgetSpent) => "the budget is spent".to_owned(),
            Some(HaltReason::Stopped) | None => "the fleet was stopped".to_owned(),
        };
        return Err(CliError::FleetUnfinished { unfinished, detail });
    }
    match failed {
        0 => Ok(()),
        failed => Err(CliError::FleetTasksFailed { failed, total: passed + failed }),
    }
}

/// Requests both stops when a signal arrives. A second signal ends the process.
///
/// # Errors
/// `System`.
fn watch_signals(stop: &Stop, flag: &StopFlag) -> Result<(), Reason> {
    let (stop, flag) = (stop.clone(), flag.clone());
    let (sender, started) = mpsc::channel();
    let watch = move || {
        run::on_runtime(|runtime| {
            let _context = runtime.enter();
            let watchers = signals::watch(&CurrentStop::new(stop.clone()));
            // The receiver waits for this.
            let _ = sender.send(watchers.as_ref().map(|_| ()).map_err(io::Error::to_string));
            runtime.block_on(async {
                stop.wait().await;
                flag.request();
                // The watchers wait for a second signal.
                pending::<()>().await;
            });
            drop(watchers);
            Ok::<(), Failure>(())
        })
    };
    let failed = |detail: String| Reason::System { what: "sigaction".to_owned(), detail };
    let thread = std::thread::Builder::new().name("signals".to_owned()).spawn(watch);
    thread.map_err(|error| failed(error.to_string()))?;
    started.recv().unwrap_or_else(|error| Err(error.to_string())).map_err(failed)
}

/// Prints results on stdout, and a line about each event on stderr.
struct ResultPrinter<'a> {
    stdout: &'a mut File,
    catalogue: &'a Catalogue,
}

impl ResultPrinter<'_> {
    fn note(&self, line: &FleetLine<'_>) {
        stderr::write_line(&escape_to_one_line(&self.catalogue.line(line)));
    }
}

impl FleetObserver for ResultPrinter<'_> {
    fn finished(&mut self, result: &TaskResult) -> io::Result<()> {
        let outcome = match &result.code {
            Some(code) => format!("{} ({code})", result.outcome.as_str()),
            None => result.outcome.as_str().to_owned(),
        };
        self.note(&FleetLine::Finished {
            task: &result.id,
            outcome: &outcome,
            seconds: result.duration_ms / 1000,
        });
        let object = serde_json::to_string(result).map_err(io::Error::other)?;
        self.stdout.write_all(format!("{}\n", escape_invisible_in_json(&object)).as_bytes())
    }

    fn started(&mut self, task: &str) {
        self.note(&FleetLine::Started { task });
    }

    fn retried(&mut self, task: &str, pause: Duration) {
        self.note(&FleetLine::Retried { task, seconds: pause.as_secs() });
    }

    fn parked(&mut self, task: &str, reason: &str) {
        self.note(&FleetLine::Parked { task, reason });
    }
}

/// Shows the state of each task.
fn status(directory: &Path, format: ReportFormat, stdout: &mut File) -> Result<(), CliError> {
    let statuses = open_ledger(directory)?.statuses().map_err(queue_error)?;
    let mut counts = serde_json::Map::new();
    let mut text = String::new();
    for state in TaskState::ALL {
        let count = statuses.iter().filter(|status| status.state == state).count();
        counts.insert(state.as_str().to_owned(), count.into());
        text.push_str(&format!("{}: {count}\n", state.as_str()));
    }
    let rows: Vec<Value> = statuses
        .iter()
        .map(|status| {
            json!({
                "id": status.id,
                "state": status.state.as_str(),
                "outcome": status.outcome,
                "reason": status.reason,
            })
        })
        .collect();
    for status in &statuses {
        let outcome = status.outcome.map_or(status.state.as_str(), |outcome| outcome.as_str());
        let reason = status.reason.as_deref().map(|reason| format!(": {}", escape_to_one_line(reason)));
        text.push_str(&format!("{}  {outcome}{}\n", status.id, reason.unwrap_or_default()));
    }
    report(stdout, format, &text, &json!({ "counts": counts, "tasks": rows }))
}

/// Returns the report as tables. The headings are the keys of the JSON object.
fn report_text(found: &FleetReport) -> String {
    let mut text = format!(
        "{:<30} {:>6} {:>6} {:>9} {:>15} {:>10} {:>9} {:>10}\n",
        "model", "tasks", "passed", "pass_rate", "95 %", "cost_usd", "seconds", "tokens"
    );
    let all = ModelRow { model: "*".to_owned(), ..found.all.clone() };
    for row in found.models.iter().chain([&all]) {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let rate = row.pass_rate.map_or("-".to_owned(), |rate| percent(rate.rate));
        let interval = row
            .pass_rate
            .map_or("-".to_owned(), |rate| format!("{:.1}-{:.1}", rate.low * 100.0, rate.high * 100.0));
        let model = if row.model.is_empty() { "-" } else { &row.model };
        text.push_str(&format!(
            "{:<30} {:>6} {:>6} {rate:>9} {interval:>15} {:>10} {:>9} {:>10}\n",
            escape_to_one_line(model),
            row.tasks,
            row.passed,
            cost(row.cost_usd),
            row.duration_ms / 1000,
            row.tokens
        ));
    }
    text.push_str(&format!("\nunfinished: {}\n", found.unfinished));
    for (class, count) in &found.failures {
        text.push_str(&format!("{}: {count}\n", escape_to_one_line(class)));
    }
    text.push('\n');
    for result in &found.tasks {
        let code = result.code.as_ref().map(|code| format!(" ({})", escape_to_one_line(code)));
        text.push_str(&format!(
            "{}  {}{}  {}  {} s  {}\n",
            result.id,
            result.outcome.as_str(),
            code.unwrap_or_default(),
            cost(result.cost_usd),
            result.duration_ms / 1000,
            result.usage.total()
        ));
    }
    text
}

/// Returns an amount of dollars; `-` if it is unknown.
fn cost(usd: Option<f64>) -> String {
    usd.map_or("-".to_owned(), |usd| format!("{usd:.4}"))
}

/// Opens the ledger of a fleet to read it.
///
/// # Errors
/// `NoInput` if the directory has no fleet.
fn open_ledger(directory: &Path) -> Result<Ledger, CliError> {
    let path = FleetDirectory::ledger(directory);
    if !path.is_file() {
        let detail = "there is no fleet in the directory".to_owned();
        return Err(Reason::NoInput { path: directory.display().to_string(), detail }.into());
    }
    Ledger::open_read_only(&path).map_err(queue_error)
}

fn fleet_error(error: FleetError) -> CliError {
    match error {
        FleetError::InUse(path) => CliError::FleetInUse { directory: path.display().to_string() },
        FleetError::Io { path, source } => io_error(&path, &source).into(),
        FleetError::Queue(error) => queue_error(error),
        FleetError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Reason::OutputClosed.into(),
        FleetError::Output(error) => io_error(Path::new("stdout"), &error).into(),
    }
}

fn queue_error(error: QueueError) -> CliError {
    Reason::Io { what: "ledger".to_owned(), detail: error.to_string() }.into()
}

fn io_error(path: &Path, error: &dyn std::fmt::Display) -> Reason {
    Reason::Io { what: path.display().to_string(), detail: error.to_string() }
}
