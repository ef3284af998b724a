//! The process around sessions: its output, its signals, and the limits of each run.

use std::convert::Infallible;
use std::fs::File;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::pending;
use ibeam_core::Stop;
use ibeam_output::{EventWriter, printable_lines};
use ibeam_protocol::{Failure, Reason, Signal};
use tokio::runtime::Runtime;

use super::shutdown::Shutdown;
use super::watchdog::{StartupWatchdog, TimeLimit, Watch, Watchdog};
use super::{system_error, thread_error};
use crate::app::AppContext;
use crate::process_end;
use crate::progress_line;
use crate::pump::CurrentStop;
use crate::stderr;
use crate::stdout::{self, BackpressuredStdout};

/// The number of runs of the process, and the effect of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// One run. A signal and the time limit end it, and the process with it.
    Single,
    /// A run for each prompt of a person. A signal ends the current run; an interrupt leaves the session open.
    Interactive,
    /// A run for each message on stdin. A signal ends the process; a message interrupts a run.
    Hosted,
    /// A run for each prompt in one of the sessions of an editor. The editor cancels a run, and the end of the process
    /// ends all sessions. No failure of a session ends the process.
    Editor,
    /// The runs of one call of the MCP server, or of one embedded session. The caller cancels a run. No failure of a run ends
    /// the process.
    Served,
}

/// The process around a session: its output, its signals, its time limit. Clones share all of it, so that sessions can
/// follow one another.
#[derive(Clone)]
pub struct RunProcess<'a> {
    pub app: Arc<AppContext>,
    pub(super) runtime: &'a Runtime,
    pub(super) kind: RunKind,
    pub stop: Stop,
    /// The stop of the current run, or of the wait for a prompt.
    pub current_stop: CurrentStop,
    /// The watchdog and its watch over the process; `None` for one of the sessions of a connection.
    watchdog: Option<Rc<(Watchdog, Watch)>>,
    output: Rc<RunOutput<'a>>,
}

/// The destination of the events of runs.
enum RunOutput<'a> {
    Stdout(File, NewWriter<'a>),
    /// To the program at the other end of a connection.
    Connection(NewConnectionWriter<'a>),
}

pub type NewWriter<'a> = Box<dyn Fn(BackpressuredStdout) -> Box<dyn EventWriter + Send> + 'a>;

/// Returns a writer of events to the program at the other end of a connection.
pub(super) type NewConnectionWriter<'a> = Box<dyn Fn() -> Box<dyn EventWriter + Send> + 'a>;

impl<'a> RunProcess<'a> {
    /// Takes over stdout and the signals.
    ///
    /// From now on, a writer of `new_writer` also prints failures outside of runs, and a write to stdout has a timeout
    /// after a stop was requested.
    ///
    /// # Errors
    /// `System` for a thread or descriptor that the system refuses.
    pub fn start(
        runtime: &'a Runtime,
        app: &Arc<AppContext>,
        kind: RunKind,
        startup: StartupWatchdog,
        stdout: File,
        new_writer: NewWriter<'a>,
    ) -> Result<Self, Failure> {
        let shutdown = new_shutdown(app);
        let limit = time_limit(app).filter(|_| kind == RunKind::Single);
        let limit = limit.map(|limit| TimeLimit { since: app.started_at, ..limit });
        let (stop, signalled, watchdog, watch) = startup.hand_over(limit, shutdown.budget());
        let current_stop = match kind {
            RunKind::Single | RunKind::Interactive => signalled,
            RunKind::Hosted | RunKind::Editor | RunKind::Served => CurrentStop::new(Stop::default()),
        };
        process_end::set_catalogue(&app.base.catalogue);
        let watchdog = Some(Rc::new((watchdog, watch)));
        let output = Rc::new(RunOutput::Stdout(stdout, new_writer));
        let process = Self { app: Arc::clone(app), runtime, kind, stop, current_stop, watchdog, output };
        if kind == RunKind::Hosted {
            process.watch_reader()?;
        }
        process_end::set_unstarted_run_writer(process.writer()?);
        let _context = runtime.enter();
        if app.base.options.heartbeat.is_some() {
            progress_line::follow(&app.base.catalogue);
        }
        stderr::start_heartbeat(app.base.options.heartbeat);
        Ok(process)
    }

    /// Returns the process as one of the sessions of a connection uses it. The session ends when `stop` is requested.
    pub fn for_connection(
        runtime: &'a Runtime,
        app: &Arc<AppContext>,
        kind: RunKind,
        stop: Stop,
        new_writer: NewConnectionWriter<'a>,
    ) -> Self {
        let current_stop = CurrentStop::new(Stop::default());
        let output = Rc::new(RunOutput::Connection(new_writer));
        Self { app: Arc::clone(app), runtime, kind, stop, current_stop, watchdog: None, output }
    }

    /// Requests the current stop when the reader closes stdout.
    pub(super) fn watch_reader(&self) -> Result<(), Failure> {
        let RunOutput::Stdout(stdout, _) = &*self.output else { return Ok(()) };
        let stdout = stdout.try_clone().map_err(|error| system_error("descriptor", &error))?;
        stdout::watch_reader(stdout, &self.current_stop).map_err(thread_error)
    }

    /// Returns a writer of events to the output.
    pub(super) fn writer(&self) -> Result<Box<dyn EventWriter + Send>, Reason> {
        match &*self.output {
            RunOutput::Connection(new_writer) => Ok(new_writer()),
            RunOutput::Stdout(stdout, new_writer) => {
                let stdout = stdout.try_clone().map_err(|error| system_error("descriptor", &error))?;
                let timeout = new_shutdown(&self.app).reader_timeout();
                Ok(new_writer(BackpressuredStdout::new(stdout, &self.current_stop, timeout)))
            }
        }
    }

    /// Prints a text on stdout between runs.
    pub fn print_text(&self, text: &str) -> Result<(), Failure> {
        let RunOutput::Stdout(stdout, _) = &*self.output else { return Ok(()) };
        let failed =
            |error: std::io::Error| Reason::Io { what: "stdout".to_owned(), detail: error.to_string() };
        let mut stdout: &File = stdout;
        // What a session recorded, and what programs have printed, may have control sequences.
        stdout.write_all(printable_lines(text).as_bytes()).map_err(|error| failed(error).into())
    }

    /// Waits for `work` between runs.
    ///
    /// # Errors
    /// The errors of `work`; the reason of a signal, and of a closed reader of stdout.
    pub fn wait<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let idle = Stop::default();
        self.current_stop.set(idle.clone());
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                reason = self.stop.wait() => Err(reason.into()),
                reason = idle.wait() => {
                    // From here on the watchdog bounds the end of the process.
                    self.stop.request(reason.clone());
                    Err(reason.into())
                }
                done = work => done,
            }
        })
    }

    /// Waits for `work` between runs; an interrupt ends only the work, and `None` is returned.
    ///
    /// # Errors
    /// The errors of `work`; the reason of another signal.
    pub fn wait_interruptible<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<Option<T>, Failure> {
        let interrupt = Stop::default();
        self.current_stop.set(interrupt.clone());
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                reason = self.stop.wait() => Err(reason.into()),
                reason = interrupt.wait() => match reason {
                    Reason::Signalled(Signal::Int) => Ok(None),
                    reason => {
                        self.stop.request(reason.clone());
                        Err(reason.into())
                    }
                },
                done = work => done.map(Some),
            }
        })
    }

    /// Waits for `work` of a run with this `stop`, which the time limit of the run and the stop of the process request
    /// too.
    pub(super) async fn with_limits<T>(&self, stop: &Stop, work: impl Future<Output = T>) -> T {
        if self.kind == RunKind::Single {
            // The stop of the process is that of the run.
            return work.await;
        }
        let limit = time_limit(&self.app);
        let _watch = self
            .watchdog
            .as_ref()
            .map(|shared| shared.0.watch(stop, limit, new_shutdown(&self.app).budget()));
        let end_with_process = async {
            stop.request(self.stop.wait().await);
            pending::<Infallible>().await
        };
        // Without a watchdog, the time limit is enforced here. It does not end the process.
        let end_at_limit = async {
            if let Some(limit) = limit.filter(|_| self.watchdog.is_none()) {
                tokio::time::sleep(limit.limit).await;
                stop.request(limit.reason());
            }
            pending::<Infallible>().await
        };
        tokio::select! {
            biased;
            never = end_with_process => match never {},
            never = end_at_limit => match never {},
            done = work => done,
        }
    }

    /// Returns the stop of a new run.
    pub(super) fn new_stop(&self) -> Stop {
        match self.kind {
            RunKind::Single => self.stop.clone(),
            RunKind::Interactive | RunKind::Hosted | RunKind::Editor | RunKind::Served => Stop::default(),
        }
    }
}

/// Returns the time budget of a future end.
pub(super) fn new_shutdown(app: &AppContext) -> Shutdown {
    Shutdown::within(app.base.settings.timeouts.shutdown.value)
}

/// Returns the time limit of a run that starts now: `--timeout`.
fn time_limit(app: &AppContext) -> Option<TimeLimit> {
    let limit = app.base.settings.limits.timeout.value?;
    Some(TimeLimit { limit, since: Instant::now() })
}
