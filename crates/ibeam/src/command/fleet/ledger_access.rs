//! Access to a fleet for its commands: its place, its ledger, git, signals, and the errors of these.

use std::future::pending;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::{SystemTime, UNIX_EPOCH};

use ibeam_core::Stop;
use ibeam_fleet::{FleetDirectory, FleetError, Git, Ledger, QueueError, StopFlag};
use ibeam_protocol::{Failure, Reason, sentence};

use crate::cli_error::CliError;
use crate::flags::QueueFlags;
use ibeam_agent::app::AppContext;
use ibeam_agent::pump::CurrentStop;
use ibeam_agent::{helper_process, signals};

/// The place from which a command reads a fleet.
pub(super) enum FleetSource<'a> {
    Directory(PathBuf),
    Queue(&'a QueueFlags),
}

impl<'a> FleetSource<'a> {
    /// Returns the named place; without one, the only directory of a fleet here.
    ///
    /// # Errors
    /// `Usage` if there is none or several; `Io`.
    pub(super) fn new(directory: Option<&Path>, queue: Option<&'a QueueFlags>) -> Result<Self, Reason> {
        match (queue, directory) {
            (Some(queue), _) => Ok(Self::Queue(queue)),
            (None, Some(directory)) => Ok(Self::Directory(directory.to_owned())),
            (None, None) => {
                only_fleet(Path::new("."), |path| FleetDirectory::ledger(path).is_file()).map(Self::Directory)
            }
        }
    }
}

/// Returns the only directory of a fleet in `directory` that `is_meant`.
///
/// # Errors
/// `Usage`, `Io`.
pub(super) fn only_fleet(directory: &Path, is_meant: impl Fn(&Path) -> bool) -> Result<PathBuf, Reason> {
    let failed = |error: io::Error| io_error(directory, &error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "fleet") && is_meant(&path) {
            found.push(path);
        }
    }
    match <[PathBuf; 1]>::try_from(found) {
        Ok([fleet]) => Ok(fleet),
        Err(found) => {
            let number = found.len();
            let detail = match number {
                0 => sentence!("there is no such fleet here; name the directory of the fleet"),
                _ => sentence!("{number} fleets are here; name the directory of one", number),
            };
            Err(Reason::Usage { detail })
        }
    }
}

/// Returns the error for a task that a fleet does not have.
pub(super) fn unknown_task(task: &str) -> Reason {
    Reason::Usage { detail: sentence!("the fleet has no task `{task}`", task) }
}

/// Returns the program git, whose commands end when `stop` is requested and after `timeouts.git`.
///
/// # Errors
/// `NoInput` without it.
pub(super) fn find_git(app: &AppContext, stop: &Stop) -> Result<Git, Reason> {
    let program = app.programs.find("git").ok_or_else(|| Reason::NoInput {
        path: "git".to_owned(),
        detail: "the workspaces of tasks need the program git".to_owned(),
    })?;
    let (stop, limit) = (stop.clone(), app.base.settings.timeouts.git.value);
    let run =
        move |command: &Command, input: &[u8]| helper_process::run_blocking(command, input, &stop, limit);
    Ok(Git::new(program, app.dirs.git_views(), run).with_variable("PATH", app.programs.path()))
}

/// Requests both stops when a signal arrives. A second signal ends the process.
pub(super) fn watch_signals(stop: &Stop, flag: &StopFlag) -> Result<(), Reason> {
    let (stop, flag) = (stop.clone(), flag.clone());
    let (sender, started) = mpsc::channel();
    let watch = move || {
        ibeam_agent::run::on_runtime(|runtime| {
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

/// Opens the ledger of a fleet to read it.
///
/// # Errors
/// `NoFleet` if the directory has no fleet.
pub(super) fn open_ledger(directory: &Path) -> Result<Ledger, CliError> {
    let path = FleetDirectory::ledger(directory);
    if !path.is_file() {
        return Err(CliError::NoFleet { directory: directory.display().to_string() });
    }
    Ledger::open_read_only(&path).map_err(queue_error)
}

pub(super) fn fleet_error(error: FleetError) -> CliError {
    match error {
        FleetError::InUse(path) => CliError::FleetInUse { directory: path.display().to_string() },
        FleetError::Io { path, source } => io_error(&path, &source).into(),
        FleetError::Queue(error) => queue_error(error),
        FleetError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Reason::OutputClosed.into(),
        FleetError::Output(error) => io_error(Path::new("stdout"), &error).into(),
    }
}

/// Returns the error of a submission to the fleet in `directory`.
pub(super) fn submission_error(error: QueueError, directory: &Path) -> CliError {
    match error {
        QueueError::TaskChanged { id } => {
            CliError::FleetTaskChanged { task: id, directory: directory.display().to_string() }
        }
        error @ (QueueError::Ledger { .. } | QueueError::Service { .. }) => queue_error(error),
    }
}

pub(super) fn queue_error(error: QueueError) -> CliError {
    let what = match &error {
        QueueError::Service { .. } => "queue",
        QueueError::Ledger { .. } | QueueError::TaskChanged { .. } => "ledger",
    };
    Reason::Io { what: what.to_owned(), detail: error.to_string() }.into()
}

pub(super) fn io_error(path: &Path, error: &dyn std::fmt::Display) -> Reason {
    Reason::Io { what: path.display().to_string(), detail: error.to_string() }
}

/// Returns the milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
