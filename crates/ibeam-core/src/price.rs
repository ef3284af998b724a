//! What tokens cost.

use ibeam_protocol::Usage;

/// Prices of a model, in millionths of a US dollar for a million tokens; equally, in dollars for a million million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    /// Prompt tokens that no cache knows.
    pub input: u64,
    /// Generated tokens.
    pub output: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache.
    pub cache_write: u64,
}

impl Prices {
    /// What `usage` costs, in millionths of a US dollar, rounded up; saturating.
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
        let usage = Usage { input: 1000, output: 100, cache_read: 10_000, cache_write: 400 };
        assert_eq!(prices.cost_micros(usage), 3000 + 1500 + 3000 + 1500);
        assert_eq!(prices.cost_micros(Usage { cache_read: 1, ..Usage::default() }), 1);
        let absurd = Usage { input: u64::MAX, output: u64::MAX, cache_read: u64::MAX, cache_write: u64::MAX };
        assert_eq!(Prices { input: u64::MAX, ..prices }.cost_micros(absurd), u64::MAX);
    }
}
