//! The bucket of keys. Single keys are read from the leader, so an answer is never older than an earlier one.

use std::future::Future;
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::jetstream::context::{Context, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{RawMessageErrorKind, Stream};
use async_nats::jetstream::{ErrorCode, kv};
use bytes::Bytes;
use ibeam_fleet::QueueError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::direct_get::read_batch;
use crate::error::{damaged, is_already_queued, is_not_found, service};
use crate::names::{KeyKind, Names, task_of};

/// The time for which a failing request is repeated, e.g. while the servers elect a leader.
pub(crate) const RETRY_TIMEOUT: Duration = Duration::from_secs(60);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);
/// The number of pauses within which the servers have removed an acknowledged message, or somebody has sent it again.
const REMOVAL_LOOKS: u32 = 10;
/// The number of entries that one request reads.
const BATCH: usize = 1000;

/// The bucket and the work queue of a fleet.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) context: Context,
    pub(crate) names: Names,
    bucket: Stream,
}

/// The effect of the creation of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Creation {
    /// The key has this value, perhaps since an attempt whose answer was lost.
    Created,
    /// The key has another value, which stays.
    Exists(Bytes),
}

/// The effect of a compare-and-swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swap {
    /// The key has the new value.
    Set,
    /// The key has changed meanwhile, and is left as it is.
    Changed,
}

/// An entry of the bucket.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) task: String,
    pub(crate) value: Bytes,
    pub(crate) headers: HeaderMap,
    pub(crate) sequence: u64,
}

impl Store {
    pub(crate) fn new(context: Context, names: Names, bucket: Stream) -> Self {
        Self { context, names, bucket }
    }

    /// Returns the configuration of a new bucket.
    pub(crate) fn config(names: &Names, replicas: usize) -> kv::Config {
        kv::Config { bucket: names.bucket(), num_replicas: replicas, ..kv::Config::default() }
    }

    /// Returns the value of a key, and its sequence number; `None` if the key is missing or deleted.
    pub(crate) async fn read(&self, subject: &str) -> Result<Option<Entry>, QueueError> {
        retry(|| self.read_once(subject)).await
    }

    /// Like [`Self::read`], in one attempt.
    pub(crate) async fn read_once(&self, subject: &str) -> Result<Option<Entry>, QueueError> {
        let found = self.bucket.raw_message_builder().last_by_subject(subject).send().await;
        match found {
            Ok(message) if is_deleted(&message.headers) => Ok(None),
            Ok(message) => Ok(Some(Entry {
                task: task_of(subject),
                value: message.payload,
                headers: message.headers,
                sequence: message.sequence,
            })),
            Err(error) if is_missing(&error.kind()) => Ok(None),
            Err(error) => Err(service(subject, &error)),
        }
    }

    /// Returns the value of a key as an object.
    pub(crate) async fn read_as<T: DeserializeOwned>(&self, subject: &str) -> Result<Option<T>, QueueError> {
        let Some(entry) = self.read(subject).await? else { return Ok(None) };
        parse(subject, &entry.value).map(Some)
    }

    /// Returns the tasks of all keys that match a subject, as the leader knows them. For few keys.
    pub(crate) async fn list(&self, subject: &str) -> Result<Vec<String>, QueueError> {
        let (mut tasks, mut next) = (Vec::new(), 1);
        loop {
            let found = retry(|| async {
                let found =
                    self.bucket.raw_message_builder().sequence(next).next_by_subject(subject).send().await;
                match found {
                    Ok(message) => Ok(Some((message.sequence, task_of(&message.subject)))),
                    Err(error) if is_missing(&error.kind()) => Ok(None),
                    Err(error) => Err(service(subject, &error)),
                }
            });
            let Some((sequence, task)) = found.await? else { return Ok(tasks) };
            next = sequence + 1;
            tasks.push(task);
        }
    }

    /// Returns all entries that match a subject, from a sequence number on. Any replica answers, so what changed within
    /// the last moments may be missing.
    pub(crate) async fn scan(&self, subject: &str, from: u64) -> Result<Vec<Entry>, QueueError> {
        let mut entries = Vec::new();
        let read = |entry| {
            entries.push(entry);
            Ok(())
        };
        self.scan_each(subject, from, read).await.map(|()| entries)
    }

    /// Returns the number of keys of a kind.
    pub(crate) async fn count(&self, kind: KeyKind) -> Result<u64, QueueError> {
        let mut count = 0;
        let add = |_| {
            count += 1;
            Ok(())
        };
        self.scan_each(&self.names.keys(kind), 1, add).await.map(|()| count)
    }

    /// Like [`Self::scan`], without keeping the entries.
    ///
    /// # Errors
    /// `Service`, and the error of `read`.
    pub(crate) async fn scan_each(
        &self,
        subject: &str,
        from: u64,
        mut read: impl FnMut(Entry) -> Result<(), QueueError>,
    ) -> Result<(), QueueError> {
        let stream = format!("KV_{}", self.names.bucket());
        let mut next = from.max(1);
        loop {
            let (batch, is_last) = retry(|| read_batch(&self.context, &stream, subject, next, BATCH)).await?;
            if let Some(last) = batch.last() {
                next = last.sequence + 1;
            }
            for stored in batch.into_iter().filter(|stored| !is_deleted(&stored.headers)) {
                read(Entry {
                    task: task_of(&stored.subject),
                    value: stored.payload,
                    headers: stored.headers,
                    sequence: stored.sequence,
                })?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Sets the value of a key.
    pub(crate) async fn put(&self, subject: &str, value: &impl Serialize) -> Result<(), QueueError> {
        retry(|| self.put_once(subject, value)).await
    }

    /// Like [`Self::put`], in one attempt.
    pub(crate) async fn put_once(&self, subject: &str, value: &impl Serialize) -> Result<(), QueueError> {
        let message = PublishMessage::build().payload(to_bytes(value)?);
        self.publish(subject, message).await.map_err(|error| service(subject, &error))
    }

    /// Sets the value of a key, with headers.
    pub(crate) async fn put_with(
        &self,
        subject: &str,
        value: &Bytes,
        headers: &HeaderMap,
    ) -> Result<(), QueueError> {
        retry(|| async {
            let message = PublishMessage::build().payload(value.clone()).headers(headers.clone());
            self.publish(subject, message).await.map_err(|error| service(subject, &error))
        })
        .await
    }

    /// Sets the value of a key, unless the key has changed since the message `sequence`; 0 stands for a missing key.
    ///
    /// # Errors
    /// `Service`; the key may have been set.
    pub(crate) async fn swap(
        &self,
        subject: &str,
        sequence: u64,
        value: &impl Serialize,
    ) -> Result<Swap, QueueError> {
        let message =
            PublishMessage::build().payload(to_bytes(value)?).expected_last_subject_sequence(sequence);
        match self.publish(subject, message).await {
            Ok(()) => Ok(Swap::Set),
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(Swap::Changed),
            Err(error) => Err(service(subject, &error)),
        }
    }

    /// Deletes a key.
    pub(crate) async fn delete(&self, subject: &str) -> Result<(), QueueError> {
        retry(|| async {
            let message = PublishMessage::build().header("KV-Operation", "DEL");
            self.publish(subject, message).await.map(drop).map_err(|error| service(subject, &error))
        })
        .await
    }

    /// Creates a key, unless it exists.
    pub(crate) async fn create(&self, subject: &str, value: &impl Serialize) -> Result<Creation, QueueError> {
        self.create_with(subject, to_bytes(value)?, &HeaderMap::new()).await
    }

    /// Creates a key with headers, unless it exists.
    pub(crate) async fn create_with(
        &self,
        subject: &str,
        value: Bytes,
        headers: &HeaderMap,
    ) -> Result<Creation, QueueError> {
        let created = retry(|| async {
            let message = PublishMessage::build().payload(value.clone()).headers(headers.clone());
            let message = message.expected_last_subject_sequence(0);
            match self.publish(subject, message).await {
                Ok(()) => Ok(true),
                Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(false),
                Err(error) => Err(service(subject, &error)),
            }
        });
        if created.await? {
            return Ok(Creation::Created);
        }
        match self.read(subject).await? {
            Some(entry) if entry.value == value => Ok(Creation::Created),
            Some(entry) => Ok(Creation::Exists(entry.value)),
            None => Err(damaged(subject, "the key was deleted")),
        }
    }

    /// Removes a key with its history, so that it can be created again.
    pub(crate) async fn purge(&self, subject: &str) -> Result<(), QueueError> {
        retry(|| async {
            let purged = self.bucket.purge().filter(subject).await;
            purged.map(drop).map_err(|error| service(subject, &error))
        })
        .await
    }

    /// Puts a task into the work queue, unless it is there. Returns whether it was not.
    pub(crate) async fn enqueue(&self, task: &str) -> Result<bool, QueueError> {
        let subject = self.names.work(task);
        retry(|| async {
            match self.publish(&subject, PublishMessage::build()).await {
                Ok(()) => Ok(true),
                Err(error) if is_already_queued(&error) => Ok(false),
                Err(error) => Err(service(&subject, &error)),
            }
        })
        .await
    }

    /// Puts a task into the work queue whose message was acknowledged just now, and may still be there.
    pub(crate) async fn enqueue_again(&self, task: &str) -> Result<(), QueueError> {
        for _ in 0..REMOVAL_LOOKS {
            if self.enqueue(task).await? {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    async fn publish(
        &self,
        subject: &str,
        message: PublishMessage,
    ) -> Result<(), async_nats::jetstream::context::PublishError> {
        let sent = self.context.send_publish(subject.to_owned(), message).await?;
        sent.await.map(drop)
    }
}

/// Repeats a request until it succeeds, for a limited time.
///
/// # Errors
/// The last error.
pub(crate) async fn retry<T, F: Future<Output = Result<T, QueueError>>>(
    mut request: impl FnMut() -> F,
) -> Result<T, QueueError> {
    let start = Instant::now();
    loop {
        match request().await {
            Err(_) if start.elapsed() < RETRY_TIMEOUT => tokio::time::sleep(PAUSE).await,
            result => return result,
        }
    }
}

/// Repeats a request for the streams of a fleet until it succeeds, for a limited time. If there are none, it fails at once.
///
/// # Errors
/// The last error.
pub(crate) async fn retry_unless_missing<T, F: Future<Output = Result<T, async_nats::Error>>>(
    mut request: impl FnMut() -> F,
) -> Result<T, QueueError> {
    let start = Instant::now();
    loop {
        match request().await {
            Ok(found) => return Ok(found),
            Err(error) if is_not_found(&*error) => {
                let detail = format!("the fleet is not in the queue: {error}");
                return Err(QueueError::Service { detail });
            }
            Err(error) if start.elapsed() >= RETRY_TIMEOUT => return Err(service("streams", &*error)),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Parses the value of a key.
pub(crate) fn parse<T: DeserializeOwned>(subject: &str, value: &[u8]) -> Result<T, QueueError> {
    serde_json::from_slice(value).map_err(|error| damaged(subject, error))
}

pub(crate) fn to_bytes(value: &impl Serialize) -> Result<Bytes, QueueError> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|error| service("JSON", &error))
}

fn is_missing(kind: &RawMessageErrorKind) -> bool {
    match kind {
        RawMessageErrorKind::NoMessageFound => true,
        RawMessageErrorKind::JetStream(error) => error.error_code() == ErrorCode::NO_MESSAGE_FOUND,
        _ => false,
    }
}

fn is_deleted(headers: &HeaderMap) -> bool {
    headers.get("KV-Operation").is_some()
}
