//! Limits and prices of a model: from the configuration, else from the list of its service or the model table.

use ibeam_config::LimitSettings;
use ibeam_core::{Prices, RequestLimits};
use ibeam_protocol::{ModelInfo, Reason, sentence};
use ibeam_providers::{family_prices, known_provider};

use super::configured_facts::ConfiguredFacts;
use super::current_facts::current_model;
use super::embedded::EMBEDDED_PROVIDER;
use crate::app::AppContext;

/// Returns the limit of prompt and answer together, in tokens; `None` for an unknown model.
pub fn context_window(app: &AppContext, model: &ModelInfo) -> Option<u64> {
    current_model(app, &model.provider, &model.id)?.context_window.map(u64::from)
}

/// Returns the size that a conversation should stay below, in tokens: the context window, or the length of a prompt from
/// which on its price is higher, unless the user set the window.
pub(crate) fn economic_window(app: &AppContext, model: &ModelInfo) -> Option<u64> {
    let known = current_model(app, &model.provider, &model.id);
    let window = known.and_then(|known| known.context_window).map(u64::from);
    let facts = ConfiguredFacts::new(&app.base.config, &model.provider, &model.id);
    let size = match (facts.number("economic_window"), facts.sets("context_window")) {
        (Some(size), _) => Some(size),
        (None, true) => None,
        (None, false) => known.and_then(|known| known.price_step()),
    };
    window.into_iter().chain(size).min()
}

/// Returns the limit of an answer, in tokens; `None` for an unknown model.
pub fn max_output_tokens(app: &AppContext, model: &ModelInfo) -> Option<u64> {
    let configured = app.base.settings.limits.max_output_tokens.value;
    configured.or_else(|| current_model(app, &model.provider, &model.id)?.max_output_tokens.map(u64::from))
}

/// Whether the service accepts the thinking of the model only after what came before it when the model wrote it.
pub(crate) fn binds_thinking(app: &AppContext, model: &ModelInfo) -> bool {
    current_model(app, &model.provider, &model.id).is_some_and(|known| known.thinking.is_bound)
}

/// Returns the limits of the service for the parts of a request to the model.
pub(crate) fn request_limits(app: &AppContext, model: &ModelInfo) -> RequestLimits {
    let limits = known_provider(&model.provider).map_or(RequestLimits::default(), |known| known.limits);
    let of_model = current_model(app, &model.provider, &model.id).and_then(|known| known.max_images);
    let images = of_model.and_then(|images| usize::try_from(images).ok());
    RequestLimits { images: images.or(limits.images), ..limits }
}

/// Returns the limit of an answer that the user set, in tokens.
pub(crate) fn configured_output_tokens(limits: &LimitSettings) -> Option<u32> {
    let tokens = limits.max_output_tokens.value?;
    u32::try_from(tokens).ok()
}

/// Returns the prices of the model's tokens: zero for the embedded model, `None` for an unknown one.
///
/// # Errors
/// `BadConfig` for an invalid price.
pub fn prices(app: &AppContext, model: &ModelInfo) -> Result<Option<Prices>, Reason> {
    ConfiguredFacts::new(&app.base.config, &model.provider, &model.id).check()?;
    let prices = current_model(app, &model.provider, &model.id).and_then(|known| known.prices);
    let is_free = model.provider == EMBEDDED_PROVIDER;
    Ok(prices.or_else(|| is_free.then(Prices::default)))
}

/// Returns the prices by which the cost of the model is limited: those of the model, else those of the newest model of its
/// family. `None` if the family is not known either.
///
/// # Errors
/// `BadConfig` for an invalid price.
pub fn budget_prices(app: &AppContext, model: &ModelInfo) -> Result<Option<Prices>, Reason> {
    Ok(prices(app, model)?.or_else(|| family_prices(&model.id)))
}

/// Returns the prices, and checks that they are known where the cost is limited.
///
/// # Errors
/// `Usage` where the cost is limited and the price is not known; `BadConfig` for an invalid price.
pub fn check_price(app: &AppContext, model: &ModelInfo) -> Result<Option<Prices>, Reason> {
    if app.base.settings.limits.max_cost.value.is_none() {
        return prices(app, model);
    }
    match budget_prices(app, model)? {
        None if !app.base.options.conventions.accepts_unknown_prices => Err(no_price(model, "--max-cost")),
        prices => Ok(prices),
    }
}

/// Whether the cost is limited, and nothing limits it because the price of the model is not known.
pub(crate) fn lacks_price(app: &AppContext, model: &ModelInfo) -> bool {
    let is_limited = app.base.settings.limits.max_cost.value.is_some();
    is_limited && budget_prices(app, model).is_ok_and(|prices| prices.is_none())
}

/// Returns the reason why the limit of the cost that `flag` sets cannot be enforced.
pub fn no_price(model: &ModelInfo, flag: &str) -> Reason {
    let id = &model.id;
    let detail = sentence!(
        "`{flag}` needs the price of `{id}`, which is not known; set `models.prices.\"{id}\" = \"IN/OUT\"` in dollars for a million tokens",
        flag,
        id,
    );
    Reason::Usage { detail }
}
