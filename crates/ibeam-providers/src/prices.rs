//! Prices: the list prices of the model table, which `models.prices` of the configuration overrides.
//!
//! The cost of a model without an entry is not reported, because a guess would mislead.

use ibeam_core::Prices;

use crate::model_table::known_model;

/// The providers whose models cost the list price at every other service, such as clouds and gateways.
const SAME_PRICE_EVERYWHERE: [&str; 2] = ["anthropic", "openai"];

/// Returns the list prices of a model of the model table at `provider`; `None` if they are unknown. The price of a model
/// that other services host too, such as GPT-OSS, depends on the service.
pub fn known_prices(provider: &str, id: &str) -> Option<Prices> {
    let known = known_model(id)?;
    let is_list_price = known.provider == provider || SAME_PRICE_EVERYWHERE.contains(&known.provider);
    known.prices().filter(|_| is_list_price)
}

/// The share of the list price that a request of a batch costs, in percent. Source: the guides "Batch processing" of
/// Anthropic, "Batch API" of OpenAI and "Batch API" of Gemini, read on 2026-11-23. The share holds for all classes of
/// tokens.
const BATCH_SHARES: [(&str, u64); 3] = [("anthropic", 50), ("openai", 50), ("gemini", 50)];

/// Returns the prices of requests in batches of `provider`: those of other requests if no other price is known.
pub fn batch_prices(provider: &str, prices: Prices) -> Prices {
    let share = BATCH_SHARES.iter().find(|(name, _)| *name == provider).map_or(100, |(_, share)| *share);
    let part = |price: u64| (price * share).div_ceil(100);
    let Prices { input, output, cache_read, cache_write } = prices;
    Prices {
        input: part(input),
        output: part(output),
        cache_read: part(cache_read),
        cache_write: part(cache_write),
    }
}

/// Parses `IN/OUT` or `IN/OUT/CACHE_READ/CACHE_WRITE`, in US dollars for a million tokens.
///
/// In the short form the cache costs the same as the input. Returns `None` for any other text.
pub fn parse_prices(text: &str) -> Option<Prices> {
    let dollars: Option<Vec<f64>> = text
        .split('/')
        .map(|part| part.trim().parse().ok().filter(|dollars: &f64| (0.0..=1e6).contains(dollars)))
        .collect();
    match dollars?.as_slice() {
        [input, output] => Some(prices_from_dollars([*input, *output, *input, *input])),
        [input, output, read, write] => Some(prices_from_dollars([*input, *output, *read, *write])),
        _ => None,
    }
}

/// Returns the prices of these dollars for a million tokens: input, output, cache read, cache write.
pub(crate) fn prices_from_dollars(dollars: [f64; 4]) -> Prices {
    let [input, output, cache_read, cache_write] = dollars.map(|dollars| (dollars * 1e6).round() as u64);
    Prices { input, output, cache_read, cache_write }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_prices_are_known_for_dated_names_too() {
        for (provider, id, output) in [
            ("anthropic", "claude-sonnet-4-20250514", Some(15_000_000)),
            ("bedrock", "eu.anthropic.claude-haiku-4-5-20251001-v1:0", Some(5_000_000)),
            ("openai", "gpt-5-mini-2025-08-07", Some(2_000_000)),
            ("groq", "openai/gpt-oss-20b", Some(300_000)),
            ("vllm", "openai/gpt-oss-20b", None),
            // The price depends on the length of the prompt.
            ("gemini", "gemini-2.5-pro", None),
            ("openai", "a-custom-model", None),
        ] {
            assert_eq!(known_prices(provider, id).map(|prices| prices.output), output, "{provider} {id}");
        }
    }

    #[test]
    fn a_cache_without_a_price_of_its_own_costs_the_same_as_the_input() {
        let prices = known_prices("mistral", "devstral-small-2507").unwrap();
        assert_eq!((prices.input, prices.cache_read, prices.cache_write), (100_000, 100_000, 100_000));
        assert_eq!(known_prices("openai", "gpt-5").unwrap().cache_write, 0);
    }

    #[test]
    fn batches_cost_half_where_that_is_known() {
        let prices = parse_prices("3/15/0.3/3.75").unwrap();
        assert_eq!(batch_prices("anthropic", prices), parse_prices("1.5/7.5/0.15/1.875").unwrap());
        assert_eq!(batch_prices("a-gateway", prices), prices);
    }

    #[test]
    fn prices_are_two_or_four_numbers() {
        let all = |micros: [u64; 4]| {
            let [input, output, cache_read, cache_write] = micros;
            Some(Prices { input, output, cache_read, cache_write })
        };
        for (text, expect) in [
            ("3/15", all([3_000_000, 15_000_000, 3_000_000, 3_000_000])),
            (" 0.25 / 2 / 0.025 / 0 ", all([250_000, 2_000_000, 25_000, 0])),
            ("0/0", all([0; 4])),
            ("3", None),
            ("3/15/1", None),
            ("-3/15", None),
            ("NaN/15", None),
            ("free", None),
        ] {
            assert_eq!(parse_prices(text), expect, "{text:?}");
        }
    }
}
