//! The ledger of a fleet whose requests are answered in batches.
//!
//! The threads of the driver and the one that polls the batches share it. While answers may still come, the queue is not
//! drained: a task that waits can become ready.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ibeam_governor::Spend;

use crate::ledger::Ledger;
use crate::queue::{Finished, Lease, NextTask, QueueError, Release, Renewal, TaskQueue};
use crate::task::Task;
use crate::task_result::TaskResult;

/// A ledger with tasks that wait for batches. Clones share the ledger.
#[derive(Clone, Debug)]
pub struct BatchQueue {
    ledger: Arc<Mutex<Ledger>>,
    /// Whether no further answer comes.
    is_closed: Arc<AtomicBool>,
}

impl BatchQueue {
    /// Returns a queue that waits for answers.
    pub fn new(ledger: Ledger) -> Self {
        Self { ledger: Arc::new(Mutex::new(ledger)), is_closed: Arc::default() }
    }

    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the driver end when no task is ready any more.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }
}

impl TaskQueue for BatchQueue {
    fn submit(&mut self, tasks: &[Task]) -> Result<(), QueueError> {
        self.ledger().submit(tasks)
    }

    fn claim(&mut self, now_ms: u64, lease_ms: u64) -> Result<NextTask, QueueError> {
        // Read before the claim: what was woken before the queue was closed is claimed.
        let is_closed = self.is_closed.load(Ordering::SeqCst);
        match self.ledger().claim(now_ms, lease_ms)? {
            NextTask::Drained if !is_closed => Ok(NextTask::NotReady),
            next @ (NextTask::Drained
            | NextTask::NotReady
            | NextTask::Refused { .. }
            | NextTask::Claimed(_)) => Ok(next),
        }
    }

    fn renew(&mut self, lease: &Lease, now_ms: u64, lease_ms: u64) -> Result<Renewal, QueueError> {
        self.ledger().renew(lease, now_ms, lease_ms)
    }

    fn finish(&mut self, lease: &Lease, result: &TaskResult, spend: Spend) -> Result<Finished, QueueError> {
        self.ledger().finish(lease, result, spend)
    }

    fn release(&mut self, lease: &Lease, release: Release, spend: Spend) -> Result<(), QueueError> {
        self.ledger().release(lease, release, spend)
    }

    fn unpark(&mut self) -> Result<(), QueueError> {
        self.ledger().unpark()
    }

    fn spend(&mut self) -> Result<Spend, QueueError> {
        self.ledger().spend()
    }

    fn results(&mut self) -> Result<Vec<TaskResult>, QueueError> {
        self.ledger().results()
    }

    fn unfinished(&mut self) -> Result<u64, QueueError> {
        self.ledger().unfinished()
    }
}
