//! What known models cost, as data: published list prices, which `models.prices` of the configuration overrides.
//!
//! A model without an entry has no known price, and then no cost is told: a guess would be worse than nothing.

use ibeam_core::Prices;

/// Dollars for a million tokens: prompt, answer, read from the cache, written to it.
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

/// The list price of a model of the catalogue; `None` where none is known.
pub fn known_prices(id: &str) -> Option<Prices> {
    let known = crate::known_model(id)?;
    let (_, input, output, cache_read, cache_write) = PRICES.iter().find(|(id, ..)| *id == known.id)?;
    Some(prices([*input, *output, *cache_read, *cache_write]))
}

/// Prices from a text: `IN/OUT` or `IN/OUT/CACHE_READ/CACHE_WRITE`, dollars for a million tokens.
///
/// Without figures of its own the cache costs what the prompt costs. `None` when it is no such text.
pub fn parse_prices(text: &str) -> Option<Prices> {
    let figures: Option<Vec<f64>> = text
        .split('/')
        .map(|figure| figure.trim().parse().ok().filter(|dollars: &f64| (0.0..=1e6).contains(dollars)))
        .collect();
    match figures?.as_slice() {
        [input, output] => Some(prices([*input, *output, *input, *input])),
        [input, output, read, write] => Some(prices([*input, *output, *read, *write])),
        _ => None,
    }
}

fn prices(dollars: [f64; 4]) -> Prices {
    let [input, output, cache_read, cache_write] = dollars.map(|dollars| (dollars * 1e6).round() as u64);
    Prices { input, output, cache_read, cache_write }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_price_is_of_a_known_model() {
        for (id, ..) in PRICES {
            assert!(known_prices(id).is_some(), "{id}");
        }
        assert_eq!(known_prices("claude-sonnet-4-20250514").map(|prices| prices.output), Some(15_000_000));
        assert_eq!(known_prices("a-model-of-ones-own"), None);
    }

    #[test]
    fn prices_are_two_figures_or_four() {
        let all = |figures: [u64; 4]| {
            let [input, output, cache_read, cache_write] = figures;
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
