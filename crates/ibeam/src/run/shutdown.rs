//! The end of a run within its bound: `timeouts.shutdown`, from the request to stop to the exit.

use std::cell::Cell;
use std::time::{Duration, Instant};

use ibeam_core::Stop;
use ibeam_protocol::Reason;

use crate::printer::Printer;
use crate::pump::PumpThread;

/// Whatever was used up before, the journal gets this long for its last line.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Between two looks at whether the pump is still to be waited for.
const LOOK: Duration = Duration::from_millis(5);

/// One budget for everything that happens after a stop was asked for.
pub(super) struct Shutdown {
    budget: Duration,
    asked: Cell<Option<Instant>>,
}

impl Shutdown {
    /// An end within `budget`.
    pub(super) fn within(budget: Duration) -> Self {
        Self { budget, asked: Cell::new(None) }
    }

    /// The whole budget.
    pub(super) fn budget(&self) -> Duration {
        self.budget
    }

    /// Returns how long a reader of stdout that takes nothing may delay the end.
    pub(super) fn reader_timeout(&self) -> Duration {
        self.budget / 4
    }

    /// Does `work`; once a stop is asked for, waits no longer than the budget allows.
    ///
    /// # Errors
    /// The reason of the stop, when the work did not end in order.
    pub(super) async fn bound<T>(&self, stop: &Stop, work: impl Future<Output = T>) -> Result<T, Reason> {
        let forced = async {
            let reason = stop.wait().await;
            self.asked.set(Some(Instant::now()));
            // The rest of the budget is for what comes after the work.
            tokio::time::sleep(self.budget.mul_f32(0.9)).await;
            reason
        };
        tokio::select! {
            // First, so that the clock starts with the stop.
            biased;
            reason = forced => Err(reason),
            done = work => Ok(done),
        }
    }

    /// What is left of the budget.
    pub(super) fn left(&self) -> Duration {
        let since = self.asked.get().map_or(Duration::ZERO, |asked| asked.elapsed());
        self.budget.saturating_sub(since).max(LAST_WORDS)
    }

    /// Waits for the pump to write what is left and gives what kept it from that. Nobody waits for the disk or for a
    /// reader once the last line is printed or a stop was requested, beyond the budget.
    pub(super) fn join(&self, thread: &PumpThread, printer: &Printer, stop: &Stop) -> Option<Reason> {
        let deadline = Instant::now() + self.left();
        while !thread.has_ended_within(LOOK) {
            let is_bound = stop.requested().is_some() || !printer.has_open_run();
            if printer.is_taken_over() || (is_bound && Instant::now() >= deadline) {
                break;
            }
        }
        printer.unwritten()
    }
}
