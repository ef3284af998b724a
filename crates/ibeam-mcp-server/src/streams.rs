//! The transport over a pair of streams: one message a line, in both lifecycles on one connection.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ibeam_json_rpc::{
    CloseReason, Handler, INVALID_PARAMS, INVALID_REQUEST, InvalidLine, Notification, OutgoingMessage, Peer,
    PeerOptions, Request, RequestId, Responder, RpcError,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::dispatcher::Dispatcher;
use crate::progress::Progress;
use crate::revision::{Lifecycle, check_metadata, check_stateless_revision, requested_revision};

/// Maximum length of a line. A prompt is text.
const MAX_LINE_BYTES: usize = 16 << 20;

/// The calls that have no response yet.
type OpenCalls = Arc<Mutex<HashMap<RequestId, AbortHandle>>>;

/// Serves the client at the other end of `input` and `outgoing`, until it closes `input`. Then all open calls are
/// cancelled. Dropping the future does the same.
pub async fn serve_streams(
    dispatcher: Arc<Dispatcher>,
    input: impl AsyncRead + Send + Unpin + 'static,
    outgoing: mpsc::Sender<Vec<u8>>,
) {
    let (alive, mut ended) = mpsc::channel::<Infallible>(1);
    let calls = OpenCalls::default();
    let _cancel = CancelAll(Arc::clone(&calls));
    let handler = ClientMessages {
        dispatcher,
        outgoing: outgoing.downgrade(),
        calls,
        has_session: false,
        _alive: alive,
    };
    let options = PeerOptions {
        max_line_bytes: MAX_LINE_BYTES,
        cancellation: |id| ("notifications/cancelled", json!({ "requestId": id })),
    };
    let _peer = Peer::new(options, outgoing, input, handler);
    // The handler is dropped at the end of the input.
    let _ = ended.recv().await;
}

/// Cancels all open calls when dropped.
struct CancelAll(OpenCalls);

impl Drop for CancelAll {
    fn drop(&mut self) {
        lock(&self.0).drain().for_each(|(_, call)| call.abort());
    }
}

struct ClientMessages {
    dispatcher: Arc<Dispatcher>,
    outgoing: mpsc::WeakSender<Vec<u8>>,
    calls: OpenCalls,
    /// Whether the client has sent `initialize`.
    has_session: bool,
    _alive: mpsc::Sender<Infallible>,
}

impl ClientMessages {
    /// Returns the lifecycle of a request and its parameters.
    ///
    /// # Errors
    /// The error with which the request has to be answered.
    fn check(&mut self, request: &Request) -> Result<(Lifecycle, Map<String, Value>), RpcError> {
        let params: Map<String, Value> = request.parse_params()?;
        if request.id == RequestId::Null {
            return Err(RpcError::new(INVALID_REQUEST, "the id of a request must not be null"));
        }
        if requested_revision(&params).is_some() || request.method == "server/discover" {
            check_stateless_revision(check_metadata(&params)?)?;
            return Ok((Lifecycle::Stateless, params));
        }
        match request.method.as_str() {
            "initialize" => self.has_session = true,
            "ping" => {}
            method if !self.has_session => {
                let message = format!("`{method}` needs a session; send `initialize` first");
                return Err(RpcError::new(INVALID_REQUEST, message));
            }
            _ => {}
        }
        Ok((Lifecycle::Session, params))
    }

    /// Whether a call with this id is running.
    fn is_open(&self, id: &RequestId) -> bool {
        let mut calls = lock(&self.calls);
        calls.retain(|_, call| !call.is_finished());
        calls.contains_key(id)
    }

    fn progress(&self, params: &Map<String, Value>) -> Progress {
        let outgoing = self.outgoing.clone();
        Progress::for_call(params, move |report| {
            let line = serde_json::to_vec(&OutgoingMessage::notification("notifications/progress", report));
            if let (Some(outgoing), Ok(mut line)) = (outgoing.upgrade(), line) {
                line.push(b'\n');
                // A client that does not read loses reports.
                let _ = outgoing.try_send(line);
            }
        })
    }
}

impl Handler for ClientMessages {
    async fn on_request(&mut self, request: Request, responder: Responder) {
        let (lifecycle, params) = match self.check(&request) {
            Ok(checked) => checked,
            Err(error) => return responder.respond(Err::<(), _>(error)).await,
        };
        let (dispatcher, progress) = (Arc::clone(&self.dispatcher), self.progress(&params));
        let Request { id, method, .. } = request;
        if !dispatcher.is_tool_call(&method, &params) {
            let answer = dispatcher.answer(lifecycle, &method, params, progress).await;
            return responder.respond(answer).await;
        }
        if self.is_open(&id) {
            let error = RpcError::new(INVALID_PARAMS, "the id belongs to a call that is still running");
            return responder.respond(Err::<(), _>(error)).await;
        }
        let call = tokio::spawn(async move {
            let answer = dispatcher.answer(lifecycle, &method, params, progress).await;
            responder.respond(answer).await;
        });
        lock(&self.calls).insert(id, call.abort_handle());
    }

    async fn on_notification(&mut self, notification: Notification) {
        if let Some(id) = cancelled_request(&notification)
            && let Some(call) = lock(&self.calls).remove(&id)
        {
            call.abort();
        }
    }

    async fn on_invalid_line(
        &mut self,
        line: InvalidLine<'_>,
        responder: Responder,
    ) -> Result<(), CloseReason> {
        if let Some(error) = line.to_error() {
            responder.respond(Err::<(), _>(error)).await;
        }
        Ok(())
    }
}

/// Returns the request that a notification cancels.
pub(crate) fn cancelled_request(notification: &Notification) -> Option<RequestId> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Cancelled {
        request_id: RequestId,
    }
    let params = || notification.parse_params::<Cancelled>().ok();
    (notification.method == "notifications/cancelled").then(params)?.map(|params| params.request_id)
}

/// Locks a mutex, also after a panic of another thread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
