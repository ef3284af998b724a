//! The batches of a fleet: submits the requests of waiting tasks, polls, and returns answered tasks to the queue.
//!
//! Works beside the driver. A round is due when no task is active, so that a batch has the requests of as many tasks as
//! possible, and after an interval, so that no task waits for a slow one. After the deadline the batches are cancelled,
//! and tasks without an answer send their requests directly.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ibeam_fleet::{BatchQueue, Budget, LedgerState, Parking, TaskQueue as _};
use serde_json::Value;
use tokio::sync::oneshot;

use super::ledger_access::{io_error, now_ms, queue_error};
use crate::cli_error::CliError;
use crate::command::batch::rounds::{Rounds, Submission, session_of};

/// The time between two looks at the states of tasks.
const TICK: Duration = Duration::from_millis(100);

/// Receives the steps of rounds: the lines of `ibeam batch`.
pub(super) type StepSink = Box<dyn FnMut(Value) + Send>;

pub(super) struct BatchPoller<'a> {
    pub(super) rounds: Rounds<'a>,
    pub(super) queue: BatchQueue,
    pub(super) parking: Arc<Parking>,
    pub(super) budget: Budget,
    /// Whether to poll until no task waits.
    pub(super) waits: bool,
    /// The time between two polls.
    pub(super) interval: Duration,
    /// The time at which requests are sent directly, in milliseconds since 1970.
    pub(super) deadline_ms: Option<u64>,
    pub(super) steps: StepSink,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PollEnd {
    /// No task waits.
    Complete,
    /// Tasks wait for batches.
    Waiting,
    /// Tasks wait whose requests the budget does not allow.
    BudgetSpent,
    /// The driver has ended.
    Stopped,
}

impl BatchPoller<'_> {
    /// Works until nothing is left to do, or the sender of `driver_end` is dropped.
    ///
    /// # Errors
    /// The failure of a service; `Io`. The tasks go on waiting.
    pub(super) async fn run(mut self, driver_end: oneshot::Receiver<()>) -> Result<PollEnd, CliError> {
        let worked = tokio::select! {
            biased;
            _ = driver_end => Ok(PollEnd::Stopped),
            worked = self.work() => worked,
        };
        self.queue.close();
        worked
    }

    async fn work(&mut self) -> Result<PollEnd, CliError> {
        self.wake()?;
        let (mut polled_at, mut was_active, mut is_withdrawn) = (Instant::now(), true, false);
        loop {
            let is_idle = self.is_idle()?;
            was_active |= !is_idle;
            let withdraws = self.deadline_ms.is_some_and(|deadline| now_ms() >= deadline);
            let is_due = polled_at.elapsed() >= self.interval || (withdraws && !is_withdrawn);
            if !(is_due || is_idle && was_active) {
                tokio::time::sleep(TICK).await;
                continue;
            }
            let is_allowed = self.round(withdraws, is_idle).await?;
            is_withdrawn |= withdraws;
            (polled_at, was_active) = (Instant::now(), false);
            let woken = self.wake()?;
            // A task that was active when the round began may have parked a request meanwhile.
            if woken > 0 || !is_idle {
                was_active = true;
                continue;
            }
            if self.queue.ledger().count_in(LedgerState::Waiting).map_err(queue_error)? == 0 {
                return Ok(PollEnd::Complete);
            }
            if !is_allowed && self.rounds.submitted().map_err(|error| self.io_error(&error))?.is_empty() {
                return Ok(PollEnd::BudgetSpent);
            }
            if !self.waits {
                return Ok(PollEnd::Waiting);
            }
        }
    }

    /// Runs one round. Returns whether the budget allows a request.
    async fn round(&mut self, withdraws: bool, is_idle: bool) -> Result<bool, CliError> {
        let (sessions, limit) = {
            let mut ledger = self.queue.ledger();
            let sessions: BTreeSet<String> =
                ledger.waiting_sessions().map_err(queue_error)?.into_iter().collect();
            let (spent, largest) = (ledger.spend(), ledger.largest_request());
            let (spent, largest) = (spent.map_err(queue_error)?, largest.map_err(queue_error)?);
            let limit = match self.budget.is_limited() {
                true => {
                    let requests = self.rounds.requests();
                    let ids = requests.unanswered_ids().map_err(|error| self.io_error(&error))?;
                    let sizes = ids.iter().map(|id| requests.size(id)).collect();
                    let answered = ledger.largest_answered().map_err(queue_error)?;
                    Some(self.budget.open_requests(spent, largest, answered, sizes))
                }
                false => None,
            };
            // The answers that active tasks have got are not in the sums yet.
            (sessions, limit.map(|limit| if is_idle { limit } else { 0 }))
        };
        if withdraws {
            self.rounds.run_once(Submission::Withdrawn, &mut self.steps).await?;
            self.release(&sessions).map_err(|error| self.io_error(&error))?;
            return Ok(true);
        }
        let includes = |session: &str| sessions.contains(session);
        let submission = Submission::Some { includes: &includes, limit };
        self.rounds.run_once(submission, &mut self.steps).await?;
        Ok(limit != Some(0))
    }

    /// Lets the waiting sessions whose request is in no batch send it directly.
    fn release(&self, waiting: &BTreeSet<String>) -> io::Result<()> {
        let submitted = self.rounds.submitted()?;
        let requests = self.rounds.requests();
        let mut direct = Vec::new();
        for id in requests.unanswered_ids()? {
            if waiting.contains(session_of(&id)) && !submitted.contains(&id) {
                requests.remove(&id)?;
                direct.push(session_of(&id).to_owned());
            }
        }
        self.parking.send_directly(direct);
        Ok(())
    }

    /// Returns the tasks to the queue whose requests are answered, or gone. Returns their number.
    fn wake(&self) -> Result<u64, CliError> {
        // Read first: the request of a task that waits is on the disk.
        let waiting = self.queue.ledger().waiting_sessions().map_err(queue_error)?;
        let unanswered = self.rounds.requests().unanswered_ids().map_err(|error| self.io_error(&error))?;
        let unanswered: BTreeSet<&str> = unanswered.iter().map(|id| session_of(id)).collect();
        let ready: BTreeSet<&str> =
            waiting.iter().map(String::as_str).filter(|session| !unanswered.contains(session)).collect();
        if ready.is_empty() {
            return Ok(0);
        }
        let answered = self.rounds.requests().largest_answered(|id| ready.contains(session_of(id)));
        let answered = answered.map_err(|error| self.io_error(&error))?;
        let mut ledger = self.queue.ledger();
        ledger.raise_largest_answered(answered).map_err(queue_error)?;
        ledger.wake(|session| ready.contains(session)).map_err(queue_error)
    }

    fn is_idle(&self) -> Result<bool, CliError> {
        self.queue.ledger().is_idle(now_ms()).map_err(queue_error)
    }

    fn io_error(&self, error: &io::Error) -> CliError {
        io_error(self.directory(), error).into()
    }

    fn directory(&self) -> &Path {
        self.parking.directory()
    }
}
