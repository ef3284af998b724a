//! Creation of the provider for a chosen model.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::ready;
use ibeam_config::Credentials;
use ibeam_core::Provider;
use ibeam_protocol::{Failure, KeySource, ModelInfo, Notice, Reason, SessionId, sentence};
use ibeam_providers::batch::ParkingProvider;
use ibeam_providers::recording::{AnswerSource, RecordedProvider};
use ibeam_providers::{
    Effort, Endpoint, HttpProvider, KeyReader, ListedModel, NearModels, Reasoning, Secret, TrafficMode,
    known_model,
};
use sha2::{Digest as _, Sha256};

use super::governed::governed;
use super::near_models::near_models_of;
use super::parking_dir::ParkingDir;
use super::{ConfiguredProvider, ModelChoice, embedded};
use crate::app::AppContext;

/// The parking of the requests of a run.
pub(crate) struct Parking {
    /// The provider that parks the requests.
    pub(crate) provider: Arc<dyn Provider>,
    /// The directory of the requests.
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
        let account = || account(&self.info.provider, self.provider.as_ref());
        let connected: Arc<dyn Provider> = match &self.provider {
            Some(provider) => {
                let endpoint = self.endpoint(app, provider, session);
                Arc::new(HttpProvider::with_traffic(endpoint, app.traffic.clone()))
            }
            None => {
                let source = match &app.traffic {
                    TrafficMode::Live => {
                        let provider = governed(app, embedded::provider(app)?, &self.info, account)?;
                        return Ok((provider, self.info, source));
                    }
                    TrafficMode::Record(recorder) => {
                        AnswerSource::Live(embedded::provider(app)?, Arc::clone(recorder))
                    }
                    TrafficMode::Replay(player) => AnswerSource::Replay(Arc::clone(player)),
                };
                Arc::new(RecordedProvider::new(source, &self.info.provider, &self.info.id))
            }
        };
        let governed = governed(app, connected, &self.info, account)?;
        Ok((governed, self.info, source))
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
        let Some(directory) = &app.base.flags.park_requests else { return Ok(None) };
        let provider = self.provider.as_ref();
        let provider = provider.filter(|provider| provider.protocol_for(&self.info.id).batch_api().is_some());
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

    /// Returns the endpoint of the requests of a session.
    fn endpoint(&self, app: &AppContext, provider: &ConfiguredProvider, session: SessionId) -> Endpoint {
        let mut endpoint = Endpoint {
            key_reader: key_reader(app, provider),
            near_models: Some(near_models_search(app, provider)),
            cache_key: Some(session.to_string()),
            reasoning: self.reasoning(app),
            ..endpoint(provider, &self.info.id)
        };
        add_cache_key_header(&mut endpoint);
        endpoint
    }

    /// Returns the reasoning to ask the model for.
    fn reasoning(&self, app: &AppContext) -> Reasoning {
        if self.ignores_reasoning() { Reasoning::DEFAULT } else { requested_reasoning(app) }
    }

    /// Whether the model is known not to reason, or its API has no documented form of a request for reasoning.
    fn ignores_reasoning(&self) -> bool {
        let id = &self.info.id;
        let never_reasons = known_model(id).is_some_and(|known| known.abilities.reasoning == Some(false));
        let has_no_form = |provider: &ConfiguredProvider| !provider.protocol_for(id).accepts_reasoning(id);
        never_reasons || self.provider.as_ref().is_none_or(has_no_form)
    }

    /// Returns a notice if the user asked for reasoning and the model ignores that.
    pub(crate) fn reasoning_notice(&self, app: &AppContext) -> Option<Notice> {
        let reasoning = requested_reasoning(app);
        let is_asked = reasoning != Reasoning::DEFAULT && reasoning.effort != Some(Effort::None);
        let model = self.info.display.clone();
        (is_asked && self.ignores_reasoning()).then_some(Notice::EffortIgnored { model })
    }
}

/// Returns the name of a provider with a fingerprint of its address and key, from which the key cannot be found.
fn account(name: &str, provider: Option<&ConfiguredProvider>) -> String {
    let Some(provider) = provider else { return name.to_owned() };
    let mut digest = Sha256::new_with_prefix(&provider.base_url);
    digest.update([0]);
    if let Some(key) = &provider.key {
        digest.update(key.expose());
    }
    let fingerprint =
        digest.finalize().into_iter().take(4).fold(0_u32, |all, byte| all << 8 | u32::from(byte));
    format!("{name}#{fingerprint:08x}")
}

/// Returns the reasoning that flags, variables and the configuration ask for.
fn requested_reasoning(app: &AppContext) -> Reasoning {
    Reasoning {
        effort: app.base.config.text(&["effort"]).and_then(Effort::from_name),
        budget: app.base.config.number(&["thinking_budget"]).and_then(|tokens| u32::try_from(tokens).ok()),
    }
}

/// Returns the models that a provider lists.
///
/// # Errors
/// The failure of the provider.
pub(crate) async fn list_models(
    app: &AppContext,
    provider: &ConfiguredProvider,
) -> Result<Vec<ListedModel>, Failure> {
    let endpoint = Endpoint { key_reader: key_reader(app, provider), ..endpoint(provider, "") };
    let listed = HttpProvider::new(endpoint).list_models().await;
    listed.map_err(|error| error.failure)
}

/// Returns the endpoint for batches of requests to a model.
///
/// # Errors
/// `UnknownProvider`, `NoKey`; the errors of the configuration.
pub(crate) fn batch_endpoint(app: &AppContext, provider: &str, model: &str) -> Result<Endpoint, Reason> {
    let unknown = || Reason::UnknownProvider { provider: provider.to_owned(), near: None };
    let provider = ConfiguredProvider::find(app, provider)?.ok_or_else(unknown)?;
    let provider = provider.require_key()?.with_connection(app)?;
    let key_reader = key_reader(app, &provider);
    Ok(Endpoint { key_reader, ..endpoint(&provider, model) })
}

fn endpoint(provider: &ConfiguredProvider, model: &str) -> Endpoint {
    Endpoint {
        provider: provider.name.clone(),
        protocol: provider.protocol_for(model),
        base_url: provider.base_url.clone(),
        key: provider.key.clone(),
        key_reader: None,
        key_origin: provider.key_origin.clone(),
        proxy: provider.connection.proxy.clone(),
        tls: provider.connection.tls.clone(),
        near_models: None,
        cache_key: None,
        reasoning: Reasoning::DEFAULT,
        headers: provider.headers.clone(),
        model: model.to_owned(),
        quirks: provider.quirks,
        transport: provider.transport,
        timeouts: provider.timeouts,
        max_output_tokens: known_model(model).and_then(|known| known.max_output_tokens),
    }
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
fn near_models_search(app: &AppContext, provider: &ConfiguredProvider) -> NearModels {
    let (cache_dir, name) = (app.dirs.cache.clone(), provider.name.clone());
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
