//! The model table: what is known about the models of each provider.
//!
//! `cargo xtask model-facts` writes `data/models.jsonl`; `build.rs` packs it. A model that is not in the table works too.
//! A newer model of a known family is assumed to be like the newest one of the table. The configuration and the list of the
//! service take precedence over the table.

mod blocks;
mod families;
mod row;

use std::sync::{Mutex, PoisonError};

use ibeam_core::Prices;

pub use self::blocks::TABLE_DATE;
pub use self::row::{Abilities, KnownModel, ModelWire, RetiredModel};
use crate::model_name::{bare_name, without_date, without_region, without_tag};
use crate::model_traits::ModelTraits;
use crate::provider_table::{PROVIDERS, known_provider};

/// The providers whose models cost the list price at every other service, such as clouds and gateways.
const SAME_PRICE_EVERYWHERE: [&str; 2] = ["anthropic", "openai"];

/// Returns the current models of a provider, sorted by id.
pub fn models_of(provider: &str) -> impl Iterator<Item = KnownModel> {
    blocks::current_lines(provider).filter_map(|(provider, line)| KnownModel::parse(provider, line))
}

/// Returns the current models of all providers, in the order of the provider table.
pub fn known_models() -> impl Iterator<Item = KnownModel> {
    PROVIDERS.iter().flat_map(|provider| models_of(provider.name))
}

/// Returns what is known about a model at a provider.
///
/// The id may have a date, a maker before a slash, or the form of a cloud. A provider without a row for the model has the
/// row of its maker, without the price unless the model costs the same everywhere. Returns `None` for a model of no known
/// family, and for a retired one.
pub fn find_model(provider: &str, id: &str) -> Option<KnownModel> {
    /// The last model that was looked up: a run asks for each fact about its model.
    static LAST: Mutex<Option<(String, String, Option<KnownModel>)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match &*last {
        Some((last_provider, last_id, found)) if last_provider == provider && last_id == id => *found,
        Some(_) | None => {
            let found = look_up(provider, id);
            *last = Some((provider.to_owned(), id.to_owned(), found));
            found
        }
    }
}

fn look_up(provider: &str, id: &str) -> Option<KnownModel> {
    let region = without_region(id);
    let own = [id, without_date(id), region, without_date(region), without_tag(region)];
    if let Some(model) = first_row(provider, &own) {
        return Some(model);
    }
    let bare = bare_name(id);
    let of_maker = maker_of(id).and_then(|maker| row_of_maker(maker, provider, id, bare));
    if let Some(model) = of_maker.filter(|model| model.provider == provider) {
        return Some(model);
    }
    // A service may have an API of its own for the models of all makers.
    let like = families::newest_like(provider, bare).filter(KnownModel::has_own_form);
    match (of_maker, like) {
        (Some(model), Some(like)) => Some(model.with_form_of(&like)),
        (None, Some(like)) => Some(like.form_of_requests()),
        (model, None) => model,
    }
}

/// Returns the row of a model at its maker, as far as it holds at `provider`.
fn row_of_maker(maker: &'static str, provider: &str, id: &str, bare: &str) -> Option<KnownModel> {
    let dashed = bare.replace('.', "-");
    let names = [id.rsplit('/').next().unwrap_or(id), bare, dashed.as_str()];
    let model = first_row(maker, &names).or_else(|| {
        let is_retired = names.iter().any(|name| retired_row(maker, name).is_some());
        // Weights that are public have sizes and versions that their maker does not serve.
        let is_of_maker =
            maker == provider || known_provider(maker).is_some_and(|known| !known.has_open_models);
        if is_of_maker && !is_retired { families::newest_like(maker, bare) } else { None }
    })?;
    if maker == provider {
        return Some(model);
    }
    Some(model.at_another_provider(SAME_PRICE_EVERYWHERE.contains(&maker)))
}

/// Returns what is known about a model, wherever it is used.
pub fn known_model(id: &str) -> Option<KnownModel> {
    find_model(maker_of(id).unwrap_or_default(), id)
}

/// Returns the traits of a model at a provider, or wherever it is used if the provider is empty.
pub fn traits_of(provider: &str, id: &str) -> ModelTraits {
    let model = if provider.is_empty() { known_model(id) } else { find_model(provider, id) };
    model.as_ref().map_or(ModelTraits::UNKNOWN, ModelTraits::from)
}

/// Returns a model that its provider has retired.
pub fn retired_model(provider: &str, id: &str) -> Option<RetiredModel> {
    retired_row(provider, id).or_else(|| retired_row(provider, without_date(id)))
}

/// Returns the provider that develops a model, by the beginning of its name.
///
/// A name with a tag, such as `gpt-oss:20b`, is that of a local server.
pub fn maker_of(id: &str) -> Option<&'static str> {
    let name = bare_name(id);
    let is_own = |start: &&str| {
        name.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start)) && !name.contains(':')
    };
    PROVIDERS.iter().find(|provider| provider.own_names.iter().any(&is_own)).map(|found| found.name)
}

/// Returns the newest current model of a family, such as `claude-sonnet`, that is not retired on `today`.
pub fn newest_of_family(provider: &str, family: &str, today: &str) -> Option<KnownModel> {
    families::newest_of(provider, family, today)
}

/// Returns the prices of the newest model of the family of a model, at the maker of the family.
///
/// They are an estimate for a model about which nothing else is known, also for one that its maker has retired.
pub fn family_prices(id: &str) -> Option<Prices> {
    families::newest_relative(maker_of(id)?, bare_name(id))?.0.prices
}

/// Returns the display name of a model at a provider, or its id if the model is unknown.
pub fn model_label<'a>(provider: &str, id: &'a str) -> &'a str {
    match find_model(provider, id) {
        Some(model) if !model.is_assumed => model.label.unwrap_or(id),
        Some(_) | None => id,
    }
}

/// Returns the first row of a provider with one of these ids.
fn first_row(provider: &str, ids: &[&str]) -> Option<KnownModel> {
    ids.iter().enumerate().find_map(|(position, id)| {
        let is_new = !ids.iter().take(position).any(|earlier| earlier == id);
        let (provider, line) = is_new.then(|| blocks::find_line(provider, id, false)).flatten()?;
        KnownModel::parse(provider, line)
    })
}

fn retired_row(provider: &str, id: &str) -> Option<RetiredModel> {
    let (_, line) = blocks::find_line(provider, id, true)?;
    RetiredModel::parse(line)
}

#[cfg(test)]
#[path = "model_table/tests.rs"]
mod tests;
