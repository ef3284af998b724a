//! The models that a rule chooses: the default model of a provider, and the newest model of a line such as `sonnet`.
//!
//! The cached list of the service takes precedence over the model table. Nothing waits for a request before the service has
//! refused the model.

use ibeam_protocol::{Reason, sentence};
use ibeam_providers::default_models::{
    ListedId, default_model, default_of_list, family_of_line, newest_listed,
};
use ibeam_providers::provider_table::DefaultModel;
use ibeam_providers::{Lifecycle, ListedFacts, ListedModel, known_provider, newest_of_family};

use super::configured_provider::{ConfiguredProvider, provider_names};
use super::connect::list_models;
use super::list_cache::{CachedList, ListCache};
use super::{ModelChoice, remote_model};
use crate::app::AppContext;
use crate::clock::utc_date;

/// The provider whose lines have names that users know from its own programs.
const LINE_PROVIDER: &str = "anthropic";

/// The rule that chose a model.
#[derive(Clone, Debug)]
pub(crate) enum DefaultOrigin {
    /// The rule for the default model of the provider.
    Provider,
    /// The newest model of a family.
    Newest(String),
}

impl DefaultOrigin {
    /// Returns the model that the list of the service has for the rule, after a request for the list. The list is cached.
    pub(crate) async fn choose_listed(
        &self,
        app: &AppContext,
        provider: &ConfiguredProvider,
    ) -> Option<ModelChoice> {
        let listed = list_models(app, provider).await.ok()?;
        let mut cache = ListCache::load(&app.dirs.cache);
        cache.insert(provider.list_source(), &listed);
        cache.store(&app.dirs.cache);
        let model = self.apply(&provider.name, &listed)?;
        let origin = sentence!("the list of {provider}", provider = provider.name);
        remote_model(app, provider.clone(), &model, origin).ok()
    }

    /// Applies the rule to the list of a service.
    fn apply(&self, provider: &str, models: &[ListedModel]) -> Option<String> {
        let today = utc_date();
        let is_current = |facts: &ListedFacts| {
            let is_ending = matches!(facts.lifecycle, Some(Lifecycle::Deprecated | Lifecycle::Retired));
            !is_ending && facts.retires.as_ref().is_none_or(|date| *date > today)
        };
        let listed = models.iter().map(|model| {
            let line = model.facts.line.as_deref();
            ListedId { id: &model.id, line, is_current: is_current(&model.facts) }
        });
        let listed: Vec<ListedId<'_>> = listed.collect();
        let found = match self {
            Self::Provider => default_of_list(provider, &listed),
            Self::Newest(family) => newest_listed(&listed, family),
        };
        found.map(str::to_owned)
    }
}

/// Returns the id of the default model of a provider now.
pub(super) fn default_id(app: &AppContext, provider: &ConfiguredProvider) -> Option<String> {
    let from_list = DefaultOrigin::Provider.apply(&provider.name, &cached_models(app, provider));
    from_list.or_else(|| default_model(&provider.name, &utc_date()).map(str::to_owned))
}

/// Returns the rule for the default model of a provider, for people.
pub(super) fn default_rule(provider: &str) -> String {
    match known_provider(provider).and_then(|known| known.default_model) {
        Some(DefaultModel::Newest(family)) => format!("newest {family}"),
        Some(DefaultModel::Alias(id)) => id.to_owned(),
        None => String::new(),
    }
}

/// Returns the provider, the newest model and the rule for the name of a line, such as `opus`; `None` for any other name.
///
/// The maker of the line comes first, then the other providers with a key that have models of the line.
///
/// # Errors
/// The errors of [`ConfiguredProvider::find`].
pub(super) fn line_model(
    app: &AppContext,
    line: &str,
) -> Result<Option<(ConfiguredProvider, String, DefaultOrigin)>, Reason> {
    let Some(family) = family_of_line(LINE_PROVIDER, line) else { return Ok(None) };
    let rule = DefaultOrigin::Newest(family.clone());
    let mut maker = None;
    let others = provider_names(app).into_iter().filter(|name| name != LINE_PROVIDER);
    for name in std::iter::once(LINE_PROVIDER.to_owned()).chain(others) {
        let Some(provider) = ConfiguredProvider::find(app, &name)? else { continue };
        let from_list = rule.apply(&name, &cached_models(app, &provider));
        let find_in_table = || newest_of_family(&name, &family, &utc_date()).map(|model| model.id.to_owned());
        let Some(model) = from_list.or_else(find_in_table) else { continue };
        let has_key = provider.has_key();
        let found = (provider, model, rule.clone());
        if has_key {
            return Ok(Some(found));
        }
        maker.get_or_insert(found);
    }
    Ok(maker)
}

/// Returns the models in the cached list of a provider.
fn cached_models(app: &AppContext, provider: &ConfiguredProvider) -> Vec<ListedModel> {
    app.model_lists().get(provider.list_source()).map(CachedList::models).unwrap_or_default()
}
