//! The limits of a run, and the guard against a model that repeats the same call.
//!
//! Pure. The model is warned once before a limit, so that it can finish; the limit itself ends the run.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use ibeam_protocol::{LimitKind, Limits, Notice, Reason, RunTotals, ToolCall};

/// From this share of a limit on, the model is asked to finish.
const WARNING_PERCENT: u64 = 80;

/// The amounts of a run that limits count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UsedAmounts {
    pub(crate) turns: u32,
    pub(crate) tokens: u64,
    pub(crate) cost_micros: u64,
    pub(crate) tool_calls: u32,
}

impl UsedAmounts {
    pub(crate) fn from_totals(totals: &RunTotals) -> Self {
        Self {
            turns: totals.turns,
            tokens: totals.usage.map_or(0, |usage| usage.total()),
            cost_micros: totals.cost_micros.unwrap_or(0),
            tool_calls: totals.tool_calls,
        }
    }

    /// Returns the amounts that were added since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            turns: self.turns.saturating_sub(earlier.turns),
            tokens: self.tokens.saturating_sub(earlier.tokens),
            cost_micros: self.cost_micros.saturating_sub(earlier.cost_micros),
            tool_calls: self.tool_calls.saturating_sub(earlier.tool_calls),
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            turns: self.turns.saturating_add(other.turns),
            tokens: self.tokens.saturating_add(other.tokens),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
            tool_calls: self.tool_calls.saturating_add(other.tool_calls),
        }
    }
    /// Returns the limit that forbids another request.
    ///
    /// The limit of calls is not checked: the model may still answer without calls. Neither is the time: a timer ends
    /// the run.
    pub(crate) fn reached_limit(self, limits: &Limits) -> Option<Reason> {
        let Limits { max_turns, max_tokens, max_cost_micros, .. } = *limits;
        if self.turns >= max_turns {
            return Some(Reason::TurnLimit { limit: max_turns });
        }
        if let Some(limit) = max_tokens.filter(|limit| self.tokens >= *limit) {
            return Some(Reason::TokenLimit { limit });
        }
        let cost = max_cost_micros.filter(|limit| self.cost_micros >= *limit);
        cost.map(|limit_micros| Reason::CostLimit { limit_micros })
    }
}

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
    pub(crate) fn reached_limit(&self, totals: &RunTotals) -> Option<Reason> {
        UsedAmounts::from_totals(totals).reached_limit(&self.limits)
    }

    /// Returns how many more calls may run.
    pub(crate) fn calls_left(&self, totals: &RunTotals) -> Option<u32> {
        self.limits.max_tool_calls.map(|limit| limit.saturating_sub(totals.tool_calls))
    }

    /// Returns the warning about a limit that the run approaches; there is one warning per limit.
    pub(crate) fn next_warning(&mut self, totals: &RunTotals, elapsed_ms: u64) -> Option<Notice> {
        let Limits { max_turns, max_tokens, max_cost_micros, max_tool_calls, timeout_ms } = self.limits;
        let used = UsedAmounts::from_totals(totals);
        let last_turn = used.turns > 0 && used.turns.saturating_add(1) == max_turns;
        let counts = [
            (LimitKind::Turns, u64::from(used.turns), Some(u64::from(max_turns))),
            (LimitKind::Tokens, used.tokens, max_tokens),
            (LimitKind::Cost, used.cost_micros, max_cost_micros),
            (LimitKind::ToolCalls, u64::from(used.tool_calls), max_tool_calls.map(u64::from)),
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
