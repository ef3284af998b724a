//! Amounts of money and tokens.

use serde::{Deserialize, Serialize};

/// The consumption of runs, as far as they reported it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    /// Millionths of a US dollar.
    pub cost_micros: u64,
    /// Tokens of prompts and answers together.
    pub tokens: u64,
}

impl Spend {
    /// Returns the sum.
    pub fn plus(self, other: Self) -> Self {
        Self {
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }

    /// Returns the larger amounts.
    pub fn max(self, other: Self) -> Self {
        Self { cost_micros: self.cost_micros.max(other.cost_micros), tokens: self.tokens.max(other.tokens) }
    }

    /// Returns the smaller amounts.
    pub fn min(self, other: Self) -> Self {
        Self { cost_micros: self.cost_micros.min(other.cost_micros), tokens: self.tokens.min(other.tokens) }
    }

    /// Returns the difference, or 0.
    pub fn minus(self, other: Self) -> Self {
        Self {
            cost_micros: self.cost_micros.saturating_sub(other.cost_micros),
            tokens: self.tokens.saturating_sub(other.tokens),
        }
    }
}
