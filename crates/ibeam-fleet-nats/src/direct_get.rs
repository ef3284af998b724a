//! Reading of many stored messages without a consumer.
//!
//! So workers need no right to create consumers.

use async_nats::jetstream::context::Context;
use async_nats::{HeaderMap, StatusCode};
use bytes::Bytes;
use futures_util::StreamExt as _;
use ibeam_fleet::QueueError;

use crate::connection::REQUEST_TIMEOUT;
use crate::error::{damaged, service};

#[derive(Clone, Debug)]
pub(crate) struct StoredMessage {
    pub(crate) sequence: u64,
    pub(crate) subject: String,
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Bytes,
}

/// Returns at most `count` messages of a stream that match a subject, from a sequence number on, and whether they are the
/// last. Any replica answers, so what changed within the last moments may be missing.
pub(crate) async fn read_batch(
    context: &Context,
    stream: &str,
    subject: &str,
    from: u64,
    count: usize,
) -> Result<(Vec<StoredMessage>, bool), QueueError> {
    let client = context.client();
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await.map_err(|error| service(subject, &error))?;
    let request = serde_json::json!({ "seq": from, "next_by_subj": subject, "batch": count });
    let api = format!("$JS.API.DIRECT.GET.{stream}");
    client
        .publish_with_reply(api, inbox, request.to_string().into())
        .await
        .map_err(|error| service(subject, &error))?;
    let mut batch = Vec::new();
    loop {
        let answer = tokio::time::timeout(REQUEST_TIMEOUT, answers.next()).await;
        let answer = answer.map_err(|error| service(subject, &error))?;
        let ended = || QueueError::Service { detail: format!("{subject}: the connection has ended") };
        let answer = answer.ok_or_else(ended)?;
        let headers = answer.headers.unwrap_or_default();
        // The headers of the server come last. A message that was stored from an answer has others before them.
        let last = |name: &str| headers.get_last(name).map(ToString::to_string);
        let number = |name: &str| last(name).and_then(|value| value.parse::<u64>().ok());
        match answer.status {
            None => {}
            Some(StatusCode::NOT_FOUND) => return Ok((batch, true)),
            // The end of the batch.
            Some(status) if status.as_u16() == 204 => {
                return Ok((batch, number("Nats-Num-Pending").unwrap_or_default() == 0));
            }
            Some(status) => {
                let detail = format!("{subject}: {status} {}", answer.description.unwrap_or_default());
                return Err(QueueError::Service { detail });
            }
        }
        let Some(sequence) = number("Nats-Sequence") else {
            return Err(damaged(subject, "an answer has no sequence number"));
        };
        let subject = last("Nats-Subject").unwrap_or_default();
        batch.push(StoredMessage { sequence, subject, headers, payload: answer.payload });
    }
}
