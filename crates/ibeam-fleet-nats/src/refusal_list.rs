//! The tasks that workers refuse, and those that a policy would refuse.

use std::collections::HashMap;

use ibeam_fleet::{QueueError, Task, TaskResult, TaskState};

use ibeam_protocol::Sentence;

use crate::names::KeyKind;
use crate::nats_queue::{NatsQueue, TaskKeyState};
use crate::refusals::Refusal;
use crate::store::{Entry, parse};
use crate::worker_queue::WorkerPolicy;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusalList {
    /// The number of tasks without a result.
    pub open: u64,
    /// The open tasks that somebody refuses, and those that ended as refused.
    pub tasks: Vec<RefusedTask>,
}

/// A task that somebody refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedTask {
    pub task: String,
    /// The reason of the policy.
    pub here: Option<Sentence>,
    pub workers: Vec<Refusal>,
    /// The message of the result, if the task ended as refused.
    pub ended: Option<Sentence>,
}

impl NatsQueue {
    /// Returns the tasks that workers have refused so far, and the open ones that `policy` refuses.
    pub fn refusals(&self, policy: &WorkerPolicy) -> Result<RefusalList, QueueError> {
        let (store, names) = (&self.store, &self.store.names);
        let keys = |kind| names.keys(kind);
        let mut ended: HashMap<String, Option<Sentence>> = HashMap::new();
        let mut workers: HashMap<String, Vec<Refusal>> = HashMap::new();
        let mut list = RefusalList::default();
        self.connection.block_on(async {
            let read_result = |entry: Entry| {
                let result: TaskResult = parse(&keys(KeyKind::Result), &entry.value)?;
                let message =
                    result.message.filter(|_| result.code.as_deref() == Some(TaskState::REFUSED_CODE));
                ended.insert(entry.task, message.map(Sentence::from));
                Ok(())
            };
            store.scan_each(&keys(KeyKind::Result), 1, read_result).await?;
            let read_state = |entry: Entry| {
                // Any worker may write these keys.
                let state: TaskKeyState = parse(&entry.task, &entry.value).unwrap_or_default();
                if !state.refusals.is_empty() {
                    workers.insert(entry.task, state.refusals);
                }
                Ok(())
            };
            store.scan_each(&keys(KeyKind::State), 1, read_state).await?;
            let read_task = |entry: Entry| {
                let result = ended.remove(&entry.task);
                let (is_open, ended) = (result.is_none(), result.flatten());
                let workers = workers.remove(&entry.task).unwrap_or_default();
                let here = match is_open {
                    true => {
                        let task = parse::<Task>(&entry.task, &entry.value)
                            .map_err(|error| error.to_string().into());
                        task.and_then(|task| policy.admitted(task, &entry.task)).err()
                    }
                    false => None,
                };
                list.open += u64::from(is_open);
                if ended.is_some() || here.is_some() || is_open && !workers.is_empty() {
                    list.tasks.push(RefusedTask { task: entry.task, here, workers, ended });
                }
                Ok(())
            };
            store.scan_each(&keys(KeyKind::Task), 1, read_task).await
        })?;
        Ok(list)
    }
}
