//! The budget of all tasks of a fleet together.

use serde::{Deserialize, Serialize};

use crate::child::ExtraLimits;
use crate::queue::{Spend, usd_to_micros};

/// The budget of all tasks together. An absent limit is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Millionths of a US dollar.
    pub cost_micros: Option<u64>,
    /// Tokens of prompts and answers together.
    pub tokens: Option<u64>,
}

impl Budget {
    /// The reason for which no further request is sent.
    pub(crate) const SPENT: &'static str = "the budget of the fleet is spent";

    /// Returns the budget for a number of dollars.
    pub fn from_usd(usd: f64) -> Option<u64> {
        usd_to_micros(usd)
    }

    /// Whether a limit is reached.
    pub fn is_spent(self, spent: Spend) -> bool {
        self.left(spent).is_none()
    }

    /// Whether there is a limit.
    pub fn is_limited(self) -> bool {
        self.cost_micros.is_some() || self.tokens.is_some()
    }

    /// Returns how many requests may be unanswered at the same time, if each can need twice as much as `largest`, the
    /// largest request so far; `None` without a limit. The first request is sent alone.
    pub fn open_requests(self, spent: Spend, largest: Spend) -> Option<u64> {
        if !self.is_limited() {
            return None;
        }
        let Some(left) = self.left(spent) else { return Some(0) };
        let count =
            |left: Option<u64>, largest: u64| left.map(|left| left / largest.saturating_mul(2).max(1));
        if largest == Spend::default() {
            return Some(1);
        }
        let counts = [count(left.cost_micros, largest.cost_micros), count(left.tokens, largest.tokens)];
        counts.into_iter().flatten().min().map(|count| count.max(1))
    }

    /// Returns what is left, or `None` if a limit is reached.
    pub(crate) fn left(self, spend: Spend) -> Option<ExtraLimits> {
        let left = |limit: Option<u64>, used: u64| match limit {
            None => Some(None),
            Some(limit) if used < limit => Some(Some(limit - used)),
            Some(_) => None,
        };
        Some(ExtraLimits {
            cost_micros: left(self.cost_micros, spend.cost_micros)?,
            tokens: left(self.tokens, spend.tokens)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_requests_are_open_as_the_rest_of_the_budget_allows() {
        let spend = |cost_micros, tokens| Spend { cost_micros, tokens };
        let budget = Budget { cost_micros: Some(1000), tokens: None };
        let check = |spent, largest, expected| {
            assert_eq!(budget.open_requests(spent, largest), expected, "{spent:?} {largest:?}");
        };
        check(Spend::default(), Spend::default(), Some(1));
        check(spend(100, 9), spend(100, 9), Some(4));
        check(spend(900, 9), spend(100, 9), Some(1));
        check(spend(1000, 9), spend(100, 9), Some(0));
        let tokens = Budget { cost_micros: Some(1000), tokens: Some(100) };
        assert_eq!(tokens.open_requests(spend(0, 20), spend(0, 10)), Some(4));
        assert_eq!(Budget::default().open_requests(spend(5, 5), spend(5, 5)), None);
    }
}
