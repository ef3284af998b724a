//! The calls that a killed run left: a run that continues executes them, so that the model need not be asked for them
//! again.
//!
//! A call that had not started is executed as if nothing had happened. One that had started is executed again only if
//! that cannot do harm. Otherwise none is executed: the model learns what is known of each, and decides.

use ibeam_protocol::{Answer, Block, StopReason, ToolCall};

use super::{Run, TurnError};
use crate::journal::Journal;
use crate::limits::{LimitTracker, RepetitionGuard};

impl Run {
    /// Executes the calls of the last answer that a killed run left. Returns whether none of them is open any more.
    pub(super) async fn run_open_calls(
        &self,
        journal: &mut Journal,
        limits: &LimitTracker,
        repetition: &mut RepetitionGuard,
    ) -> Result<bool, TurnError> {
        let history = journal.history();
        let Some((id, calls)) = history.open_calls() else { return Ok(true) };
        let mut started = 0;
        for call in history.interrupted_calls() {
            if !self.may_repeat(call) {
                return Ok(false);
            }
            started += 1;
        }
        let (id, blocks) = (id.clone(), calls.into_iter().cloned().map(Block::ToolCall).collect());
        let answer =
            Answer { blocks, stop: StopReason::ToolUse, refusal: None, usage: None, request_id: None };
        self.run_answer_calls(journal, &id, &answer, limits, started, repetition).await?;
        Ok(true)
    }

    /// Whether a call that had started, and may have had its effect or not, can be executed again.
    fn may_repeat(&self, call: &ToolCall) -> bool {
        let tool = self.tools.get(&call.name);
        let prepared = tool.and_then(|tool| Some((tool, tool.prepare(&call.arguments).ok()?)));
        prepared.is_some_and(|(tool, prepared)| {
            prepared.access.is_read_only() || tool.has_no_effect_yet(&call.arguments)
        })
    }
}
