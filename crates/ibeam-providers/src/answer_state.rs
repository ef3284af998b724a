//! The state that every decoder keeps of an answer while it arrives.

use ibeam_core::ModelEvent;
use ibeam_protocol::{RefusalDetails, StopReason, Usage};

use crate::answer_draft::{AnswerEnd, Part, build_answer};
use crate::answer_limits::AnswerLimits;
use crate::response_error::ResponseError;

/// The part of an answer's state that all APIs have.
#[derive(Debug, Default)]
pub struct AnswerState {
    is_finished: bool,
    /// The id in the body.
    pub(crate) id: Option<String>,
    /// The reason for a refusal.
    pub(crate) refusal: Option<RefusalDetails>,
    pub(crate) limits: AnswerLimits,
    calls_before: usize,
}

impl AnswerState {
    /// Creates the state of an answer. `calls_before` is the number of tool calls in the conversation before it.
    pub(crate) fn new(calls_before: usize) -> Self {
        Self { calls_before, ..Self::default() }
    }

    /// Whether the answer is complete: its terminal event was appended.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Returns the size of the content so far.
    pub(crate) fn content_size(&self) -> usize {
        self.limits.content_size()
    }

    /// Appends the terminal event with the answer.
    ///
    /// # Errors
    /// `Protocol` for an answer that cannot be used.
    pub(crate) fn finish(
        &mut self,
        parts: Vec<Part>,
        stop: StopReason,
        usage: Option<Usage>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        let end = AnswerEnd { stop, usage, request_id: self.id.take(), calls_before: self.calls_before };
        let mut answer = build_answer(parts, end)?;
        answer.refusal = self.refusal.take().filter(|_| answer.stop == StopReason::Refusal);
        self.is_finished = true;
        out.push(ModelEvent::Finished(Box::new(answer)));
        Ok(())
    }
}
