//! The one place where a failure becomes an exit code, lines on stderr, and the error file.
//!
//! By `docs/output-format.md`, "Failure", stderr ends with exactly one `error:` line, then `hint:` lines; or, with
//! `--error-format json`, one line that holds the `error` object. `--error-file` gets the object in any case.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use ibeam_output::{Catalogue, EventWriter, escape_invisible_in_json};
use ibeam_protocol::{
    Event, EventKind, Failure, FailureCode, Reason, RunFinished, RunOutcome, RunStarted, RunTotals,
};
use rustix::fs::OFlags;

use crate::cli_error::CliError;
use crate::flags::ErrorFormat;
use ibeam_agent::clock::now_ms;
use ibeam_agent::process_end::{ProcessEnd, TerminalRestorer};
use ibeam_agent::run_error::RunError;
use ibeam_agent::{printer, progress_line, stderr};

/// The longest time for which another printing thread may delay the last line of a run that is ended by force.
const PRINT_TIMEOUT: Duration = Duration::from_millis(700);
/// The process exits after this time, whatever the last line waits for.
const FORCED_EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// The stack of the thread that keeps that time, which formats one line.
const TIMER_STACK_BYTES: usize = 64 << 10;

/// The format of failures on stderr, and the file that also receives them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErrorOutput {
    pub(crate) format: ErrorFormat,
    pub(crate) file: Option<PathBuf>,
}

/// The format and file that the flags set. A panic is reported in the same way.
static ERROR_OUTPUT: OnceLock<ErrorOutput> = OnceLock::new();

/// The content of the error file until the process reports its end, which a killed process never does.
const RUNNING: &str =
    r#"{"type":"running","message":"the process has not reported its end: it runs, or was killed"}"#;

/// Sets how failures are reported from now on, and replaces the content of the error file, which may be of an earlier
/// process.
///
/// # Errors
/// `CannotCreate` when the file cannot be written.
pub(crate) fn configure_error_output(output: ErrorOutput) -> Result<(), Reason> {
    let ErrorOutput { file, .. } = ERROR_OUTPUT.get_or_init(|| output);
    let Some(path) = file else { return Ok(()) };
    let cannot = |error: io::Error| Reason::CannotCreate {
        path: path.display().to_string(),
        detail: error.to_string(),
    };
    write_running(path).map_err(cannot)
}

fn write_running(path: &Path) -> io::Result<()> {
    let mut file = open_truncated(path)?;
    // A reader of a pipe waits for the end.
    match file.metadata()?.is_file() {
        true => writeln!(file, "{RUNNING}"),
        false => Ok(()),
    }
}

/// Empties the error file of a process that reported no failure.
pub(crate) fn complete_error_file() {
    if EXITING_THREAD.get().is_none()
        && let Some(ErrorOutput { file: Some(path), .. }) = ERROR_OUTPUT.get()
    {
        // It could be written when the process started.
        let _ = open_truncated(path);
    }
}

/// Ends the process because the system refused memory.
pub(crate) fn report_refused_memory() {
    force_exit(&Reason::System { what: "memory".to_owned(), detail: "out of memory (ENOMEM)".to_owned() })
}

/// The functions that runs call where they cannot report their own end.
pub(crate) const PROCESS_END: ProcessEnd = ProcessEnd {
    force_exit,
    set_catalogue,
    set_unstarted_run_writer,
    set_expected_run,
    print_unstarted_run,
    set_terminal_restorer,
    on_run_started: forget_early_failure_printer,
};

/// The catalogue for messages to people, once the configuration is read.
static CATALOGUE: OnceLock<Arc<Catalogue>> = OnceLock::new();

/// Prints on stdout a run that is ended by force before it has started.
static UNSTARTED_RUN_WRITER: Mutex<Option<Box<dyn EventWriter + Send>>> = Mutex::new(None);
/// The head (`RunStarted`) of the run that is about to start, and its prompt.
static EXPECTED_RUN: OnceLock<(RunStarted, Vec<String>)> = OnceLock::new();

/// Whether the line of the failure is on stderr, or about to be.
static IS_REPORTED: AtomicBool = AtomicBool::new(false);
/// Whether the line of the failure is on stderr.
static IS_WRITTEN: AtomicBool = AtomicBool::new(false);
/// The only thread that reports the end of the process.
static EXITING_THREAD: OnceLock<ThreadId> = OnceLock::new();

/// Sets the catalogue for a forced exit.
fn set_catalogue(catalogue: &Arc<Catalogue>) {
    // A later call has no effect: the first catalogue is the one of the configuration.
    let _ = CATALOGUE.set(Arc::clone(catalogue));
}

/// Prints on stdout the failure of a run that has not started.
pub(crate) struct EarlyFailurePrinter {
    /// Whether the head of the run comes before, where it is known.
    pub(crate) with_head: bool,
    pub(crate) print: Box<dyn FnOnce(&CliError) + Send>,
}

static EARLY_FAILURE_PRINTER: Mutex<Option<EarlyFailurePrinter>> = Mutex::new(None);

fn early_failure_printer() -> MutexGuard<'static, Option<EarlyFailurePrinter>> {
    EARLY_FAILURE_PRINTER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the printer of the failure of a run that has not started.
pub(crate) fn set_early_failure_printer(printer: EarlyFailurePrinter) {
    *early_failure_printer() = Some(printer);
}

/// Forgets the printer: a run has started, and its stream has its end.
fn forget_early_failure_printer() {
    *early_failure_printer() = None;
}

/// Prints on stdout the failure of a process that has started no run: one line, whatever ended it. Wrong usage has none.
pub(crate) fn print_early_failure(error: &CliError) {
    if error.code() == FailureCode::Usage {
        return;
    }
    let printer = early_failure_printer().take();
    if let Some(EarlyFailurePrinter { print, .. }) = printer {
        print(error);
    }
}

/// Prints the end of a run that was stopped before it started.
fn print_unstarted_run(failure: &Failure) -> Option<RunFinished> {
    let with_head = early_failure_printer().as_ref().is_none_or(|printer| printer.with_head);
    let run = if with_head { print_expected_run(failure) } else { None };
    if run.is_none() {
        print_early_failure(&failure.clone().into());
    }
    run
}

/// Sets the writer of a run that is ended by force before it has started.
fn set_unstarted_run_writer(writer: Box<dyn EventWriter + Send>) {
    *UNSTARTED_RUN_WRITER.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
}

/// Sets the head and the prompt of the run that is about to start. A failure before its start is printed with them.
fn set_expected_run(head: RunStarted, prompt: Vec<String>) {
    // Only the first run of a process can fail before any other has started.
    let _ = EXPECTED_RUN.set((head, prompt));
}

/// Prints the expected run, which failed before it started; `None` where its head is not known.
fn print_expected_run(failure: &Failure) -> Option<RunFinished> {
    let (head, prompt) = EXPECTED_RUN.get()?;
    let finished = RunFinished {
        session_id: head.session_id,
        outcome: RunOutcome::Failed(failure.clone()),
        duration_ms: 0,
        totals: RunTotals::default(),
        partial: None,
        structured: None,
        // A new session does not exist yet, so it cannot be resumed.
        ephemeral: head.ephemeral || !head.resumed,
    };
    let mut writer = UNSTARTED_RUN_WRITER.lock().unwrap_or_else(PoisonError::into_inner).take()?;
    let kinds = [
        EventKind::RunStarted(Box::new(head.clone())),
        EventKind::UserMessage { content: prompt.clone(), attachments: Vec::new() },
        EventKind::RunFinished(Box::new(finished.clone())),
    ];
    let mut events = (0..).zip(kinds).map(|(seq, kind)| Event { seq, at_ms: now_ms(), kind });
    // A failure of stdout is ignored: stderr reports the failure in any case.
    let _ = events.try_for_each(|event| writer.write(&event)).and_then(|()| writer.flush());
    Some(finished)
}

static TERMINAL_RESTORER: OnceLock<TerminalRestorer> = OnceLock::new();

/// Sets what restores the terminal at a forced exit.
fn set_terminal_restorer(restore: TerminalRestorer) {
    // A process has one interactive mode.
    let _ = TERMINAL_RESTORER.set(restore);
}

/// Returns true for the first thread that calls it, and for no other: that thread reports the end of the process.
fn claim_exit() -> bool {
    let own = thread::current().id();
    *EXITING_THREAD.get_or_init(|| own) == own
}

/// Ends the process by force, from any thread: prints the last lines of an open run, reports the failure, and exits.
///
/// For a process that cannot end in order: after a panic or a second signal, or when a thread hangs in the system.
fn force_exit(reason: &Reason) -> ! {
    let code = i32::from(reason.code().exit_code());
    if EXITING_THREAD.get() == Some(&thread::current().id()) {
        // Reporting the failure has panicked, or needs more memory than there is.
        report_without_memory(reason);
        std::process::exit(code);
    }
    if !claim_exit() {
        thread::sleep(FORCED_EXIT_TIMEOUT);
        std::process::exit(code);
    }
    if let Some(restore) = TERMINAL_RESTORER.get() {
        restore();
    }
    let failure = Failure::from(reason.clone());
    let catalogue =
        CATALOGUE.get().cloned().unwrap_or_else(|| Arc::new(ibeam_agent::environment::catalogue(None)));
    let line = failure_line(&failure.clone().into(), &catalogue).unwrap_or_default();
    // Its stack is small, so that it starts where memory is short.
    let timer = thread::Builder::new().name("exit".to_owned()).stack_size(TIMER_STACK_BYTES);
    // Without the timer thread, the exit still follows the report below.
    drop(timer.spawn(move || {
        thread::sleep(FORCED_EXIT_TIMEOUT);
        if !IS_REPORTED.swap(true, Ordering::Relaxed) {
            // Another thread may hold the lock of stderr.
            let _ = rustix::io::write(rustix::stdio::stderr(), format!("{line}\n").as_bytes());
        }
        std::process::exit(code);
    }));
    let run = match printer::current() {
        Some(printer) => printer.force_end(&failure, PRINT_TIMEOUT),
        None => print_unstarted_run(&failure),
    };
    let error = RunError { failure, run: run.map(Box::new) }.into();
    print_failure(&error, &catalogue);
    std::process::exit(code)
}

/// Writes a line about `reason` to stderr, unless the failure has been reported. Allocates nothing, so control characters
/// are left out and not escaped.
fn report_without_memory(reason: &Reason) {
    if IS_WRITTEN.load(Ordering::Relaxed) {
        return;
    }
    let (Reason::System { detail, .. } | Reason::Internal { detail }) = reason else { return };
    for piece in std::iter::once("error: ").chain(detail.split(char::is_control)).chain(["\n"]) {
        let _ = rustix::io::write(rustix::stdio::stderr(), piece.as_bytes());
    }
}

/// Reports the failure and returns its exit code. A closed stderr is ignored.
pub(crate) fn report_failure(error: &CliError, catalogue: &Catalogue) -> ExitCode {
    if claim_exit() {
        print_failure(error, catalogue);
    } else {
        // Another thread reports the end, and exits.
        thread::sleep(FORCED_EXIT_TIMEOUT);
    }
    ExitCode::from(error.code().exit_code())
}

fn print_failure(error: &CliError, catalogue: &Catalogue) {
    progress_line::stop();
    let default = ErrorOutput::default();
    let ErrorOutput { file, .. } = ERROR_OUTPUT.get().unwrap_or(&default);
    // A file that cannot be written is the failure itself then.
    let is_about = |path: &Path| matches!(error.reason(), Some(Reason::CannotCreate { path: named, .. }) if Path::new(named) == path);
    if let Some(path) = file.as_deref().filter(|path| !is_about(path)) {
        let object = error.to_object();
        let written = open_truncated(path).and_then(|mut file| writeln!(file, "{object}"));
        if let Err(io_error) = written {
            stderr::write_line(&format!("warning: `{}`: {io_error}", path.display()));
        }
    }
    if let Some(line) = failure_line(error, catalogue)
        && !IS_REPORTED.swap(true, Ordering::Relaxed)
    {
        stderr::write_line(&line);
        IS_WRITTEN.store(true, Ordering::Relaxed);
    }
}

/// Returns the line of a failure on stderr, in the format that the flags set; `None` if nobody needs it.
fn failure_line(error: &CliError, catalogue: &Catalogue) -> Option<String> {
    match ERROR_OUTPUT.get().map(|output| output.format).unwrap_or_default() {
        ErrorFormat::Text if matches!(error, CliError::Run(failed) if failed.is_reader_done()) => None,
        ErrorFormat::Text => Some(error.explain(catalogue).to_string()),
        ErrorFormat::Json => Some(escape_invisible_in_json(&error.to_object()).into_owned()),
    }
}

/// Makes a panic on any thread end the process like any other failure. Otherwise the other threads could wait forever
/// for the thread that panicked.
pub(crate) fn install_panic_hook() {
    std::panic::set_hook(Box::new(|panic: &PanicHookInfo<'_>| {
        let reason =
            Reason::Internal { detail: panic.to_string().split_whitespace().collect::<Vec<_>>().join(" ") };
        force_exit(&reason);
    }));
}

/// Opens the file and empties it. A pipe without a reader is an error; the call never waits for one.
fn open_truncated(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).custom_flags(flags).open(path)
}
