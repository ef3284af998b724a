//! The one door: every fact is numbered, dated, folded and sent on here, and nowhere else.
//!
//! The channel is bounded, so the pace of the slowest reader is the pace of the loop. At the five durable
//! points `record` waits until the readers have taken the event, so that what follows cannot overtake it.

use std::sync::Arc;
use std::time::Duration;

use ibeam_protocol::{Event, EventKind};
use tokio::sync::{mpsc, oneshot};

use crate::clock::Clock;
use crate::history::History;
use crate::redact::Redactor;
use crate::tally::Tally;

/// An event on its way to the readers.
pub struct Envelope {
    /// The fact.
    pub event: Event,
    /// Answered once every reader has taken the event; present at the durable points.
    pub receipt: Option<oneshot::Sender<()>>,
}

/// The readers have gone: nothing can be recorded any more, so nothing may be done any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the readers of the event stream have gone")]
pub struct Closed;

/// What a session held before this run: folded as it is read, not kept.
#[derive(Default)]
pub struct Past {
    history: History,
    next_seq: u64,
}

impl Past {
    /// Takes the next event of the session.
    pub fn fold(&mut self, event: &Event) {
        self.history.fold(&event.kind);
        self.next_seq = event.seq + 1;
    }

    /// Nothing happened yet.
    pub fn is_empty(&self) -> bool {
        self.next_seq == 0
    }
}

impl<'a> FromIterator<&'a Event> for Past {
    fn from_iter<I: IntoIterator<Item = &'a Event>>(events: I) -> Self {
        let mut past = Self::default();
        events.into_iter().for_each(|event| past.fold(event));
        past
    }
}

/// Numbers, dates, folds and sends facts.
pub struct Journal {
    next_seq: u64,
    clock: Arc<dyn Clock>,
    history: History,
    tally: Tally,
    redactor: Redactor,
    events: mpsc::Sender<Envelope>,
}

impl Journal {
    /// A journal that goes on after `past`.
    pub fn new(past: Past, clock: Arc<dyn Clock>, events: mpsc::Sender<Envelope>) -> Self {
        Self {
            next_seq: past.next_seq,
            clock,
            history: past.history,
            tally: Tally::default(),
            redactor: Redactor::default(),
            events,
        }
    }

    /// The same, that keeps these secrets out of what tools say and of what failures tell.
    #[must_use]
    pub fn redacting(self, redactor: Redactor) -> Self {
        Self { redactor, ..self }
    }

    /// Records a fact. At a durable point returns only when it is on its way to the disk and to the readers.
    ///
    /// # Errors
    /// `Closed`: stop; whoever reads the channel knows why.
    ///
    /// Cancel safe: a fact is either folded, numbered and sent, or none of these.
    pub async fn record(&mut self, mut kind: EventKind) -> Result<(), Closed> {
        let permit = self.events.reserve().await.map_err(|_| Closed)?;
        self.redact(&mut kind);
        self.history.fold(&kind);
        self.tally.fold(&kind, self.clock.monotonic());
        let (receipt, taken) = match is_durable(&kind) {
            true => {
                let (sender, receiver) = oneshot::channel();
                (Some(sender), Some(receiver))
            }
            false => (None, None),
        };
        let event = Event { seq: self.next_seq, at_ms: self.clock.unix_ms(), kind };
        self.next_seq += 1;
        permit.send(Envelope { event, receipt });
        match taken {
            Some(taken) => taken.await.map_err(|_| Closed),
            None => Ok(()),
        }
    }

    /// Takes the secrets out of what comes from elsewhere. What the user and the model say is left verbatim: the
    /// model has never seen a secret that it was not told.
    fn redact(&self, kind: &mut EventKind) {
        match kind {
            EventKind::ToolCallFinished { outcome, .. } => self.redactor.redact_value(outcome),
            EventKind::RunFinished(run) => self.redactor.redact_value(&mut run.outcome),
            EventKind::Retrying { reason, .. } => self.redactor.redact_value(reason),
            EventKind::CallInterrupted { evidence, .. } => self.redactor.redact_value(evidence),
            EventKind::SessionStarted(_)
            | EventKind::UserMessage { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::TextDelta { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ModelRequestFinished { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::ToolCallStarted { .. }
            | EventKind::Compacted(_)
            | EventKind::Notice(_) => {}
        }
    }

    /// What keeps secrets out of the record.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The conversation so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The number the next event will have.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// The sums of this run.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Time since the run began, in milliseconds.
    pub fn elapsed_ms(&self) -> u64 {
        millis(self.clock.monotonic().saturating_sub(self.tally.started))
    }
}

/// The points at which nothing later may become visible before the event is written: the prompt, a complete
/// answer, each start, each result, the end.
fn is_durable(kind: &EventKind) -> bool {
    match kind {
        EventKind::UserMessage { .. }
        | EventKind::PromptWithheld { .. }
        | EventKind::ModelRequestFinished { .. }
        | EventKind::ToolCallStarted { .. }
        | EventKind::ToolCallFinished { .. }
        | EventKind::Compacted(_)
        | EventKind::RunFinished(_) => true,
        EventKind::SessionStarted(_)
        | EventKind::TextDelta { .. }
        | EventKind::ThinkingDelta { .. }
        | EventKind::PermissionDecided(_)
        | EventKind::CallInterrupted { .. }
        | EventKind::Retrying { .. }
        | EventKind::Notice(_) => false,
    }
}

/// Whole milliseconds, saturating.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
