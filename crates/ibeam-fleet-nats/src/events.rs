//! The events of runs: a stream with the lines that workers publish, limited in age and size.
//!
//! The id of a message is that of its line. The server drops what has an id of the last minutes, and the reader drops what
//! is not behind the last line of the same worker.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::context::Context;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, DiscardPolicy};
use ibeam_fleet::{EventSink, QueueError, StreamEvent};

use crate::address::QueueAddress;
use crate::connection::{Connection, QueueOptions};
use crate::direct_get::{StoredMessage, read_batch};
use crate::error::service;
use crate::names::Names;
use crate::nats_queue::context;
use crate::store::{Store, retry};

/// The age of the oldest event.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The sizes of all events, in bytes, from the usual one to that for a small server. The server reserves it.
const MAX_BYTES: [i64; 3] = [256 << 20, 64 << 20, 16 << 20];
/// The time for which the server knows the ids of events.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(10 * 60);
/// The number of events that one request reads.
const BATCH: usize = 256;

/// Creates the stream of events, unless it exists.
pub(crate) async fn create(context: &Context, names: &Names, num_replicas: usize) -> Result<(), QueueError> {
    let config = |max_bytes| Config {
        name: names.events_stream(),
        subjects: vec![names.all_events()],
        max_age: MAX_AGE,
        max_bytes,
        duplicate_window: DUPLICATE_WINDOW,
        discard: DiscardPolicy::Old,
        allow_direct: true,
        num_replicas,
        ..Config::default()
    };
    let mut failed = None;
    for max_bytes in MAX_BYTES {
        match context.get_or_create_stream(config(max_bytes)).await {
            Ok(_) => return Ok(()),
            Err(error) => failed = Some(service("events", &error)),
        }
    }
    failed.map_or(Ok(()), Err)
}

/// The stream of events, as a worker sees it.
#[derive(Debug)]
pub(crate) struct EventStream {
    connection: Arc<Connection>,
    store: Store,
}

impl EventStream {
    pub(crate) fn new(connection: &Arc<Connection>, store: &Store) -> Self {
        Self { connection: Arc::clone(connection), store: store.clone() }
    }
}

impl EventSink for EventStream {
    fn publish(&self, events: &[StreamEvent]) -> Result<(), QueueError> {
        self.connection.block_on(async {
            let mut sent = Vec::with_capacity(events.len());
            for event in events {
                let message =
                    PublishMessage::build().payload(event.object.clone().into()).message_id(&event.id);
                let subject = self.store.names.events(&event.task);
                let publication = self.store.context.send_publish(subject, message).await;
                sent.push(publication.map_err(|error| service("events", &error))?);
            }
            for acknowledgement in sent {
                acknowledgement.await.map_err(|error| service("events", &error))?;
            }
            Ok(())
        })
    }
}

/// A reader of the events of a fleet.
#[derive(Debug)]
pub struct EventReader {
    connection: Connection,
    context: Context,
    stream: String,
    subject: String,
    /// The sequence number of the next message.
    next: u64,
    /// The places of the last lines, by worker and task.
    last: HashMap<String, (u32, u64)>,
}

impl EventReader {
    /// Connects to a queue, and reads from its first event on; of one task, or of all.
    pub fn open(
        address: &QueueAddress,
        options: &QueueOptions,
        task: Option<&str>,
    ) -> Result<Self, QueueError> {
        let connection = Connection::open(address, options)?;
        let context = context(&connection);
        let names = Names::new(address);
        let stream = names.events_stream();
        let found = connection.block_on(context.get_stream(&stream));
        found.map_err(|error| QueueError::Service {
            detail: format!("the fleet has no events in the queue: {error}"),
        })?;
        let subject = task.map_or_else(|| names.all_events(), |task| names.events(task));
        Ok(Self { connection, context, stream, subject, next: 1, last: HashMap::new() })
    }

    /// Returns the next events as JSON objects; none if there are no further ones now.
    pub fn read(&mut self) -> Result<Vec<String>, QueueError> {
        loop {
            let request = || read_batch(&self.context, &self.stream, &self.subject, self.next, BATCH);
            let (batch, is_last) = self.connection.block_on(retry(request))?;
            if let Some(last) = batch.last() {
                self.next = last.sequence + 1;
            }
            let new: Vec<String> = batch.iter().filter_map(|message| self.accept(message)).collect();
            if !new.is_empty() || is_last {
                return Ok(new);
            }
        }
    }

    /// Returns an event, unless it was read before.
    fn accept(&mut self, message: &StoredMessage) -> Option<String> {
        let id = message.headers.get("Nats-Msg-Id")?.as_str();
        let (rest, offset) = id.rsplit_once(':')?;
        let (writer, run) = rest.rsplit_once(':')?;
        let place = (run.parse().ok()?, offset.parse().ok()?);
        if self.last.get(writer).is_some_and(|last| place <= *last) {
            return None;
        }
        self.last.insert(writer.to_owned(), place);
        String::from_utf8(message.payload.to_vec()).ok()
    }
}
