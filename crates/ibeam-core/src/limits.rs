//! The limits of a run, and the guard against a model that repeats the same call.
//!
//! Pure. The model is warned once before a limit, so that it can finish; the limit itself ends the run.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use ibeam_protocol::{LimitKind, Limits, Notice, Reason, RunTotals, ToolCall};

/// From this share of a limit on, the model is asked to finish.
const WARNING_PERCENT: u64 = 80;

/// The limits of one run, and those of which the model was warned.
#[derive(Debug)]
pub(crate) struct LimitTracker {
    limits: Limits,
    warned: Vec<LimitKind>,
}

impl LimitTracker {
    /// `warned` are the limits of which an earlier process of the run has warned the model.
    pub(crate) fn new(limits: Limits, warned: Vec<LimitKind>) -> Self {
        Self { limits, warned }
    }

    /// Returns the limit that forbids another request.
    ///
    /// The limit of calls is not checked: the model may still answer without calls. Neither is the time: a timer ends
    /// the run.
    pub(crate) fn reached_limit(&self, totals: &RunTotals) -> Option<Reason> {
        let Limits { max_turns, max_tokens, max_cost_micros, .. } = self.limits;
        let tokens = totals.usage.map_or(0, |usage| usage.total());
        let cost = totals.cost_micros.unwrap_or(0);
        if totals.turns >= max_turns {
            return Some(Reason::TurnLimit { limit: max_turns });
        }
        if let Some(limit) = max_tokens.filter(|limit| tokens >= *limit) {
            return Some(Reason::TokenLimit { limit });
        }
        max_cost_micros.filter(|limit| cost >= *limit).map(|limit_micros| Reason::CostLimit { limit_micros })
    }

    /// Returns how many more calls may run.
    pub(crate) fn calls_left(&self, totals: &RunTotals) -> Option<u32> {
        self.limits.max_tool_calls.map(|limit| limit.saturating_sub(totals.tool_calls))
    }

    /// Returns the warning about a limit that the run approaches; there is one warning per limit.
    pub(crate) fn next_warning(&mut self, totals: &RunTotals, elapsed_ms: u64) -> Option<Notice> {
        let Limits { max_turns, max_tokens, max_cost_micros, max_tool_calls, timeout_ms } = self.limits;
        let last_turn = totals.turns > 0 && totals.turns.saturating_add(1) == max_turns;
        let counts = [
            (LimitKind::Turns, u64::from(totals.turns), Some(u64::from(max_turns))),
            (LimitKind::Tokens, totals.usage.map_or(0, |usage| usage.total()), max_tokens),
            (LimitKind::Cost, totals.cost_micros.unwrap_or(0), max_cost_micros),
            (LimitKind::ToolCalls, u64::from(totals.tool_calls), max_tool_calls.map(u64::from)),
            (LimitKind::Time, elapsed_ms, timeout_ms),
        ];
        for (kind, used, limit) in counts {
            let Some(limit) = limit else { continue };
            let percent = used.saturating_mul(100) / limit.max(1);
            let near = percent >= WARNING_PERCENT || (kind == LimitKind::Turns && last_turn);
            if near && !self.warned.contains(&kind) {
                self.warned.push(kind);
                let percent = u32::try_from(percent).unwrap_or(u32::MAX);
                return Some(Notice::LimitNear { kind, percent });
            }
        }
        None
    }
}

/// At this count the model is warned.
pub(crate) const REPETITION_WARN_AT: u32 = 5;
/// At this count the run ends.
pub(crate) const REPETITION_STOP_AT: u32 = 10;
/// The number of recent calls that are compared; three calls in rotation still reach `REPETITION_STOP_AT`.
const REPETITION_WINDOW: usize = 3 * REPETITION_STOP_AT as usize;

/// Counts calls that were made with the same arguments and the same result, within the last few calls: reading a file
/// again after fifty other calls is not a loop.
///
/// The calls of one answer were made before any of their results were known, so equal calls in one answer count once.
#[derive(Default)]
pub(crate) struct RepetitionGuard {
    /// Hashes of (tool, arguments, result).
    recent: VecDeque<u64>,
    /// The hashes of the current answer.
    in_answer: HashSet<u64>,
}

impl RepetitionGuard {
    /// Starts the calls of the next answer.
    pub(crate) fn start_answer(&mut self) {
        self.in_answer.clear();
    }

    /// Records a finished call. Returns its count if the model is to be warned or the run is to end.
    pub(crate) fn record_call(&mut self, call: &ToolCall, result: &str) -> Option<u32> {
        let mut hasher = DefaultHasher::new();
        (&call.name, call.arguments.to_string(), result).hash(&mut hasher);
        let hash = hasher.finish();
        if !self.in_answer.insert(hash) {
            return None;
        }
        if self.recent.len() == REPETITION_WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(hash);
        let count = self.recent.iter().filter(|seen| **seen == hash).count();
        u32::try_from(count).ok().filter(|count| *count == REPETITION_WARN_AT || *count >= REPETITION_STOP_AT)
    }
}
