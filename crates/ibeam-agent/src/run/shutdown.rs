//! The time budget for the end of a run: `timeouts.shutdown`, from the request of a stop to the exit.

use std::cell::Cell;
use std::time::{Duration, Instant};

use ibeam_core::Stop;
use ibeam_protocol::Reason;

use crate::printer::Printer;
use crate::pump::PumpThread;

/// The time that the journal always has for its last line, however much of the budget is used up.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);
/// The time between two checks for the end of the pump.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// One time budget for everything that happens after a stop was requested.
pub(super) struct Shutdown {
    budget: Duration,
    requested_at: Cell<Option<Instant>>,
}

impl Shutdown {
    /// Returns a shutdown within `budget`.
    pub(super) fn within(budget: Duration) -> Self {
        Self { budget, requested_at: Cell::new(None) }
    }

    /// Returns the complete budget.
    pub(super) fn budget(&self) -> Duration {
        self.budget
    }

    /// Returns how long a reader of stdout that reads nothing may delay the end.
    pub(super) fn reader_timeout(&self) -> Duration {
        self.budget / 4
    }

    /// Waits for `work`. Once `stop` is requested, waits no longer than the budget allows.
    ///
    /// # Errors
    /// The reason of the stop, when the work did not end in time and was dropped.
    pub(super) async fn limit<T>(&self, stop: &Stop, work: impl Future<Output = T>) -> Result<T, Reason> {
        let forced = async {
            let reason = stop.wait().await;
            self.requested_at.set(Some(Instant::now()));
            // The rest of the budget is for the steps after the work.
            tokio::time::sleep(self.budget.mul_f32(0.9)).await;
            reason
        };
        tokio::select! {
            // `forced` is polled first, so that the time starts when the stop is requested.
            biased;
            reason = forced => Err(reason),
            done = work => Ok(done),
        }
    }

    /// Returns the rest of the budget.
    pub(super) fn remaining(&self) -> Duration {
        let since = self.requested_at.get().map_or(Duration::ZERO, |at| at.elapsed());
        self.budget.saturating_sub(since).max(DRAIN_TIMEOUT)
    }

    /// Waits for the pump to write the remaining events. Returns why some were not written.
    ///
    /// Once the last line is printed or a stop was requested, the wait for the disk or the reader ends with the budget.
    pub(super) fn join(&self, thread: &PumpThread, printer: &Printer, stop: &Stop) -> Option<Reason> {
        let deadline = Instant::now() + self.remaining();
        while !thread.has_ended_within(POLL_INTERVAL) {
            let is_limited = stop.reason().is_some() || !printer.has_open_run();
            if printer.is_taken_over() || (is_limited && Instant::now() >= deadline) {
                break;
            }
        }
        printer.unwritten()
    }
}
