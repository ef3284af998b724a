//! The limits of all tasks of a fleet together: the budget and the rates of requests.

use ibeam_governor::Spend;
use serde::{Deserialize, Serialize};

use crate::dollars::usd_to_micros;

/// The budget of all tasks together. An absent limit is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Millionths of a US dollar.
    pub cost_micros: Option<u64>,
    /// Tokens of prompts and answers together.
    pub tokens: Option<u64>,
}

/// The rates of requests of all runs together. An absent limit is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RateLimits {
    /// The requests that may start within a minute, for each account.
    pub requests_per_minute: Option<u32>,
    /// The tokens of the requests that started within a minute, for each account.
    pub tokens_per_minute: Option<u64>,
}

/// The limits that the budget of the fleet adds to those of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExtraLimits {
    pub(crate) cost_micros: Option<u64>,
    pub(crate) tokens: Option<u64>,
}

impl ExtraLimits {
    /// Returns the limits for a run that has consumed `spent` already.
    pub(crate) fn after(self, spent: Spend) -> Self {
        let plus = |limit: Option<u64>, spent: u64| limit.map(|limit| limit.saturating_add(spent));
        Self {
            cost_micros: plus(self.cost_micros, spent.cost_micros),
            tokens: plus(self.tokens, spent.tokens),
        }
    }
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

    /// Returns how many requests with these `sizes` may be unanswered at the same time. Each is expected to need as much as
    /// `largest`, the largest one so far, and more where it is longer than `answered`, the size of the longest one so far.
    /// The first request is sent alone.
    pub fn open_requests(self, spent: Spend, largest: Spend, answered: u64, mut sizes: Vec<u64>) -> u64 {
        let Some(left) = self.left(spent) else { return 0 };
        // However they are chosen, so many need no more than the longest ones.
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let mut needed = Spend::default();
        let mut fits = |size: &u64| {
            let scaled = |amount: u64| {
                let longer = u128::from(amount) * u128::from(*size) / u128::from(answered.max(1));
                if answered == 0 { amount } else { amount.max(u64::try_from(longer).unwrap_or(u64::MAX)) }
            };
            needed = needed
                .plus(Spend { cost_micros: scaled(largest.cost_micros), tokens: scaled(largest.tokens) });
            left.cost_micros.is_none_or(|left| needed.cost_micros <= left)
                && left.tokens.is_none_or(|left| needed.tokens <= left)
        };
        if largest == Spend::default() {
            return 1;
        }
        (sizes.iter().take_while(|size| fits(size)).count() as u64).max(1)
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
    fn as_many_requests_are_open_as_fit_into_the_rest_of_the_budget() {
        let spend = |cost_micros, tokens| Spend { cost_micros, tokens };
        let budget = Budget { cost_micros: Some(1000), tokens: None };
        let check = |spent, largest, sizes: &[u64], expected| {
            let open = budget.open_requests(spent, largest, 10, sizes.to_vec());
            assert_eq!(open, expected, "{spent:?} {largest:?} {sizes:?}");
        };
        check(Spend::default(), Spend::default(), &[10; 20], 1);
        check(spend(50, 9), spend(50, 9), &[10; 20], 19);
        check(spend(50, 9), spend(50, 9), &[5, 10, 7], 3);
        check(spend(100, 9), spend(100, 9), &[10; 20], 9);
        // The longest ones count.
        check(spend(100, 9), spend(100, 9), &[10, 10, 80, 20, 10], 1);
        check(spend(100, 9), spend(100, 9), &[20, 10, 20, 10, 10, 10], 6);
        check(spend(950, 9), spend(100, 9), &[10; 20], 1);
        check(spend(1000, 9), spend(100, 9), &[10; 20], 0);
        let tokens = Budget { cost_micros: Some(1000), tokens: Some(100) };
        assert_eq!(tokens.open_requests(spend(0, 20), spend(0, 10), 0, vec![10; 20]), 8);
    }
}
