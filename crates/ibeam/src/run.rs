//! One run: everything resolved becomes ports, the loop runs, the end is told.

mod chat;
mod conversation;
mod heartbeat;
mod host_model;
mod model_info;
pub(crate) mod policy_rules;
mod prepare;
mod resources;
mod rule_markers;
pub(crate) mod sandbox;
mod session_opener;
mod shutdown;
mod terminal_input;
mod watchdog;
mod web;
mod writable_dirs;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use ibeam_core::{Journal, Redactor, Run, Stop};
use ibeam_output::{Contract, EventWriter, Html, Json, StreamJson, Text, TextOptions};
use ibeam_protocol::{Failure, Notice, Reason, RunOutcome};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};

use crate::app::{AppContext, BaseContext};
use crate::cli::Format;
use crate::exit::ExitFailure;
use crate::mcp::Servers;
use crate::printer::Printer;
use crate::pump::{CurrentStop, Pump, WAITING_EVENTS};
use crate::stderr_notices::NoticePrinter;
use crate::{exit, hooks, mcp, prompt, stdout};

pub(crate) use chat::chat;
pub(crate) use conversation::converse;
pub(crate) use prepare::permission_mode;
use resources::RunInputs;
use sandbox::RunSandbox;
use session_opener::SessionOpener;
pub(crate) use session_opener::{
    SessionTarget, damaged, is_ephemeral, nth_newest, reason_of, session_io, session_options, unwritten,
};
use shutdown::Shutdown;
pub(crate) use watchdog::StartupWatchdog;

/// Runs the prompt and prints it in `format`.
///
/// # Errors
/// Whatever ended the run without success; it is in the stream too where that had begun.
pub(crate) fn print(
    app: &AppContext,
    target: &SessionTarget,
    words: &[std::ffi::OsString],
    format: Format,
    stdout: File,
    beginning: StartupWatchdog,
) -> Result<(), ExitFailure> {
    on_runtime(|runtime| print_on(runtime, app, target, words, format, stdout, beginning))
}

fn print_on(
    runtime: &Runtime,
    app: &AppContext,
    target: &SessionTarget,
    words: &[std::ffi::OsString],
    format: Format,
    stdout: File,
    beginning: StartupWatchdog,
) -> Result<(), ExitFailure> {
    let StartupWatchdog { stop, watchdog, .. } = &beginning;
    let stop = stop.clone();
    let shutdown = Shutdown::within(app.base.config.timeout("shutdown"));
    // A signal or the time-out ends the run in order, also while stdin or a disk is waited for.
    let _watch = watchdog.watch(&stop, timeout(app), shutdown.budget());
    print_failures_outside_of_runs(app, format, &stdout)?;
    // The sandbox is made while the prompt is read.
    let guards = RunSandbox::spawn(app, true)?;
    let gather = || {
        let (words, how) = (words.to_vec(), app.base.flags.stdin.unwrap_or_default());
        let patience = prompt::Patience {
            silence: app.base.config.timeout("stdin"),
            context: app.base.config.timeout("stdin_context"),
        };
        runtime.block_on(async { unless_stopped(&stop, move || prompt::gather(&words, how, patience)).await })
    };
    // A wrong model is told at once where there is a prompt; without one, that is what is wrong first.
    let (model, gathered) = if prompt::is_one(words) {
        let model = crate::model::choose_model(app)?;
        (model, gather()?)
    } else {
        let gathered = gather()?;
        (crate::model::choose_model(app)?, gathered)
    };
    let opening = SessionOpener::new(app, target)?;
    if let Some(head) = prepare::preview(app, &opening, &model) {
        exit::set_expected_run(head, gathered.blocks.clone());
    }
    let declared = mcp::declared_servers(app)?;
    let hooks = hooks::load(app)?;
    let guards = guards.join()?;
    let opened = runtime.block_on(opening.open_unless_stopped(&stop));
    let opened = opened.map_err(|failure| not_begun(app, &stop, failure))?;
    let mut started = prepare::start(app, opened, model)?;
    started.head.sandbox.clone_from(&guards.sandbox);
    started.notices.extend(guards.notices.iter().cloned());
    let servers = runtime.block_on(Servers::start_all(app, declared, &stop))?;
    let mut notices = started.notices;
    notices.extend(gathered.notice);
    notices.extend(servers.notices.iter().cloned());
    notices.extend(hooks.notices.iter().cloned());
    notices.extend(app.ignored_arguments_notice());
    let notices = app.trust.merge_notices(notices);
    let watched = stdout.try_clone().map_err(|error| system("descriptor", &error))?;
    let current = CurrentStop::new(stop.clone());
    let stdout = stdout::BackpressuredStdout::new(stdout, &current, shutdown.patience());
    let writer = match &app.dialect_writer {
        None => writer(&app.base, format, stdout),
        Some(dialect_writer) => {
            dialect_writer.set_output(stdout);
            dialect_writer.event_writer()
        }
    };
    let approver = Arc::new(ibeam_core::NoApprover);
    let hooks = hooks::runner(hooks, app, &started.head, true);
    let further = app.base.flags.append_system_prompt.clone();
    let foundation = RunInputs {
        head: started.head,
        provider: started.provider,
        guards,
        has_person: false,
        further,
        past_contents: started.past_contents,
    };
    let run = resources::build(app, foundation, approver, &servers, hooks, stop.clone())?;
    let _proxy = run.proxy.map(|proxy| runtime.spawn(proxy));
    stdout::watch_reader(watched, &current).map_err(no_thread)?;
    let (events, receiver) = mpsc::channel(WAITING_EVENTS);
    let printer =
        Printer::new(started.session, writer, NoticePrinter::new(Arc::clone(&app.base.catalogue)), current);
    let pump = Pump { printer: Arc::clone(&printer) };
    let thread = pump.start(receiver).map_err(no_thread)?;
    let mut journal = Journal::new(started.past, Arc::clone(&run.run.clock), events)
        .with_redactor(Redactor::new(crate::model::all_secrets(app)));
    let outcome = runtime.block_on(async {
        heartbeat::start(app.base.flags.heartbeat);
        let outcome = end_of(&shutdown, &run.run, &mut journal, gathered.blocks, notices).await;
        // The run itself has ended what it left; this is for one that had to be dropped.
        let left = shutdown.left();
        drop(tokio::time::timeout(left, join(run.background.stop_all(), servers.shut_down(left))).await);
        outcome
    });
    drop(journal);
    let unwritten = shutdown.join(&thread, &printer, &stop);
    let outcome = outcome.map_err(|failed| ended(failed, &printer, &shutdown));
    match (outcome, unwritten) {
        // The end of a good run may be what could not be written, and then nobody has read it.
        (Ok(()), Some(reason)) => Err(reason.into()),
        (outcome, _) => outcome,
    }
}

/// The writer of a format, as the flags want it.
pub(crate) fn writer<'a>(
    base: &BaseContext,
    format: Format,
    out: impl io::Write + Send + 'a,
) -> Box<dyn EventWriter + Send + 'a> {
    match format {
        Format::StreamJson => match base.contract() {
            Contract::One => Box::new(StreamJson::new(out)),
            Contract::Two => Box::new(StreamJson::for_contract_two(out, base.flags.stream_partial_output)),
        },
        Format::Json => Box::new(Json::new(out)),
        Format::Text => {
            let options = TextOptions {
                verbose: base.config.is_enabled(&["verbose"]),
                live: false,
                message_only: base.contract() == Contract::Two,
            };
            Box::new(Text::new(out, Arc::clone(&base.catalogue), options))
        }
        Format::Html => Box::new(Html::new(out, Arc::clone(&base.catalogue))),
    }
}

/// Tells on stdout of a run that was stopped before it began.
fn not_begun(app: &AppContext, stop: &Stop, failure: Failure) -> ExitFailure {
    if stop.requested().is_none() {
        return failure.into();
    }
    // A dialect prints a line of its own where there is no head.
    let run = if app.dialect_writer.is_some() {
        exit::print_expected_run(&failure)
    } else {
        exit::print_early_failure(&failure)
    };
    ExitFailure { failure, run: run.map(Box::new) }
}

/// Does what may block on a thread of its own; a stop does not wait for it.
async fn unless_stopped<T: Send + 'static>(
    stop: &Stop,
    work: impl FnOnce() -> Result<T, Reason> + Send + 'static,
) -> Result<T, Reason> {
    let (sender, done) = oneshot::channel();
    let thread = std::thread::Builder::new().name("stdin".to_owned());
    thread
        .spawn(move || {
            // Nobody waits for it any more after a stop.
            let _ = sender.send(work());
        })
        .map_err(|error| system("thread", &error))?;
    tokio::select! {
        biased;
        reason = stop.wait() => Err(reason),
        done = done => done.unwrap_or_else(|_| Err(Reason::Internal { detail: "stdin was lost".to_owned() })),
    }
}

/// Runs the turn; once a stop is asked for, waits a bounded time for the orderly end.
async fn end_of(
    shutdown: &Shutdown,
    run: &Run,
    journal: &mut Journal,
    blocks: Vec<String>,
    notices: Vec<Notice>,
) -> Result<(), ExitFailure> {
    match shutdown.bound(&run.stop, run.turn(journal, blocks, notices)).await? {
        Ok(finished) => match finished.outcome.clone() {
            RunOutcome::Completed => Ok(()),
            RunOutcome::Failed(failure) => Err(ExitFailure { failure, run: Some(Box::new(finished)) }),
        },
        Err(_closed) => {
            let detail = "the event stream closed without a reason".to_owned();
            Err(run.stop.requested().cloned().unwrap_or(Reason::Internal { detail }).into())
        }
    }
}

/// `--timeout`.
fn timeout(app: &AppContext) -> Option<Duration> {
    app.base.config.time(&["limits", "timeout"])
}

/// A failure whose run could not tell it: the run that is open gets its last line.
fn ended(failed: ExitFailure, printer: &Printer, shutdown: &Shutdown) -> ExitFailure {
    match failed.run {
        Some(_) => failed,
        None => {
            let run = printer.end_by_force(&failed.failure, shutdown.patience()).map(Box::new);
            ExitFailure { run, ..failed }
        }
    }
}

/// Has a failure printed on stdout, where the process is ended by force before the run has begun.
fn print_failures_outside_of_runs(app: &AppContext, format: Format, stdout: &File) -> Result<(), Reason> {
    exit::set_catalogue(&app.base.catalogue);
    let writer: Box<dyn EventWriter + Send> = match app.dialect_writer.clone() {
        Some(dialect_writer) => dialect_writer.event_writer(),
        None => writer(&app.base, format, stdout.try_clone().map_err(|error| system("descriptor", &error))?),
    };
    exit::set_unstarted_run_writer(writer);
    Ok(())
}

/// Does `work` with a runtime of its own and leaves it without waiting for its threads: one that never returns, such
/// as a read from a dead network share, must not hold up the end of the process.
///
/// # Errors
/// Those of `work`, and `System` when there can be no runtime.
pub(crate) fn on_runtime<T, E: From<Failure>>(work: impl FnOnce(&Runtime) -> Result<T, E>) -> Result<T, E> {
    crate::resource_exhaustion::check_descriptors(0).map_err(Failure::from)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::from(system("epoll", &error)))?;
    let ended = work(&runtime);
    runtime.shutdown_background();
    ended
}

fn no_thread(error: io::Error) -> Failure {
    system("thread", &error).into()
}

fn system(what: &str, error: &io::Error) -> Reason {
    Reason::System { what: what.to_owned(), detail: error.to_string() }
}
