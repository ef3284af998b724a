//! The stream over which a server over HTTP sends what belongs to no request of this client: its own requests and the
//! changes of its lists. With a session it is a GET, without one the answer to `subscriptions/listen`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ibeam_json_rpc::OutgoingMessage;
use reqwest::{Method, Response};
use serde_json::Value;

use crate::call_error::HttpError;
use crate::http_client::{HttpClient, MAX_RESUMPTIONS, content_type};
use crate::list_changes::{LISTEN, listen_params};

/// A stream that lasts this long was not refused. Its end does not count towards the limit of resumptions.
const LASTING_STREAM: Duration = Duration::from_secs(10);

/// The request that opens the stream.
enum Stream {
    /// A GET of the session.
    Session,
    /// A subscription with this filter.
    Subscription(Value),
}

impl HttpClient {
    /// Starts to receive requests and changes of a server with sessions. Servers without such messages refuse the stream.
    /// Must be called within an async runtime.
    pub(crate) fn listen(self: &Arc<Self>) {
        self.start_listener(Stream::Session);
    }

    /// Starts to receive the changes that `filter` names from a server without sessions. Must be called within an async
    /// runtime.
    pub(crate) fn subscribe(self: &Arc<Self>, filter: Value) {
        self.start_listener(Stream::Subscription(filter));
    }

    fn start_listener(self: &Arc<Self>, stream: Stream) {
        let task = tokio::spawn(Arc::clone(self).receive_streams(stream));
        let previous = self.lock_listener().replace(task.abort_handle());
        if let Some(previous) = previous {
            previous.abort();
        }
    }

    /// Receives no further messages. Without this call, the client is never dropped.
    pub(crate) fn stop_listening(&self) {
        if let Some(task) = self.lock_listener().take() {
            task.abort();
        }
    }

    /// Receives the messages of the stream, and opens it again when its connection breaks.
    async fn receive_streams(self: Arc<Self>, stream: Stream) {
        let mut last_event_id: Option<String> = None;
        let mut short_streams = 0;
        while short_streams <= MAX_RESUMPTIONS {
            let started = Instant::now();
            let (opened, id) = match &stream {
                Stream::Session => (self.open_stream(last_event_id.as_deref()).await, None),
                Stream::Subscription(filter) => {
                    let id = self.next_id();
                    (self.open_subscription(id, filter.clone()).await, Some(id))
                }
            };
            let Ok(response) = opened else { return };
            if !response.status().is_success() || !content_type(&response).starts_with("text/event-stream") {
                return;
            }
            let Ok(end) = self.read_events(response, id).await else { return };
            // The response to the subscription is its end.
            if end.answer.is_some() {
                return;
            }
            last_event_id = end.last_event_id.or(last_event_id);
            short_streams = if started.elapsed() < LASTING_STREAM { short_streams + 1 } else { 0 };
            tokio::time::sleep(end.retry).await;
            // A subscription is not resumed: changes may have been lost.
            if id.is_some() {
                self.changes.record_all();
            }
        }
    }

    async fn open_subscription(&self, id: u64, filter: Value) -> Result<Response, HttpError> {
        let params = listen_params(filter);
        let body = serde_json::to_vec(&OutgoingMessage::request(id, LISTEN, &params));
        let body = body.map_err(|error| HttpError::Configuration(error.to_string()))?;
        self.send(Method::POST, self.message_headers(LISTEN, &params), Some(body)).await
    }

    fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }
}
