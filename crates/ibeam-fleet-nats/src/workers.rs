//! The workers of a fleet. Each has a key with its machine, its slots and the tasks that it holds, and writes it again now and
//! then. So everybody who may read the queue knows which tasks run.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use ibeam_fleet::{QueueError, Spend, Task, TaskResult, TaskState, TaskStatus};
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::limits::server_now_ms;
use crate::names::KeyKind;
use crate::nats_queue::{NatsQueue, ParkedValue, TaskKeyState};
use crate::refusals::WorkerName;
use crate::store::{Entry, Store, parse, to_bytes};

/// The longest time between two announcements of a worker that claims tasks.
const LONGEST_INTERVAL: Duration = Duration::from_secs(10);
/// The time for an announcement. Without it, the next one has the tasks.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The time at which a server stored a message.
const TIME_HEADER: &str = "Nats-Time-Stamp";

/// The value of a `worker` key.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct WorkerValue {
    machine: String,
    slots: usize,
    tasks: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerInfo {
    /// The id of its directory.
    pub id: String,
    pub machine: String,
    /// The number of tasks that it runs at the same time.
    pub slots: usize,
    /// The tasks that it holds.
    pub tasks: Vec<String>,
    /// The time since it has announced itself.
    pub seen_before: Duration,
}

/// The announcement of a worker. Its end removes the key.
pub(crate) struct Announcement {
    connection: Arc<Connection>,
    store: Store,
    subject: String,
    value: WorkerValue,
    interval: Duration,
    sent_at: Option<Instant>,
}

impl Announcement {
    /// Returns the announcement of a worker.
    pub(crate) fn new(queue: &NatsQueue, worker: &WorkerName, slots: usize) -> Self {
        Self {
            connection: Arc::clone(&queue.connection),
            store: queue.store.clone(),
            subject: queue.store.names.key(KeyKind::Worker, &worker.id),
            value: WorkerValue { machine: worker.machine.clone(), slots, tasks: BTreeSet::new() },
            interval: LONGEST_INTERVAL.min(queue.lease / 4),
            sent_at: None,
        }
    }

    /// Announces the worker if its tasks have changed by `change`, or if this is due.
    pub(crate) fn update(&mut self, change: impl FnOnce(&mut BTreeSet<String>) -> bool) {
        let is_due = self.sent_at.is_none_or(|sent| sent.elapsed() >= self.interval);
        if change(&mut self.value.tasks) || is_due {
            self.sent_at = Some(Instant::now());
            if let Ok(value) = to_bytes(&self.value) {
                self.send(HeaderMap::new(), value);
            }
        }
    }

    /// Sends the key without waiting for an answer: a worker without the permission works without it.
    fn send(&self, headers: HeaderMap, value: bytes::Bytes) {
        let client = self.store.context.client();
        let publish = client.publish_with_headers(self.subject.clone(), headers, value);
        let sent = self.connection.block_on(async { tokio::time::timeout(TIMEOUT, publish).await });
        drop(sent);
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        let mut headers = HeaderMap::new();
        headers.insert("KV-Operation", "DEL");
        self.send(headers, bytes::Bytes::new());
        let client = self.store.context.client();
        let flushed = self.connection.block_on(async { tokio::time::timeout(TIMEOUT, client.flush()).await });
        // Otherwise the worker is listed until the fleet is deleted, with its last announcement.
        drop(flushed);
    }
}

impl NatsQueue {
    /// Returns the workers, also those that have vanished.
    pub fn workers(&self) -> Result<Vec<WorkerInfo>, QueueError> {
        self.connection.block_on(async {
            let keys = self.store.names.keys(KeyKind::Worker);
            let entries = self.store.scan(&keys, 1).await?;
            if entries.is_empty() {
                return Ok(Vec::new());
            }
            let now_ms = server_now_ms(&self.store).await?;
            let read = |entry: &Entry| {
                // Any worker may write these keys.
                let value: WorkerValue = parse(&keys, &entry.value).ok()?;
                let time = entry.headers.get_last(TIME_HEADER)?.as_str().parse::<jiff::Timestamp>().ok()?;
                let seen_ms = u64::try_from(time.as_millisecond()).ok()?;
                Some(WorkerInfo {
                    id: entry.task.clone(),
                    machine: value.machine,
                    slots: value.slots,
                    tasks: value.tasks.into_iter().collect(),
                    seen_before: Duration::from_millis(now_ms.saturating_sub(seen_ms)),
                })
            };
            Ok(entries.iter().filter_map(read).collect())
        })
    }

    /// Returns the tasks that a worker holds which has announced itself within the duration of a lease.
    pub(crate) fn running(&self) -> Result<BTreeSet<String>, QueueError> {
        let workers = self.workers()?.into_iter();
        Ok(workers
            .filter(|worker| worker.seen_before <= self.lease)
            .flat_map(|worker| worker.tasks)
            .collect())
    }

    /// Returns the state of every task, in the order of submission. The value of a key is dropped once it is read, because a
    /// list of definitions and results can be larger than the memory.
    pub fn statuses(&self) -> Result<Vec<TaskStatus>, QueueError> {
        let running = self.running()?;
        let (names, store) = (&self.store.names, &self.store);
        self.connection.block_on(async {
            let (mut finished, mut parked, mut spent) = (HashMap::new(), HashMap::new(), HashMap::new());
            let (results, parkings, states) =
                (names.keys(KeyKind::Result), names.keys(KeyKind::Parked), names.keys(KeyKind::State));
            let read = |entry: Entry| {
                let result: TaskResult = parse(&results, &entry.value)?;
                finished.insert(entry.task, TaskStatus::for_result(&result));
                Ok(())
            };
            store.scan_each(&results, 1, read).await?;
            let read = |entry: Entry| {
                parked.insert(entry.task, parse::<ParkedValue>(&parkings, &entry.value)?);
                Ok(())
            };
            store.scan_each(&parkings, 1, read).await?;
            let read = |entry: Entry| {
                // Those of a result are in it.
                if !finished.contains_key(&entry.task) {
                    spent.insert(entry.task, spend_of(&entry.value));
                }
                Ok(())
            };
            store.scan_each(&states, 1, read).await?;
            let mut statuses = Vec::new();
            let read = |Entry { task: id, .. }: Entry| {
                let status = finished.remove(&id).unwrap_or_else(|| {
                    let spend = spent.remove(&id).unwrap_or_default();
                    status_without_result(&id, parked.remove(&id), running.contains(&id), spend)
                });
                statuses.push(status);
                Ok(())
            };
            store.scan_each(&names.keys(KeyKind::Task), 1, read).await?;
            Ok(statuses)
        })
    }

    /// Returns a task, its status and its result.
    pub fn find(&self, id: &str) -> Result<Option<(Task, TaskStatus, Option<TaskResult>)>, QueueError> {
        let is_running = self.running()?.contains(id);
        self.connection.block_on(async {
            let subject = |kind| self.store.names.key(kind, id);
            let Some(task) = self.store.read_as::<Task>(&subject(KeyKind::Task)).await? else {
                return Ok(None);
            };
            if let Some(result) = self.store.read_as::<TaskResult>(&subject(KeyKind::Result)).await? {
                return Ok(Some((task, TaskStatus::for_result(&result), Some(result))));
            }
            let parked = self.store.read_as(&subject(KeyKind::Parked)).await?;
            let state = self.store.read(&subject(KeyKind::State)).await?;
            let spend = state.map(|entry| spend_of(&entry.value)).unwrap_or_default();
            Ok(Some((task, status_without_result(id, parked, is_running, spend), None)))
        })
    }
}

/// Returns what a task has consumed, for the value of its `state` key. Any worker may write these keys: one that is damaged
/// counts as nothing.
fn spend_of(value: &[u8]) -> Spend {
    serde_json::from_slice::<TaskKeyState>(value).map(|state| state.spend()).unwrap_or_default()
}

fn status_without_result(
    id: &str,
    parked: Option<ParkedValue>,
    is_running: bool,
    spend: Spend,
) -> TaskStatus {
    let state = match (&parked, is_running) {
        (Some(ParkedValue { is_undecided: true, .. }), _) => TaskState::Undecided,
        (Some(_), _) => TaskState::Parked,
        (None, true) => TaskState::Running,
        (None, false) => TaskState::Waiting,
    };
    TaskStatus::without_result(id, state, parked.map(|parked| parked.reason.to_string()), spend)
}
