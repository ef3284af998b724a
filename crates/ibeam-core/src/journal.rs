//! The one door: every fact is numbered, dated, folded and sent on here, and nowhere else.
//!
//! The channel is bounded, so the pace of the slowest reader is the pace of the loop. At the five durable
//! points `record` waits until the readers have taken the event, so that what follows cannot overtake it.

use std::sync::Arc;
use std::time::Duration;

use ibeam_protocol::{Event, EventKind, EventOrder, EventPosition, Notice};
use tokio::sync::{mpsc, oneshot};

use crate::history::History;
use crate::ports::Clock;
use crate::redact::{DeltaRedactor, Redactor};
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
pub struct JournalClosed;

/// What a session held before this run: folded as it is read, not kept.
#[derive(Default)]
pub struct ResumedState {
    history: History,
    order: EventOrder,
}

impl ResumedState {
    /// Takes the next event of the session. An event that was recorded twice counts once.
    pub fn fold(&mut self, event: &Event) {
        match self.order.check(event.seq) {
            EventPosition::Next => {}
            EventPosition::AfterGap | EventPosition::Late => self.history.expect_gaps(),
            EventPosition::Repeated => return,
        }
        self.history.fold(&event.kind);
    }

    /// Nothing happened yet.
    pub fn is_empty(&self) -> bool {
        self.order.next() == 0
    }

    /// The number of places where events are missing, repeated or moved.
    pub fn gaps(&self) -> u64 {
        self.order.gaps()
    }
}

impl<'a> FromIterator<&'a Event> for ResumedState {
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
    text: DeltaRedactor,
    thinking: DeltaRedactor,
    events: mpsc::Sender<Envelope>,
}

impl Journal {
    /// A journal that goes on after `past`.
    pub fn new(past: ResumedState, clock: Arc<dyn Clock>, events: mpsc::Sender<Envelope>) -> Self {
        Self {
            next_seq: past.order.next(),
            clock,
            history: past.history,
            tally: Tally::default(),
            redactor: Redactor::default(),
            text: DeltaRedactor::default(),
            thinking: DeltaRedactor::default(),
            events,
        }
    }

    /// Returns the journal with a redactor that keeps these secrets out of texts of tools, of the model and of failures.
    #[must_use]
    pub fn with_redactor(self, redactor: Redactor) -> Self {
        Self { redactor, ..self }
    }

    /// Records a fact. At a durable point returns only when it is on its way to the disk and to the readers.
    ///
    /// A delta whose end may be the beginning of a secret is recorded without that end, which comes with the next one
    /// or before whatever else is recorded next.
    ///
    /// # Errors
    /// `Closed`: stop; whoever reads the channel knows why.
    ///
    /// Cancel safe: a fact is either folded, numbered and sent, or none of these.
    pub async fn record(&mut self, mut kind: EventKind) -> Result<(), JournalClosed> {
        let (text, thinking) = match kind {
            EventKind::TextDelta { .. } => (false, true),
            EventKind::ThinkingDelta { .. } => (true, false),
            EventKind::SessionStarted(_)
            | EventKind::UserMessage { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::ModelRequestFinished { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::ToolCallStarted { .. }
            | EventKind::ToolCallFinished { .. }
            | EventKind::CallInterrupted { .. }
            | EventKind::Compacted(_)
            | EventKind::Retrying { .. }
            | EventKind::Notice(_)
            | EventKind::RunFinished(_) => (true, true),
        };
        self.release(text, thinking).await?;
        let events = self.events.clone();
        let permit = events.reserve().await.map_err(|_| JournalClosed)?;
        if !self.redact(&mut kind) {
            return Ok(());
        }
        let (receipt, taken) = match is_durable(&kind) {
            true => {
                let (sender, receiver) = oneshot::channel();
                (Some(sender), Some(receiver))
            }
            false => (None, None),
        };
        permit.send(self.envelope(kind, receipt));
        match taken {
            Some(taken) => taken.await.map_err(|_| JournalClosed),
            None => Ok(()),
        }
    }

    /// Records what is held back of the model's text: nothing more of it comes.
    ///
    /// # Errors
    /// As [`Self::record`].
    pub(crate) async fn release_held(&mut self) -> Result<(), JournalClosed> {
        self.release(true, true).await
    }

    async fn release(&mut self, text: bool, thinking: bool) -> Result<(), JournalClosed> {
        let is_held = |wanted, redaction: &DeltaRedactor| wanted && !redaction.is_empty();
        if !is_held(text, &self.text) && !is_held(thinking, &self.thinking) {
            return Ok(());
        }
        let events = self.events.clone();
        if text {
            // Not taken before there is room: the future may be dropped until then.
            let permit = events.reserve().await.map_err(|_| JournalClosed)?;
            let text = self.text.finish(self.redactor.own_words());
            if !text.is_empty() {
                permit.send(self.envelope(EventKind::TextDelta { text }, None));
            }
        }
        if thinking {
            let permit = events.reserve().await.map_err(|_| JournalClosed)?;
            let text = self.thinking.finish(self.redactor.own_words());
            if !text.is_empty() {
                permit.send(self.envelope(EventKind::ThinkingDelta { text }, None));
            }
        }
        Ok(())
    }

    /// Folds, numbers and dates a fact that is about to be sent.
    fn envelope(&mut self, kind: EventKind, receipt: Option<oneshot::Sender<()>>) -> Envelope {
        self.history.fold(&kind);
        self.tally.fold(&kind, self.clock.monotonic());
        let event = Event { seq: self.next_seq, at_ms: self.clock.unix_ms(), kind };
        self.next_seq += 1;
        Envelope { event, receipt }
    }

    /// Takes the secrets out of what comes from elsewhere, the model's own text and calls among it. What the user says
    /// is left verbatim. False for a delta of which nothing is certain yet.
    fn redact(&mut self, kind: &mut EventKind) -> bool {
        let own_words = self.redactor.own_words();
        match kind {
            EventKind::ToolCallFinished { call, outcome, .. } => {
                own_words.redact_call(call);
                self.redactor.redact_value(outcome);
            }
            EventKind::RunFinished(run) => self.redactor.redact_value(&mut run.outcome),
            EventKind::Retrying { reason, .. } => self.redactor.redact_value(reason),
            EventKind::Notice(Notice::AnswerInterrupted { reason }) => self.redactor.redact_value(reason),
            EventKind::CallInterrupted { evidence, .. } => self.redactor.redact_value(evidence),
            EventKind::TextDelta { text } => {
                *text = self.text.push(own_words, std::mem::take(text));
                return !text.is_empty();
            }
            EventKind::ThinkingDelta { text } => {
                *text = self.thinking.push(own_words, std::mem::take(text));
                return !text.is_empty();
            }
            EventKind::ModelRequestFinished { answer, .. } => own_words.redact_answer(answer),
            EventKind::ToolCallStarted { call, .. } => own_words.redact_call(call),
            EventKind::Compacted(compacted) => own_words.redact_text(&mut compacted.summary),
            EventKind::SessionStarted(_)
            | EventKind::UserMessage { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::Notice(_) => {}
        }
        true
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
