//! The submission of tasks, and the repair of what a killed process left half done.

use std::collections::{HashMap, HashSet};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use ibeam_fleet::{Outcome, QueueError, Task, TaskResult};

use crate::names::KeyKind;
use crate::nats_queue::NatsQueue;
use crate::store::{Creation, parse};

/// The number of requests that are sent before their answers arrive.
const IN_FLIGHT: usize = 256;

/// Adds tasks, and puts those that are ready into the work queue.
///
/// # Errors
/// `TaskChanged`, and nothing is added; `Service`.
pub(crate) async fn submit(queue: &NatsQueue, tasks: &[Task]) -> Result<(), QueueError> {
    let (store, names) = (&queue.store, &queue.store.names);
    let new = unknown(queue, tasks).await?;
    let needs = new.iter().flat_map(|task| task.needs.iter().map(|needed| names.need(needed, &task.id)));
    // Before the tasks: the process that records a result must find those that need it.
    in_order(needs.map(|subject| async move { store.create(&subject, &()).await.map(drop) })).await?;
    in_order(new.iter().map(|task| async {
        match store.create(&names.key(KeyKind::Task, &task.id), *task).await? {
            Creation::Created => Ok(()),
            Creation::Exists(_) => Err(QueueError::TaskChanged { id: task.id.clone() }),
        }
    }))
    .await?;
    reconcile(queue, tasks).await.map(drop)
}

/// Returns the tasks that the queue does not have.
///
/// # Errors
/// `TaskChanged`, `Service`.
pub(crate) async fn unknown<'a>(queue: &NatsQueue, tasks: &'a [Task]) -> Result<Vec<&'a Task>, QueueError> {
    let keys = queue.store.names.keys(KeyKind::Task);
    let mut known = HashMap::new();
    for entry in queue.store.scan(&keys, 1).await? {
        known.insert(entry.task, parse::<Task>(&keys, &entry.value)?);
    }
    let is_changed = |task: &&Task| known.get(&task.id).is_some_and(|known| known != *task);
    match tasks.iter().find(is_changed) {
        Some(changed) => Err(QueueError::TaskChanged { id: changed.id.clone() }),
        None => Ok(tasks.iter().filter(|task| !known.contains_key(&task.id)).collect()),
    }
}

/// Puts every task that is ready into the work queue, and skips those that cannot start. Returns the number of tasks
/// that were looked at.
///
/// # Errors
/// `Service`.
pub(crate) async fn reconcile(queue: &NatsQueue, tasks: &[Task]) -> Result<u64, QueueError> {
    let (store, names) = (&queue.store, &queue.store.names);
    let keys = names.keys(KeyKind::Result);
    let mut outcomes: HashMap<String, Outcome> = HashMap::new();
    for entry in store.scan(&keys, 1).await? {
        outcomes.insert(entry.task, parse::<TaskResult>(&keys, &entry.value)?.outcome);
    }
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
    let count = ready.len() as u64;
    in_order(ready.into_iter().map(|task| store.enqueue(&task.id))).await?;
    Ok(count)
}

/// Sends requests in their order, many of them before the first answer.
async fn in_order<F: Future<Output = Result<(), QueueError>>>(
    requests: impl Iterator<Item = F>,
) -> Result<(), QueueError> {
    stream::iter(requests).buffered(IN_FLIGHT).try_collect::<()>().await
}
