//! The snapshots of unfinished tasks, in a bucket of the object store: one object for each task, deleted with its result.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use async_nats::jetstream::context::Context;
use async_nats::jetstream::object_store::{Config, InfoErrorKind, ObjectInfo, ObjectMetadata, ObjectStore};
use ibeam_fleet::{Lease, MAX_SNAPSHOT_BYTES, QueueError, SnapshotStore};
use tokio::io::{AsyncRead, ReadBuf};

use crate::connection::Connection;
use crate::direct_get::read_batch;
use crate::error::{damaged, is_not_found, service};
use crate::names::Names;

/// The key of the metadata with the number of the lease.
const LEASE: &str = "lease";
/// The number of attempts to read a snapshot. Another worker may replace it meanwhile, and a replica may lag behind.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(300);
/// The number of chunks, each of 128 KiB, that one request reads.
const CHUNKS: usize = 16;

#[derive(Clone)]
pub(crate) struct SnapshotBucket {
    connection: Arc<Connection>,
    context: Context,
    bucket: ObjectStore,
}

impl fmt::Debug for SnapshotBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotBucket").finish_non_exhaustive()
    }
}

/// Creates the bucket, unless it exists.
pub(crate) async fn create(context: &Context, names: &Names, num_replicas: usize) -> Result<(), QueueError> {
    let bucket = names.snapshots();
    if context.get_object_store(&bucket).await.is_ok() {
        return Ok(());
    }
    let config = Config { bucket, num_replicas, ..Config::default() };
    context.create_object_store(config).await.map(drop).map_err(|error| service("snapshots", &error))
}

impl SnapshotBucket {
    /// Returns the bucket; `None` if an earlier version of the program created the queue, or without the permission.
    pub(crate) async fn find(connection: &Arc<Connection>, context: &Context, names: &Names) -> Option<Self> {
        let bucket = match context.get_object_store(names.snapshots()).await {
            Err(error) if is_not_found(&error) => return None,
            // The servers may be about to elect a leader.
            Err(_) => context.get_object_store(names.snapshots()).await.ok()?,
            Ok(bucket) => bucket,
        };
        Some(Self { connection: Arc::clone(connection), context: context.clone(), bucket })
    }

    /// Deletes the snapshot of a task. One that cannot be deleted is of no use, and of no harm.
    pub(crate) async fn delete(&self, task: &str) {
        drop(self.bucket.delete(task).await);
    }

    async fn info(&self, task: &str) -> Result<Option<ObjectInfo>, QueueError> {
        match self.bucket.info(task).await {
            Ok(info) => Ok(Some(info).filter(|info| !info.deleted)),
            Err(error) if error.kind() == InfoErrorKind::NotFound => Ok(None),
            Err(error) => Err(service("snapshots", &error)),
        }
    }

    async fn read(&self, task: &str, file: &mut File) -> Result<(), QueueError> {
        let Some(info) = self.info(task).await? else { return Err(damaged(task, "the snapshot is gone")) };
        let (size, stream) = (info.size as u64, format!("OBJ_{}", info.bucket));
        if size > MAX_SNAPSHOT_BYTES {
            return Err(damaged(task, "the snapshot is too large"));
        }
        let subject = format!("$O.{}.C.{}", info.bucket, info.nuid);
        let (mut next, mut read) = (1, 0);
        loop {
            let (batch, is_last) = read_batch(&self.context, &stream, &subject, next, CHUNKS).await?;
            for chunk in &batch {
                read += chunk.payload.len() as u64;
                next = chunk.sequence + 1;
                file.write_all(&chunk.payload).map_err(|error| service("snapshots", &error))?;
            }
            match is_last {
                true if read == size => return Ok(()),
                false if read < size => {}
                // Another worker has replaced it.
                true | false => return Err(damaged(task, "the snapshot is incomplete")),
            }
        }
    }
}

impl SnapshotStore for SnapshotBucket {
    fn store(&self, lease: &Lease, snapshot: &mut File) -> Result<(), QueueError> {
        self.connection.block_on(async {
            if self.info(&lease.task).await?.is_some_and(|info| lease_of(&info) > lease.number) {
                // Another worker holds the task.
                return Ok(());
            }
            let meta = ObjectMetadata {
                name: lease.task.clone(),
                metadata: [(LEASE.to_owned(), lease.number.to_string())].into(),
                ..ObjectMetadata::default()
            };
            let stored = self.bucket.put(meta, &mut BlockingFile(snapshot)).await;
            stored.map(drop).map_err(|error| service("snapshots", &error))
        })
    }

    fn stored_lease(&self, task: &str) -> Result<Option<u64>, QueueError> {
        let info = self.connection.block_on(self.info(task))?;
        Ok(info.as_ref().map(lease_of))
    }

    fn fetch(&self, task: &str, file: &mut File) -> Result<(), QueueError> {
        let mut attempt = 1;
        loop {
            file.set_len(0).and_then(|()| file.rewind()).map_err(|error| service("snapshots", &error))?;
            match self.connection.block_on(self.read(task, file)) {
                Err(_) if attempt < ATTEMPTS => {
                    attempt += 1;
                    std::thread::sleep(PAUSE);
                }
                read => return read,
            }
        }
    }
}

fn lease_of(info: &ObjectInfo) -> u64 {
    info.metadata.get(LEASE).and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// A file that is read on the thread that waits for the result anyway.
struct BlockingFile<'a>(&'a mut File);

impl AsyncRead for BlockingFile<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _context: &mut TaskContext<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.0.read(buffer.initialize_unfilled());
        Poll::Ready(read.map(|count| buffer.advance(count)))
    }
}
