//! The limits of a run: how near it is to each, and which is reached.
//!
//! Pure. A soft limit is told to the model once, so that it can finish; the hard one ends the run.

use ibeam_protocol::{LimitKind, Limits, Notice, Reason, RunTotals};

/// From this share of a limit on the model is asked to finish.
const WARNING_PERCENT: u64 = 80;

/// The limits of one run, and which of them the model has been told of.
#[derive(Debug)]
pub(crate) struct LimitTracker {
    limits: Limits,
    warned: Vec<LimitKind>,
}

impl LimitTracker {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, warned: Vec::new() }
    }

    /// The limit that forbids another request.
    ///
    /// Calls are not among them: a run whose calls are used up may still answer. Nor is time: a timer ends it.
    pub(crate) fn exceeded(&self, totals: &RunTotals) -> Option<Reason> {
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

    /// How many more calls may run.
    pub(crate) fn calls_left(&self, totals: &RunTotals) -> Option<u32> {
        self.limits.max_tool_calls.map(|limit| limit.saturating_sub(totals.tool_calls))
    }

    /// A limit that has come near since the last look; each is told once.
    pub(crate) fn approaching(&mut self, totals: &RunTotals, elapsed_ms: u64) -> Option<Notice> {
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
