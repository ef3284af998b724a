//! The queue of tasks, from which drivers claim them.
//!
//! A claim is a lease: it ends if its holder neither renews nor ends it in time, and another driver may claim the task.
//! The queue delivers; what a task left is in its directory. So an implementation may deliver a task twice after a crash,
//! but it keeps one result per task, the first. `queue_conformance.rs` has the tests of every implementation.

use std::fmt::Debug;
use std::fs::File;
use std::sync::Arc;

use ibeam_governor::Spend;
use ibeam_protocol::Sentence;
use serde::{Deserialize, Serialize};

use crate::shared_limits::SharedLimits;
use crate::task::Task;
use crate::task_result::TaskResult;

#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The ledger cannot be read or written.
    #[error("the ledger `{path}` cannot be used: {detail}")]
    Ledger {
        path: String,
        /// The message of the database.
        detail: String,
    },
    /// The servers of the queue cannot be used.
    #[error("the queue cannot be used: {detail}")]
    Service {
        /// The message of the server, or of the connection.
        detail: String,
    },
    /// A task with this id and another definition was submitted before.
    #[error("the task `{id}` differs from the one that was started here")]
    TaskChanged { id: String },
}

/// A queue of tasks. Times are milliseconds since 1970; the caller has the clock.
pub trait TaskQueue: Send {
    /// Adds tasks. A task that was submitted before, with the same definition, is left as it is.
    ///
    /// # Errors
    /// `TaskChanged`, and nothing is added.
    fn submit(&mut self, tasks: &[Task]) -> Result<(), QueueError>;

    /// Claims the first task that is ready: not finished, not parked, not undecided, not waiting, not leased, and all tasks
    /// that it needs have passed.
    fn claim(&mut self, now_ms: u64, lease_ms: u64) -> Result<NextTask, QueueError>;

    /// Extends a lease.
    fn renew(&mut self, lease: &Lease, now_ms: u64, lease_ms: u64) -> Result<Renewal, QueueError>;

    /// Records the result of a task. The first result of a task is kept, also if its lease is lost.
    ///
    /// The tasks that need it get the result `skipped` if it did not pass.
    fn finish(&mut self, lease: &Lease, result: &TaskResult, spend: Spend) -> Result<Finished, QueueError>;

    /// Ends a lease without a result. Without effect if the lease is lost.
    fn release(&mut self, lease: &Lease, release: Release, spend: Spend) -> Result<(), QueueError>;

    /// Returns parked tasks to the queue, and those that nothing is known about.
    fn unpark(&mut self) -> Result<(), QueueError>;

    /// Returns what all tasks have consumed so far.
    fn spend(&mut self) -> Result<Spend, QueueError>;

    /// Returns the results so far, in the order of submission.
    fn results(&mut self) -> Result<Vec<TaskResult>, QueueError>;

    /// Returns the number of tasks without a result.
    fn unfinished(&mut self) -> Result<u64, QueueError>;

    /// Returns the place for snapshots of tasks, if other machines can execute them.
    fn snapshots(&self) -> Option<Arc<dyn SnapshotStore>> {
        None
    }

    /// Returns the limits that other machines share. They replace the budget and the rates of the driver.
    fn limits(&self) -> Option<Arc<dyn SharedLimits>> {
        None
    }

    /// Returns the place to which the streams of runs are published, if there is one.
    fn events(&self) -> Option<Arc<dyn EventSink>> {
        None
    }
}

/// The place where the machines of a fleet store snapshots. It has at most one of a task, that of its latest lease.
pub trait SnapshotStore: Send + Sync + Debug {
    /// Stores a snapshot of the task of a lease, instead of an earlier one. Without effect if there is one of a later
    /// lease.
    fn store(&self, lease: &Lease, snapshot: &mut File) -> Result<(), QueueError>;

    /// Returns the number of the lease of the stored snapshot of a task.
    fn stored_lease(&self, task: &str) -> Result<Option<u64>, QueueError>;

    /// Writes the stored snapshot of a task to `file`.
    ///
    /// # Errors
    /// `Service`, also if the snapshot is incomplete.
    fn fetch(&self, task: &str, file: &mut File) -> Result<(), QueueError>;
}

/// The place to which the lines of streams are published.
pub trait EventSink: Send + Sync + Debug {
    /// Publishes events in their order, and waits until they are accepted.
    ///
    /// # Errors
    /// `Service`; some of the events may have been accepted.
    fn publish(&self, events: &[StreamEvent]) -> Result<(), QueueError>;
}

/// A line of the stream of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEvent {
    pub task: String,
    /// The id, which no other line of the fleet has.
    pub id: String,
    /// The line with its place, as a JSON object.
    pub object: String,
}

/// The answer to a request for a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextTask {
    /// A task, now leased.
    Claimed(Box<Claim>),
    /// No task is ready now. A running task, or the time, can make one ready.
    NotReady,
    /// A task that this driver does not execute was left to others.
    Refused { task: String, reason: Sentence },
    /// Every task is finished, parked or waiting.
    Drained,
}

/// A leased task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub lease: Lease,
    pub task: Task,
    /// The consumption of earlier claims of the task.
    pub spend: Spend,
    /// The number of times that somebody has withdrawn a result of the task.
    pub attempt: u32,
}

/// A lease of a task. A later claim of the same task has another number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub task: String,
    /// The number of the claim.
    pub number: u64,
}

/// Whether a lease was extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// The lease is held until the new time.
    Held,
    /// The lease has ended, and another driver may have claimed the task.
    Lost,
}

/// The effect of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Finished {
    /// The result was recorded, and so were those of the tasks that can no longer start.
    Recorded {
        /// The results of tasks that needed this one.
        skipped: Vec<TaskResult>,
    },
    /// The task already had a result, which stays.
    AlreadyFinished,
}

/// The end of a lease without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Release {
    /// The task may be claimed again from this time on.
    Retry {
        /// Milliseconds since 1970.
        at_ms: u64,
    },
    /// The task waits until somebody starts the fleet again.
    Park { reason: Sentence },
    /// The key of the driver is refused, or its quota exhausted. Drivers with other keys may execute the task.
    Exhausted { reason: Sentence },
    /// The work of the task is not decided. The task waits until somebody starts the fleet again.
    Undecided { reason: Sentence },
    /// The task waits for the answer to a request, without a process. Only the ledger can return it to the queue.
    Wait { session: String },
}

/// The state of a task in a ledger, as it is stored. `TaskState` has the words for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerState {
    /// Waits for its turn.
    Pending,
    /// A driver works on it, or has died while it did.
    Leased,
    /// Waits until somebody starts the fleet again.
    Parked,
    /// Like [`Self::Parked`], because nothing is known about its work.
    Undecided,
    /// Waits for the answer to a request, without a process.
    Waiting,
    Finished,
}

impl LedgerState {
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Leased, Self::Parked, Self::Undecided, Self::Waiting, Self::Finished];

    /// Returns the word in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Leased => "leased",
            Self::Parked => "parked",
            Self::Undecided => "undecided",
            Self::Waiting => "waiting",
            Self::Finished => "finished",
        }
    }
}
