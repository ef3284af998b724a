//! The price table: published list prices, which `models.prices` of the configuration overrides.
//!
//! The cost of a model without an entry is not reported, because a guess would mislead.

use ibeam_core::Prices;

use crate::model_table::known_model;

/// Model id, then US dollars for a million tokens: input, output, cache read, cache write.
type Entry = (&'static str, f64, f64, f64, f64);

const PRICES: &[Entry] = &[
    ("claude-opus-4-5", 5.0, 25.0, 0.5, 6.25),
    ("claude-sonnet-4-5", 3.0, 15.0, 0.3, 3.75),
    ("claude-haiku-4-5", 1.0, 5.0, 0.1, 1.25),
    ("claude-opus-4-1", 15.0, 75.0, 1.5, 18.75),
    ("claude-opus-4", 15.0, 75.0, 1.5, 18.75),
    ("claude-sonnet-4", 3.0, 15.0, 0.3, 3.75),
    ("claude-3-7-sonnet", 3.0, 15.0, 0.3, 3.75),
    ("claude-3-5-sonnet", 3.0, 15.0, 0.3, 3.75),
    ("claude-3-5-haiku", 0.8, 4.0, 0.08, 1.0),
    ("gpt-5", 1.25, 10.0, 0.125, 0.0),
    ("gpt-5-mini", 0.25, 2.0, 0.025, 0.0),
    ("gpt-5-nano", 0.05, 0.4, 0.005, 0.0),
    ("gpt-4.1", 2.0, 8.0, 0.5, 0.0),
    ("gpt-4.1-mini", 0.4, 1.6, 0.1, 0.0),
    ("gpt-4.1-nano", 0.1, 0.4, 0.025, 0.0),
    ("gpt-4o", 2.5, 10.0, 1.25, 0.0),
    ("gpt-4o-mini", 0.15, 0.6, 0.075, 0.0),
    ("o3", 2.0, 8.0, 0.5, 0.0),
    ("o4-mini", 1.1, 4.4, 0.275, 0.0),
];

/// Returns the list prices of a model of the model table; `None` if they are unknown.
pub fn known_prices(id: &str) -> Option<Prices> {
    let known = known_model(id)?;
    let (_, input, output, cache_read, cache_write) = PRICES.iter().find(|(id, ..)| *id == known.id)?;
    Some(prices_from_dollars([*input, *output, *cache_read, *cache_write]))
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

fn prices_from_dollars(dollars: [f64; 4]) -> Prices {
    let [input, output, cache_read, cache_write] = dollars.map(|dollars| (dollars * 1e6).round() as u64);
    Prices { input, output, cache_read, cache_write }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_price_belongs_to_a_known_model() {
        for (id, ..) in PRICES {
            assert!(known_prices(id).is_some(), "{id}");
        }
        assert_eq!(known_prices("claude-sonnet-4-20250514").map(|prices| prices.output), Some(15_000_000));
        assert_eq!(known_prices("a-custom-model"), None);
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
