//! The sums of a run: a pure fold over its events.

use std::time::Duration;

use ibeam_protocol::run::{Denial, RunTotals};
use ibeam_protocol::{EventKind, ToolOutcome, ToolOutput};

/// What a run came to so far; begins anew at each `SessionStarted`.
#[derive(Default)]
pub struct Tally {
    /// The sums that `RunFinished` tells.
    pub totals: RunTotals,
    /// The run gave visible text.
    pub spoke: bool,
    /// When the run began, on the monotonic clock.
    pub started: Duration,
}

impl Tally {
    /// Takes one more fact, seen at `now`.
    pub fn fold(&mut self, kind: &EventKind, now: Duration) {
        match kind {
            EventKind::SessionStarted(_) => *self = Self { started: now, ..Self::default() },
            EventKind::TextDelta { text } => self.spoke |= !text.trim().is_empty(),
            EventKind::ModelRequestFinished { answer, api_ms, .. } => {
                self.totals.turns += 1;
                self.totals.api_ms += api_ms;
                if let Some(usage) = answer.usage {
                    self.totals.usage = Some(self.totals.usage.unwrap_or_default().plus(usage));
                }
                if answer.request_id.is_some() {
                    self.totals.request_id.clone_from(&answer.request_id);
                }
            }
            EventKind::PermissionDecided(decision) if !decision.allowed => self.totals.denials.push(Denial {
                call_id: decision.call_id.clone(),
                tool: decision.tool.clone(),
                rule: decision.rule.clone(),
            }),
            EventKind::ToolCallFinished { outcome, .. } => self.fold_outcome(outcome),
            EventKind::Retrying { .. } => self.totals.retries += 1,
            EventKind::UserMessage { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::ToolCallStarted { .. }
            | EventKind::Notice(_)
            | EventKind::RunFinished(_) => {}
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
                | ToolOutput::Free(_) => None,
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
