//! `fleet run --batch` and `fleet poll`: tasks whose requests are answered in batches.
//!
//! A run ends at each request and is continued with the answer; between the two the task waits in the ledger, without a
//! process. The driver executes what is ready, and another thread has the batches (`batch_poller`). Everything that
//! `fleet poll` needs is in the directory.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ibeam_core::Stop;
use ibeam_fleet::{
    BatchQueue, DriverOptions, FleetDirectory, FleetEnd, FleetObserver, Ledger, LedgerState, Parking,
    StopFlag, TaskFile, TaskResult, retry_failed, run_fleet,
};
use ibeam_output::FleetLine;
use ibeam_protocol::{FailureCode, Reason, Sentence, sentence};
use serde_json::Value;
use tokio::sync::oneshot;

use super::batch_poller::{BatchPoller, PollEnd};
use super::batch_settings::BatchSettings;
use super::ledger_access::{fleet_error, io_error, now_ms, only_fleet, queue_error, watch_signals};
use super::live_table::LiveTable;
use super::result_printer::ResultPrinter;
use super::start_check::check_start;
use super::{conclude, run_program, submit_to_ledger};
use crate::cli_error::CliError;
use crate::command::batch::open_rounds;
use crate::flags::{BatchFlags, parse_flags};
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::model;
use ibeam_agent::run_options::RunOptions;

/// The time between two polls, unless a flag sets it.
const INTERVAL: Duration = Duration::from_secs(60);

/// Whether and how often to poll.
#[derive(Clone, Copy, Debug)]
pub(super) struct Polling {
    waits: bool,
    interval: Duration,
}

impl Polling {
    pub(super) fn new(waits: bool, interval_s: Option<u64>) -> Self {
        Self { waits, interval: interval_s.map_or(INTERVAL, Duration::from_secs) }
    }
}

/// Runs the tasks, and those of the directory that are not finished, with batches.
///
/// # Errors
/// The errors of a fleet; `FleetWaiting` while tasks wait for batches.
pub(super) fn run_tasks(
    app: &AppContext,
    tasks: TaskFile,
    directory: &Path,
    options: &DriverOptions,
    flags: &BatchFlags,
    retries_failed: bool,
    stdout: &mut File,
) -> Result<(), CliError> {
    let deadline = flags.batch_deadline.as_deref().map(parse_deadline).transpose()?;
    check_variables(app, &tasks)?;
    let program = run_program(app, &Stop::default())?;
    check_start(app, &tasks.tasks, options.budget.cost_micros.is_some())?;
    let held = FleetDirectory::open(directory).map_err(fleet_error)?;
    let earlier = read_settings(held.path())?;
    if earlier.is_none() && FleetDirectory::ledger(held.path()).exists() {
        let directory = directory.display();
        let detail = sentence!(
            "the fleet in `{directory}` was started without `--batch`; use another directory with `--dir`",
            directory
        );
        return Err(Reason::Usage { detail }.into());
    }
    let settings = BatchSettings::new(
        options,
        std::env::current_dir().map_err(|error| io_error(Path::new("."), &error))?,
        program.sandbox_flags.iter().chain(&program.run_flags).cloned().collect(),
        earlier.as_ref().map_or_else(now_ms, |earlier| earlier.started_ms),
        deadline.or(earlier.and_then(|earlier| earlier.deadline)),
    );
    settings.write(held.path()).map_err(|error| io_error(held.path(), &error))?;
    let mut ledger = Ledger::open(&FleetDirectory::ledger(held.path())).map_err(queue_error)?;
    submit_to_ledger(&mut ledger, &tasks, directory)?;
    held.record_hidden_paths(&tasks).map_err(fleet_error)?;
    if retries_failed {
        retry_failed(&held, &mut ledger).map_err(fleet_error)?;
    }
    // The ledger has them; a fleet runs for hours.
    drop(tasks);
    drive(app, &held, ledger, &settings, Polling::new(flags.wait, flags.interval), stdout)
}

/// Continues the fleet in a directory, with the flags of the fleet and in the directory in which it was started.
///
/// # Errors
/// The errors of [`run_tasks`].
pub(super) fn poll(
    app: &AppContext,
    directory: Option<&Path>,
    polling: Polling,
    stdout: &mut File,
) -> Result<(), CliError> {
    let directory = match directory {
        Some(directory) => directory.to_owned(),
        None => {
            only_fleet(Path::new("."), |path| BatchSettings::read(path).is_ok_and(|found| found.is_some()))?
        }
    };
    let Some(settings) = read_settings(&directory)? else {
        return Err(CliError::NoBatchFleet { directory: directory.display().to_string() });
    };
    let directory = directory.canonicalize().map_err(|error| io_error(&directory, &error))?;
    let app = context_of_fleet(app, &settings)?;
    let held = FleetDirectory::open(&directory).map_err(fleet_error)?;
    let ledger = Ledger::open(&FleetDirectory::ledger(held.path())).map_err(queue_error)?;
    drive(&app, &held, ledger, &settings, polling, stdout)
}

/// Enters the directory in which the fleet was started, and returns the context that the flags of the fleet have there.
fn context_of_fleet(app: &AppContext, settings: &BatchSettings) -> Result<AppContext, CliError> {
    let directory = &settings.current_dir;
    std::env::set_current_dir(directory).map_err(|error| io_error(directory, &error))?;
    let damaged = || io_error(directory, &io::Error::from(io::ErrorKind::InvalidData));
    let stored = parse_flags(&settings.flags).ok_or_else(damaged)?;
    let options = RunOptions { lang: app.base.options.lang.clone(), ..stored.run_options() };
    Ok(AppContext::new(options, ConfigUse::Needed, app.started_at)?)
}

/// Refuses a fleet that was started with `--batch`: its runs would lose the answers that batches have.
pub(super) fn refuse_batch_fleet(directory: &Path) -> Result<(), CliError> {
    match read_settings(directory)? {
        None => Ok(()),
        Some(_) => {
            let directory = directory.display();
            let detail = sentence!(
                "the fleet in `{directory}` was started with `--batch`; `ibeam fleet poll {directory}` continues it",
                directory
            );
            Err(Reason::Usage { detail }.into())
        }
    }
}

/// Executes what is ready, and has the batches polled, until nothing is left to do.
fn drive(
    app: &AppContext,
    held: &FleetDirectory,
    ledger: Ledger,
    settings: &BatchSettings,
    polling: Polling,
    stdout: &mut File,
) -> Result<(), CliError> {
    let directory = held.path().join("parked");
    fs::create_dir_all(&directory).map_err(|error| io_error(&directory, &error))?;
    let rounds = open_rounds(app, &directory)?;
    let parking = Arc::new(Parking::new(directory));
    let (stop, flag) = (Stop::default(), StopFlag::default());
    let mut program = run_program(app, &stop)?;
    program.parking = Some(Arc::clone(&parking));
    watch_signals(&stop, &flag)?;
    let count = ledger.count().map_err(queue_error)?;
    let (queue, steps) = (BatchQueue::new(ledger), Arc::new(Mutex::new(Vec::new())));
    let options = settings.options();
    let received = Arc::clone(&steps);
    let poller = BatchPoller {
        rounds,
        queue: queue.clone(),
        parking,
        budget: options.budget,
        waits: polling.waits,
        interval: polling.interval,
        deadline_ms: settings.deadline_ms(),
        steps: Box::new(move |step| {
            if let Some(step) = BatchStep::from_line(&step) {
                received.lock().unwrap_or_else(PoisonError::into_inner).push(step);
            }
        }),
    };
    let table = LiveTable::new(count, now_ms());
    let printer = ResultPrinter::new(stdout, &app.base.catalogue, table).with_record(held.path())?;
    let printer = printer.with_traces(&app.base, held.path());
    let mut observer = BatchObserver { printer, steps };
    let (driver_runs, driver_end) = oneshot::channel();
    let poll = move || ibeam_agent::run::on_runtime(|runtime| runtime.block_on(poller.run(driver_end)));
    let (end, polled) = thread::scope(|scope| {
        let polling = thread::Builder::new().name("batches".to_owned()).spawn_scoped(scope, poll);
        let end = match &polling {
            Ok(_) => run_fleet(held, queue.clone(), &program, &options, &flag, &mut observer),
            Err(_) => Ok(FleetEnd::default()),
        };
        drop(driver_runs);
        let failed = |detail: String| CliError::from(Reason::System { what: "thread".to_owned(), detail });
        let polled = match polling {
            Ok(polling) => polling.join().unwrap_or_else(|_| Err(failed("it panicked".to_owned()))),
            Err(error) => Err(failed(error.to_string())),
        };
        (end, polled)
    });
    observer.print_steps();
    observer.printer.finish();
    let end = end.map_err(fleet_error)?;
    if stop.reason().is_some() || end.halt.is_some() || end.unfinished == 0 {
        return conclude(end, &stop, held.path());
    }
    let unfinished = end.unfinished;
    match polled {
        Ok(PollEnd::Complete | PollEnd::Stopped) => conclude(end, &stop, held.path()),
        Ok(PollEnd::Waiting) => {
            let waiting = queue.ledger().count_in(LedgerState::Waiting).map_err(queue_error)?;
            Err(CliError::FleetWaiting { waiting, directory: held.path().display().to_string() })
        }
        Ok(PollEnd::BudgetSpent) => Err(CliError::FleetBudgetSpent { unfinished }),
        // As for a live fleet: the same command goes on when there is a quota or a key.
        Err(error) if matches!(error.code(), FailureCode::Auth | FailureCode::RateLimited) => {
            let detail = error.reason().map(Reason::detail).unwrap_or_default().into();
            Err(CliError::FleetUnfinished { unfinished, detail })
        }
        Err(error) => Err(error),
    }
}

fn read_settings(directory: &Path) -> Result<Option<BatchSettings>, CliError> {
    BatchSettings::read(directory).map_err(|error| io_error(directory, &error).into())
}

/// Returns the duration of `--batch-deadline`.
fn parse_deadline(text: &str) -> Result<Duration, Reason> {
    ibeam_config::parse_time(text).ok_or_else(|| Reason::Usage {
        detail: sentence!("`--batch-deadline {text}` should be a duration, e.g. `12h`", text),
    })
}

/// Checks that no task has a key of its own: a batch has the key of the command.
fn check_variables(app: &AppContext, tasks: &TaskFile) -> Result<(), Reason> {
    let names = model::key_variable_names(app);
    let has_key = |task: &&ibeam_fleet::Task| task.env.keys().any(|name| names.contains(name));
    match tasks.tasks.iter().find(has_key) {
        None => Ok(()),
        Some(task) => {
            let task = &task.id;
            let detail = sentence!(
                "the task `{task}` sets a key in `env`; with `--batch`, all requests have the key of the command",
                task
            );
            Err(Reason::Usage { detail })
        }
    }
}

/// A step of a round, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
enum BatchStep {
    Submitted { batch: String, model: String, requests: u64 },
    Answered,
    Cancelled { batch: String },
    Retried { detail: String },
}

impl BatchStep {
    fn from_line(line: &Value) -> Option<Self> {
        let text = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Some(match line.get("type").and_then(Value::as_str)? {
            "submitted" | "found" => Self::Submitted {
                batch: text("batch"),
                model: text("model"),
                requests: line.get("requests").and_then(Value::as_u64).unwrap_or_default(),
            },
            "answered" => Self::Answered,
            "cancelled" => Self::Cancelled { batch: text("batch") },
            "retry" => Self::Retried { detail: text("message") },
            _ => return None,
        })
    }
}

/// Prints the events of a fleet, and the steps of its batches.
struct BatchObserver<'a> {
    printer: ResultPrinter<'a>,
    steps: Arc<Mutex<Vec<BatchStep>>>,
}

impl BatchObserver<'_> {
    fn print_steps(&mut self) {
        let steps = std::mem::take(&mut *self.steps.lock().unwrap_or_else(PoisonError::into_inner));
        let mut answers = 0;
        for step in &steps {
            match step {
                BatchStep::Submitted { batch, model, requests } => {
                    self.printer.note(&FleetLine::Submitted { batch, model, requests: *requests });
                }
                BatchStep::Answered => answers += 1,
                BatchStep::Cancelled { batch } => self.printer.note(&FleetLine::Cancelled { batch }),
                BatchStep::Retried { detail } => self.printer.note(&FleetLine::PolledAgain { detail }),
            }
        }
        if answers > 0 {
            self.printer.note(&FleetLine::Answered { requests: answers });
        }
    }
}

impl FleetObserver for BatchObserver<'_> {
    fn finished(&mut self, result: &TaskResult) -> std::io::Result<()> {
        self.printer.finished(result)
    }

    fn started(&mut self, task: &str) {
        self.printer.started(task);
    }

    fn retried(&mut self, task: &str, pause: Duration) {
        self.printer.retried(task, pause);
    }

    fn parked(&mut self, task: &str, reason: &Sentence) {
        self.printer.parked(task, reason);
    }

    fn undecided(&mut self, task: &str, reason: &Sentence) {
        self.printer.undecided(task, reason);
    }

    fn waiting(&mut self, task: &str) {
        self.printer.waiting(task);
    }

    fn tick(&mut self) {
        self.print_steps();
        self.printer.tick();
    }
}
