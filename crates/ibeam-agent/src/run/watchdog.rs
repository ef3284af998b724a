//! The thread that ends a run after a signal, at `--timeout`, or when the disk does not answer.
//!
//! The thread shares no lock with the loop and does no I/O before the end, so a thread that hangs in the system does
//! not block it. First it requests the stop of the run. If the pump waits for the disk, it prints instead of the pump.
//! When the time for the end is over, it prints the last line and ends the process.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ibeam_config::parse_time;
use ibeam_core::Stop;
use ibeam_protocol::Reason;
use tokio::runtime::{Builder, Handle};
use tokio::task::{AbortHandle, JoinSet};

use crate::printer::Printer;
use crate::process_end;
use crate::pump::{CurrentStop, MAX_WAITING_EVENTS};
use crate::run_options::RunOptions;
use crate::{printer, resource_exhaustion, signals};

/// The time between two checks of the pump.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The time that an orderly end may exceed its budget before the process is ended by force.
const MARGIN: Duration = Duration::from_millis(300);
/// The descriptors of the watchdog: epoll, its wake-up, and the two ends of the signal pipe.
const OWN_DESCRIPTORS: usize = 4;
/// The budget of an end before the configuration is read.
const DEFAULT_BUDGET: Duration = Duration::from_secs(3);

/// A thread with its own timers and signal handlers, which ends with the process.
pub(super) struct Watchdog {
    handle: Handle,
}

/// A watch over one stop. Dropping it ends the watch.
pub(super) struct Watch(AbortHandle);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TimeLimit {
    pub(super) limit: Duration,
    /// When the time began.
    pub(super) since: Instant,
}

impl TimeLimit {
    /// Returns the reason for a run that reached the limit.
    pub(super) fn reason(self) -> Reason {
        Reason::TimedOut { timeout_ms: u64::try_from(self.limit.as_millis()).unwrap_or(u64::MAX) }
    }
}

/// The watch over signals and `--timeout` before the configuration is read, because reading the home directory may
/// hang.
pub struct StartupWatchdog {
    /// Requested by a signal, and by `--timeout`.
    stop: Stop,
    /// The stop that a signal requests: `stop`, until another one is set.
    signalled: CurrentStop,
    watchdog: Watchdog,
    _watch: Watch,
}

impl StartupWatchdog {
    /// Starts the watch, with the limit of time that the options give.
    ///
    /// # Errors
    /// The errors of `Watchdog::start`, and `System` if too few descriptors are left for a run.
    pub fn start(options: &RunOptions) -> Result<Self, Reason> {
        // An invalid value is refused once the configuration is read.
        Self::with_limit(options.timeout.as_deref().and_then(parse_time))
    }

    /// Starts the watch with this limit of time.
    ///
    /// # Errors
    /// As for [`Self::start`].
    pub(super) fn with_limit(limit: Option<Duration>) -> Result<Self, Reason> {
        resource_exhaustion::check_descriptors(OWN_DESCRIPTORS)?;
        let stop = Stop::default();
        let signalled = CurrentStop::new(stop.clone());
        let watchdog = Watchdog::start(&signalled)?;
        let limit = limit.map(|limit| TimeLimit { limit, since: Instant::now() });
        let _watch = watchdog.watch(&stop, limit, DEFAULT_BUDGET);
        Ok(Self { stop, signalled, watchdog, _watch })
    }

    /// Returns the stop that a signal and a limit of time request.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Limits the time from now on until the returned watch is dropped.
    pub(super) fn limit(&self, limit: Option<Duration>) -> Watch {
        let limit = limit.map(|limit| TimeLimit { limit, since: Instant::now() });
        self.watchdog.watch(&self.stop, limit, DEFAULT_BUDGET)
    }

    /// Replaces the watch by one with the configured limits. Returns the stop of the process, the stop that signals
    /// request, the watchdog, and the watch.
    pub(super) fn hand_over(
        self,
        limit: Option<TimeLimit>,
        budget: Duration,
    ) -> (Stop, CurrentStop, Watchdog, Watch) {
        let watch = self.watchdog.watch(&self.stop, limit, budget);
        (self.stop, self.signalled, self.watchdog, watch)
    }
}

impl Watchdog {
    /// Starts the thread. From here on signals request `signalled`.
    ///
    /// # Errors
    /// `System` when the system refuses the thread, its timers or the signal handlers.
    fn start(signalled: &CurrentStop) -> Result<Self, Reason> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| super::system_error("epoll", &error))?;
        let handle = runtime.handle().clone();
        let signals = {
            let _context = runtime.enter();
            signals::watch(signalled).map_err(|error| super::system_error("sigaction", &error))?
        };
        let work = move || {
            let _signals: JoinSet<()> = signals;
            runtime.block_on(std::future::pending::<()>());
        };
        let thread = thread::Builder::new().name("watchdog".to_owned());
        thread.spawn(work).map_err(|error: io::Error| super::system_error("thread", &error))?;
        Ok(Self { handle })
    }

    /// Ends the process by force if it has not ended within `budget` after `stop` was requested. Requests `stop` when
    /// `limit` is over.
    pub(super) fn watch(&self, stop: &Stop, limit: Option<TimeLimit>, budget: Duration) -> Watch {
        let stop = stop.clone();
        let work = async move {
            if let Some(TimeLimit { limit, since }) = limit {
                tokio::select! {
                    () = tokio::time::sleep(limit.saturating_sub(since.elapsed())) => {
                        stop.request(TimeLimit { limit, since }.reason());
                    }
                    _ = stop.wait() => {}
                }
            }
            let reason = stop.wait().await;
            wait_for_end(Instant::now(), budget).await;
            process_end::force_exit(&reason);
        };
        Watch(self.handle.spawn(work).abort_handle())
    }
}

/// Waits until the time for an orderly end is over. Meanwhile replaces a pump that waits for the disk.
async fn wait_for_end(requested_at: Instant, budget: Duration) {
    loop {
        // Without events there is no pump and no run to end.
        let printer = printer::current();
        let limit = if printer.is_some() { budget + MARGIN } else { budget / 2 };
        if requested_at.elapsed() >= limit {
            return;
        }
        if let Some(printer) = &printer
            && printer.waits_for_disk(budget / 2)
        {
            print_without_disk(printer);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Prints instead of the pump, on another thread, because printing may have to wait too.
fn print_without_disk(printer: &Arc<Printer>) {
    let Some(mut inbox) = printer.take_over() else { return };
    let printer = Arc::clone(printer);
    let work = move || {
        let mut batch = Vec::new();
        printer.print_taken();
        while inbox.blocking_recv_many(&mut batch, MAX_WAITING_EVENTS) > 0 {
            printer.print_unrecorded(&mut batch);
        }
    };
    // If the thread cannot be started, the forced exit prints the last line of the run.
    drop(thread::Builder::new().name("printer".to_owned()).spawn(work));
}
