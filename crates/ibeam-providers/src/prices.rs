//! Prices of the configuration, which override those of the model table, and prices of batches.
//!
//! The cost of a model without an entry is not reported, because a guess would mislead.

use ibeam_core::{Prices, TokenPrices};

/// Returns the prices of requests in batches, which cost `percent` of other requests; the same if that is unknown.
pub fn batch_prices(percent: Option<u64>, prices: Prices) -> Prices {
    let percent = percent.unwrap_or(100);
    prices.map(|price| (price * percent).div_ceil(100))
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
        [input, output] => Some(TokenPrices::from_dollars([*input, *output, *input, *input]).into()),
        [input, output, read, write] => {
            Some(TokenPrices::from_dollars([*input, *output, *read, *write]).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_table::find_model;

    #[test]
    fn batches_cost_half_where_that_is_known() {
        let prices = parse_prices("3/15/0.3/3.75").unwrap();
        let half = parse_prices("1.5/7.5/0.15/1.875").unwrap();
        let percent = |provider| find_model(provider, "claude-sonnet-5-5").unwrap().batch_percent;
        assert_eq!(batch_prices(percent("anthropic"), prices), half);
        assert_eq!(batch_prices(percent("a-gateway"), prices), prices);
    }

    #[test]
    fn prices_are_two_or_four_numbers() {
        let all = |micros: [u64; 4]| {
            let [input, output, cache_read, cache_write] = micros;
            Some(Prices::from(TokenPrices { input, output, cache_read, cache_write }))
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
