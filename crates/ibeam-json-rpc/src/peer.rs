//! One end of a connection: requests, and their responses in any order, in both directions.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::lines::{Line, Lines};
use crate::message::{
    INVALID_REQUEST, IncomingMessage, InvalidMessage, Notification, OutgoingMessage, OutgoingResponse,
    Request, RequestId, RpcError, parse_line,
};

/// Maximum number of queued lines that one write contains.
const MAX_LINES_PER_WRITE: usize = 64;

/// The reason why a request has no result.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error("{0}")]
    Closed(CloseReason),
    /// The other program responded with an error.
    #[error("it answered with error {}: {}", .0.code, .0.message)]
    Rejected(RpcError),
    /// The request cannot be serialized.
    #[error("the request cannot be written: {0}")]
    NotSerializable(#[from] serde_json::Error),
}

/// The reason why a connection is closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// The other program closed its output, usually because it ended.
    #[error("it closed its output")]
    EndOfOutput,
    /// The output could not be read, or violated the protocol.
    #[error("{0}")]
    InvalidOutput(Arc<str>),
    /// This program closed the connection.
    #[error("the run is over")]
    ClosedHere,
}

impl CloseReason {
    /// Returns the reason for an output that violates the protocol.
    pub fn invalid_output(message: impl Into<String>) -> Self {
        Self::InvalidOutput(message.into().into())
    }
}

/// A line that is not a message.
#[derive(Clone, Copy, Debug)]
pub enum InvalidLine<'a> {
    /// The line is longer than `max_line_bytes`. It was skipped.
    TooLong {
        /// The limit.
        max_bytes: usize,
    },
    /// The line is not a message.
    NotMessage {
        /// The line without its line end.
        line: &'a [u8],
        /// The kind of the error.
        problem: InvalidMessage,
    },
}

impl InvalidLine<'_> {
    /// Returns the error with which a server responds, and nothing for a line that is empty.
    pub fn to_error(self) -> Option<RpcError> {
        match self {
            Self::NotMessage { line, .. } if line.trim_ascii().is_empty() => None,
            Self::NotMessage { problem, .. } => Some(problem.into()),
            Self::TooLong { max_bytes } => {
                let message = format!("the line is longer than {} MB", max_bytes >> 20);
                Some(RpcError::new(INVALID_REQUEST, message))
            }
        }
    }
}

/// The receiver of the messages of the other program. No further line is read while one of its methods runs.
pub trait Handler: Send + 'static {
    /// Receives a request. The response may follow later, from anywhere.
    fn on_request(&mut self, request: Request, responder: Responder) -> impl Future<Output = ()> + Send;

    /// Receives a notification.
    fn on_notification(&mut self, notification: Notification) -> impl Future<Output = ()> + Send;

    /// Receives a line that is not a message, and a `responder` without an id.
    ///
    /// # Errors
    /// The reason why the connection must be closed.
    fn on_invalid_line(
        &mut self,
        line: InvalidLine<'_>,
        responder: Responder,
    ) -> impl Future<Output = Result<(), CloseReason>> + Send;
}

/// The settings of a connection.
#[derive(Clone, Copy, Debug)]
pub struct PeerOptions {
    /// Maximum length of a line that the other program writes.
    pub max_line_bytes: usize,
    /// Returns the notification that cancels the request with this id: its method and parameters.
    pub cancellation: fn(u64) -> (&'static str, Value),
}

/// A connection to another program. Dropping it closes the connection.
pub struct Peer {
    outgoing: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    pending: Arc<PendingRequests>,
    cancellation: fn(u64) -> (&'static str, Value),
    reader: JoinHandle<()>,
}

/// The requests without a response.
#[derive(Default)]
struct PendingRequests(Mutex<RequestTable>);

#[derive(Default)]
struct RequestTable {
    last_id: u64,
    response_senders: BTreeMap<u64, oneshot::Sender<Result<Box<RawValue>, RpcError>>>,
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
        table.response_senders.clear();
    }
}

/// A request without a response. Dropping it before the response arrives cancels the request.
struct PendingRequest<'a> {
    peer: &'a Peer,
    id: u64,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        if self.peer.pending.lock().response_senders.remove(&self.id).is_some() {
            let (method, params) = (self.peer.cancellation)(self.id);
            // Best effort: another program that is stuck must not block this one.
            self.peer.try_notify(method, params);
        }
    }
}

/// The way to respond to one request. Dropping it without a response leaves the request open.
#[derive(Debug)]
pub struct Responder {
    id: RequestId,
    outgoing: mpsc::WeakSender<Vec<u8>>,
}

impl Responder {
    /// Responds, and waits for room in the queue of lines.
    pub async fn respond<R: Serialize>(self, result: Result<R, RpcError>) {
        if let (Some(outgoing), Some(line)) = (self.outgoing.upgrade(), self.line(result)) {
            // An error means that the connection is closed.
            let _ = outgoing.send(line).await;
        }
    }

    /// Responds, unless the queue of lines is full.
    pub fn try_respond<R: Serialize>(self, result: Result<R, RpcError>) {
        if let (Some(outgoing), Some(line)) = (self.outgoing.upgrade(), self.line(result)) {
            let _ = outgoing.try_send(line);
        }
    }

    fn line<R: Serialize>(&self, result: Result<R, RpcError>) -> Option<Vec<u8>> {
        to_line(&OutgoingResponse::new(&self.id, result)).ok()
    }
}

impl Peer {
    /// Returns a connection that queues its lines in `outgoing`, for [`write_lines`], and reads from `input`. Must be
    /// called within an async runtime.
    pub fn new(
        options: PeerOptions,
        outgoing: mpsc::Sender<Vec<u8>>,
        input: impl AsyncRead + Send + Unpin + 'static,
        handler: impl Handler,
    ) -> Self {
        let pending = Arc::new(PendingRequests::default());
        let PeerOptions { max_line_bytes, cancellation } = options;
        let reader = Reader {
            lines: Lines::new(input, max_line_bytes),
            max_line_bytes,
            pending: Arc::clone(&pending),
            outgoing: outgoing.downgrade(),
            handler,
        };
        let reader = tokio::spawn(reader.read_messages());
        Self { outgoing: Mutex::new(Some(outgoing)), pending, cancellation, reader }
    }

    /// Sends a request and waits for its result, without a time limit. Dropping the future cancels the request.
    ///
    /// # Errors
    /// The other program rejects the request, or the connection is closed.
    pub async fn request(&self, method: &str, params: impl Serialize) -> Result<Box<RawValue>, RequestError> {
        let (sender, response) = oneshot::channel();
        let (_pending, line) = {
            let mut table = self.pending.lock();
            if let Some(reason) = &table.close_reason {
                return Err(RequestError::Closed(reason.clone()));
            }
            table.last_id += 1;
            let id = table.last_id;
            let line = to_line(&OutgoingMessage::request(id, method, params))?;
            table.response_senders.insert(id, sender);
            (PendingRequest { peer: self, id }, line)
        };
        if let Some(outgoing) = self.outgoing() {
            // An error means that the writer has ended; then no response arrives either.
            let _ = outgoing.send(line).await;
        }
        match response.await {
            Ok(response) => response.map_err(RequestError::Rejected),
            Err(_) => Err(RequestError::Closed(self.close_reason().unwrap_or(CloseReason::EndOfOutput))),
        }
    }

    /// Sends a notification, unless the queue of lines is full.
    pub fn try_notify(&self, method: &str, params: impl Serialize) {
        if let (Some(outgoing), Ok(line)) =
            (self.outgoing(), to_line(&OutgoingMessage::notification(method, params)))
        {
            let _ = outgoing.try_send(line);
        }
    }

    /// Sends a notification, and waits for room in the queue of lines.
    pub async fn notify(&self, method: &str, params: impl Serialize) {
        if let (Some(outgoing), Ok(line)) =
            (self.outgoing(), to_line(&OutgoingMessage::notification(method, params)))
        {
            // An error means that the connection is closed.
            let _ = outgoing.send(line).await;
        }
    }

    /// Sends a notification, and blocks the thread until there is room in the queue of lines. Must not be called within
    /// an async runtime.
    ///
    /// # Errors
    /// `BrokenPipe` if the connection is closed, `InvalidData` if the parameters cannot be serialized.
    pub fn notify_blocking(&self, method: &str, params: impl Serialize) -> io::Result<()> {
        let line = to_line(&OutgoingMessage::notification(method, params))?;
        let outgoing = self.outgoing().ok_or(io::ErrorKind::BrokenPipe)?;
        outgoing.blocking_send(line).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Returns the reason why the connection is closed; `None` while it is open.
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.pending.lock().close_reason.clone()
    }

    /// Rejects further requests. [`write_lines`] writes the queued lines and then closes its output.
    pub fn close(&self) {
        self.pending.close(CloseReason::ClosedHere);
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn outgoing(&self) -> Option<mpsc::Sender<Vec<u8>>> {
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

fn to_line(message: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Reads what the other program writes.
struct Reader<R, H> {
    lines: Lines<R>,
    max_line_bytes: usize,
    pending: Arc<PendingRequests>,
    outgoing: mpsc::WeakSender<Vec<u8>>,
    handler: H,
}

impl<R: AsyncRead + Unpin, H: Handler> Reader<R, H> {
    /// Passes each message to its receiver, until the output ends or violates the protocol.
    async fn read_messages(mut self) {
        let reason = match self.read_until_closed().await {
            Ok(()) => CloseReason::EndOfOutput,
            Err(reason) => reason,
        };
        self.pending.close(reason);
    }

    async fn read_until_closed(&mut self) -> Result<(), CloseReason> {
        let Self { lines, max_line_bytes, pending, outgoing, handler } = self;
        let responder = |id: RequestId| Responder { id, outgoing: outgoing.clone() };
        let unreadable = |error| CloseReason::invalid_output(format!("its output cannot be read: {error}"));
        while let Some(line) = lines.next().await.map_err(unreadable)? {
            let line = match line {
                Line::Complete(line) => line,
                Line::TooLong => {
                    let line = InvalidLine::TooLong { max_bytes: *max_line_bytes };
                    handler.on_invalid_line(line, responder(RequestId::Null)).await?;
                    continue;
                }
            };
            let messages = match parse_line(line) {
                Ok(messages) => messages,
                Err(problem) => {
                    let line = InvalidLine::NotMessage { line, problem };
                    handler.on_invalid_line(line, responder(RequestId::Null)).await?;
                    continue;
                }
            };
            for message in messages {
                match message {
                    IncomingMessage::Response { id, result } => {
                        let sender = pending.lock().response_senders.remove(&id);
                        if let Some(sender) = sender {
                            // The request may have been cancelled in the meantime.
                            let _ = sender.send(result);
                        }
                    }
                    IncomingMessage::Request(request) => {
                        let responder = responder(request.id.clone());
                        handler.on_request(request, responder).await;
                    }
                    IncomingMessage::Notification(notification) => {
                        handler.on_notification(notification).await;
                    }
                    IncomingMessage::ErrorWithoutId(_) => {}
                }
            }
        }
        Ok(())
    }
}

/// Writes the queued lines in their order until the connection is closed, then closes `output`.
///
/// # Errors
/// The error of `output`. No further line is written then.
pub async fn write_lines(
    mut output: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<Vec<u8>>,
) -> io::Result<()> {
    let mut batch = Vec::new();
    while lines.recv_many(&mut batch, MAX_LINES_PER_WRITE).await > 0 {
        output.write_all(&batch.concat()).await?;
        output.flush().await?;
        batch.clear();
    }
    output.shutdown().await
}

#[cfg(test)]
#[path = "peer_test.rs"]
mod tests;
