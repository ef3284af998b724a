//! The progress of a run that later answers depend on: a pure fold over its events.
//!
//! A run that is parked at each model request has a process for each answer. Each process continues with the counts of
//! the one before it, so that the guards against endless runs hold for the run as a whole.

use ibeam_protocol::{Answer, EventKind, LimitKind, Notice, StopReason};

use crate::limits::RepetitionGuard;
use crate::turn::{has_content, tool_of_invalid_calls, visible_text};

/// The counts of a run so far; starts from zero at each prompt.
#[derive(Default)]
pub(crate) struct RunProgress {
    /// The number of consecutive answers that the output limit cut.
    pub(crate) cuts: u32,
    /// The number of consecutive answers that the service paused.
    pub(crate) pauses: u32,
    /// The number of consecutive answers without a call with valid arguments.
    pub(crate) invalid: u32,
    /// Whether an answer had content.
    pub(crate) has_answer: bool,
    /// Whether the model was asked again after an empty answer.
    pub(crate) retried_empty: bool,
    /// The number of corrections of the final answer.
    pub(crate) repairs: u32,
    /// The text of the answers that the next one continues.
    pub(crate) unfinished_text: String,
    /// Whether the last answer ended the run, as far as the model is concerned.
    pub(crate) is_complete: bool,
    /// The limits of which the model was warned.
    pub(crate) warned: Vec<LimitKind>,
    /// The recent calls.
    pub(crate) repetition: RepetitionGuard,
}

impl RunProgress {
    /// Adds the next event.
    pub(crate) fn fold(&mut self, kind: &EventKind) {
        if let EventKind::RunStarted(head) = kind
            && !head.continues
        {
            *self = Self::default();
        } else if let EventKind::ModelRequestFinished { answer, .. } = kind {
            self.fold_answer(answer);
        } else if let EventKind::ToolCallFinished { call, outcome, .. } = kind {
            self.repetition.record_call(call, &outcome.for_model());
        } else if let EventKind::Notice(Notice::LimitNear { kind, .. }) = kind {
            self.warned.push(*kind);
        } else if let EventKind::Notice(Notice::EmptyAnswer) = kind {
            self.retried_empty = true;
        } else if let EventKind::Notice(Notice::AnswerMismatch { attempt, .. }) = kind {
            self.repairs = *attempt;
        } else if let EventKind::UserMessage { .. } | EventKind::HookMessage { .. } = kind {
            self.is_complete = false;
        }
    }

    fn fold_answer(&mut self, answer: &Answer) {
        let has_calls = answer.calls().next().is_some();
        let is_cut = answer.stop == StopReason::MaxTokens;
        let is_paused = answer.stop == StopReason::Paused;
        self.repetition.start_answer();
        self.has_answer |= has_content(answer);
        self.cuts = if is_cut { self.cuts + 1 } else { 0 };
        if !is_cut {
            self.invalid = if tool_of_invalid_calls(answer).is_some() { self.invalid + 1 } else { 0 };
            self.pauses = if is_paused && !has_calls { self.pauses + 1 } else { 0 };
        }
        if !has_calls && (is_cut || is_paused) {
            self.unfinished_text.push_str(&visible_text(answer));
        } else {
            self.unfinished_text.clear();
        }
        self.is_complete = answer.stop == StopReason::EndTurn && !has_calls && has_content(answer);
    }
}
