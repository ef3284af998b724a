//! The facts about a model that hold now: those of the configuration, else those that its service lists, else those of the
//! model table.

use ibeam_providers::{KnownModel, ListedFacts, TrafficMode, find_model};

use super::configured_facts::ConfiguredFacts;
use super::configured_provider::ConfiguredProvider;
use crate::app::AppContext;

/// Returns the facts about a model at a provider; `None` if nothing is known.
pub fn current_model(app: &AppContext, provider: &str, id: &str) -> Option<KnownModel> {
    model_with_listed(app, provider, id, listed_facts(app, provider, id).as_ref())
}

/// Returns the facts about a model about which its service states `listed`.
pub fn model_with_listed(
    app: &AppContext,
    provider: &str,
    id: &str,
    listed: Option<&ListedFacts>,
) -> Option<KnownModel> {
    let known = find_model(provider, id);
    let known = match listed {
        Some(listed) => Some(known.unwrap_or(KnownModel::UNKNOWN).with_listed(listed)),
        None => known,
    };
    ConfiguredFacts::new(&app.base.config, provider, id).apply(known)
}

/// Returns what the cached list of the service states about a model.
///
/// A recording is replayed where the list may be another one, so its requests must not depend on the list.
fn listed_facts(app: &AppContext, provider: &str, id: &str) -> Option<ListedFacts> {
    if !matches!(app.traffic, TrafficMode::Live) || !app.model_lists().has(provider) {
        return None;
    }
    let provider = ConfiguredProvider::find(app, provider).ok()??;
    app.model_lists().facts(provider.list_source(), id)
}
