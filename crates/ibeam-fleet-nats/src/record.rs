//! The record of a fleet on the disk of its submitter: a ledger, kept equal to the queue.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use ibeam_fleet::{
    Finished, FleetEnd, FleetError, FleetObserver, HaltReason, Lease, Ledger, Outcome, QueueError, Spend,
    StopFlag, TaskQueue as _, TaskResult,
};

use crate::control::FleetControl;
use crate::names::KeyKind;
use crate::nats_queue::{NatsQueue, OUTAGE_TIMEOUT, ParkedValue};
use crate::store::{Entry, parse};
use crate::submission::{Outcomes, add, compare, outcomes, reconcile};

/// The time between two looks for results.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The time between two looks at what workers hold.
const RUNNING_INTERVAL: Duration = Duration::from_secs(1);
/// The number of times that an empty work queue is looked at before it counts: a replica may lag behind.
const LOOKS: u32 = 3;

/// The changes by a comparison of the record and the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// The number of tasks that the queue lacked.
    pub tasks_sent: u64,
    /// The number of results that the queue lacked.
    pub results_sent: u64,
    /// The number of results that the record lacked.
    pub results_received: u64,
}

/// Compares the record and the queue, and gives each what it lacks.
///
/// # Errors
/// `TaskChanged`, `Service`, `Ledger`.
pub fn sync(ledger: &mut Ledger, queue: &mut NatsQueue) -> Result<SyncReport, QueueError> {
    let tasks = ledger.tasks()?;
    let missing = queue.connection.block_on(compare(queue, &tasks))?;
    let mut report = SyncReport { tasks_sent: missing.new.len() as u64, ..SyncReport::default() };
    let mut outcomes = Outcomes::new();
    each_result(queue, &mut 1, |result| {
        if let Finished::Recorded { .. } = record(ledger, &result)? {
            report.results_received += 1;
        }
        outcomes.insert(result.id, result.outcome);
        Ok(())
    })?;
    // Before the tasks: no worker may get a task that has a result.
    for result in ledger.results()?.iter().filter(|result| !outcomes.contains_key(&result.id)) {
        if let Finished::Recorded { .. } = queue.connection.block_on(queue.record(result))? {
            report.results_sent += 1;
        }
    }
    // The record has a result of each task that has one in the queue.
    let statuses = ledger.statuses()?.into_iter();
    let outcomes = statuses.filter_map(|status| Some((status.id, status.outcome?))).collect();
    queue.connection.block_on(async {
        add(queue, &missing).await?;
        reconcile(queue, &tasks, &outcomes).await
    })?;
    Ok(report)
}

/// Withdraws the results of the tasks that failed, and of those that were skipped because of them, and readies the tasks for
/// another attempt. Returns the number of tasks that failed.
///
/// The record comes first: after a kill, [`sync`] gives it the results that the queue still has, and the next call withdraws
/// them.
///
/// # Errors
/// `Service`, `Ledger`.
pub fn retry_failed(ledger: &mut Ledger, queue: &NatsQueue) -> Result<usize, QueueError> {
    let failed = ledger.failed_tasks()?;
    let reopened = ledger.reopen(&failed)?;
    queue.connection.block_on(queue.withdraw(&reopened, &failed))?;
    ready_tasks(ledger, queue)?;
    Ok(failed.len())
}

/// Waits until workers have finished all tasks that can be finished, and records the results. The results that the record
/// already has are reported first.
///
/// # Errors
/// `Queue`, `Output`.
pub fn wait_for_results(
    ledger: &mut Ledger,
    queue: &mut NatsQueue,
    stop: &StopFlag,
    observer: &mut dyn FleetObserver,
) -> Result<FleetEnd, FleetError> {
    let mut end = FleetEnd::default();
    let mut report = |result: &TaskResult, observer: &mut dyn FleetObserver| {
        match result.outcome {
            Outcome::Passed => end.passed += 1,
            Outcome::CheckFailed | Outcome::Failed | Outcome::Skipped => end.failed += 1,
        }
        observer.finished(result).map_err(FleetError::Output)
    };
    ledger.unpark()?;
    for result in ledger.results()? {
        report(&result, observer)?;
    }
    let (mut running, mut looked_at) = (BTreeSet::new(), None::<Instant>);
    let control = queue.watch_control()?;
    let mut next = 1;
    let mut empty_looks = 0;
    let mut outage = Outage::default();
    let halt = loop {
        let mut new = Vec::new();
        let received = each_result(queue, &mut next, |result| {
            if let Finished::Recorded { skipped } = record(ledger, &result)? {
                new.push(result);
                new.extend(skipped);
            }
            Ok(())
        });
        // Also those before an error: the record has them.
        for result in &new {
            report(result, observer)?;
        }
        if ledger.unfinished()? == 0 {
            break None;
        }
        if stop.is_requested() {
            break Some(HaltReason::Stopped);
        }
        if control.current().is_cancelled {
            break Some(HaltReason::Exhausted(FleetControl::CANCELLED.into()));
        }
        if looked_at.is_none_or(|looked| looked.elapsed() > RUNNING_INTERVAL)
            && let Some(found) = outage.bear(queue.running())?
        {
            looked_at = Some(Instant::now());
            if found != running {
                ledger.set_running(&found)?;
                observer.running(&found);
                running = found;
            }
        }
        let budget = control.current().limits.budget;
        let look = || {
            received?;
            if budget.is_limited() && budget.is_spent(queue.shared_spend()?) && queue.held_count()? == 0 {
                return Ok(Some(Some(HaltReason::BudgetSpent)));
            }
            if !queue.connection.block_on(queue.is_drained())? {
                empty_looks = 0;
                return Ok(None);
            }
            empty_looks += 1;
            let is_done = empty_looks >= LOOKS && ready_tasks(ledger, queue)? == 0;
            Ok(is_done.then_some(None))
        };
        if let Some(Some(halt)) = outage.bear(look())? {
            break halt;
        }
        observer.tick();
        thread::sleep(POLL_INTERVAL);
    };
    if stop.is_requested() {
        return Ok(FleetEnd { unfinished: ledger.unfinished()?, halt, ..end });
    }
    let reasons = parked(queue)?;
    ledger.set_running(&BTreeSet::new())?;
    for (task, ParkedValue { reason, is_undecided }) in &reasons {
        ledger.set_aside(task, reason, *is_undecided)?;
        match is_undecided {
            true => observer.undecided(task, reason),
            false => observer.parked(task, reason),
        }
    }
    let first = || reasons.into_iter().next().map(|(_, parked)| HaltReason::Exhausted(parked.reason));
    let halt = halt.or_else(first);
    Ok(FleetEnd { unfinished: ledger.unfinished()?, halt, ..end })
}

/// The time since which the servers do not answer.
#[derive(Default)]
struct Outage(Option<Instant>);

impl Outage {
    /// Returns the answer of the servers; `None` while they do not answer and may come back.
    ///
    /// # Errors
    /// The error, if it has lasted too long or is not one of the servers.
    fn bear<T>(&mut self, answer: Result<T, QueueError>) -> Result<Option<T>, QueueError> {
        match answer {
            Ok(answer) => {
                self.0 = None;
                Ok(Some(answer))
            }
            Err(QueueError::Service { .. })
                if self.0.get_or_insert_with(Instant::now).elapsed() < OUTAGE_TIMEOUT =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Puts every task that is ready into the work queue. Returns the number of these tasks.
fn ready_tasks(ledger: &Ledger, queue: &NatsQueue) -> Result<u64, QueueError> {
    let tasks = ledger.tasks()?;
    queue.connection.block_on(async { reconcile(queue, &tasks, &outcomes(queue).await?).await })
}

/// Passes the results from a sequence number on to `take`, and sets the number behind the last of them.
fn each_result(
    queue: &NatsQueue,
    next: &mut u64,
    mut take: impl FnMut(TaskResult) -> Result<(), QueueError>,
) -> Result<(), QueueError> {
    let keys = queue.store.names.keys(KeyKind::Result);
    let from = *next;
    let read = |entry: Entry| {
        *next = entry.sequence + 1;
        take(parse(&keys, &entry.value)?)
    };
    queue.connection.block_on(queue.store.scan_each(&keys, from, read))
}

/// Returns the parked tasks and the reasons.
fn parked(queue: &NatsQueue) -> Result<Vec<(String, ParkedValue)>, QueueError> {
    let keys = queue.store.names.keys(KeyKind::Parked);
    let entries = queue.connection.block_on(queue.store.scan(&keys, 1))?;
    entries.into_iter().map(|entry| Ok((entry.task, parse(&keys, &entry.value)?))).collect()
}

/// Records a result, which a worker has found without a lease of the ledger.
fn record(ledger: &mut Ledger, result: &TaskResult) -> Result<Finished, QueueError> {
    let lease = Lease { task: result.id.clone(), number: 0 };
    let spend = Spend {
        cost_micros: result.cost_usd.and_then(ibeam_fleet::Budget::from_usd).unwrap_or_default(),
        tokens: result.usage.total(),
    };
    ledger.finish(&lease, result, spend)
}
