//! The JSON-RPC connection to a server: its limits, and the answers to its requests.
//!
//! Independent of processes. Answers `ping` and elicitation, rejects every other request of the server, and ignores a limited number
//! of bytes that are not messages.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use ibeam_json_rpc::{
    CloseReason, Handler, InvalidLine, Notification, Peer, PeerOptions, Request, RequestError, RequestId,
    Responder, write_lines,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use crate::list_changes::{LISTEN, ListChanges, listen_params};
use crate::server_requests::ServerRequests;

/// Maximum length of a line; a page of results is far below it.
const MAX_LINE_BYTES: usize = 16 << 20;
/// Number of lines that wait to be written. Beyond it, a server that sends requests without reading gets no replies.
const OUTGOING_QUEUE_LINES: usize = 64;
const CANCELLED: &str = "notifications/cancelled";
/// Bytes of lines that are not messages, until the connection ends. Some servers print a banner.
const MAX_INVALID_BYTES: usize = 64 << 10;

/// A connection to a server. Dropping it closes the connection.
pub(crate) struct RpcClient {
    peer: Arc<Peer>,
    /// Waits for the end of a subscription.
    subscription: OnceLock<JoinHandle<()>>,
    writer: JoinHandle<()>,
    changes: Arc<ListChanges>,
}

impl RpcClient {
    /// Returns a client that writes to `input`, the server's stdin, and reads from `output`, its stdout. Must be
    /// called within an async runtime.
    pub(crate) fn new(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        requests: ServerRequests,
    ) -> Self {
        let options = PeerOptions {
            max_line_bytes: MAX_LINE_BYTES,
            cancellation: |id| {
                let params = json!({ "requestId": id, "reason": "the client no longer waits" });
                (CANCELLED, params)
            },
        };
        let (outgoing, lines) = mpsc::channel(OUTGOING_QUEUE_LINES);
        let changes = Arc::<ListChanges>::default();
        let messages = ServerMessages {
            requests,
            questions: JoinSet::new(),
            question_ids: HashMap::new(),
            invalid_bytes: 0,
            changes: Arc::clone(&changes),
        };
        let peer = Arc::new(Peer::new(options, outgoing, output, messages));
        // After an error of stdin, the server's output ends too.
        let writer = tokio::spawn(async { drop(write_lines(input, lines).await) });
        Self { peer, subscription: OnceLock::new(), writer, changes }
    }

    /// Sends a request and waits for its result, without a time limit. Dropping the future cancels the request.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: impl Serialize,
    ) -> Result<Box<RawValue>, RequestError> {
        self.peer.request(method, params).await
    }

    /// Sends a notification, unless the queue is full.
    pub(crate) fn notify(&self, method: &str, params: impl Serialize) {
        self.peer.try_notify(method, params);
    }

    /// Starts to receive the changes that `filter` names from a server without sessions. A server that rejects the
    /// subscription reports no changes. Must be called within an async runtime.
    pub(crate) fn subscribe(&self, filter: Value) {
        let peer = Arc::clone(&self.peer);
        self.subscription.get_or_init(|| {
            // The changes are notifications. The response is the end of the subscription.
            tokio::spawn(async move { drop(peer.request(LISTEN, listen_params(filter)).await) })
        });
    }

    /// Returns the lists of the server that have changed.
    pub(crate) fn changes(&self) -> &ListChanges {
        &self.changes
    }

    /// Returns the reason why the connection is closed; `None` while it is open.
    pub(crate) fn close_reason(&self) -> Option<CloseReason> {
        self.peer.close_reason()
    }

    /// Rejects further requests, writes the queued lines, and then closes the server's stdin.
    pub(crate) fn close(&self) {
        self.peer.close();
    }
}

impl Drop for RpcClient {
    fn drop(&mut self) {
        self.subscription.get().into_iter().chain([&self.writer]).for_each(JoinHandle::abort);
    }
}

/// The parameters of the notification that a request is cancelled.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cancelled {
    request_id: RequestId,
}

struct ServerMessages {
    requests: ServerRequests,
    /// The questions that a person has not answered. The end of the connection withdraws them.
    questions: JoinSet<()>,
    question_ids: HashMap<RequestId, AbortHandle>,
    invalid_bytes: usize,
    changes: Arc<ListChanges>,
}

impl Handler for ServerMessages {
    async fn on_request(&mut self, request: Request, responder: Responder) {
        let params = request.parse_params::<Value>().unwrap_or_default();
        if !self.requests.may_ask(&request.method) {
            responder.try_respond(self.requests.answer_by_policy(&request.method, &params));
            return;
        }
        // The other messages of the server do not wait for a person.
        let requests = self.requests.clone();
        while self.questions.try_join_next().is_some() {}
        self.question_ids.retain(|_, question| !question.is_finished());
        let id = request.id.clone();
        let question = self.questions.spawn(async move {
            let answer = requests.answer(&request.method, &params).await;
            responder.respond(answer).await;
        });
        self.question_ids.insert(id, question);
    }

    /// Records which lists have changed: they are requested again before the next prompt, not during a run. Withdraws a
    /// question that the server has cancelled.
    async fn on_notification(&mut self, notification: Notification) {
        self.changes.record(&notification.method);
        if notification.method == CANCELLED {
            let params = notification.parse_params::<Cancelled>().ok();
            if let Some(question) = params.and_then(|params| self.question_ids.remove(&params.request_id)) {
                question.abort();
            }
        }
    }

    async fn on_invalid_line(&mut self, line: InvalidLine<'_>, _: Responder) -> Result<(), CloseReason> {
        match line {
            InvalidLine::TooLong { max_bytes } => {
                let message = format!("it wrote a line of more than {} MB", max_bytes >> 20);
                Err(CloseReason::invalid_output(message))
            }
            InvalidLine::NotMessage { line, .. } => {
                self.invalid_bytes += line.len() + 1;
                if self.invalid_bytes <= MAX_INVALID_BYTES {
                    return Ok(());
                }
                let message = format!("it writes lines that are not MCP messages: {}", quote_start(line));
                Err(CloseReason::invalid_output(message))
            }
        }
    }
}

/// Returns the start of a line in backticks, for a message.
fn quote_start(line: &[u8]) -> String {
    const MAX_BYTES: usize = 80;
    let start = String::from_utf8_lossy(line.get(..MAX_BYTES).unwrap_or(line)).replace(char::is_control, " ");
    format!("`{}`", start.trim())
}

#[cfg(test)]
#[path = "rpc_client_test.rs"]
mod tests;
