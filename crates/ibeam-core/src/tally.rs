//! The sums of a run: a pure fold over its events.

use std::time::Duration;

use ibeam_protocol::event::PermissionDecided;
use ibeam_protocol::run::{Denial, RunTotals};
use ibeam_protocol::{EventKind, Notice, ToolOutcome, ToolOutput, Usage};

/// Number of different reasons that the warning about refused calls lists; more would hide the rest of stderr.
const MAX_DENIAL_REASONS: usize = 3;

/// What a run came to so far; begins anew at each `SessionStarted`.
#[derive(Default)]
pub struct Tally {
    /// The sums that `RunFinished` tells.
    pub totals: RunTotals,
    /// All visible text so far.
    pub text: String,
    /// Why calls were refused: the first few reasons, each once.
    pub denial_reasons: Vec<String>,
    /// When the run began, on the monotonic clock.
    pub started: Duration,
}

impl Tally {
    /// Takes one more fact, seen at `now`.
    pub fn fold(&mut self, kind: &EventKind, now: Duration) {
        match kind {
            EventKind::SessionStarted(_) => *self = Self { started: now, ..Self::default() },
            EventKind::TextDelta { text } => self.text.push_str(text),
            EventKind::ModelRequestFinished { answer, api_ms, cost_micros, .. } => {
                self.totals.turns += 1;
                self.fold_request(answer.usage, *api_ms, *cost_micros);
                if answer.request_id.is_some() {
                    self.totals.request_id.clone_from(&answer.request_id);
                }
            }
            EventKind::PermissionDecided(decision) if !decision.allowed => self.fold_refusal(decision),
            EventKind::ToolCallFinished { outcome, .. } => self.fold_outcome(outcome),
            EventKind::Retrying { .. } => self.totals.retries += 1,
            EventKind::ToolCallStarted { .. } => self.totals.tool_calls += 1,
            EventKind::Compacted(compacted) => {
                self.totals.compactions += 1;
                self.fold_request(compacted.usage, compacted.api_ms, compacted.cost_micros);
            }
            EventKind::Notice(Notice::AnswerInterrupted { .. }) => self.totals.continuations += 1,
            EventKind::Notice(Notice::BackgroundStopped { count }) => {
                self.totals.background_stopped += count;
            }
            EventKind::UserMessage { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::CallInterrupted { .. }
            | EventKind::Notice(_)
            | EventKind::RunFinished(_) => {}
        }
    }

    /// The run gave visible text.
    pub fn has_text(&self) -> bool {
        !self.text.trim().is_empty()
    }

    fn fold_refusal(&mut self, decision: &PermissionDecided) {
        self.totals.denials.push(Denial {
            call_id: decision.call_id.clone(),
            tool: decision.tool.clone(),
            rule: decision.rule.clone(),
        });
        if let Some(reason) = &decision.reason
            && self.denial_reasons.len() < MAX_DENIAL_REASONS
            && !self.denial_reasons.contains(reason)
        {
            self.denial_reasons.push(reason.clone());
        }
    }

    fn fold_request(&mut self, usage: Option<Usage>, api_ms: u64, cost_micros: Option<u64>) {
        let totals = &mut self.totals;
        totals.api_ms += api_ms;
        if let Some(usage) = usage {
            totals.usage = Some(totals.usage.unwrap_or_default().plus(usage));
        }
        if let Some(cost) = cost_micros {
            totals.cost_micros = Some(totals.cost_micros.unwrap_or(0).saturating_add(cost));
        }
    }

    fn fold_outcome(&mut self, outcome: &ToolOutcome) {
        let changed = match outcome {
            ToolOutcome::Success { output, .. } => match output {
                ToolOutput::Write(write) => Some(&write.path),
                ToolOutput::Edit(edit) => Some(&edit.path),
                ToolOutput::Delete(delete) => Some(&delete.path),
                ToolOutput::Read(_)
                | ToolOutput::Shell(_)
                | ToolOutput::Grep(_)
                | ToolOutput::Glob(_)
                | ToolOutput::Ls(_)
                | ToolOutput::Todos(_)
                | ToolOutput::WebFetch(_)
                | ToolOutput::Mcp(_)
                | ToolOutput::Other(_) => None,
            },
            ToolOutcome::Failure { .. } => {
                self.totals.failed_tool_calls += 1;
                None
            }
            ToolOutcome::Rejected { .. } => None,
        };
        if let Some(path) = changed
            && !self.totals.files_changed.contains(path)
        {
            self.totals.files_changed.push(path.clone());
        }
    }
}
