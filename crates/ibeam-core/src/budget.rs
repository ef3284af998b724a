//! The budget of a batch of calls: what a run may still use while its sub-agents run.
//!
//! Sub-agents that run at the same time share the limits of their parent, so that the sum of all stays within them. Each
//! sub-agent adds what it uses as soon as its journal records it, and reserves each request before it sends it. The totals
//! of the parent get the same amounts from the outcome of the call, so a budget is only for checks and is never reported.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ibeam_protocol::{Limits, Reason, RunTotals};
use tokio::sync::watch;

use crate::limits::UsedAmounts;

/// The limits of a run and what it has used, together with its sub-agents. Clones share the amounts.
#[derive(Clone, Debug)]
pub struct Budget(Arc<BudgetNode>);

#[derive(Debug)]
struct BudgetNode {
    limits: Limits,
    state: Mutex<BudgetState>,
    /// The budget of the run whose sub-agent has this one.
    outer: Option<Budget>,
    /// The signal that a request has ended, which all budgets of a run share.
    ended: watch::Sender<()>,
}

#[derive(Debug)]
struct BudgetState {
    used: UsedAmounts,
    /// The requests that are sent and not recorded.
    open: u32,
    /// The most that a request has used; an estimate of the next ones.
    largest: UsedAmounts,
}

/// The place of a request in a budget and in the outer ones. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Reservation(Budget);

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut next = Some(&self.0);
        while let Some(budget) = next {
            let mut state = budget.state();
            state.open = state.open.saturating_sub(1);
            next = budget.0.outer.as_ref();
        }
        self.0.0.ended.send_replace(());
    }
}

impl Budget {
    /// Returns the budget of a run with these limits that has used `totals` and is about to make `calls` tool calls.
    pub(crate) fn new(limits: Limits, totals: &RunTotals, calls: u32, outer: Option<Self>) -> Self {
        let mut used = UsedAmounts::from_totals(totals);
        // The average of the run itself: its sub-agents have sent none yet.
        let turns = u64::from(used.turns.max(1));
        let largest = UsedAmounts {
            tokens: used.tokens / turns,
            cost_micros: used.cost_micros / turns,
            ..UsedAmounts::default()
        };
        used.tool_calls = used.tool_calls.saturating_add(calls);
        let ended = outer.as_ref().map_or_else(|| watch::Sender::new(()), |outer| outer.0.ended.clone());
        let state = Mutex::new(BudgetState { used, open: 0, largest });
        Self(Arc::new(BudgetNode { limits, state, outer, ended }))
    }

    /// Returns a budget without limits.
    pub fn unlimited() -> Self {
        Self::new(Limits::NONE, &RunTotals::default(), 0, None)
    }

    /// Adds the amounts to this budget and to the outer ones.
    pub(crate) fn add(&self, amounts: UsedAmounts) {
        let mut state = self.state();
        state.used = state.used.plus(amounts);
        state.largest.tokens = state.largest.tokens.max(amounts.tokens);
        state.largest.cost_micros = state.largest.cost_micros.max(amounts.cost_micros);
        drop(state);
        if let Some(outer) = &self.0.outer {
            outer.add(amounts);
        }
    }

    /// Returns the limit that forbids another model request.
    pub fn exceeded(&self) -> Option<Reason> {
        let own = self.used().reached_limit(&self.0.limits);
        own.or_else(|| self.0.outer.as_ref().and_then(Self::exceeded))
    }

    /// Waits for a place for one request, so that no limit is exceeded by more than the request that reaches it.
    ///
    /// # Errors
    /// The limit that forbids another request.
    ///
    /// Cancel safe.
    pub(crate) async fn reserve(&self) -> Result<Reservation, Reason> {
        let mut ended = self.0.ended.subscribe();
        loop {
            if let Some(reason) = self.exceeded() {
                return Err(reason);
            }
            if self.try_reserve() {
                return Ok(Reservation(self.clone()));
            }
            // The sender lives as long as this budget.
            let _ = ended.changed().await;
        }
    }

    /// Counts another open request, unless those that are open may need what is left.
    fn try_reserve(&self) -> bool {
        let mut state = self.state();
        let is_free = state.has_room(self.0.limits) && self.0.outer.as_ref().is_none_or(Self::try_reserve);
        state.open += u32::from(is_free);
        is_free
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
        self.state().used
    }

    fn state(&self) -> MutexGuard<'_, BudgetState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BudgetState {
    /// Whether a request can be sent at the same time as the open ones. Each may need twice as much as the largest so far.
    fn has_room(&self, limits: Limits) -> bool {
        let fits = |limit: Option<u64>, used: u64, largest: u64| {
            let needed = largest.max(1).saturating_mul(2).saturating_mul(u64::from(self.open) + 1);
            limit.is_none_or(|limit| used.saturating_add(needed) <= limit)
        };
        let is_last_turn = self.used.turns.saturating_add(self.open) >= limits.max_turns;
        self.open == 0
            || !is_last_turn
                && fits(limits.max_tokens, self.used.tokens, self.largest.tokens)
                && fits(limits.max_cost_micros, self.used.cost_micros, self.largest.cost_micros)
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
    use futures_util::FutureExt as _;
    use ibeam_protocol::Usage;

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

    /// Returns the reservation if there is room now.
    fn reserved(budget: &Budget) -> Option<Result<Reservation, Reason>> {
        budget.reserve().now_or_never()
    }

    #[test]
    fn requests_at_the_same_time_never_exceed_the_turns_of_an_outer_run() {
        let limits = Limits { max_turns: 4, ..Limits::NONE };
        let outer = Budget::new(limits, &RunTotals { turns: 1, ..RunTotals::default() }, 0, None);
        let inner = || Budget::new(Limits::NONE, &RunTotals::default(), 0, Some(outer.clone()));
        let (first, second) = (inner(), inner());
        let mut open: Vec<Reservation> =
            (0..3).map(|_| reserved(&first).expect("there is room").unwrap()).collect();
        assert!(reserved(&second).is_none(), "the open requests may take all turns");
        open.pop();
        let again = reserved(&second).expect("a request failed without a turn").unwrap();
        first.add(used(3, 0));
        drop((open, again));
        assert_eq!(reserved(&second).unwrap().unwrap_err(), Reason::TurnLimit { limit: 4 });
    }

    #[test]
    fn near_the_end_of_its_tokens_a_run_sends_one_request_after_the_other() {
        let limits = Limits { max_tokens: Some(1000), ..Limits::NONE };
        let usage = Usage { input: 100, ..Usage::default() };
        let totals = RunTotals { turns: 1, usage: Some(usage), ..RunTotals::default() };
        let budget = Budget::new(limits, &totals, 0, None);
        let open: Vec<_> = (0..4).map(|_| reserved(&budget).expect("there is room").unwrap()).collect();
        assert!(reserved(&budget).is_none(), "each may need 200 tokens, and 900 are left");
        budget.add(UsedAmounts { tokens: 890, ..UsedAmounts::default() });
        drop(open);
        let last = reserved(&budget).expect("the request that reaches the limit").unwrap();
        assert!(reserved(&budget).is_none());
        drop(last);
    }
}
