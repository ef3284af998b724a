//! A JSON-RPC client over a pair of streams: requests, and their responses in any order.
//!
//! Independent of processes. Answers `ping`, rejects every other request of the server, and ignores a limited number
//! of bytes that are not messages.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::framing::Lines;
use crate::message::{IncomingMessage, OutgoingMessage, RpcError, parse_line, reply};

/// Number of lines that wait to be written. Beyond it, a server that sends requests without reading gets no replies.
const OUTGOING_QUEUE_LINES: usize = 64;
/// Bytes of lines that are not messages, until the connection ends. Some servers print a banner.
const MAX_INVALID_BYTES: usize = 64 << 10;

/// The reason why a request has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// The connection is closed.
    #[error("{0}")]
    Closed(CloseReason),
    /// The server responded with an error.
    #[error("it answered with error {}: {}", .0.code, .0.message)]
    Rejected(RpcError),
    /// The request cannot be serialized.
    #[error("the request cannot be written: {0}")]
    NotSerializable(#[from] serde_json::Error),
}

/// The reason why a connection is closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CloseReason {
    /// The server closed its output, usually because it ended.
    #[error("it closed its output")]
    EndOfOutput,
    /// The output could not be read, or violated the protocol.
    #[error("{0}")]
    InvalidOutput(Arc<str>),
    /// The client closed the connection.
    #[error("the run is over")]
    ClosedByClient,
}

/// A connection to a server. Dropping it closes the connection.
pub(crate) struct RpcClient {
    outgoing: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    pending: Arc<PendingRequests>,
    reader: JoinHandle<()>,
    writer: JoinHandle<()>,
}

/// The requests without a response.
#[derive(Default)]
struct PendingRequests(Mutex<RequestTable>);

#[derive(Default)]
struct RequestTable {
    last_id: u64,
    responses: BTreeMap<u64, oneshot::Sender<Result<Box<RawValue>, RpcError>>>,
    close_reason: Option<CloseReason>,
}

impl PendingRequests {
    fn lock(&self) -> MutexGuard<'_, RequestTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends every pending request. Only the first reason is stored.
    fn close(&self, reason: CloseReason) {
        let mut table = self.lock();
        table.close_reason.get_or_insert(reason);
        table.responses.clear();
    }
}

/// A request that was sent. Dropping it before the response arrives cancels the request.
struct SentRequest<'a> {
    client: &'a RpcClient,
    id: u64,
}

impl Drop for SentRequest<'_> {
    fn drop(&mut self) {
        if self.client.pending.lock().responses.remove(&self.id).is_some() {
            let params = json!({ "requestId": self.id, "reason": "the client no longer waits" });
            // Best effort: a server that is stuck must not block the client.
            self.client.notify("notifications/cancelled", params);
        }
    }
}

impl RpcClient {
    /// Returns a client that writes to `input`, the server's stdin, and reads from `output`, its stdout. Must be
    /// called within an async runtime.
    pub(crate) fn new(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
    ) -> Self {
        let (sender, receiver) = mpsc::channel(OUTGOING_QUEUE_LINES);
        let pending = Arc::new(PendingRequests::default());
        let replies = sender.downgrade();
        let reader = tokio::spawn(read_messages(Lines::new(output), Arc::clone(&pending), replies));
        let writer = tokio::spawn(write_lines(input, receiver));
        Self { outgoing: Mutex::new(Some(sender)), pending, reader, writer }
    }

    /// Sends a request and waits for its result, without a time limit. Dropping the future cancels the request.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: impl Serialize,
    ) -> Result<Box<RawValue>, RequestError> {
        let (sender, response) = oneshot::channel();
        let request = {
            let mut table = self.pending.lock();
            if let Some(reason) = &table.close_reason {
                return Err(RequestError::Closed(reason.clone()));
            }
            table.last_id += 1;
            let id = table.last_id;
            table.responses.insert(id, sender);
            SentRequest { client: self, id }
        };
        let line = to_line(&OutgoingMessage::request(request.id, method, params))?;
        if let Some(outgoing) = self.outgoing() {
            // An error means that the writer has ended; then no response arrives either.
            let _ = outgoing.send(line).await;
        }
        match response.await {
            Ok(response) => response.map_err(RequestError::Rejected),
            Err(_) => Err(RequestError::Closed(self.close_reason().unwrap_or(CloseReason::EndOfOutput))),
        }
    }

    /// Sends a notification, unless the queue is full.
    pub(crate) fn notify(&self, method: &str, params: impl Serialize) {
        if let (Some(outgoing), Ok(line)) =
            (self.outgoing(), to_line(&OutgoingMessage::notification(method, params)))
        {
            let _ = outgoing.try_send(line);
        }
    }

    /// Returns the reason why the connection is closed; `None` while it is open.
    pub(crate) fn close_reason(&self) -> Option<CloseReason> {
        self.pending.lock().close_reason.clone()
    }

    /// Rejects further requests, writes the queued lines, and then closes the server's stdin.
    pub(crate) fn close(&self) {
        self.pending.close(CloseReason::ClosedByClient);
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn outgoing(&self) -> Option<mpsc::Sender<Vec<u8>>> {
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for RpcClient {
    fn drop(&mut self) {
        self.reader.abort();
        self.writer.abort();
    }
}

fn to_line(message: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Passes each response to its request, until the output ends or violates the protocol.
async fn read_messages(
    mut lines: Lines<impl AsyncRead + Unpin>,
    pending: Arc<PendingRequests>,
    replies: mpsc::WeakSender<Vec<u8>>,
) {
    let mut invalid_bytes = 0;
    loop {
        let line = match lines.next().await {
            Ok(Some(line)) => line,
            Ok(None) => return pending.close(CloseReason::EndOfOutput),
            Err(error) => return pending.close(CloseReason::InvalidOutput(error.to_string().into())),
        };
        let Some(messages) = parse_line(line) else {
            invalid_bytes += line.len() + 1;
            if invalid_bytes > MAX_INVALID_BYTES {
                let message = format!("it writes lines that are not MCP messages: {}", quote_start(line));
                return pending.close(CloseReason::InvalidOutput(message.into()));
            }
            continue;
        };
        for message in messages {
            match message {
                IncomingMessage::Response { id, result } => {
                    if let Some(sender) = pending.lock().responses.remove(&id) {
                        // The request may have been cancelled in the meantime.
                        let _ = sender.send(result);
                    }
                }
                IncomingMessage::Request { id, method } => {
                    if let (Some(replies), Ok(line)) = (replies.upgrade(), to_line(&reply(&id, &method))) {
                        let _ = replies.try_send(line);
                    }
                }
                // Includes `tools/list_changed`: the tools of a run do not change.
                IncomingMessage::Notification => {}
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

async fn write_lines(mut input: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if input.write_all(&line).await.is_err() || input.flush().await.is_err() {
            return;
        }
    }
    // The connection is closed, so an error has no effect.
    let _ = input.shutdown().await;
}

#[cfg(test)]
#[path = "rpc_client_test.rs"]
mod tests;
