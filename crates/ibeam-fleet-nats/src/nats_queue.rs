//! The rules of the queue.
//!
//! A message of the work queue says that a task is ready. The process that records a result also readies the tasks that
//! need it, and acknowledges the message last: so after a kill between two of these steps the message is delivered again,
//! and the next worker completes them. The stream holds one message per task at most, so no task is ever held twice,
//! except by a worker whose lease has ended without its knowledge; the first result counts.

mod opening;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_nats::jetstream::AckKind;
use async_nats::jetstream::consumer::{Consumer, pull};
use async_nats::jetstream::context::{Context, ContextBuilder};
use async_nats::jetstream::stream::{State, Stream};
use futures_util::StreamExt as _;
use ibeam_fleet::{
    EventSink, Finished, Lease, NextTask, Outcome, QueueError, Release, Renewal, SnapshotStore, Spend, Task,
    TaskQueue, TaskResult,
};
use ibeam_protocol::Sentence;
use serde::{Deserialize, Serialize};

use crate::claims::IDLE_PAUSE;
use crate::connection::{Connection, REQUEST_TIMEOUT};
use crate::error::service;
use crate::events::EventStream;
use crate::held_tasks::{HeldTasks, acknowledge};
use crate::names::{CONSUMER, KeyKind, task_of};
use crate::refusals::{Refusal, RefusalEnd, add, end_of_refusals};
use crate::signing::{Signer, SubmitterKeys};
use crate::snapshots::SnapshotBucket;
use crate::store::{Creation, Entry, Store, parse, retry};
use crate::submission::in_order;

/// The time for which a worker goes on, and a submitter waits, while the servers do not answer.
pub(crate) const OUTAGE_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// The size of the largest result, in bytes. The server allows messages of 1 MiB.
const MAX_RESULT_BYTES: usize = 900 << 10;

/// A queue in NATS JetStream.
pub struct NatsQueue {
    pub(crate) connection: Arc<Connection>,
    pub(crate) store: Store,
    /// The key with which tasks and the state of the fleet are signed.
    pub(crate) signer: Option<Signer>,
    /// The keys whose signature a claimed task needs.
    pub(crate) accepted: SubmitterKeys,
    snapshots: Option<SnapshotBucket>,
    work: Stream,
    pub(crate) consumer: Consumer<pull::Config>,
    pub(crate) lease: Duration,
    /// The tasks that this process holds.
    pub(crate) held: HeldTasks,
    /// No task was ready a moment ago.
    pub(crate) idle_until: Option<Instant>,
    /// Since when the servers do not answer.
    unreachable_since: Option<Instant>,
}

/// The value of a `state` key.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct TaskKeyState {
    pub(crate) cost_micros: u64,
    pub(crate) tokens: u64,
    /// The number of deliveries that their workers ended themselves.
    pub(crate) released: u64,
    /// The number of times that a worker was started again and continued a delivery.
    #[serde(default)]
    pub(crate) resumed: u64,
    /// The number of results that were withdrawn.
    #[serde(default)]
    pub(crate) attempt: u32,
    /// The workers that do not execute the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) refusals: Vec<Refusal>,
}

impl TaskKeyState {
    pub(crate) fn spend(&self) -> Spend {
        Spend { cost_micros: self.cost_micros, tokens: self.tokens }
    }
}

/// The value of a `parked` key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ParkedValue {
    pub(crate) reason: Sentence,
    /// Whether nothing is known about the work of the task.
    #[serde(default)]
    pub(crate) is_undecided: bool,
}

impl NatsQueue {
    /// Returns the queue of a worker that only executes what one of these keys has signed.
    #[must_use]
    pub fn accepting(self, accepted: SubmitterKeys) -> Self {
        Self { accepted, ..self }
    }

    /// Returns the queue of a worker that records the tasks which it holds in its directory, and continues those that an
    /// earlier process with this directory held. No other process may use the directory.
    #[must_use]
    pub fn with_directory(self, directory: &Path) -> Self {
        let work = self.work.cached_info();
        let held = HeldTasks::open(directory, work, millis(self.lease), &self.store.context);
        Self { held, ..self }
    }

    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// Returns the number of tasks that workers hold.
    pub(crate) fn held_count(&self) -> Result<usize, QueueError> {
        self.connection.block_on(retry(|| async {
            let info = self.consumer.get_info().await;
            info.map(|info| info.num_ack_pending).map_err(|error| service(CONSUMER, &error))
        }))
    }

    /// Returns the number of tasks.
    #[cfg(test)]
    pub(crate) fn count(&self) -> Result<u64, QueueError> {
        let keys = self.store.names.keys(KeyKind::Task);
        self.connection.block_on(self.store.scan(&keys, 1)).map(|entries| entries.len() as u64)
    }

    /// Whether no task is ready or held.
    pub(crate) async fn is_drained(&self) -> Result<bool, QueueError> {
        self.work_state().await.map(|state| state.messages == 0)
    }

    /// Whether no task is ready or held, although some have been. The submitter of an empty queue may still be comparing it
    /// with its tasks.
    pub(crate) async fn is_completed(&self) -> Result<bool, QueueError> {
        self.work_state().await.map(|state| state.messages == 0 && state.last_sequence > 0)
    }

    async fn work_state(&self) -> Result<State, QueueError> {
        retry(|| async {
            let info = self.work.get_info().await;
            info.map(|info| info.state).map_err(|error| service("work", &error))
        })
        .await
    }

    /// Withdraws the results of tasks. Those in `failed` are to be run again, the others were skipped.
    ///
    /// A kill between two steps leaves a task with its result, or ready for its next attempt.
    pub(crate) async fn withdraw(&self, tasks: &[String], failed: &[String]) -> Result<(), QueueError> {
        let (names, failed) = (&self.store.names, failed.iter().collect::<HashSet<_>>());
        let withdraw = async |task: &String| {
            if failed.contains(task) {
                let subject = names.key(KeyKind::State, task);
                let state = self.store.read_as::<TaskKeyState>(&subject).await?.unwrap_or_default();
                // The deliveries of the new message are counted from the beginning.
                let state = TaskKeyState {
                    released: 0,
                    resumed: 0,
                    attempt: state.attempt.saturating_add(1),
                    refusals: Vec::new(),
                    ..state
                };
                self.store.put(&subject, &state).await?;
                self.delete_snapshot(task).await;
            }
            self.store.purge(&names.key(KeyKind::Result, task)).await
        };
        in_order(tasks.iter().map(withdraw)).await
    }

    /// Returns the tasks that are ready or held.
    pub(crate) async fn queued(&self) -> Result<HashSet<String>, QueueError> {
        let subject = self.store.names.all_work();
        retry(|| async {
            let mut subjects = match self.work.info_with_subjects(&subject).await {
                Ok(subjects) => subjects,
                Err(error) => return Err(service("work", &error)),
            };
            let mut tasks = HashSet::new();
            while let Some(found) = subjects.next().await {
                tasks.insert(task_of(&found.map_err(|error| service("work", &error))?.0));
            }
            Ok(tasks)
        })
        .await
    }

    /// Records a result, unless the task has one, and readies or skips the tasks that need it.
    pub(crate) async fn record(&self, result: &TaskResult) -> Result<Finished, QueueError> {
        let subject = self.store.names.key(KeyKind::Result, &result.id);
        let (recorded, outcome) = match self.store.create(&subject, &fitting(result)).await? {
            Creation::Created => (true, result.outcome),
            Creation::Exists(value) => {
                let found = parse::<TaskResult>(&subject, &value)?;
                // The answer to an earlier request with this result may have been lost.
                (found == fitting(result), found.outcome)
            }
        };
        let skipped = self.ready_dependents(&result.id, outcome).await?;
        Ok(if recorded { Finished::Recorded { skipped } } else { Finished::AlreadyFinished })
    }

    /// Readies the tasks that need a finished one, or gives them the result `skipped`. Returns the new results.
    pub(crate) async fn ready_dependents(
        &self,
        id: &str,
        outcome: Outcome,
    ) -> Result<Vec<TaskResult>, QueueError> {
        let names = &self.store.names;
        let mut skipped = Vec::new();
        if outcome == Outcome::Passed {
            for task in self.store.list(&names.needs(id)).await? {
                self.ready(&task).await?;
            }
            return Ok(skipped);
        }
        let mut failed = vec![id.to_owned()];
        while let Some(needed) = failed.pop() {
            for task in self.store.list(&names.needs(&needed)).await? {
                let result = TaskResult::skipped(&task, &needed);
                if self.store.create(&names.key(KeyKind::Result, &task), &result).await? == Creation::Created
                {
                    skipped.push(result);
                }
                failed.push(task);
            }
        }
        Ok(skipped)
    }

    /// Puts a task into the work queue if all tasks that it needs have passed.
    async fn ready(&self, task: &str) -> Result<(), QueueError> {
        let names = &self.store.names;
        // The keys of needs precede that of the task, which may not exist yet.
        let Some(task) = self.store.read_as::<Task>(&names.key(KeyKind::Task, task)).await? else {
            return Ok(());
        };
        for needed in &task.needs {
            let result = self.store.read_as::<TaskResult>(&names.key(KeyKind::Result, needed)).await?;
            if result.is_none_or(|result| result.outcome != Outcome::Passed) {
                return Ok(());
            }
        }
        self.store.enqueue(&task.id).await.map(drop)
    }

    /// Gives a task that a worker does not execute back to the end of the queue, or, if it was refused often enough, a
    /// result. Returns whether this worker refuses it for the first time.
    ///
    /// # Errors
    /// `Service`. A task that is in no queue then is put there by `fleet run`.
    pub(crate) fn refuse(
        &mut self,
        lease: &Lease,
        refusal: Refusal,
        counts_again: bool,
        spend: Spend,
    ) -> Result<bool, QueueError> {
        self.idle_until = None;
        let Some(held) = self.held.get(lease, now_ms()).cloned() else { return Ok(false) };
        let mut state = held.state.clone();
        let is_first = add(&mut state.refusals, refusal, counts_again);
        match end_of_refusals(&lease.task, &state.refusals) {
            Some(RefusalEnd::Refused(result)) => return self.finish(lease, &result, spend).map(|_| is_first),
            Some(RefusalEnd::Parked(reason)) => {
                let reason = reason.into();
                return self.release(lease, Release::Park { reason }, spend).map(|()| is_first);
            }
            None => {}
        }
        (state.cost_micros, state.tokens) = (spend.cost_micros, spend.tokens);
        // The deliveries of the new message are counted from the beginning, without this one.
        let vanished = (deliveries(lease) + state.resumed).saturating_sub(state.released + 1);
        (state.resumed, state.released) = (vanished, 0);
        self.held.remove(lease);
        self.connection.block_on(async {
            self.store.put(&self.store.names.key(KeyKind::State, &lease.task), &state).await?;
            self.held.acknowledge(&held.message, AckKind::Ack).await?;
            // The server with the stream may remove the message a little later.
            self.store.enqueue_again(&lease.task).await
        })?;
        Ok(is_first)
    }

    pub(crate) async fn delete_snapshot(&self, task: &str) {
        if let Some(snapshots) = &self.snapshots {
            snapshots.delete(task).await;
        }
    }

    /// Runs requests that also need the queue itself, on its connection.
    fn with_handle<T>(&mut self, request: impl AsyncFnOnce(&mut Self) -> T) -> T {
        let handle = self.connection.handle();
        handle.block_on(request(self))
    }
}

impl TaskQueue for NatsQueue {
    fn submit(&mut self, tasks: &[Task]) -> Result<(), QueueError> {
        self.idle_until = None;
        self.connection.block_on(crate::submission::submit(self, tasks))
    }

    /// Claims a task. The duration of the lease is that of the queue.
    fn claim(&mut self, now_ms: u64, _lease_ms: u64) -> Result<NextTask, QueueError> {
        if self.idle_until.is_some_and(|until| Instant::now() < until) {
            return Ok(NextTask::NotReady);
        }
        let until_ms = now_ms.saturating_add(millis(self.lease));
        let claimed = self.with_handle(async |queue| queue.claim_next(until_ms).await);
        match claimed {
            Ok(next) => {
                self.unreachable_since = None;
                Ok(next)
            }
            Err(error) => {
                let since = *self.unreachable_since.get_or_insert_with(Instant::now);
                self.idle_until = Some(Instant::now() + IDLE_PAUSE);
                if since.elapsed() > OUTAGE_TIMEOUT { Err(error) } else { Ok(NextTask::NotReady) }
            }
        }
    }

    fn renew(&mut self, lease: &Lease, now_ms: u64, _lease_ms: u64) -> Result<Renewal, QueueError> {
        let Some(held) = self.held.get(lease, now_ms) else { return Ok(Renewal::Lost) };
        // Without an answer the lease is still held until its end, and is renewed the next time.
        if self.connection.block_on(acknowledge(&held.message, AckKind::Progress)).is_ok() {
            self.held.extend(&lease.task, now_ms.saturating_add(millis(self.lease)));
        }
        Ok(Renewal::Held)
    }

    fn finish(&mut self, lease: &Lease, result: &TaskResult, spend: Spend) -> Result<Finished, QueueError> {
        self.idle_until = None;
        let held_state = self.held.find(lease).map(|held| held.state.clone());
        let finished = self.connection.block_on(async {
            let subject = self.store.names.key(KeyKind::State, &lease.task);
            let before = match held_state {
                Some(state) => state,
                None => self.store.read_as::<TaskKeyState>(&subject).await?.unwrap_or_default(),
            };
            let state = TaskKeyState { cost_micros: spend.cost_micros, tokens: spend.tokens, ..before };
            self.store.put(&subject, &state).await?;
            let finished = self.record(result).await?;
            self.delete_snapshot(&lease.task).await;
            Ok(finished)
        })?;
        if let Some(held) = self.held.remove(lease) {
            // Otherwise the message is delivered again, to a worker that finds the result.
            let _ = self.connection.block_on(self.held.acknowledge(&held.message, AckKind::Ack));
        }
        Ok(finished)
    }

    fn release(&mut self, lease: &Lease, release: Release, spend: Spend) -> Result<(), QueueError> {
        self.idle_until = None;
        let now = now_ms();
        let Some(held) = self.held.take(lease, now) else { return Ok(()) };
        let (task, copy) = (lease.task.clone(), held.clone());
        let released = self.connection.block_on(async {
            let names = &self.store.names;
            let mut state =
                TaskKeyState { cost_micros: spend.cost_micros, tokens: spend.tokens, ..held.state.clone() };
            let kind = match &release {
                Release::Retry { at_ms } => {
                    state.released += 1;
                    let delay = Duration::from_millis(at_ms.saturating_sub(now));
                    AckKind::Nak((!delay.is_zero()).then_some(delay))
                }
                Release::Park { .. }
                | Release::Exhausted { .. }
                | Release::Undecided { .. }
                | Release::Wait { .. } => AckKind::Ack,
            };
            self.store.put(&names.key(KeyKind::State, &lease.task), &state).await?;
            let parked = match release {
                Release::Retry { .. } => None,
                Release::Park { reason } | Release::Exhausted { reason } => {
                    Some(ParkedValue { reason, is_undecided: false })
                }
                Release::Undecided { reason } => Some(ParkedValue { reason, is_undecided: true }),
                // The runs of a queue have no parked requests.
                Release::Wait { .. } => {
                    Some(ParkedValue { reason: "waits for an answer".into(), is_undecided: false })
                }
            };
            if let Some(parked) = parked {
                self.store.put(&names.key(KeyKind::Parked, &lease.task), &parked).await?;
            }
            // Without an answer the lease ends by itself.
            let _ = self.held.acknowledge(&held.message, kind).await;
            Ok(())
        });
        if released.is_err() {
            self.held.insert(task, copy);
        }
        released
    }

    fn unpark(&mut self) -> Result<(), QueueError> {
        self.idle_until = None;
        let names = &self.store.names;
        let unpark = async |task: String| {
            self.store.delete(&names.key(KeyKind::Parked, &task)).await?;
            let subject = names.key(KeyKind::State, &task);
            if let Some(state) = self.store.read_as::<TaskKeyState>(&subject).await? {
                // The deliveries of the new message are counted from the beginning.
                let state = TaskKeyState { released: 0, resumed: 0, refusals: Vec::new(), ..state };
                self.store.put(&subject, &state).await?;
            }
            self.store.enqueue(&task).await.map(drop)
        };
        self.connection.block_on(async {
            let parked = self.store.scan(&names.keys(KeyKind::Parked), 1).await?;
            in_order(parked.into_iter().map(|entry| unpark(entry.task))).await
        })
    }

    fn spend(&mut self) -> Result<Spend, QueueError> {
        self.connection.block_on(async {
            let keys = self.store.names.keys(KeyKind::State);
            let mut total = Spend::default();
            let add = |entry: Entry| {
                // Any worker may write these keys; one that is damaged must not stop the fleet.
                let state: TaskKeyState = parse(&keys, &entry.value).unwrap_or_default();
                total.cost_micros = total.cost_micros.saturating_add(state.cost_micros);
                total.tokens = total.tokens.saturating_add(state.tokens);
                Ok(())
            };
            self.store.scan_each(&keys, 1, add).await?;
            Ok(total)
        })
    }

    fn results(&mut self) -> Result<Vec<TaskResult>, QueueError> {
        self.connection.block_on(async {
            let names = &self.store.names;
            let keys = names.keys(KeyKind::Result);
            let mut results = HashMap::new();
            for entry in self.store.scan(&keys, 1).await? {
                results.insert(entry.task, parse::<TaskResult>(&keys, &entry.value)?);
            }
            let tasks = self.store.scan(&names.keys(KeyKind::Task), 1).await?;
            Ok(tasks.iter().filter_map(|entry| results.remove(&entry.task)).collect())
        })
    }

    fn unfinished(&mut self) -> Result<u64, QueueError> {
        self.connection.block_on(async {
            let tasks = self.store.count(KeyKind::Task).await?;
            let results = self.store.count(KeyKind::Result).await?;
            Ok(tasks.saturating_sub(results))
        })
    }

    fn events(&self) -> Option<Arc<dyn EventSink>> {
        Some(Arc::new(EventStream::new(&self.connection, &self.store)))
    }

    fn snapshots(&self) -> Option<Arc<dyn SnapshotStore>> {
        self.snapshots.clone().map(|snapshots| Arc::new(snapshots) as _)
    }
}

pub(crate) fn context(connection: &Connection) -> Context {
    // The context starts a task of the runtime.
    connection
        .block_on(async { ContextBuilder::new().timeout(REQUEST_TIMEOUT).build(connection.client.clone()) })
}

/// Returns a result that fits into a message. The list of changed files is the part that can be large.
fn fitting(result: &TaskResult) -> TaskResult {
    let size = serde_json::to_vec(result).map(|bytes| bytes.len()).unwrap_or_default();
    match size > MAX_RESULT_BYTES {
        true => TaskResult { changed_files: Vec::new(), ..result.clone() },
        false => result.clone(),
    }
}

/// Returns the number of times that the message of a lease was delivered.
fn deliveries(lease: &Lease) -> u64 {
    lease.number & 0xffff
}

pub(crate) fn now_ms() -> u64 {
    millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
