//! The reader of a sub-agent's events: writes them to its journal on disk, collects its texts, and passes the events to
//! an observer. Prints nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ibeam_core::Envelope;
use ibeam_protocol::{Block, Event, EventKind, Reason, SessionId};
use ibeam_session::Session;
use tokio::sync::{mpsc, oneshot};

use super::SubagentObserver;
use crate::printer::split_batch;
use crate::pump::{self, MAX_WAITING_EVENTS};

/// The bytes of all texts of a sub-agent that are kept; the latest ones.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// The events of a sub-agent, as far as its parent needs them.
#[derive(Debug, Default)]
pub(super) struct ChildRecord {
    /// The visible text of each answer.
    pub(super) texts: Vec<String>,
    /// Why the journal could not be written.
    pub(super) unwritten: Option<Reason>,
}

impl ChildRecord {
    fn observe(&mut self, event: &Event) {
        let EventKind::ModelRequestFinished { answer, .. } = &event.kind else { return };
        let text: String = answer
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Text(text) => Some(text.as_str()),
                Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque(_) => None,
            })
            .collect();
        if text.trim().is_empty() {
            return;
        }
        self.texts.push(text);
        let mut bytes: usize = self.texts.iter().map(String::len).sum();
        while bytes > MAX_TEXT_BYTES && self.texts.len() > 1 {
            bytes -= self.texts.remove(0).len();
        }
    }
}

/// A running reader.
pub(super) struct ChildRecorder {
    record: Arc<Mutex<ChildRecord>>,
    ended: oneshot::Receiver<()>,
}

impl ChildRecorder {
    /// Starts the reader of the events that the returned sender receives, with the observer of the session. It ends when the sender is dropped, or when the
    /// journal cannot be written.
    ///
    /// # Errors
    /// The error of the system if no thread can be started.
    pub(super) fn start(
        mut session: Option<Session>,
        observer: Option<(Arc<dyn SubagentObserver>, SessionId)>,
    ) -> std::io::Result<(Self, mpsc::Sender<Envelope>)> {
        let (events, mut inbox) = mpsc::channel(MAX_WAITING_EVENTS);
        let record = Arc::new(Mutex::new(ChildRecord::default()));
        let (shared, (ending, ended)) = (Arc::clone(&record), oneshot::channel());
        thread::Builder::new().name("subagent".to_owned()).spawn(move || {
            let mut batch = Vec::new();
            while inbox.blocking_recv_many(&mut batch, MAX_WAITING_EVENTS) > 0 {
                let (events, receipts) = split_batch(&mut batch);
                let is_durable = !receipts.is_empty();
                let written = session.as_mut().map(|session| pump::record(session, &events, is_durable));
                {
                    let mut record = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    events.iter().for_each(|event| record.observe(event));
                    if let Some(Err(error)) = written {
                        record.unwritten = Some(pump::reason_of(&error));
                        break;
                    }
                }
                if let Some((observer, id)) = &observer {
                    events.iter().for_each(|event| observer.on_event(*id, event));
                }
                for receipt in receipts {
                    // The receiver may have been dropped.
                    let _ = receipt.send(());
                }
            }
            // Releases the lease, so that the sub-agent can be resumed at once.
            drop(session);
            let _ = ending.send(());
        })?;
        Ok((Self { record, ended }, events))
    }

    /// Waits for the end of the reader and returns what it collected.
    pub(super) async fn finish(self) -> ChildRecord {
        // An error means that the thread has ended too.
        let _ = self.ended.await;
        std::mem::take(&mut self.record.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
