//! What a model takes and costs: as the configuration says, else as the catalogue knows.

use ibeam_core::Prices;
use ibeam_protocol::{ModelInfo, Reason};
use ibeam_providers::{known_model, known_prices, parse_prices};

use crate::app::AppContext;
use crate::model::EMBEDDED;

/// Tokens of prompt and answer together; `None` where only the provider knows.
pub(super) fn context_window(app: &AppContext, model: &ModelInfo) -> Option<u64> {
    app.base
        .config
        .number(&["models", "context", &model.id])
        .or_else(|| known_model(&model.id).map(|known| known.context_window.into()))
}

/// Returns the tokens of the longest answer; `None` where only the provider knows.
pub(super) fn longest_output(app: &AppContext, model: &ModelInfo) -> Option<u64> {
    app.base
        .config
        .number(&["limits", "max_output_tokens"])
        .or_else(|| known_model(&model.id).map(|known| known.max_output_tokens.into()))
}

/// What its tokens cost; nothing for the embedded model, `None` where nobody knows.
///
/// # Errors
/// `BadConfig` for a price that is none.
pub(super) fn prices(app: &AppContext, model: &ModelInfo) -> Result<Option<Prices>, Reason> {
    if let Some(text) = app.base.config.text(&["models", "prices", &model.id]) {
        let bad = || Reason::BadConfig {
            path: format!("models.prices.{}", model.id),
            line: None,
            column: None,
            detail: format!(
                "`{text}` should be dollars for a million tokens, such as \"3/15\" or \"3/15/0.3/3.75\""
            ),
        };
        return parse_prices(text).map(Some).ok_or_else(bad);
    }
    if model.provider == EMBEDDED {
        return Ok(Some(Prices::default()));
    }
    Ok(known_prices(&model.id))
}

/// Checks that a bound of the cost can be kept with the model.
///
/// # Errors
/// `Usage` where the cost is bounded and the price is not known; `BadConfig` for a price that is none.
pub(super) fn check_price(app: &AppContext, model: &ModelInfo) -> Result<Option<Prices>, Reason> {
    let prices = prices(app, model)?;
    match app.base.config.money(&["limits", "max_cost"]) {
        Some(_) if prices.is_none() => Err(no_price(model)),
        Some(_) | None => Ok(prices),
    }
}

/// `--max-cost` cannot be kept for a model of unknown price.
fn no_price(model: &ModelInfo) -> Reason {
    let id = &model.id;
    let detail = format!(
        "`--max-cost` needs the price of `{id}`, which is not known; set `models.prices.\"{id}\" = \"IN/OUT\"` in dollars for a million tokens"
    );
    Reason::Usage { detail }
}
