//! The budget of a batch of calls: what a run may still use while its sub-agents run.
//!
//! Sub-agents that run at the same time share the limits of their parent, so that the sum of all stays within them. Each
//! sub-agent adds what it uses as soon as its journal records it. The totals of the parent get the same amounts from the
//! outcome of the call, so a budget is only for checks and is never reported.

use std::sync::{Arc, Mutex, PoisonError};

use ibeam_protocol::{Limits, Reason, RunTotals};

/// The amounts of a run that limits count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UsedAmounts {
    turns: u32,
    tokens: u64,
    cost_micros: u64,
    tool_calls: u32,
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

    fn plus(self, other: Self) -> Self {
        Self {
            turns: self.turns.saturating_add(other.turns),
            tokens: self.tokens.saturating_add(other.tokens),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
            tool_calls: self.tool_calls.saturating_add(other.tool_calls),
        }
    }
}

/// The limits of a run and what it has used, together with its sub-agents. Clones share the amounts.
#[derive(Clone, Debug)]
pub struct Budget(Arc<BudgetNode>);

#[derive(Debug)]
struct BudgetNode {
    limits: Limits,
    used: Mutex<UsedAmounts>,
    /// The budget of the run whose sub-agent has this one.
    outer: Option<Budget>,
}

impl Budget {
    /// Returns the budget of a run with these limits that has used `totals` and is about to make `calls` tool calls.
    pub(crate) fn new(limits: Limits, totals: &RunTotals, calls: u32, outer: Option<Self>) -> Self {
        let mut used = UsedAmounts::from_totals(totals);
        used.tool_calls = used.tool_calls.saturating_add(calls);
        Self(Arc::new(BudgetNode { limits, used: Mutex::new(used), outer }))
    }

    /// Returns a budget without limits.
    pub fn unlimited() -> Self {
        Self::new(Limits::NONE, &RunTotals::default(), 0, None)
    }

    /// Adds the amounts to this budget and to the outer ones.
    pub(crate) fn add(&self, amounts: UsedAmounts) {
        let mut used = self.0.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.plus(amounts);
        drop(used);
        if let Some(outer) = &self.0.outer {
            outer.add(amounts);
        }
    }

    /// Returns the limit that forbids another model request.
    pub fn exceeded(&self) -> Option<Reason> {
        let (limits, used) = (self.0.limits, self.used());
        if used.turns >= limits.max_turns {
            return Some(Reason::TurnLimit { limit: limits.max_turns });
        }
        if let Some(limit) = limits.max_tokens.filter(|limit| used.tokens >= *limit) {
            return Some(Reason::TokenLimit { limit });
        }
        if let Some(limit_micros) = limits.max_cost_micros.filter(|limit| used.cost_micros >= *limit) {
            return Some(Reason::CostLimit { limit_micros });
        }
        self.0.outer.as_ref().and_then(Self::exceeded)
    }

    /// Returns how many more tool calls may run, and the limit.
    pub(crate) fn calls_left(&self) -> Option<(u32, u32)> {
        let own = self.0.limits.max_tool_calls;
        let own = own.map(|limit| (limit.saturating_sub(self.used().tool_calls), limit));
        let outer = self.0.outer.as_ref().and_then(Self::calls_left);
        own.into_iter().chain(outer).min()
    }

    /// Returns the limits of a sub-agent that starts now: what is left of these limits. A wall-clock limit is not among
    /// them, because the stop of the run ends its sub-agents.
    pub fn remaining(&self) -> Limits {
        let (limits, used) = (self.0.limits, self.used());
        let own = Limits {
            max_turns: match limits.max_turns {
                u32::MAX => u32::MAX,
                limit => limit.saturating_sub(used.turns),
            },
            max_tokens: limits.max_tokens.map(|limit| limit.saturating_sub(used.tokens)),
            max_cost_micros: limits.max_cost_micros.map(|limit| limit.saturating_sub(used.cost_micros)),
            max_tool_calls: limits.max_tool_calls.map(|limit| limit.saturating_sub(used.tool_calls)),
            timeout_ms: None,
        };
        match &self.0.outer {
            Some(outer) => tighter(own, outer.remaining()),
            None => own,
        }
    }

    fn used(&self) -> UsedAmounts {
        *self.0.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the smaller of two limits for each amount.
fn tighter(first: Limits, second: Limits) -> Limits {
    fn min<T: Ord>(first: Option<T>, second: Option<T>) -> Option<T> {
        first.into_iter().chain(second).min()
    }
    Limits {
        max_turns: first.max_turns.min(second.max_turns),
        max_tokens: min(first.max_tokens, second.max_tokens),
        max_cost_micros: min(first.max_cost_micros, second.max_cost_micros),
        max_tool_calls: min(first.max_tool_calls, second.max_tool_calls),
        timeout_ms: min(first.timeout_ms, second.timeout_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(turns: u32, tool_calls: u32) -> UsedAmounts {
        UsedAmounts { turns, tool_calls, ..UsedAmounts::default() }
    }

    #[test]
    fn what_a_sub_agent_uses_counts_for_its_siblings_and_for_the_outer_runs() {
        let limits = |max_turns| Limits { max_turns, max_tool_calls: Some(5), ..Limits::NONE };
        let totals = RunTotals { turns: 2, tool_calls: 1, ..RunTotals::default() };
        let outer = Budget::new(limits(10), &totals, 0, None);
        let inner = Budget::new(limits(6), &RunTotals::default(), 0, Some(outer.clone()));
        let sibling = outer.clone();
        inner.add(used(5, 3));
        assert_eq!(inner.exceeded(), None);
        assert_eq!(inner.remaining().max_turns, 1);
        assert_eq!(inner.calls_left(), Some((1, 5)), "the outer run has made a call of its own");
        sibling.add(used(3, 0));
        assert_eq!(inner.exceeded(), Some(Reason::TurnLimit { limit: 10 }), "the sum has reached the limit");
        assert_eq!(Budget::unlimited().remaining(), Limits::NONE);
    }
}
