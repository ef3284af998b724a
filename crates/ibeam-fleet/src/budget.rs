//! The budget of all tasks of a fleet together.

use crate::child::ExtraLimits;
use crate::queue::{Spend, usd_to_micros};

/// The budget of all tasks together. An absent limit is none.
#[derive(Clone, Copy, Debug, Default)]
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

    /// Whether there is a limit.
    pub(crate) fn is_limited(self) -> bool {
        self.cost_micros.is_some() || self.tokens.is_some()
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
