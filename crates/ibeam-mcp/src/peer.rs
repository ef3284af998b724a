//! The two halves of a conversation: our requests and their answers, in any order.
//!
//! Knows nothing of processes. What the other side wants of us is answered (`ping`) or declined; what is no
//! message is passed over, up to a bound.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::framing::Lines;
use crate::message::{Incoming, Outgoing, RpcError, parse, reply};

/// Lines waiting to be written; a server that asks without reading is not answered beyond them.
const WAITING_LINES: usize = 64;
/// Bytes of lines that are no messages, until the other side is taken for no MCP server. Some print a banner.
const FOREIGN_BYTES: usize = 64 << 10;

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// The other side is gone, or has broken the rules.
    #[error("{0}")]
    Closed(Closed),
    /// It answered with an error.
    #[error("it answered with error {}: {}", .0.code, .0.message)]
    Refused(RpcError),
    /// The request cannot be written as JSON.
    #[error("the request cannot be written: {0}")]
    Unwritable(#[from] serde_json::Error),
}

/// Why nothing comes any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Closed {
    /// The other side closed its output: it ended, as a rule.
    #[error("it closed its output")]
    Ended,
    /// It broke a rule, and is not listened to any more.
    #[error("{0}")]
    Broken(Arc<str>),
    /// We hung up.
    #[error("the run is over")]
    HungUp,
}

/// Our side of a connection. Dropping it ends the conversation.
pub(crate) struct Peer {
    outgoing: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    waiting: Arc<Waiting>,
    reader: JoinHandle<()>,
    writer: JoinHandle<()>,
}

/// The requests that wait for their answer.
#[derive(Default)]
struct Waiting(Mutex<Requests>);

#[derive(Default)]
struct Requests {
    last_id: u64,
    open: BTreeMap<u64, oneshot::Sender<Result<Box<RawValue>, RpcError>>>,
    closed: Option<Closed>,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing comes any more: every open request ends. The first reason stands.
    fn close(&self, why: Closed) {
        let mut requests = self.lock();
        requests.closed.get_or_insert(why);
        requests.open.clear();
    }
}

/// A request on its way; dropping it before its answer tells the other side to stop.
struct Ticket<'a> {
    peer: &'a Peer,
    id: u64,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if self.peer.waiting.lock().open.remove(&self.id).is_some() {
            let params = json!({ "requestId": self.id, "reason": "the client no longer waits" });
            // Best effort: the other side may be stuck, which is why nobody waits for it.
            self.peer.notify("notifications/cancelled", params);
        }
    }
}

impl Peer {
    /// Speaks through `input`, the other side's stdin, and `output`, its stdout. Must be called within an async
    /// runtime.
    pub(crate) fn new(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
    ) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING_LINES);
        let waiting = Arc::new(Waiting::default());
        let replies = sender.downgrade();
        let reader = tokio::spawn(read(Lines::new(output), Arc::clone(&waiting), replies));
        let writer = tokio::spawn(write(input, receiver));
        Self { outgoing: Mutex::new(Some(sender)), waiting, reader, writer }
    }

    /// Asks and waits for the result, for as long as the caller does; dropping the future cancels the request.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: impl Serialize,
    ) -> Result<Box<RawValue>, RequestError> {
        let (sender, answer) = oneshot::channel();
        let ticket = {
            let mut requests = self.waiting.lock();
            if let Some(why) = &requests.closed {
                return Err(RequestError::Closed(why.clone()));
            }
            requests.last_id += 1;
            let id = requests.last_id;
            requests.open.insert(id, sender);
            Ticket { peer: self, id }
        };
        let line = line_of(&Outgoing::request(ticket.id, method, params))?;
        if let Some(outgoing) = self.outgoing() {
            // Failing means that nobody reads; then the answer does not come either.
            let _ = outgoing.send(line).await;
        }
        match answer.await {
            Ok(answer) => answer.map_err(RequestError::Refused),
            Err(_) => Err(RequestError::Closed(self.closed().unwrap_or(Closed::Ended))),
        }
    }

    /// Tells something, unless too much is waiting to be written.
    pub(crate) fn notify(&self, method: &str, params: impl Serialize) {
        if let (Some(outgoing), Ok(line)) =
            (self.outgoing(), line_of(&Outgoing::notification(method, params)))
        {
            let _ = outgoing.try_send(line);
        }
    }

    /// Why nothing comes any more, once that is so.
    pub(crate) fn closed(&self) -> Option<Closed> {
        self.waiting.lock().closed.clone()
    }

    /// Closes the other side's stdin, after what waits to be written; nothing can be asked any more.
    pub(crate) fn hang_up(&self) {
        self.waiting.close(Closed::HungUp);
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn outgoing(&self) -> Option<mpsc::Sender<Vec<u8>>> {
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.reader.abort();
        self.writer.abort();
    }
}

fn line_of(message: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Gives each answer to who waits for it, until the other side ends or breaks the rules.
async fn read(
    mut lines: Lines<impl AsyncRead + Unpin>,
    waiting: Arc<Waiting>,
    replies: mpsc::WeakSender<Vec<u8>>,
) {
    let mut foreign = 0;
    loop {
        let line = match lines.next().await {
            Ok(Some(line)) => line,
            Ok(None) => return waiting.close(Closed::Ended),
            Err(error) => return waiting.close(Closed::Broken(error.to_string().into())),
        };
        let Some(messages) = parse(line) else {
            foreign += line.len() + 1;
            if foreign > FOREIGN_BYTES {
                let said = format!("it writes what is no MCP message: {}", shown(line));
                return waiting.close(Closed::Broken(said.into()));
            }
            continue;
        };
        for message in messages {
            match message {
                Incoming::Response { id, answer } => {
                    if let Some(sender) = waiting.lock().open.remove(&id) {
                        // Who asked may have given up just now.
                        let _ = sender.send(answer);
                    }
                }
                Incoming::Request { id, method } => {
                    if let (Some(replies), Ok(line)) = (replies.upgrade(), line_of(&reply(&id, &method))) {
                        let _ = replies.try_send(line);
                    }
                }
                // `tools/list_changed` too: the tools of a run stay as they were offered.
                Incoming::Notification => {}
            }
        }
    }
}

/// The begin of a line, for a message.
fn shown(line: &[u8]) -> String {
    const SHOWN: usize = 80;
    let begin = String::from_utf8_lossy(line.get(..SHOWN).unwrap_or(line)).replace(char::is_control, " ");
    format!("`{}`", begin.trim())
}

async fn write(mut input: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if input.write_all(&line).await.is_err() || input.flush().await.is_err() {
            return;
        }
    }
    // Nobody is left to be told that it failed.
    let _ = input.shutdown().await;
}

#[cfg(test)]
#[path = "peer_test.rs"]
mod tests;
