//! Connects to the queue of a fleet, and deletes it.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{Context, DeleteStreamErrorKind};
use ibeam_fleet::{QueueError, StopFlag};

use super::{NatsQueue, context};
use crate::address::QueueAddress;
use crate::connection::{Connection, QueueOptions};
use crate::error::service;
use crate::held_tasks::HeldTasks;
use crate::names::{CONSUMER, Names};
use crate::signing::{Signer, SubmitterKeys};
use crate::snapshots::SnapshotBucket;
use crate::store::{Store, retry, retry_unless_missing};
use crate::streams::{create_streams, is_created};

/// The time between two looks for a queue that does not exist yet.
const CREATION_PAUSE: Duration = Duration::from_millis(300);

impl NatsQueue {
    /// Connects to a queue, and creates its streams if they are missing. `lease` is that of a new queue.
    pub fn create(
        address: &QueueAddress,
        options: &QueueOptions,
        lease: Duration,
    ) -> Result<Self, QueueError> {
        let connection = Connection::open(address, options)?;
        let names = Names::new(address);
        let context = context(&connection);
        connection.block_on(retry(|| create_streams(&context, &names, lease)))?;
        Self::attach(connection, context, names, options)
    }

    /// Connects to a queue that exists.
    pub fn open(address: &QueueAddress, options: &QueueOptions) -> Result<Self, QueueError> {
        let connection = Connection::open(address, options)?;
        let context = context(&connection);
        Self::attach(connection, context, Names::new(address), options)
    }

    /// Connects to a queue; `None` if there is none, or if its deletion was interrupted.
    pub fn open_if_created(
        address: &QueueAddress,
        options: &QueueOptions,
    ) -> Result<Option<Self>, QueueError> {
        let connection = Connection::open(address, options)?;
        let (context, names) = (context(&connection), Names::new(address));
        match connection.block_on(retry(|| is_created(&context, &names)))? {
            true => Self::attach(connection, context, names, options).map(Some),
            false => Ok(None),
        }
    }

    /// Connects to a queue, and waits until its submitter has created it.
    ///
    /// # Errors
    /// `Service`, also for a request to end.
    pub fn open_when_created(
        address: &QueueAddress,
        options: &QueueOptions,
        stop: &StopFlag,
    ) -> Result<Self, QueueError> {
        let connection = Connection::open(address, options)?;
        let context = context(&connection);
        let names = Names::new(address);
        while !connection.block_on(retry(|| is_created(&context, &names)))? {
            if stop.is_requested() {
                let detail = format!("the fleet `{}` is not in the queue", address.fleet);
                return Err(QueueError::Service { detail });
            }
            std::thread::sleep(CREATION_PAUSE);
        }
        Self::attach(connection, context, names, options)
    }

    fn attach(
        connection: Connection,
        context: Context,
        names: Names,
        options: &QueueOptions,
    ) -> Result<Self, QueueError> {
        // Without a leader, which the servers elect when one of them ends, no answer comes.
        let (bucket, work, consumer) = connection.block_on(retry_unless_missing(|| async {
            let bucket = context.get_stream(format!("KV_{}", names.bucket())).await?;
            let work = context.get_stream(names.work_stream()).await?;
            let consumer = work.get_consumer(CONSUMER).await?;
            Ok((bucket, work, consumer))
        }))?;
        let lease = consumer.cached_info().config.ack_wait;
        let connection = Arc::new(connection);
        let snapshots = connection.block_on(SnapshotBucket::find(&connection, &context, &names));
        let store = Store::new(context, names, bucket);
        let signer = Signer::from_credentials(&options.credentials)?;
        Ok(Self {
            connection,
            store,
            signer,
            accepted: SubmitterKeys::default(),
            snapshots,
            work,
            consumer,
            lease,
            held: HeldTasks::default(),
            idle_until: None,
            unreachable_since: None,
        })
    }

    /// Deletes the streams and buckets of a fleet on the servers. Returns whether there were any. After a kill, the same call
    /// deletes the rest.
    pub fn delete(address: &QueueAddress, options: &QueueOptions) -> Result<bool, QueueError> {
        let connection = Connection::open(address, options)?;
        let (context, names) = (context(&connection), Names::new(address));
        // First the tasks, so that workers get no further ones.
        let streams = [
            names.work_stream(),
            names.events_stream(),
            format!("OBJ_{}", names.snapshots()),
            format!("KV_{}", names.bucket()),
        ];
        let mut found = false;
        for stream in streams {
            match connection.block_on(context.delete_stream(&stream)) {
                Ok(_) => found = true,
                Err(error) => match error.kind() {
                    DeleteStreamErrorKind::JetStream(cause)
                        if cause.error_code() == ErrorCode::STREAM_NOT_FOUND => {}
                    _ => return Err(service(&stream, &error)),
                },
            }
        }
        Ok(found)
    }
}
