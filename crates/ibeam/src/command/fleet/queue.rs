//! Fleets over many machines: `fleet run --queue`, `fleet worker`, `fleet sync` and the commands that read a queue.

mod refusals;

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ibeam_config::Settings;
use ibeam_core::Stop;
use ibeam_fleet::{
    Budget, DriverOptions, FleetDirectory, FleetLimits, HaltReason, Ledger, RateLimits, StopFlag, TaskFile,
    TaskLimits, TaskQueue as _, run_fleet,
};
use ibeam_fleet_nats::{
    ControlWatch, EventReader, FleetControl, NatsQueue, QueueAddress, QueueCredentials, QueueOptions,
    SubmitterKeys, WorkerPolicy, WorkerQueue, retry_failed, sync, wait_for_results,
};
use ibeam_output::{Catalogue, escape_invisible_in_json, escape_to_one_line};
use ibeam_protocol::{Reason, sentence};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

pub(super) use self::refusals::print_refusals;
use super::ledger_access::{
    fleet_error, io_error, now_ms, open_ledger, queue_error, submission_error, unknown_task, watch_signals,
};
use super::live_table::LiveTable;
use super::logs::TaskLines;
use super::result_printer::ResultPrinter;
use super::show::FoundTask;
use super::status::StatusReader;
use super::{Submission, conclude, run_program};
use crate::cli_error::CliError;
use crate::command::printing::{report, write};
use crate::flags::{CredentialFlags, GrantFlags, QueueFlags, ReportFormat, WorkerFlags};
use ibeam_agent::app::AppContext;
use ibeam_agent::stderr;

/// The time between two looks at a fleet that is cancelled, or whose budget is spent.
const HALTED_PAUSE: Duration = Duration::from_millis(300);

/// The time between two looks for events.
const EVENTS_PAUSE: Duration = Duration::from_millis(300);

/// Sends the tasks to a queue, and waits for the results.
///
/// # Errors
/// `Usage`, `FleetInUse`, `FleetTaskChanged`, `FleetTasksFailed`, `FleetUnfinished`, `Io`; the reason of a signal.
pub(super) fn submit(
    app: &AppContext,
    what: &Submission<'_>,
    tasks: TaskFile,
    directory: &Path,
    options: &DriverOptions,
    stdout: &mut File,
) -> Result<(), CliError> {
    let Submission { address, flags, retries_failed } = *what;
    let address = parse(address)?;
    let held = FleetDirectory::open(directory).map_err(fleet_error)?;
    let mut ledger = Ledger::open(&FleetDirectory::ledger(held.path())).map_err(queue_error)?;
    ledger.submit(&tasks.tasks).map_err(|error| submission_error(error, directory))?;
    // The ledger has them: those of a large fleet need much memory.
    let selection = tasks.is_selection.then_some(tasks.tasks);
    let lease = Duration::from_secs(flags.queue_lease.get());
    let queue = NatsQueue::create(&address, &connection_options(&flags.credentials), lease);
    let mut queue = queue.map_err(queue_error)?;
    queue.start(FleetLimits { budget: options.budget, rates: options.rates }).map_err(queue_error)?;
    sync(&mut ledger, &mut queue).map_err(|error| submission_error(error, directory))?;
    if let Some(tasks) = selection {
        ledger.select(&tasks).map_err(queue_error)?;
    }
    if retries_failed {
        retry_failed(&mut ledger, &queue).map_err(queue_error)?;
    }
    queue.unpark().map_err(queue_error)?;
    let (stop, flag) = (Stop::default(), StopFlag::default());
    watch_signals(&stop, &flag)?;
    let count = ledger.count().map_err(queue_error)?;
    let table = LiveTable::new(count, now_ms());
    let mut observer = ResultPrinter::new(stdout, &app.base.catalogue, table).with_record(held.path())?;
    let end = wait_for_results(&mut ledger, &mut queue, &flag, &mut observer).map_err(fleet_error);
    observer.finish();
    conclude(end?, &stop, directory)
}

/// Executes tasks of a queue.
///
/// # Errors
/// `Usage`, `FleetInUse`, `FleetUnfinished` if a key or a quota is exhausted, `Io`; the reason of a signal.
pub(super) fn work(app: &AppContext, flags: &WorkerFlags, stdout: &mut File) -> Result<(), CliError> {
    let (stop, flag) = (Stop::default(), StopFlag::default());
    let mut program = run_program(app, &stop)?;
    program.key_file = key_file(&flags.queue.credentials);
    let address = parse(&flags.queue.queue)?;
    let submitters = SubmitterKeys::parse(&flags.submitter_key)
        .map_err(|error| Reason::Usage { detail: sentence!("`--submitter-key`: {error}", error) })?;
    let held = FleetDirectory::open(&flags.dir).map_err(fleet_error)?;
    watch_signals(&stop, &flag)?;
    let credentials = connection_options(&flags.queue.credentials);
    let queue = NatsQueue::open_when_created(&address, &credentials, &flag);
    let mut queue = match stop.reason() {
        Some(reason) => return Err(reason.clone().into()),
        None => queue.map_err(queue_error)?.accepting(submitters.clone()).with_directory(held.path()),
    };
    let control = queue.watch_control().map_err(queue_error)?;
    let limits = queue.shared_limits(&control).map_err(queue_error)?;
    let options = DriverOptions {
        lease: queue.lease(),
        jobs: NonZeroUsize::try_from(flags.slots).unwrap_or(NonZeroUsize::MIN),
        max_runs: flags.max_runs.get(),
        budget: Budget::default(),
        rates: RateLimits::default(),
        discards_workspaces: flags.discard_workspaces,
    };
    let table = LiveTable::for_worker(now_ms());
    let mut observer =
        ResultPrinter::new(stdout, &app.base.catalogue, table).with_traces(&app.base, held.path());
    if control.halt_reason() == Some(ControlWatch::UNSIGNED) {
        stderr::write_line(&format!("warning: {}", ControlWatch::UNSIGNED));
    }
    loop {
        // A cancellation ends this round and its runs.
        let round = flag.child();
        control.stop_when_cancelled(&round);
        let tasks = WorkerQueue::new(
            queue,
            policy(app, &flags.queue, &flags.grants, flags.keep_content),
            control.clone(),
            round.clone(),
            flags.until_drained,
        )
        .with_limits(Arc::clone(&limits))
        .announced(held.path(), options.jobs.get())
        .map_err(|error| io_error(held.path(), &error))?;
        let end = run_fleet(&held, tasks, &program, &options, &round, &mut observer).map_err(fleet_error);
        observer.finish();
        let end = end?;
        match (stop.reason(), end.halt) {
            (Some(reason), _) => return Err(reason.clone().into()),
            (None, Some(HaltReason::Exhausted(detail))) => {
                return Err(CliError::FleetUnfinished { unfinished: 1, detail });
            }
            (None, Some(HaltReason::Stopped)) if !flags.until_drained => {}
            (None, Some(HaltReason::Stopped)) => {
                let detail = control.halt_reason().unwrap_or(FleetControl::CANCELLED).into();
                return Err(CliError::FleetUnfinished { unfinished: 1, detail });
            }
            (None, Some(HaltReason::BudgetSpent)) if !flags.until_drained => {}
            (None, Some(HaltReason::BudgetSpent)) => {
                return Err(CliError::FleetBudgetSpent { unfinished: 1 });
            }
            (None, None) => return Ok(()),
        }
        let is_halted = || {
            let (budget, spent) = limits.budget();
            control.current().is_cancelled || budget.is_spent(spent)
        };
        while !flag.is_requested() && is_halted() {
            std::thread::sleep(HALTED_PAUSE);
        }
        queue = NatsQueue::open(&address, &credentials).map_err(queue_error)?;
        queue = queue.accepting(submitters.clone()).with_directory(held.path());
    }
}

/// Stops the workers of a queue.
///
/// # Errors
/// `Usage`, `Io`.
pub(super) fn cancel(flags: &QueueFlags) -> Result<(), CliError> {
    open(flags)?.cancel().map_err(queue_error)
}

/// Prints the events of the runs of all workers.
///
/// # Errors
/// `Usage`, `Io`, `OutputClosed`.
pub(super) fn print_events(
    flags: &QueueFlags,
    task: Option<&str>,
    follows: bool,
    stdout: &mut File,
) -> Result<(), CliError> {
    let address = parse(&flags.queue)?;
    let mut reader =
        EventReader::open(&address, &connection_options(&flags.credentials), task).map_err(queue_error)?;
    loop {
        let events = reader.read().map_err(queue_error)?;
        let text: String =
            events.iter().map(|event| format!("{}\n", escape_invisible_in_json(event))).collect();
        write(stdout, &text)?;
        match (events.is_empty(), follows) {
            (false, _) => {}
            (true, true) => std::thread::sleep(EVENTS_PAUSE),
            (true, false) => return Ok(()),
        }
    }
}

/// Shows the workers of a queue.
///
/// # Errors
/// `Usage`, `Io`.
pub(super) fn workers(
    catalogue: &Catalogue,
    flags: &QueueFlags,
    format: ReportFormat,
    stdout: &mut File,
) -> Result<(), CliError> {
    let (mut text, mut rows) = (String::new(), Vec::new());
    for worker in open(flags)?.workers().map_err(queue_error)? {
        let seconds = worker.seen_before.as_secs();
        let line = sentence!(
            "{id} on {machine}: {count} of {slots} slots, last seen {seconds} s ago",
            id = worker.id,
            machine = worker.machine,
            count = worker.tasks.len(),
            slots = worker.slots,
            seconds
        );
        text.push_str(&format!("{}\n", escape_to_one_line(&catalogue.sentence(&line))));
        text.extend(worker.tasks.iter().map(|task| format!("  {}\n", escape_to_one_line(task))));
        rows.push(json!({
            "id": worker.id,
            "machine": worker.machine,
            "slots": worker.slots,
            "tasks": worker.tasks,
            "seconds_since_seen": seconds,
        }));
    }
    report(stdout, format, &text, &json!(rows))
}

/// Returns a reader of the states of all tasks of a queue.
///
/// # Errors
/// `Usage`, `Io`.
pub(super) fn status_reader(flags: &QueueFlags) -> Result<StatusReader, CliError> {
    let queue = open(flags)?;
    Ok(StatusReader::Queue(Box::new(move || queue.statuses().map_err(queue_error))))
}

/// Returns a task of a queue.
///
/// # Errors
/// `Usage`, `Io`.
pub(super) fn find(flags: &QueueFlags, task: &str) -> Result<Option<FoundTask>, CliError> {
    open(flags)?.find(task).map_err(queue_error)
}

/// Returns the events of a task as the lines of its runs.
///
/// # Errors
/// `Usage` for an unknown task, `Io`.
pub(super) fn task_lines(flags: &QueueFlags, task: &str) -> Result<TaskLines, CliError> {
    #[derive(Deserialize)]
    struct Published<'a> {
        #[serde(borrow)]
        event: Option<&'a RawValue>,
    }
    let (queue, task) = (open(flags)?, task.to_owned());
    if queue.find(&task).map_err(queue_error)?.is_none() {
        return Err(unknown_task(&task).into());
    }
    let options = connection_options(&flags.credentials);
    let mut reader = EventReader::open(&parse(&flags.queue)?, &options, Some(&task)).map_err(queue_error)?;
    Ok(TaskLines {
        read: Box::new(move || {
            let mut lines = Vec::new();
            for object in reader.read().map_err(io::Error::other)? {
                // A line that was too large to be published is left out.
                if let Some(event) = serde_json::from_str::<Published<'_>>(&object)?.event {
                    lines.extend_from_slice(event.get().as_bytes());
                    lines.push(b'\n');
                }
            }
            Ok(lines)
        }),
        is_open: Box::new(move || {
            let found = queue.find(&task).map_err(io::Error::other)?;
            Ok(found.is_some_and(|(_, status, _)| status.state.is_open()))
        }),
    })
}

/// Returns the number of tasks of a queue without a result.
///
/// # Errors
/// `Usage`, `Io`.
pub(super) fn open_tasks(flags: &QueueFlags) -> Result<u64, CliError> {
    let options = connection_options(&flags.credentials);
    let queue = NatsQueue::open_if_created(&parse(&flags.queue)?, &options).map_err(queue_error)?;
    queue.map_or(Ok(0), |mut queue| queue.unfinished().map_err(queue_error))
}

/// Deletes what the servers of a queue have.
///
/// # Errors
/// `Usage` if they have nothing, `Io`.
pub(super) fn delete(flags: &QueueFlags) -> Result<(), CliError> {
    let options = connection_options(&flags.credentials);
    match NatsQueue::delete(&parse(&flags.queue)?, &options).map_err(queue_error)? {
        true => Ok(()),
        false => {
            let detail = sentence!("no fleet is in the queue `{queue}`", queue = flags.queue);
            Err(Reason::Usage { detail }.into())
        }
    }
}

/// Connects to a queue that exists.
fn open(flags: &QueueFlags) -> Result<NatsQueue, CliError> {
    NatsQueue::open(&parse(&flags.queue)?, &connection_options(&flags.credentials)).map_err(queue_error)
}

/// Returns what the configuration and the flags of the worker grant.
fn policy(app: &AppContext, queue: &QueueFlags, grants: &GrantFlags, keeps_content: bool) -> WorkerPolicy {
    let Settings { limits, timeouts, .. } = &app.base.settings;
    let small = |number| u32::try_from(number).unwrap_or(u32::MAX);
    WorkerPolicy {
        directories: grants.allow_workspaces.clone(),
        limits: TaskLimits {
            max_turns: Some(small(limits.max_turns.value)),
            max_tokens: limits.max_tokens.value,
            max_cost_micros: limits.max_cost.value,
            max_tool_calls: limits.max_tool_calls.value.map(small),
            timeout_s: limits.timeout.value.map(|time| time.as_secs()).filter(|time| *time > 0),
            check_timeout_s: Some(timeouts.tool_longest.value.as_secs().max(1)),
        },
        is_read_only: app.base.options.mode.is_read_only(),
        allows_checks: grants.allow_checks,
        keeps_content,
        key_file: key_file(&queue.credentials),
    }
}

/// Compares the record in a directory with a queue.
///
/// # Errors
/// `NoInput`, `FleetInUse`, `FleetTaskChanged`, `Io`.
pub(super) fn sync_record(
    directory: &Path,
    flags: &QueueFlags,
    format: ReportFormat,
    stdout: &mut File,
) -> Result<(), CliError> {
    // Only of a fleet that exists.
    drop(open_ledger(directory)?);
    let address = parse(&flags.queue)?;
    let held = FleetDirectory::open(directory).map_err(fleet_error)?;
    let mut ledger = Ledger::open(&FleetDirectory::ledger(held.path())).map_err(queue_error)?;
    let queue = NatsQueue::create(&address, &connection_options(&flags.credentials), DriverOptions::LEASE);
    let mut queue = queue.map_err(queue_error)?;
    let found = sync(&mut ledger, &mut queue).map_err(|error| submission_error(error, directory))?;
    let text = format!(
        "tasks_sent: {}\nresults_sent: {}\nresults_received: {}\n",
        found.tasks_sent, found.results_sent, found.results_received
    );
    let object = json!({
        "tasks_sent": found.tasks_sent,
        "results_sent": found.results_sent,
        "results_received": found.results_received,
    });
    report(stdout, format, &text, &object)
}

fn parse(address: &str) -> Result<QueueAddress, Reason> {
    QueueAddress::parse(address)
        .map_err(|error| Reason::Usage { detail: sentence!("`--queue`: {error}", error) })
}

/// Returns the absolute path of the file with the key or the credentials of the client.
fn key_file(flags: &CredentialFlags) -> Option<PathBuf> {
    let path = flags.queue_creds.as_ref().or(flags.queue_nkey.as_ref())?;
    std::path::absolute(path).ok()
}

fn connection_options(flags: &CredentialFlags) -> QueueOptions {
    let credentials = match (&flags.queue_creds, &flags.queue_nkey) {
        (Some(path), _) => QueueCredentials::File(path.clone()),
        (None, Some(path)) => QueueCredentials::Nkey(path.clone()),
        (None, None) => QueueCredentials::None,
    };
    QueueOptions { credentials, ca_file: flags.queue_ca.clone() }
}
