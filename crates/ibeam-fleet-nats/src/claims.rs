//! Claims of tasks: a message that is delivered, or that an earlier process held, becomes a claim if its task may run.

use std::time::{Duration, Instant};

use async_nats::jetstream::{AckKind, Message};
use futures_util::StreamExt as _;
use futures_util::future::try_join4;
use ibeam_fleet::{Claim, Lease, NextTask, QueueError, Spend, Task, TaskResult};

use crate::connection::REQUEST_TIMEOUT;
use crate::error::service;
use crate::held_tasks::{Held, OrphanedTask, acknowledge};
use crate::names::{KeyKind, task_of};
use crate::nats_queue::{NatsQueue, ParkedValue, TaskKeyState, millis, now_ms};
use crate::signing::SignedKind;
use crate::store::parse;

/// The number of workers that may hold a task and vanish. The next one parks it.
const MAX_DELIVERIES: u64 = 5;
/// The shortest time between two requests for a task when none is ready.
pub(crate) const IDLE_PAUSE: Duration = Duration::from_millis(150);
/// The reason for which a task is parked that no accepted key has signed.
const UNSIGNED_TASK: &str = "the task is not signed by a key that its worker accepts: start `fleet run` with the file of such a key (`--queue-nkey` or `--queue-creds`), or the worker with `--submitter-key` and the public key of the submitter";

/// A message, and the end of its lease.
struct Delivery {
    message: Message,
    until_ms: u64,
    /// Whether an earlier process held the task.
    is_resumed: bool,
}

impl NatsQueue {
    pub(crate) async fn claim_next(&mut self, until_ms: u64) -> Result<NextTask, QueueError> {
        if let Some(claim) = self.resume_orphan().await {
            return Ok(NextTask::Claimed(Box::new(claim)));
        }
        loop {
            let Some(message) = self.fetch().await? else {
                self.idle_until = Some(Instant::now() + IDLE_PAUSE);
                return Ok(if self.is_completed().await? { NextTask::Drained } else { NextTask::NotReady });
            };
            if let Some(claim) = self.admit(Delivery { message, until_ms, is_resumed: false }).await? {
                return Ok(NextTask::Claimed(Box::new(claim)));
            }
        }
    }

    /// Returns the claim of a task that an earlier process held; `None` if it left none, or one that cannot be read.
    async fn resume_orphan(&mut self) -> Option<Claim> {
        while let Some(mut orphan) = self.held.next_orphan(now_ms()) {
            match self.resume(&mut orphan).await {
                Ok(Some(claim)) => return Some(claim),
                Ok(None) => {}
                // The next claim tries again. Servers that do not answer are noticed by the next request.
                Err(_) => {
                    self.held.postpone(orphan);
                    return None;
                }
            }
        }
        None
    }

    /// Returns the claim of a task that an earlier process held, with the same lease; `None` if it ended too early, or if
    /// the task is finished or parked.
    async fn resume(&mut self, orphan: &mut OrphanedTask) -> Result<Option<Claim>, QueueError> {
        // Once only: what is damaged is left to the queue after this lease.
        if !orphan.is_extended {
            let until_ms = now_ms().saturating_add(millis(self.lease));
            acknowledge(&orphan.message, AckKind::Progress).await?;
            // The servers may have received this after the end of the lease.
            if !self.held.is_extensible(orphan, now_ms()) {
                self.held.forget(&orphan.message);
                return Ok(None);
            }
            (orphan.until_ms, orphan.is_extended) = (until_ms, true);
        }
        let (message, until_ms) = (orphan.message.clone(), orphan.until_ms);
        self.admit(Delivery { message, until_ms, is_resumed: true }).await
    }

    /// Asks for a message; `None` if no task is ready.
    async fn fetch(&self) -> Result<Option<Message>, QueueError> {
        let request = async {
            let mut batch = self.consumer.fetch().max_messages(1).messages().await;
            match &mut batch {
                Ok(batch) => batch.next().await.transpose().map_err(|error| service("claim", &*error)),
                Err(error) => Err(service("claim", error)),
            }
        };
        let answer = tokio::time::timeout(REQUEST_TIMEOUT, request).await;
        answer.map_err(|error| service("claim", &error))?
    }

    /// Returns the claim of a task; `None` if the task is finished or parked.
    async fn admit(&mut self, delivery: Delivery) -> Result<Option<Claim>, QueueError> {
        let Delivery { message, until_ms, is_resumed } = delivery;
        let id = task_of(&message.subject);
        let (number, deliveries) = {
            let info = message.info().map_err(|error| service("claim", &*error))?;
            let deliveries = u64::try_from(info.delivered).unwrap_or_default();
            ((info.stream_sequence << 16) + deliveries, deliveries)
        };
        let (store, names) = (&self.store, &self.store.names);
        let key = |kind| names.key(kind, &id);
        let subjects = [KeyKind::Result, KeyKind::Parked, KeyKind::State, KeyKind::Task].map(key);
        let [result, parked, state_key, task] = &subjects;
        let (result, is_parked, state, entry) = try_join4(
            store.read_as::<TaskResult>(result),
            store.read(parked),
            store.read_as::<TaskKeyState>(state_key),
            store.read(task),
        )
        .await?;
        if let Some(result) = result {
            self.ready_dependents(&id, result.outcome).await?;
            self.delete_snapshot(&id).await;
            self.held.acknowledge(&message, AckKind::Ack).await?;
            return Ok(None);
        }
        if is_parked.is_some() {
            self.held.acknowledge(&message, AckKind::Ack).await?;
            return Ok(None);
        }
        let mut state = state.unwrap_or_default();
        if is_resumed {
            // The process that held the task has vanished, as after a delivery.
            state.resumed += 1;
            store.put(state_key, &state).await?;
        }
        if (deliveries + state.resumed).saturating_sub(state.released) > MAX_DELIVERIES {
            let reason = format!("{MAX_DELIVERIES} workers ended while they held the task").into();
            store.put(parked, &ParkedValue { reason, is_undecided: true }).await?;
            self.held.acknowledge(&message, AckKind::Ack).await?;
            return Ok(None);
        }
        let Some(entry) = entry else {
            // Nobody submitted it.
            self.held.acknowledge(&message, AckKind::Term).await?;
            return Ok(None);
        };
        if !self.accepted.accept(names, SignedKind::Task, &id, &entry.value, &entry.headers) {
            let reason = UNSIGNED_TASK.into();
            store.put(parked, &ParkedValue { reason, is_undecided: false }).await?;
            self.held.acknowledge(&message, AckKind::Ack).await?;
            return Ok(None);
        }
        let task: Task = parse(task, &entry.value)?;
        let lease = Lease { task: id.clone(), number };
        let spend = Spend { cost_micros: state.cost_micros, tokens: state.tokens };
        let attempt = state.attempt;
        self.held.insert(id, Held { number, message, until_ms, state });
        Ok(Some(Claim { lease, task, spend, attempt }))
    }
}
