//! The streams and the bucket of a fleet on the servers.

use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::context::{ConsumerInfoErrorKind, Context, GetStreamErrorKind};
use async_nats::jetstream::stream::{self, DiscardPolicy, RetentionPolicy};
use ibeam_fleet::QueueError;

use crate::error::service;
use crate::events;
use crate::names::{CONSUMER, Names};
use crate::snapshots;
use crate::store::Store;

/// The number of replicas of the streams in a cluster.
const REPLICAS: usize = 3;
/// The number of tasks that all workers together may hold.
const MAX_HELD: i64 = 100_000;

/// Creates the streams of a fleet, with three replicas where the servers are a cluster. The consumer comes last.
pub(crate) async fn create_streams(
    context: &Context,
    names: &Names,
    lease: Duration,
) -> Result<(), QueueError> {
    let replicas = match context.get_stream(names.work_stream()).await {
        Ok(stream) => stream.cached_info().config.num_replicas,
        Err(_) => create_work_stream(context, names).await?,
    };
    if context.get_stream(format!("KV_{}", names.bucket())).await.is_err() {
        let created = context.create_key_value(Store::config(names, replicas)).await;
        created.map_err(|error| service("bucket", &error))?;
    }
    snapshots::create(context, names, replicas).await?;
    events::create(context, names, replicas).await?;
    let work = context.get_stream(names.work_stream()).await.map_err(|error| service("work", &error))?;
    let config = pull::Config {
        durable_name: Some(CONSUMER.to_owned()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: lease,
        max_deliver: -1,
        max_ack_pending: MAX_HELD,
        ..pull::Config::default()
    };
    work.get_or_create_consumer(CONSUMER, config).await.map(drop).map_err(|error| service(CONSUMER, &error))
}

/// Creates the work queue. Returns the number of its replicas.
async fn create_work_stream(context: &Context, names: &Names) -> Result<usize, QueueError> {
    let config = |num_replicas| stream::Config {
        name: names.work_stream(),
        subjects: vec![names.all_work()],
        retention: RetentionPolicy::WorkQueue,
        discard: DiscardPolicy::New,
        discard_new_per_subject: true,
        max_messages_per_subject: 1,
        num_replicas,
        ..stream::Config::default()
    };
    if context.create_stream(config(REPLICAS)).await.is_ok() {
        return Ok(REPLICAS);
    }
    context.create_stream(config(1)).await.map(|_| 1).map_err(|error| service("work", &error))
}

/// Whether the streams of a fleet exist.
pub(crate) async fn is_created(context: &Context, names: &Names) -> Result<bool, QueueError> {
    let work = match context.get_stream(names.work_stream()).await {
        Ok(work) => work,
        Err(error) => {
            return match error.kind() {
                GetStreamErrorKind::JetStream(code) if code.error_code() == ErrorCode::STREAM_NOT_FOUND => {
                    Ok(false)
                }
                _ => Err(service("work", &error)),
            };
        }
    };
    match work.consumer_info(CONSUMER).await {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ConsumerInfoErrorKind::NotFound => Ok(false),
        Err(error) => Err(service(CONSUMER, &error)),
    }
}
