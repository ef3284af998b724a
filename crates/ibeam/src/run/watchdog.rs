//! The thread that sees to the end of a run when nothing else can: signals, `--timeout`, a disk that does not answer.
//!
//! It shares no lock with the loop and does no I/O of its own before the end, so a thread that hangs in the system does
//! not hold it up. First it asks the run to stop. Where the disk holds up the pump, it prints in the pump's place. When
//! the bound of the end has passed, it prints the last line and ends the process.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ibeam_config::parse_time;
use ibeam_core::Stop;
use ibeam_protocol::Reason;
use tokio::runtime::{Builder, Handle};
use tokio::task::{AbortHandle, JoinSet};

use crate::cli::Flags;
use crate::printer::Printer;
use crate::pump::WAITING_EVENTS;
use crate::{exit, printer, resource_exhaustion, signals};

/// Between two looks at what the pump waits for.
const LOOK: Duration = Duration::from_millis(20);
/// What an end in order may take beyond its bound before the process is ended.
const MARGIN: Duration = Duration::from_millis(300);
/// The descriptors of the watchdog: its timers, what wakes it, and the two ends of a signal.
const OWN_DESCRIPTORS: usize = 4;
/// The budget of an end before the configuration says another.
const USUAL_BUDGET: Duration = Duration::from_secs(3);

/// A thread with timers and signals of its own; it ends with the process.
pub(super) struct Watchdog {
    handle: Handle,
}

/// A watch over one stop; ends when dropped.
pub(super) struct Watch(AbortHandle);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What bounds a run from before its configuration is read: a home directory may hang too.
pub(crate) struct StartupWatchdog {
    /// Requested by a signal, and by `--timeout`.
    pub(super) stop: Stop,
    pub(super) watchdog: Watchdog,
    _watch: Watch,
}

impl StartupWatchdog {
    /// Starts the watch, with the limit of time that the flags give.
    ///
    /// # Errors
    /// As `Watchdog::start`, and `System` where the descriptors of a run cannot be had.
    pub(crate) fn start(flags: &Flags) -> Result<Self, Reason> {
        resource_exhaustion::check_descriptors(OWN_DESCRIPTORS)?;
        let stop = Stop::default();
        let watchdog = Watchdog::start(Some(&stop))?;
        // A value that is no time is refused once the configuration is read.
        let timeout = flags.timeout.as_deref().and_then(parse_time);
        let _watch = watchdog.watch(&stop, timeout, USUAL_BUDGET);
        Ok(Self { stop, watchdog, _watch })
    }

    /// Ends the watch over the time of the whole program: each run of a conversation has its own.
    pub(super) fn into_parts(self) -> (Stop, Watchdog) {
        (self.stop, self.watchdog)
    }
}

impl Watchdog {
    /// Starts the thread. Where there is a `signalled`, signals request that stop from here on.
    ///
    /// # Errors
    /// `System` when the thread, its timers or the handlers of signals cannot be had.
    pub(super) fn start(signalled: Option<&Stop>) -> Result<Self, Reason> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| super::system("epoll", &error))?;
        let handle = runtime.handle().clone();
        let signals = {
            let _context = runtime.enter();
            signalled.map(signals::watch).transpose().map_err(|error| super::system("sigaction", &error))?
        };
        let work = move || {
            let _signals: Option<JoinSet<()>> = signals;
            runtime.block_on(std::future::pending::<()>());
        };
        let thread = thread::Builder::new().name("watchdog".to_owned());
        thread.spawn(work).map_err(|error: io::Error| super::system("thread", &error))?;
        Ok(Self { handle })
    }

    /// Sees to it that the process ends within `budget` once `stop` is requested, which happens after `timeout`.
    pub(super) fn watch(&self, stop: &Stop, timeout: Option<Duration>, budget: Duration) -> Watch {
        let stop = stop.clone();
        let work = async move {
            if let Some(timeout) = timeout {
                tokio::select! {
                    () = tokio::time::sleep(timeout) => {
                        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
                        stop.request(Reason::TimedOut { timeout_ms });
                    }
                    _ = stop.wait() => {}
                }
            }
            let reason = stop.wait().await;
            let asked = Instant::now();
            see_to_end(asked, budget).await;
            exit::force_exit(&reason);
        };
        Watch(self.handle.spawn(work).abort_handle())
    }
}

/// Returns when the time of an orderly end is over; meanwhile sees to it that the disk does not hold it up.
async fn see_to_end(asked: Instant, budget: Duration) {
    loop {
        // Before there are events, there is little to bring to an end.
        let printer = printer::current();
        let bound = if printer.is_some() { budget + MARGIN } else { budget / 2 };
        if asked.elapsed() >= bound {
            return;
        }
        if let Some(printer) = printer
            && printer.waits_for_disk(budget / 2)
        {
            print_without_disk(printer);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Takes the pump's place, on a thread of its own: what it prints may have to wait too.
fn print_without_disk(printer: &'static Arc<Printer>) {
    let Some(mut inbox) = printer.take_over() else { return };
    let work = move || {
        let mut batch = Vec::new();
        printer.print_taken();
        while inbox.blocking_recv_many(&mut batch, WAITING_EVENTS) > 0 {
            printer.print_unrecorded(&mut batch);
        }
    };
    // Without a thread the run gets its last line when its time is over.
    drop(thread::Builder::new().name("printer".to_owned()).spawn(work));
}
