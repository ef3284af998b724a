//! Creation of the provider for a chosen model.

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::ready;
use ibeam_config::{Credentials, Settings};
use ibeam_core::{JsonSchema, Provider};
use ibeam_protocol::{Failure, KeySource, ModelInfo, Notice, Reason, SessionId, sentence};
use ibeam_providers::batch::ParkingProvider;
use ibeam_providers::recording::{AnswerSource, RecordedProvider};
use ibeam_providers::{
    DEFAULT_PROTOCOL, Effort, Endpoint, HttpProvider, KeyReader, KnownModel, ListedModel, ModelTraits,
    NearModels, Reasoning, Secret, ThinkingForm, TrafficMode, known_provider, maker_of,
};
use sha2::{Digest as _, Sha256};

use super::key_pool::{PooledKey, QuotaCell, is_governed, pooled};
use super::near_models::near_models_of;
use super::parking_dir::ParkingDir;
use super::{ConfiguredProvider, ModelChoice, current_model, embedded, protocol_memory};
use crate::app::AppContext;

/// The parking of the requests of a run.
pub struct Parking {
    /// The provider that parks the requests.
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) directory: Arc<ParkingDir>,
}

impl ModelChoice {
    /// Creates the provider for a session. It sends nothing before the first request.
    ///
    /// # Errors
    /// `ModelNotInstalled` or `NoLocalEngine` for the embedded model. Network errors occur at the first request.
    pub(crate) fn connect(
        self,
        app: &AppContext,
        session: SessionId,
    ) -> Result<(Arc<dyn Provider>, ModelInfo, KeySource), Failure> {
        let source = self.key_source();
        let is_fleet = is_governed();
        let connected: Arc<dyn Provider> = match &self.provider {
            Some(provider) => {
                let key = |provider: &ConfiguredProvider| {
                    let quota = QuotaCell::default();
                    let mut endpoint = self.endpoint(app, provider, session);
                    endpoint.on_quota = is_fleet.then(|| quota.observer());
                    PooledKey {
                        provider: Arc::new(HttpProvider::with_traffic(endpoint, app.traffic.clone())),
                        account: if is_fleet { account(provider) } else { String::new() },
                        quota,
                    }
                };
                let keys = match &app.traffic {
                    TrafficMode::Replay(_) => vec![key(provider)],
                    TrafficMode::Live | TrafficMode::Record(_) => {
                        provider.with_each_key().iter().map(key).collect()
                    }
                };
                return Ok((pooled(app, keys, &self.info)?, self.info, source));
            }
            None => {
                let source = match &app.traffic {
                    TrafficMode::Live => {
                        let key = PooledKey::new(embedded::provider(app)?, &self.info.provider);
                        return Ok((pooled(app, vec![key], &self.info)?, self.info, source));
                    }
                    TrafficMode::Record(recorder) => {
                        AnswerSource::Live(embedded::provider(app)?, Arc::clone(recorder))
                    }
                    TrafficMode::Replay(player) => AnswerSource::Replay(Arc::clone(player)),
                };
                Arc::new(RecordedProvider::new(source, &self.info.provider, &self.info.id))
            }
        };
        let key = PooledKey::new(connected, &self.info.provider);
        Ok((pooled(app, vec![key], &self.info)?, self.info, source))
    }

    /// Creates the provider that parks requests, if the flags ask for it.
    ///
    /// # Errors
    /// `Usage` for a model without a batch API; `CannotCreate` for the directory.
    pub(crate) fn parking_provider(
        &self,
        app: &AppContext,
        session: SessionId,
    ) -> Result<Option<Parking>, Failure> {
        let Some(directory) = &app.base.options.park_requests else { return Ok(None) };
        let provider = self.provider.as_ref();
        let provider =
            provider.filter(|provider| provider.protocol_for(&self.info.id).batch_kind().is_some());
        let Some(provider) = provider else {
            let model = self.info.qualified_name();
            let detail =
                sentence!("`--park-requests` needs a model with a batch API; `{model}` has none", model);
            return Err(Reason::Usage { detail }.into());
        };
        let store = Arc::new(ParkingDir::create(directory, session)?);
        let endpoint = self.endpoint(app, provider, session);
        let provider = Arc::new(ParkingProvider::new(endpoint, Arc::clone(&store) as _));
        Ok(Some(Parking { provider, directory: store }))
    }

    /// Whether the service makes each answer match a schema, so that the model needs no instruction about it.
    pub(crate) fn enforces_schema(&self, app: &AppContext, schema: &JsonSchema) -> bool {
        let endpoint =
            self.provider.as_ref().map(|provider| self.endpoint(app, provider, SessionId::random()));
        endpoint.is_some_and(|endpoint| HttpProvider::new(endpoint).enforces_schema(schema))
    }

    /// Returns the endpoint of the requests of a session.
    fn endpoint(&self, app: &AppContext, provider: &ConfiguredProvider, session: SessionId) -> Endpoint {
        let reasoning = self.reasoning(&app.base.settings);
        let mut endpoint = Endpoint {
            key_reader: key_reader(app, provider),
            near_models: Some(near_models_search(&app.dirs.cache, provider)),
            cache_key: Some(session.to_string()),
            reasoning,
            traits: self.traits(),
            max_output_tokens: output_limit(self.known.as_ref(), &self.info.id, reasoning),
            ..endpoint(provider, &self.info.id, self.known.as_ref())
        };
        use_remembered_protocol(app, provider, &mut endpoint);
        use_remembered_adaptations(app, provider, &mut endpoint);
        add_cache_key_header(&mut endpoint);
        endpoint
    }

    /// Returns the reasoning to ask the model for.
    fn reasoning(&self, settings: &Settings) -> Reasoning {
        if self.ignores_reasoning() { Reasoning::DEFAULT } else { requested_reasoning(settings) }
    }

    /// Whether the model is known not to reason, or its API has no documented form of a request for reasoning.
    fn ignores_reasoning(&self) -> bool {
        let traits = self.traits();
        let has_no_form =
            |provider: &ConfiguredProvider| !provider.protocol_for(&self.info.id).accepts_reasoning(traits);
        traits.reasons == Some(false)
            || traits.thinking.form == Some(ThinkingForm::None)
            || self.provider.as_ref().is_none_or(has_no_form)
    }

    /// Returns what the model accepts.
    fn traits(&self) -> ModelTraits {
        match &self.known {
            Some(known) if self.shows_thinking => known.traits_with_shown_thinking(),
            Some(known) => ModelTraits::from(known),
            None => ModelTraits::UNKNOWN,
        }
    }

    /// Returns a notice if the user asked for reasoning and the model ignores that, or accepts only another level.
    pub(crate) fn reasoning_notice(&self, settings: &Settings) -> Option<Notice> {
        let reasoning = requested_reasoning(settings);
        let model = self.info.display.clone();
        if self.ignores_reasoning() {
            let is_asked = reasoning != Reasoning::DEFAULT && reasoning.effort != Some(Effort::None);
            return is_asked.then_some(Notice::EffortIgnored { model });
        }
        let asked = reasoning.effort?;
        let used = self.traits().thinking.nearest(asked);
        let (asked, used) = (asked.as_str().to_owned(), used.as_str().to_owned());
        (asked != used).then_some(Notice::EffortChanged { model, asked, used })
    }
}

/// Returns the name of a provider with a fingerprint of its address and key, from which the key cannot be found.
fn account(provider: &ConfiguredProvider) -> String {
    let name = &provider.name;
    let mut digest = Sha256::new_with_prefix(&provider.base_url);
    digest.update([0]);
    if let Some(key) = &provider.key {
        digest.update(key.expose());
    }
    if let Some(key) = &provider.deferred_key {
        digest.update(key.identity());
    }
    let fingerprint =
        digest.finalize().into_iter().take(4).fold(0_u32, |all, byte| all << 8 | u32::from(byte));
    format!("{name}#{fingerprint:08x}")
}

/// Returns the reasoning that flags, variables and the configuration ask for.
fn requested_reasoning(settings: &Settings) -> Reasoning {
    Reasoning {
        effort: settings.effort.value.as_deref().and_then(Effort::from_name),
        budget: settings.thinking_budget.value.and_then(|tokens| u32::try_from(tokens).ok()),
    }
}

/// Returns the models that a provider lists.
///
/// # Errors
/// The failure of the provider.
pub async fn list_models(
    app: &AppContext,
    provider: &ConfiguredProvider,
) -> Result<Vec<ListedModel>, Failure> {
    let endpoint = Endpoint { key_reader: key_reader(app, provider), ..endpoint(provider, "", None) };
    let listed = HttpProvider::new(endpoint).list_models().await;
    listed.map_err(|error| error.failure)
}

/// Returns the endpoint for batches of requests to a model.
///
/// # Errors
/// `UnknownProvider`, `NoKey`; the errors of the configuration.
pub fn batch_endpoint(app: &AppContext, provider: &str, model: &str) -> Result<Endpoint, Reason> {
    let unknown = || Reason::UnknownProvider { provider: provider.to_owned(), near: None };
    let provider = ConfiguredProvider::find(app, provider)?.ok_or_else(unknown)?;
    let provider = provider.require_key()?.with_connection(app)?;
    let key_reader = key_reader(app, &provider);
    let known = current_model(app, &provider.name, model);
    Ok(Endpoint { key_reader, ..endpoint(&provider, model, known.as_ref()) })
}

/// Returns the output limit of an answer, in tokens; `None` leaves it to the service.
///
/// A limit of all that a model can write would reserve most of the context window of some services for an answer that is
/// hardly ever that long. Only the highest levels of reasoning need more than half of it.
fn output_limit(known: Option<&KnownModel>, model: &str, reasoning: Reasoning) -> Option<u32> {
    let most = match reasoning.effort {
        Some(Effort::XHigh | Effort::Max) => 128_000,
        Some(_) | None => 64_000,
    };
    match known {
        Some(known) => known.max_output_tokens.map(|limit| limit.min(most)),
        None => known_provider(maker_of(model)?)?.unknown_output_limit,
    }
}

fn endpoint(provider: &ConfiguredProvider, model: &str, known: Option<&KnownModel>) -> Endpoint {
    let protocols = provider.protocols_for(model);
    Endpoint {
        provider: provider.name.clone(),
        protocol: protocols.first,
        other_protocol: protocols.other,
        on_protocol_change: None,
        on_adaptation: None,
        on_quota: None,
        base_url: provider.base_url.clone(),
        key: provider.key.clone(),
        key_reader: None,
        key_origin: provider.key_origin.clone(),
        proxy: provider.connection.proxy.clone(),
        tls: provider.connection.tls.clone(),
        near_models: None,
        cache_key: None,
        reasoning: Reasoning::DEFAULT,
        traits: known.map_or(ModelTraits::UNKNOWN, ModelTraits::from),
        headers: provider.headers.clone(),
        model: model.to_owned(),
        quirks: provider.quirks,
        transport: provider.transport,
        timeouts: provider.timeouts,
        max_output_tokens: output_limit(known, model, Reasoning::DEFAULT),
    }
}

/// Begins with the protocol that the service needed in an earlier run, and stores another one that it needs in this run.
/// Recordings must not depend on earlier runs.
fn use_remembered_protocol(app: &AppContext, provider: &ConfiguredProvider, endpoint: &mut Endpoint) {
    let Some(other) = endpoint.other_protocol.filter(|_| matches!(app.traffic, TrafficMode::Live)) else {
        return;
    };
    let remembered = protocol_memory::remembered(&app.dirs.cache, provider, &endpoint.model);
    if remembered.is_some_and(|protocol| protocol.name() == other.name()) {
        (endpoint.protocol, endpoint.other_protocol) = (other, Some(endpoint.protocol));
    }
    endpoint.on_protocol_change =
        Some(protocol_memory::observer(app.dirs.cache.clone(), provider, &endpoint.model));
}

/// Begins with the deviations that the service has shown in earlier runs, and stores those that it shows in this run.
/// Recordings must not depend on earlier runs.
fn use_remembered_adaptations(app: &AppContext, provider: &ConfiguredProvider, endpoint: &mut Endpoint) {
    let may_deviate = endpoint.protocol.name() == DEFAULT_PROTOCOL.name() || endpoint.appends_updates();
    if !matches!(app.traffic, TrafficMode::Live) || !may_deviate {
        return;
    }
    let cache_dir = app.dirs.cache.clone();
    for adaptation in protocol_memory::remembered_adaptations(&cache_dir, provider, &endpoint.model) {
        adaptation.apply(&mut endpoint.quirks);
    }
    let observer = protocol_memory::adaptation_observer(cache_dir, provider, &endpoint.model);
    endpoint.on_adaptation = Some(observer);
}

/// Adds the header with the cache key, if the service has one. A header that the user set takes precedence.
fn add_cache_key_header(endpoint: &mut Endpoint) {
    if let (Some(name), Some(key)) = (endpoint.quirks.cache_key_header, &endpoint.cache_key)
        && !endpoint.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
    {
        endpoint.headers.push((name.to_owned(), key.clone()));
    }
}

/// Returns a search for similar models of `provider`.
fn near_models_search(cache_dir: &Path, provider: &ConfiguredProvider) -> NearModels {
    let (cache_dir, name) = (cache_dir.to_owned(), provider.name.clone());
    NearModels::new(move |model| near_models_of(&name, model, &cache_dir))
}

/// Returns a reader for a key of a file or a command, and for a stored key, which another `login` may replace. Keys of
/// flags and variables cannot change.
fn key_reader(app: &AppContext, provider: &ConfiguredProvider) -> Option<KeyReader> {
    if let Some(key) = &provider.deferred_key {
        return Some(key.reader(app, &provider.name));
    }
    let (path, name, redactor) =
        (app.dirs.credentials.clone(), provider.name.clone(), app.redactor().clone());
    let read = move |_| {
        let key = Credentials::load(&path).ok().and_then(|stored| stored.get(&name).map(str::to_owned));
        if let Some(key) = &key {
            redactor.add(key.trim());
        }
        ready(Ok(key.map(|key| Secret::new(&key)))).boxed()
    };
    (provider.key_source == KeySource::Login).then(|| KeyReader::new(read))
}
