//! The one place where events are numbered, dated, folded and sent.
//!
//! The channel is bounded, so the slowest reader sets the pace of the loop. At the durable points `record` waits until
//! the readers have received the event, so that later effects cannot overtake it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use ibeam_protocol::{Attachment, Event, EventKind, EventOrder, EventPosition, Notice, ToolOutcome};
use tokio::sync::{mpsc, oneshot};

use crate::budget::Budget;
use crate::history::History;
use crate::limits::UsedAmounts;
use crate::ports::Clock;
use crate::progress::RunProgress;
use crate::redact::{DeltaRedactor, Redactor};
use crate::tally::Tally;
use crate::thinking::changes_before_thinking;

/// An event on its way to the readers.
pub struct Envelope {
    /// The event.
    pub event: Event,
    /// Receives a message when every reader has received the event; present at the durable points.
    pub receipt: Option<oneshot::Sender<()>>,
}

/// The journal has no readers any more: nothing can be recorded, so nothing may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the readers of the event stream have gone")]
pub struct JournalClosed;

/// The state of a session before this run: folded while it is read, without retaining its events.
#[derive(Default)]
pub struct ResumedState {
    history: History,
    order: EventOrder,
    /// The state of the last run, for a run that continues it.
    last_run: Option<Box<LastRun>>,
}

/// The state of the last run of a session.
#[derive(Default)]
struct LastRun {
    tally: Tally,
    progress: RunProgress,
}

impl ResumedState {
    /// Returns the state for a run that continues the last run of the session.
    pub fn for_continuation() -> Self {
        Self { last_run: Some(Box::default()), ..Self::default() }
    }

    /// Adds the next event of the session. An event that was recorded twice counts once.
    pub fn fold(&mut self, event: &Event) {
        match self.order.check(event.seq) {
            EventPosition::Next => {}
            EventPosition::AfterGap | EventPosition::Late => self.history.expect_gaps(),
            EventPosition::Repeated => return,
        }
        self.history.fold(&event.kind);
        if let Some(last_run) = &mut self.last_run {
            last_run.tally.fold(&event.kind, Duration::ZERO);
            last_run.progress.fold(&event.kind);
        }
    }

    /// Whether the session has no events.
    pub fn is_empty(&self) -> bool {
        self.order.next() == 0
    }

    /// Returns the number of places where events are missing, repeated or moved.
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

/// Numbers, dates, folds and sends events.
pub struct Journal {
    next_seq: u64,
    clock: Arc<dyn Clock>,
    history: History,
    tally: Tally,
    /// The progress of the run that this run continues.
    progress: RunProgress,
    redactor: Redactor,
    /// The budget of the run whose sub-agent records here.
    outer_budget: Option<Budget>,
    text: DeltaRedactor,
    thinking: DeltaRedactor,
    events: mpsc::Sender<Envelope>,
}

impl Journal {
    /// Returns a journal that continues after `past`.
    pub fn new(past: ResumedState, clock: Arc<dyn Clock>, events: mpsc::Sender<Envelope>) -> Self {
        let LastRun { tally, progress } = past.last_run.map(|last_run| *last_run).unwrap_or_default();
        Self {
            next_seq: past.order.next(),
            clock,
            history: past.history,
            tally,
            progress,
            redactor: Redactor::default(),
            outer_budget: None,
            text: DeltaRedactor::default(),
            thinking: DeltaRedactor::default(),
            events,
        }
    }

    /// Returns the journal with a redactor of the texts of tools, of the model and of failures.
    #[must_use]
    pub fn with_redactor(self, redactor: Redactor) -> Self {
        Self { redactor, ..self }
    }

    /// Returns the journal of a sub-agent, which adds what it uses to the budget of its parent.
    #[must_use]
    pub fn with_outer_budget(self, budget: Budget) -> Self {
        Self { outer_budget: Some(budget), ..self }
    }

    /// Returns the budget of the run whose sub-agent records here.
    pub(crate) fn outer_budget(&self) -> Option<&Budget> {
        self.outer_budget.as_ref()
    }

    /// Records an event. At a durable point returns only when the readers have received it.
    ///
    /// A delta whose end may be the beginning of a secret is recorded without that end, which is recorded with the next
    /// delta or before the next other event.
    ///
    /// # Errors
    /// `JournalClosed`: stop the run; the readers of the channel have the reason.
    ///
    /// Cancel safe: an event is folded, numbered and sent, or none of these.
    pub async fn record(&mut self, mut kind: EventKind) -> Result<(), JournalClosed> {
        // Text that was held back is recorded before any event of another kind.
        let (text, thinking) = match kind {
            EventKind::TextDelta { .. } => (false, true),
            EventKind::ThinkingDelta { .. } => (true, false),
            EventKind::RunStarted(_)
            | EventKind::UserMessage { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::RulesAdded { .. }
            | EventKind::HookMessage { .. }
            | EventKind::ModelRequestFinished { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::ToolCallStarted { .. }
            | EventKind::ToolCallFinished { .. }
            | EventKind::CallInterrupted { .. }
            | EventKind::PromptRecorded(_)
            | EventKind::ThinkingOmitted { .. }
            | EventKind::PartsOmitted(_)
            | EventKind::Compacted(_)
            | EventKind::CheckpointTaken(_)
            | EventKind::HookRequestFinished(_)
            | EventKind::Retrying { .. }
            | EventKind::ModelRequestFailed { .. }
            | EventKind::Notice(_)
            | EventKind::RunFinished(_) => (true, true),
        };
        self.release_held_text(text, thinking).await?;
        let events = self.events.clone();
        let permit = events.reserve().await.map_err(|_| JournalClosed)?;
        if !self.redact(&mut kind) {
            return Ok(());
        }
        let (receipt, received) = match is_durable(&kind) {
            true => {
                let (sender, receiver) = oneshot::channel();
                (Some(sender), Some(receiver))
            }
            false => (None, None),
        };
        permit.send(self.next_envelope(kind, receipt));
        match received {
            Some(received) => received.await.map_err(|_| JournalClosed),
            None => Ok(()),
        }
    }

    /// Records the end of the model's text that was held back, when no more text follows.
    ///
    /// # Errors
    /// As [`Self::record`].
    pub(crate) async fn release_all_held_text(&mut self) -> Result<(), JournalClosed> {
        self.release_held_text(true, true).await
    }

    /// Records the end that was held back of the visible text, of the reasoning, or of both.
    async fn release_held_text(&mut self, text: bool, thinking: bool) -> Result<(), JournalClosed> {
        let is_held = |wanted, redaction: &DeltaRedactor| wanted && !redaction.is_empty();
        if !is_held(text, &self.text) && !is_held(thinking, &self.thinking) {
            return Ok(());
        }
        let events = self.events.clone();
        if text {
            // Taken only when the channel has room: the future may be dropped before.
            let permit = events.reserve().await.map_err(|_| JournalClosed)?;
            let text = self.text.finish(&self.redactor.model_text());
            if !text.is_empty() {
                permit.send(self.next_envelope(EventKind::TextDelta { text }, None));
            }
        }
        if thinking {
            let permit = events.reserve().await.map_err(|_| JournalClosed)?;
            let text = self.thinking.finish(&self.redactor.model_text());
            if !text.is_empty() {
                permit.send(self.next_envelope(EventKind::ThinkingDelta { text }, None));
            }
        }
        Ok(())
    }

    /// Folds, numbers and dates an event that is about to be sent.
    fn next_envelope(&mut self, kind: EventKind, receipt: Option<oneshot::Sender<()>>) -> Envelope {
        self.history.fold(&kind);
        self.fold_totals(&kind);
        let event = Event { seq: self.next_seq, at_ms: self.clock.unix_ms(), kind };
        self.next_seq += 1;
        Envelope { event, receipt }
    }

    /// Folds an event into the totals, and adds the difference to the budget of the parent.
    fn fold_totals(&mut self, kind: &EventKind) {
        let now = self.clock.monotonic();
        let Some(budget) = &self.outer_budget else { return self.tally.fold(kind, now) };
        let before = UsedAmounts::from_totals(&self.tally.totals);
        self.tally.fold(kind, now);
        // The outcome of a call has the totals of a sub-agent, which has added them already.
        if !matches!(kind, EventKind::ToolCallFinished { .. } | EventKind::RunStarted(_)) {
            budget.add(UsedAmounts::from_totals(&self.tally.totals).since(before));
        }
    }

    /// Removes the secrets from an event, except from what the user typed. Returns false for a delta that is held back
    /// entirely.
    fn redact(&mut self, kind: &mut EventKind) -> bool {
        let model_text = self.redactor.model_text();
        match kind {
            EventKind::ToolCallFinished { call, outcome, .. } => {
                model_text.redact_call(call);
                redact_outcome(&self.redactor, outcome);
            }
            EventKind::RunFinished(run) => self.redactor.redact_value(&mut run.outcome),
            EventKind::Retrying { reason, .. } => self.redactor.redact_value(reason),
            EventKind::ModelRequestFailed { reason, .. } => self.redactor.redact_value(reason.as_mut()),
            EventKind::Notice(
                Notice::AnswerInterrupted { reason } | Notice::ModelFallback { reason, .. },
            ) => self.redactor.redact_value(reason.as_mut()),
            EventKind::PromptRecorded(record) => self.redactor.redact_value(record.as_mut()),
            EventKind::Notice(Notice::BackgroundEnded { command, .. }) => self.redactor.redact_value(command),
            EventKind::CallInterrupted { evidence, .. } => self.redactor.redact_value(evidence),
            EventKind::RulesAdded { text, .. } | EventKind::HookMessage { text } => {
                self.redactor.redact_value(text)
            }
            EventKind::TextDelta { text } => {
                *text = self.text.push(&model_text, std::mem::take(text));
                return !text.is_empty();
            }
            EventKind::ThinkingDelta { text } => {
                *text = self.thinking.push(&model_text, std::mem::take(text));
                return !text.is_empty();
            }
            EventKind::ModelRequestFinished { answer, prefix, .. } => {
                let received = prefix.is_some().then(|| answer.blocks.clone());
                model_text.redact_answer(answer);
                // The service would not find what came before some of the thinking.
                if received.is_some_and(|received| changes_before_thinking(&received, &answer.blocks)) {
                    *prefix = None;
                }
            }
            EventKind::ToolCallStarted { call, .. } => model_text.redact_call(call),
            EventKind::Compacted(compacted) => model_text.redact_text(&mut compacted.summary),
            EventKind::UserMessage { attachments, .. } => {
                attachments.iter_mut().for_each(|attachment| redact_attachment(&self.redactor, attachment));
            }
            EventKind::RunStarted(_)
            | EventKind::PromptWithheld { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::ThinkingOmitted { .. }
            | EventKind::PartsOmitted(_)
            | EventKind::CheckpointTaken(_)
            | EventKind::HookRequestFinished(_)
            | EventKind::Notice(_) => {}
        }
        true
    }

    /// Removes the progress of the run that this run continues, and returns it.
    pub(crate) fn take_progress(&mut self) -> RunProgress {
        std::mem::take(&mut self.progress)
    }

    /// Returns the redactor of this journal.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Returns the conversation so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the number of the next event.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Returns the sums of this run.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the time since the run began, in milliseconds.
    pub fn elapsed_ms(&self) -> u64 {
        millis(self.clock.monotonic().saturating_sub(self.tally.started))
    }
}

/// The text in place of an image or document with a secret.
const CONTAINS_SECRET: &str = "(not shown: the file contains a secret of this run)";

/// Removes the secrets from an attached file, as from the result of a tool.
fn redact_attachment(redactor: &Redactor, attachment: &mut Attachment) {
    match attachment {
        Attachment::Text { text, .. } => {
            if let Cow::Owned(clean) = redactor.redact(text) {
                *text = clean.into();
            }
        }
        Attachment::Media(media) => {
            if let Cow::Owned(_) = redactor.redact(&media.data) {
                let name = std::mem::take(&mut media.name);
                *attachment = Attachment::Text { name, text: CONTAINS_SECRET.into() };
            }
        }
    }
}

/// Removes the secrets from an outcome. An image or document with a secret in it becomes a line of text, because it cannot
/// be shown in part.
fn redact_outcome(redactor: &Redactor, outcome: &mut ToolOutcome) {
    let mut media = outcome.media_mut().map(std::mem::take).unwrap_or_default();
    let count = media.len();
    media.retain(|media| matches!(redactor.redact(&media.data), Cow::Borrowed(_)));
    if media.len() < count
        && let ToolOutcome::Success { for_model, .. } = outcome
    {
        *for_model = format!("{for_model}\n{CONTAINS_SECRET}").into();
    }
    redactor.redact_value(outcome);
    media.iter_mut().for_each(|media| redactor.redact_value(&mut media.name));
    if let Some(slot) = outcome.media_mut() {
        *slot = media;
    }
}

/// Whether nothing later may become visible before this event is written: the prompt, rules and messages of hooks, a
/// complete answer, the start and the end of each call, a compaction, a checkpoint, the end of the run.
fn is_durable(kind: &EventKind) -> bool {
    match kind {
        EventKind::UserMessage { .. }
        | EventKind::PromptWithheld { .. }
        | EventKind::RulesAdded { .. }
        | EventKind::HookMessage { .. }
        | EventKind::ModelRequestFinished { .. }
        | EventKind::ToolCallStarted { .. }
        | EventKind::ToolCallFinished { .. }
        | EventKind::Compacted(_)
        | EventKind::CheckpointTaken(_)
        | EventKind::RunFinished(_) => true,
        EventKind::RunStarted(_)
        | EventKind::TextDelta { .. }
        | EventKind::ThinkingDelta { .. }
        | EventKind::PermissionDecided(_)
        | EventKind::CallInterrupted { .. }
        | EventKind::PromptRecorded(_)
        | EventKind::ThinkingOmitted { .. }
        | EventKind::PartsOmitted(_)
        | EventKind::Retrying { .. }
        | EventKind::ModelRequestFailed { .. }
        | EventKind::HookRequestFinished(_)
        | EventKind::Notice(_) => false,
    }
}

/// Returns whole milliseconds, saturating.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
