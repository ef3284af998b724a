//! The sums of a run, a pure fold over its events, and the prices of its tokens.

use std::time::Duration;

use ibeam_protocol::event::PermissionDecided;
use ibeam_protocol::run::{Denial, RunTotals};
use ibeam_protocol::{EventKind, Notice, ToolOutcome, Usage};

/// Number of different reasons that the warning about refused calls lists; more would hide the rest of stderr.
const MAX_DENIAL_REASONS: usize = 3;

/// The sums of a run so far; starts from zero at each `SessionStarted`.
#[derive(Default)]
pub struct Tally {
    /// The sums that `RunFinished` reports.
    pub totals: RunTotals,
    /// All visible text so far.
    pub text: String,
    /// Why calls were refused: the first few reasons, each once.
    pub denial_reasons: Vec<String>,
    /// When the run began, on the monotonic clock.
    pub started: Duration,
}

impl Tally {
    /// Adds one event, recorded at `now`.
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

    /// Whether the run produced visible text.
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
            ToolOutcome::Success { output, .. } => output.changed_path(),
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

/// Prices of a model, in millionths of a US dollar for a million tokens; equally, in dollars for a million million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    /// Prompt tokens that were neither read from nor written to a cache.
    pub input: u64,
    /// Generated tokens.
    pub output: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache.
    pub cache_write: u64,
}

impl Prices {
    /// Returns the cost of `usage` in millionths of a US dollar, rounded up; saturating.
    pub fn cost_micros(&self, usage: Usage) -> u64 {
        let classes = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ];
        let sum = classes
            .iter()
            .fold(0u128, |sum, (tokens, price)| sum.saturating_add(u128::from(*tokens) * u128::from(*price)));
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_its_price_and_parts_are_rounded_up() {
        // 3 dollars a million in, 15 out, 0.30 and 3.75 for the cache.
        let prices =
            Prices { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };
        let usage =
            Usage { input: 1000, output: 100, cache_read: 10_000, cache_write: 400, ..Usage::default() };
        assert_eq!(prices.cost_micros(usage), 3000 + 1500 + 3000 + 1500);
        assert_eq!(prices.cost_micros(Usage { cache_read: 1, ..Usage::default() }), 1);
        let absurd = Usage {
            input: u64::MAX,
            output: u64::MAX,
            cache_read: u64::MAX,
            cache_write: u64::MAX,
            ..Usage::default()
        };
        assert_eq!(Prices { input: u64::MAX, ..prices }.cost_micros(absurd), u64::MAX);
    }
}
