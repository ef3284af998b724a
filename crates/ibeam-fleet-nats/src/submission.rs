//! The submission of tasks, and the repair of what a killed process left half done.

use std::collections::{HashMap, HashSet};

use async_nats::HeaderMap;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use ibeam_fleet::{Outcome, QueueError, Task, TaskResult};

use crate::names::KeyKind;
use crate::nats_queue::NatsQueue;
use crate::signing::{SignedKind, Signer, signer_of};
use crate::store::{Creation, Entry, parse, to_bytes};

/// The number of requests that are sent before their answers arrive.
const IN_FLIGHT: usize = 256;

/// The difference of some tasks from those of the queue.
pub(crate) struct MissingTasks<'a> {
    /// The tasks that the queue does not have.
    pub(crate) new: Vec<&'a Task>,
    /// The tasks whose entry lacks the signature of this submitter.
    unsigned: Vec<&'a Task>,
}

/// The outcomes of the tasks that have a result.
pub(crate) type Outcomes = HashMap<String, Outcome>;

/// Adds tasks, and puts those that are ready into the work queue.
///
/// # Errors
/// `TaskChanged`, and nothing is added; `Service`.
pub(crate) async fn submit(queue: &NatsQueue, tasks: &[Task]) -> Result<(), QueueError> {
    let missing = compare(queue, tasks).await?;
    add(queue, &missing).await?;
    let outcomes = outcomes(queue).await?;
    reconcile(queue, tasks, &outcomes).await.map(drop)
}

/// Adds what the queue lacks.
///
/// # Errors
/// `TaskChanged`, `Service`.
pub(crate) async fn add(queue: &NatsQueue, missing: &MissingTasks<'_>) -> Result<(), QueueError> {
    let (store, names) = (&queue.store, &queue.store.names);
    let MissingTasks { new, unsigned } = missing;
    let needs = new.iter().flat_map(|task| task.needs.iter().map(|needed| names.need(needed, &task.id)));
    // Before the tasks: the process that records a result must find those that need it.
    in_order(needs.map(|subject| async move { store.create(&subject, &()).await.map(drop) })).await?;
    in_order(new.iter().map(|task| async {
        let (value, headers) = signed(queue, task)?;
        match store.create_with(&names.key(KeyKind::Task, &task.id), value, &headers).await? {
            Creation::Created => Ok(()),
            Creation::Exists(_) => Err(QueueError::TaskChanged { id: task.id.clone() }),
        }
    }))
    .await?;
    in_order(unsigned.iter().map(|task| async {
        let (value, headers) = signed(queue, task)?;
        store.put_with(&names.key(KeyKind::Task, &task.id), &value, &headers).await
    }))
    .await
}

/// Returns the entry of a task, with the signature of the submitter if it has a key.
fn signed(queue: &NatsQueue, task: &Task) -> Result<(Bytes, HeaderMap), QueueError> {
    let value = to_bytes(task)?;
    let headers = match &queue.signer {
        Some(signer) => signer.sign(&queue.store.names, SignedKind::Task, &task.id, &value)?,
        None => HeaderMap::new(),
    };
    Ok((value, headers))
}

/// Compares tasks with those of the queue.
///
/// A submitter with a key replaces a definition that nobody has signed: a worker may have placed it.
///
/// # Errors
/// `TaskChanged`, `Service`.
pub(crate) async fn compare<'a>(
    queue: &NatsQueue,
    tasks: &'a [Task],
) -> Result<MissingTasks<'a>, QueueError> {
    let names = &queue.store.names;
    let keys = names.keys(KeyKind::Task);
    let own = queue.signer.as_ref().map(Signer::as_accepted).unwrap_or_default();
    let mut new: HashMap<&str, &Task> = tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    let mut unsigned = Vec::new();
    let read = |entry: Entry| {
        let Some(task) = new.remove(entry.task.as_str()) else { return Ok(()) };
        let Entry { value, headers, .. } = &entry;
        let is_same = parse::<Task>(&keys, value).is_ok_and(|known| known == *task);
        if own.accept(names, SignedKind::Task, &task.id, value, headers) {
            return is_same.then_some(()).ok_or_else(|| QueueError::TaskChanged { id: task.id.clone() });
        }
        if !is_same && signer_of(names, SignedKind::Task, &task.id, value, headers).is_some() {
            return Err(QueueError::TaskChanged { id: task.id.clone() });
        }
        unsigned.push(task);
        Ok(())
    };
    queue.store.scan_each(&keys, 1, read).await?;
    // In the order of the tasks.
    let new = tasks.iter().filter(|task| new.contains_key(task.id.as_str())).collect();
    Ok(MissingTasks { new, unsigned })
}

/// Returns the outcomes of the tasks that have a result.
pub(crate) async fn outcomes(queue: &NatsQueue) -> Result<Outcomes, QueueError> {
    let keys = queue.store.names.keys(KeyKind::Result);
    let mut outcomes = Outcomes::new();
    let read = |entry: Entry| {
        outcomes.insert(entry.task, parse::<TaskResult>(&keys, &entry.value)?.outcome);
        Ok(())
    };
    queue.store.scan_each(&keys, 1, read).await?;
    Ok(outcomes)
}

/// Puts every task that is ready into the work queue, and skips those that cannot start. Returns the number of tasks
/// that are ready or held.
pub(crate) async fn reconcile(
    queue: &NatsQueue,
    tasks: &[Task],
    outcomes: &Outcomes,
) -> Result<u64, QueueError> {
    let (store, names) = (&queue.store, &queue.store.names);
    let parked: HashSet<String> =
        store.scan(&names.keys(KeyKind::Parked), 1).await?.into_iter().map(|entry| entry.task).collect();
    let is_open = |task: &&Task| !outcomes.contains_key(&task.id) && !parked.contains(&task.id);
    let open: Vec<&Task> = tasks.iter().filter(is_open).collect();
    // A need that did not pass has given its tasks a result, unless a process was killed before it could.
    let failed: HashSet<&String> = open
        .iter()
        .flat_map(|task| &task.needs)
        .filter(|needed| outcomes.get(*needed).is_some_and(|outcome| *outcome != Outcome::Passed))
        .collect();
    for needed in failed {
        if let Some(result) = store.read_as::<TaskResult>(&names.key(KeyKind::Result, needed)).await? {
            queue.record(&result).await?;
        }
    }
    let is_ready =
        |task: &&&Task| task.needs.iter().all(|needed| outcomes.get(needed) == Some(&Outcome::Passed));
    let ready: Vec<&&Task> = open.iter().filter(is_ready).collect();
    let queued = if ready.is_empty() { HashSet::new() } else { queue.queued().await? };
    let missing = ready.iter().filter(|task| !queued.contains(&task.id));
    in_order(missing.map(|task| async { store.enqueue(&task.id).await.map(drop) })).await?;
    Ok(ready.len() as u64)
}

/// Sends requests in their order, many of them before the first answer.
pub(crate) async fn in_order<F: Future<Output = Result<(), QueueError>>>(
    requests: impl Iterator<Item = F>,
) -> Result<(), QueueError> {
    stream::iter(requests).buffered(IN_FLIGHT).try_collect::<()>().await
}
