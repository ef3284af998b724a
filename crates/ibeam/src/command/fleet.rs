//! `fleet`: runs the tasks of a file, shows their states, reports on their results, and exports their traces.

mod apply;
mod arguments;
mod batch_fleet;
mod batch_poller;
mod batch_settings;
mod check_command;
mod dry_run;
mod export;
mod fleet_report;
mod forwarded_flags;
mod ledger_access;
mod listing;
mod live_table;
mod logs;
mod names;
#[cfg(not(feature = "nats"))]
mod no_queue;
mod printed_results;
#[cfg(feature = "nats")]
mod queue;
mod removal;
mod result_printer;
mod show;
mod start_check;
mod status;

use std::fs::File;
use std::io::{self, Read as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ibeam_agent::app::{AppContext, ConfigUse};
use ibeam_agent::run::policy_rules::build_policy;
use ibeam_agent::stderr;
use ibeam_core::Stop;
use ibeam_fleet::{
    ApplyMode, Budget, DriverOptions, FileFilter, FleetDirectory, FleetEnd, HaltReason, Ledger, RateLimits,
    RunProgram, StopFlag, Task, TaskFile, TaskQueue as _, WorkspaceSource, expand_matrix, retry_failed,
    run_fleet,
};
use ibeam_output::escape_to_one_line;
use ibeam_protocol::{Reason, sentence};
use ibeam_tools::HiddenFiles;

use self::arguments::{FACTS, FleetCommand, FleetReportFormat};
use self::batch_fleet::Polling;
use self::export::TraceFormat;
use self::forwarded_flags::ForwardedFlags;
use self::ledger_access::{
    FleetSource, find_git, fleet_error, io_error, now_ms, queue_error, submission_error, watch_signals,
};
use self::live_table::LiveTable;
#[cfg(not(feature = "nats"))]
use self::no_queue as queue;
use self::result_printer::ResultPrinter;
use self::start_check::check_start;
use super::facts::CommandFacts;
use super::sub_command::{Call, SubCommand, success};
use crate::cli_error::CliError;
use crate::flags::{Flags, SubmissionFlags};

/// This program as it was started, even if its file has been replaced or removed since: the file of the process that opens
/// it. A new process opens it before it executes it.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// The submission of tasks to a queue.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "nats"), expect(dead_code, reason = "the program has no client of a queue"))]
struct Submission<'a> {
    address: &'a str,
    flags: &'a SubmissionFlags,
    retries_failed: bool,
}

/// Run many tasks from a file
///
/// (each as a run of its own)
#[derive(Args, Clone, Debug)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    what: FleetCommand,
}

impl SubCommand for FleetArgs {
    const FACTS: CommandFacts = FACTS;

    fn config_use(&self) -> ConfigUse {
        match self.what {
            FleetCommand::Status { .. }
            | FleetCommand::Show { .. }
            | FleetCommand::Logs { .. }
            | FleetCommand::Workers { .. }
            | FleetCommand::Delete { .. }
            | FleetCommand::Report { .. }
            | FleetCommand::Export { .. }
            | FleetCommand::Sync { .. }
            | FleetCommand::Cancel { .. }
            | FleetCommand::Events { .. } => ConfigUse::Incidental,
            FleetCommand::Run { .. }
            | FleetCommand::Apply { .. }
            | FleetCommand::Doctor { .. }
            | FleetCommand::Poll { .. }
            | FleetCommand::RunCheck { .. }
            | FleetCommand::Worker(_) => ConfigUse::Needed,
        }
    }

    fn execute(&self, app: &Arc<AppContext>, call: Call<'_>) -> Result<ExitCode, CliError> {
        fleet(app, call.flags, &self.what, call.stdout).map(success)
    }
}

fn fleet(
    app: &Arc<AppContext>,
    flags: &Flags,
    what: &FleetCommand,
    stdout: &mut File,
) -> Result<(), CliError> {
    match what {
        FleetCommand::Run {
            tasks,
            matrix,
            dir,
            jobs,
            skip_invalid,
            only,
            limit,
            dry_run,
            budget_usd,
            budget_tokens,
            requests_per_minute,
            tokens_per_minute,
            max_runs,
            retry_failed: retries_failed,
            discard_workspaces,
            batch,
            queue,
        } => {
            let cost_micros = match budget_usd {
                Some(usd) => Some(Budget::from_usd(*usd).filter(|micros| *micros > 0).ok_or_else(|| {
                    Reason::Usage { detail: sentence!("`--budget-usd` should be above 0") }
                })?),
                None => None,
            };
            let options = DriverOptions {
                lease: DriverOptions::LEASE,
                jobs: NonZeroUsize::try_from(*jobs).unwrap_or(NonZeroUsize::MIN),
                max_runs: max_runs.get(),
                budget: Budget { cost_micros, tokens: budget_tokens.map(|tokens| tokens.get()) },
                rates: RateLimits {
                    requests_per_minute: requests_per_minute.map(|number| number.get()),
                    tokens_per_minute: tokens_per_minute.map(|number| number.get()),
                },
                discards_workspaces: *discard_workspaces,
            };
            let directory = fleet_directory(tasks, dir.as_deref())?;
            let mut tasks = read_tasks(app, tasks, *matrix, *skip_invalid)?;
            let limit = limit.map(|limit| usize::try_from(limit.get()).unwrap_or(usize::MAX));
            tasks.select(only, limit).map_err(|task| Reason::Usage {
                detail: sentence!("`--only {task}`: the file has no such task", task),
            })?;
            if queue.queue.is_some() {
                check_for_queue(&tasks.tasks)?;
            }
            if *dry_run {
                if queue.queue.is_none() {
                    check_start(app, &tasks.tasks, options.budget.cost_micros.is_some())?;
                }
                return dry_run::print_tasks(tasks, &directory, *retries_failed, stdout);
            }
            match &queue.queue {
                None if batch.batch => {
                    batch_fleet::run_tasks(app, tasks, &directory, &options, batch, *retries_failed, stdout)
                }
                None => run_tasks(app, tasks, &directory, &options, *retries_failed, stdout),
                Some(address) => {
                    let what = Submission { address, flags: queue, retries_failed: *retries_failed };
                    queue::submit(app, &what, tasks, &directory, &options, stdout)
                }
            }
        }
        FleetCommand::Worker(flags) => queue::work(app, flags, stdout),
        FleetCommand::Cancel { queue } => queue::cancel(queue),
        FleetCommand::Doctor { queue, grants, format } => {
            queue::print_refusals(app, queue, grants, format.unwrap_or_default(), stdout)
        }
        FleetCommand::Events { queue, task, follow } => {
            queue::print_events(queue, task.as_deref(), *follow, stdout)
        }
        FleetCommand::Sync { directory, queue, format } => {
            queue::sync_record(directory, queue, format.unwrap_or_default(), stdout)
        }
        FleetCommand::Poll { directory, wait, interval } => {
            let polling = Polling::new(*wait, *interval);
            batch_fleet::poll(app, directory.as_deref(), polling, stdout)
        }
        FleetCommand::Status { directory, queue, watch, format } => {
            let queue = queue.given();
            let read = status::reader(&FleetSource::new(directory.as_deref(), queue.as_ref())?)?;
            match watch {
                true => status::watch(&app.base.catalogue, &read, stdout),
                false => status::status(&app.base.catalogue, &read, format.unwrap_or_default(), stdout),
            }
        }
        FleetCommand::Show { task, fleet, format } => {
            let queue = fleet.queue.given();
            let source = FleetSource::new(fleet.dir.as_deref(), queue.as_ref())?;
            show::show(&app.base.catalogue, &source, task, format.unwrap_or_default(), stdout)
        }
        FleetCommand::Logs { task, fleet, follow } => {
            let queue = fleet.queue.given();
            let source = FleetSource::new(fleet.dir.as_deref(), queue.as_ref())?;
            // `-f` is the short form of `--force`, which means nothing else here.
            logs::print_log(app, flags, &source, task, *follow || flags.access.force, stdout)
        }
        FleetCommand::Workers { queue, format } => {
            queue::workers(&app.base.catalogue, queue, format.unwrap_or_default(), stdout)
        }
        FleetCommand::Apply { directory, branch, patch, only, format } => {
            let mode = if *patch { ApplyMode::Patches } else { ApplyMode::Branches(branch.clone()) };
            apply::apply(app, directory, mode, only, format.unwrap_or_default(), stdout)
        }
        FleetCommand::Delete { directory, queue } => {
            removal::delete(app, directory.as_deref(), queue.given().as_ref(), stdout)
        }
        FleetCommand::Report { directory, other, format, json } => {
            let format = if *json { FleetReportFormat::Json } else { format.unwrap_or_default() };
            fleet_report::fleet_report(&app.base.catalogue, directory, other.as_deref(), format, stdout)
        }
        FleetCommand::Export { directory, html, otlp, atif: _ } => {
            let format = match (html, otlp) {
                (true, _) => TraceFormat::Html,
                (_, true) => TraceFormat::Otlp,
                (false, false) => TraceFormat::Atif,
            };
            export::export(&app.base, directory, format, stdout)
        }
        FleetCommand::RunCheck { timeout_s } => {
            let timeout = timeout_s.map(|seconds| Duration::from_secs(seconds.get()));
            let command = io::read_to_string(io::stdin().lock());
            let command = command.map_err(|error| io_error(Path::new("stdin"), &error))?;
            Ok(check_command::run_check(app, &command, timeout, stdout)?)
        }
    }
}

/// Returns the directory of the fleet with these tasks.
fn fleet_directory(tasks: &Path, given: Option<&Path>) -> Result<PathBuf, Reason> {
    match given {
        Some(directory) => Ok(directory.to_owned()),
        None if tasks == Path::new("-") => {
            Err(Reason::Usage { detail: sentence!("tasks on stdin need `--dir DIR`") })
        }
        None => Ok(tasks.with_extension("fleet")),
    }
}

/// Reads and validates the tasks.
///
/// # Errors
/// `NoInput`; `NoTasks`; `InvalidTasks`, unless invalid tasks are skipped.
fn read_tasks(
    app: &AppContext,
    path: &Path,
    is_matrix: bool,
    skip_invalid: bool,
) -> Result<TaskFile, CliError> {
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
    let mut text = String::from_utf8(bytes).map_err(|_| Reason::NotText { what: source.clone() })?;
    if is_matrix {
        let detail = |detail| CliError::InvalidTasks { source: source.clone(), line: 1, detail, count: 1 };
        text = expand_matrix(&text).map_err(|error| detail(escape_to_one_line(&error).into()))?;
    }
    let base = base.canonicalize().map_err(unread)?;
    let git = find_git(app, &Stop::default())?;
    let mut tasks = TaskFile::parse_and_check_commits(&text, &base, &git);
    tasks.source = path.canonicalize().ok().filter(|_| path != Path::new("-"));
    if tasks.is_committed(&git) {
        let warning = sentence!(
            "`{path}` is committed in the repository of a workspace, so runs can read it with git",
            path = source
        );
        stderr::write_line(&format!("warning: {}", app.base.catalogue.sentence(&warning)));
    }
    for invalid in &tasks.invalid {
        let detail = escape_to_one_line(&app.base.catalogue.sentence(&invalid.detail));
        stderr::write_line(&format!("warning: {source}:{}: {detail}", invalid.line));
    }
    match tasks.invalid.first() {
        Some(first) if !skip_invalid => Err(CliError::InvalidTasks {
            source,
            line: first.line,
            detail: first.detail.clone(),
            count: tasks.invalid.len() as u64,
        }),
        Some(_) | None if tasks.tasks.is_empty() => Err(CliError::NoTasks { source }),
        Some(_) | None => Ok(tasks),
    }
}

/// Runs the tasks, and those of the directory that are not finished.
///
/// # Errors
/// `FleetInUse`, `FleetTaskChanged`, `FleetTasksFailed`, `FleetUnfinished`, `Io`; the reason of a signal.
fn run_tasks(
    app: &AppContext,
    tasks: TaskFile,
    directory: &Path,
    options: &DriverOptions,
    retries_failed: bool,
    stdout: &mut File,
) -> Result<(), CliError> {
    batch_fleet::refuse_batch_fleet(directory)?;
    let (stop, flag) = (Stop::default(), StopFlag::default());
    let program = run_program(app, &stop)?;
    check_start(app, &tasks.tasks, options.budget.cost_micros.is_some())?;
    let held = FleetDirectory::open(directory).map_err(fleet_error)?;
    let mut ledger = Ledger::open(&FleetDirectory::ledger(held.path())).map_err(queue_error)?;
    submit_to_ledger(&mut ledger, &tasks, directory)?;
    held.record_hidden_paths(&tasks).map_err(fleet_error)?;
    if retries_failed {
        retry_failed(&held, &mut ledger).map_err(fleet_error)?;
    }
    // The ledger has them; a fleet runs for hours.
    drop(tasks);
    watch_signals(&stop, &flag)?;
    let count = ledger.count().map_err(queue_error)?;
    let table = LiveTable::new(count, now_ms());
    let observer = ResultPrinter::new(stdout, &app.base.catalogue, table).with_record(held.path())?;
    let mut observer = observer.with_traces(&app.base, held.path());
    let end = run_fleet(&held, ledger, &program, options, &flag, &mut observer).map_err(fleet_error);
    observer.finish();
    conclude(end?, &stop, directory)
}

/// Checks that tasks can be sent to a queue.
fn check_for_queue(tasks: &[Task]) -> Result<(), Reason> {
    // Values may be secrets, and no secret is sent.
    if let Some(Task { id: task, .. }) = tasks.iter().find(|task| !task.env.is_empty()) {
        let detail = sentence!("the task `{task}` has `env`, which a queue does not take", task);
        return Err(Reason::Usage { detail });
    }
    // Workers do not send the changes of a finished task to others.
    let starts_from_another = |task: &&Task| matches!(task.workspace, WorkspaceSource::Result(_));
    match tasks.iter().find(starts_from_another) {
        Some(Task { id: task, .. }) => Err(Reason::Usage {
            detail: sentence!(
                "the task `{task}` starts `from` another one, which works on one machine only",
                task
            ),
        }),
        None => Ok(()),
    }
}

/// Adds the tasks to a ledger, which works on them alone if they are a selection.
///
/// # Errors
/// `FleetTaskChanged`, `Io`.
fn submit_to_ledger(ledger: &mut Ledger, tasks: &TaskFile, directory: &Path) -> Result<(), CliError> {
    ledger.submit(&tasks.tasks).map_err(|error| submission_error(error, directory))?;
    if tasks.is_selection {
        ledger.select(&tasks.tasks).map_err(queue_error)?;
    }
    Ok(())
}

/// Returns the program that executes runs; its git ends when `stop` is requested.
///
/// # Errors
/// `NoInput` without git.
fn run_program(app: &AppContext, stop: &Stop) -> Result<RunProgram, CliError> {
    let ForwardedFlags { sandbox: sandbox_flags, run: run_flags } = ForwardedFlags::new(&app.base.options);
    let git = find_git(app, stop)?;
    let policy = build_policy(app, ibeam_agent::run::permission_mode(app))?;
    let hidden = HiddenFiles::new(policy.path_policy());
    let hidden = FileFilter::new(move |path, file| hidden.contains(path) || hidden.has_other_name(file));
    let program = OWN_PROGRAM.into();
    Ok(RunProgram { program, git, sandbox_flags, run_flags, key_file: None, hidden, parking: None })
}

/// Returns the result of the command for the end of the fleet in `directory`.
///
/// # Errors
/// `FleetTasksFailed`, `FleetUnfinished`, `FleetBudgetSpent`; the reason of a signal.
fn conclude(end: FleetEnd, stop: &Stop, directory: &Path) -> Result<(), CliError> {
    if let Some(reason) = stop.reason() {
        return Err(reason.clone().into());
    }
    let FleetEnd { passed, failed, unfinished, halt, parked } = end;
    if unfinished > 0 {
        let detail = match (halt, parked) {
            (Some(HaltReason::BudgetSpent), _) => return Err(CliError::FleetBudgetSpent { unfinished }),
            (Some(HaltReason::Exhausted(reason)), _) | (None, Some(reason)) => reason,
            (Some(HaltReason::Stopped), _) | (None, None) => "the fleet was stopped".into(),
        };
        return Err(CliError::FleetUnfinished { unfinished, detail });
    }
    match failed {
        0 => Ok(()),
        failed => {
            let directory = directory.display().to_string();
            Err(CliError::FleetTasksFailed { failed, total: passed + failed, directory })
        }
    }
}

#[cfg(test)]
mod tests {
    use ibeam_output::{Catalogue, Locale};

    use super::*;

    #[test]
    fn the_faults_of_a_task_are_translated() {
        let with = |fields: &str| format!(r#"{{"id":"a","prompt":"p","workspace":"/",{fields}}}"#);
        let [cycle, valid] = [r#""needs":["a"]"#, r#""mode":"ask""#].map(with);
        let lines = [
            r#"{"id":"a","#.to_owned(),
            r#"{"id":"a","prompt":"p"}"#.to_owned(),
            r#"{"id":"a","id":"a"}"#.to_owned(),
            r#"{"id":"a","prompt":3}"#.to_owned(),
            r#"{"id":"a","prompt":" ","workspace":"/"}"#.to_owned(),
            r#"{"id":"../a","prompt":"p","workspace":"/"}"#.to_owned(),
            r#"{"id":"a","prompt":"p","workspace":7}"#.to_owned(),
            r#"{"id":"a","prompt":"p","workspace":"/nowhere"}"#.to_owned(),
            r#"{"id":"a","prompt":"p","workspace":{"git":"/nowhere","ref":"x"}}"#.to_owned(),
            r#"{"id":"a","prompt":"p","workspace":{"git":"","ref":"x"}}"#.to_owned(),
            r#"{"id":"a","prompt":"\u0000","workspace":"/"}"#.to_owned(),
            with(r#""model":" ""#),
            with(r#""check":" ""#),
            with(r#""env":{"a=b":""}"#),
            with(r#""files":["nowhere"]"#),
            with(r#""mode":"x""#),
            with(r#""unknown":1"#),
            with(r#""limits":{"max_turns":0}"#),
            with(r#""limits":{"max_cost_usd":-1}"#),
            with(r#""needs":["b"]"#),
            format!("{valid}\n{valid}"),
            cycle,
        ];
        for lines in lines {
            let [fault] = TaskFile::parse(&lines, Path::new("/")).invalid.try_into().unwrap();
            for locale in Locale::ALL.into_iter().filter(|locale| *locale != Locale::En) {
                let translated = Catalogue::new(locale).sentence(&fault.detail);
                let (reason, _) = fault.detail.split_once(" (column ").unwrap_or((&fault.detail, ""));
                assert!(!translated.contains(reason), "{translated}");
            }
        }
    }
}
