//! The prices of a model, and the costs of tokens.

use ibeam_protocol::{ClassCosts, Usage};

/// The prices of a model. Some models cost more for a long prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    /// The prices up to the first step.
    pub base: TokenPrices,
    /// The steps, from the lowest.
    pub steps: [Option<PriceStep>; 2],
}

/// The prices of a request whose prompt is longer than a number of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceStep {
    /// The number of tokens that the prompt exceeds, those of the cache included.
    pub above: u64,
    /// The prices of all tokens of the request.
    pub prices: TokenPrices,
}

/// Prices in millionths of a US dollar for a million tokens; equally, in dollars for a million million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenPrices {
    /// Prompt tokens that were neither read from nor written to a cache.
    pub input: u64,
    /// Generated tokens.
    pub output: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache.
    pub cache_write: u64,
}

impl Prices {
    /// Returns the cost of each class of the tokens of one request; saturating.
    pub fn costs(&self, usage: Usage) -> ClassCosts {
        let prompt = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        let step = self.steps.iter().flatten().rfind(|step| prompt > step.above);
        step.map_or(self.base, |step| step.prices).costs(usage)
    }

    /// Returns the prices after a change of every price.
    #[must_use]
    pub fn map(self, change: impl Fn(u64) -> u64) -> Self {
        let step = |step: PriceStep| PriceStep { prices: step.prices.map(&change), ..step };
        Self { base: self.base.map(&change), steps: self.steps.map(|found| found.map(step)) }
    }
}

impl From<TokenPrices> for Prices {
    fn from(base: TokenPrices) -> Self {
        Self { base, steps: [None, None] }
    }
}

impl TokenPrices {
    /// Returns the prices of these dollars for a million tokens: input, output, cache read, cache write.
    pub fn from_dollars(dollars: [f64; 4]) -> Self {
        let [input, output, cache_read, cache_write] = dollars.map(|dollars| (dollars * 1e6).round() as u64);
        Self { input, output, cache_read, cache_write }
    }

    fn map(self, change: impl Fn(u64) -> u64) -> Self {
        let Self { input, output, cache_read, cache_write } = self;
        let [input, output, cache_read, cache_write] = [input, output, cache_read, cache_write].map(change);
        Self { input, output, cache_read, cache_write }
    }

    fn costs(self, usage: Usage) -> ClassCosts {
        ClassCosts {
            input: usage.input.saturating_mul(self.input),
            output: usage.output.saturating_mul(self.output),
            cache_read: usage.cache_read.saturating_mul(self.cache_read),
            cache_write: usage.cache_write.saturating_mul(self.cache_write),
            reasoning: usage.reasoning.saturating_mul(self.output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_its_price_and_parts_are_rounded_up() {
        // 3 dollars a million in, 15 out, 0.30 and 3.75 for the cache.
        let prices = Prices::from(TokenPrices::from_dollars([3.0, 15.0, 0.3, 3.75]));
        let usage =
            Usage { input: 1000, output: 100, cache_read: 10_000, cache_write: 400, ..Usage::default() };
        let usage = Usage { reasoning: 40, ..usage };
        let costs = prices.costs(usage);
        let expect = ClassCosts {
            input: 3_000_000_000,
            output: 1_500_000_000,
            cache_read: 3_000_000_000,
            cache_write: 1_500_000_000,
            reasoning: 600_000_000,
        };
        assert_eq!((costs, costs.micros()), (expect, 3000 + 1500 + 3000 + 1500));
        assert_eq!(prices.costs(Usage { cache_read: 1, ..Usage::default() }).micros(), 1);
        let absurd = Usage {
            input: u64::MAX,
            output: u64::MAX,
            cache_read: u64::MAX,
            cache_write: u64::MAX,
            ..Usage::default()
        };
        let absurd = prices.map(|_| u64::MAX).costs(absurd);
        assert_eq!((absurd.input, absurd.plus(absurd).output), (u64::MAX, u64::MAX));
    }

    #[test]
    fn a_prompt_above_a_step_has_the_prices_of_the_step_for_all_its_tokens() {
        let flat = |dollars: f64| TokenPrices::from_dollars([dollars, dollars * 10.0, dollars, dollars]);
        let step = |above, dollars| Some(PriceStep { above, prices: flat(dollars) });
        let prices = Prices { base: flat(1.0), steps: [step(100, 2.0), step(200, 4.0)] };
        for (input, cache_read, cache_write, input_price) in [
            (100, 0, 0, 1),
            (101, 0, 0, 2),
            (50, 51, 0, 2),
            (1, 100, 99, 2),
            (1, 100, 100, 4),
            (900, 0, 0, 4),
        ] {
            let usage = Usage { input, output: 1, cache_read, cache_write, ..Usage::default() };
            let costs = prices.costs(usage);
            let expect = (input * input_price * 1_000_000, 10 * input_price * 1_000_000);
            assert_eq!((costs.input, costs.output), expect, "{input} {cache_read} {cache_write}");
        }
    }
}
