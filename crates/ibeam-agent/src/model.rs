//! Choice of the model for a run.
//!
//! The name comes from a flag, the environment or the configuration. Without a name the default model of the first
//! provider with a key is used, else the embedded model. A name is `provider/name`, an alias, a name of the model
//! table, or any name if exactly one provider has a key or a base URL.

mod age_warnings;
mod answer_store;
mod configured_facts;
mod configured_provider;
mod connect;
mod connection;
mod current_facts;
mod default_choice;
pub(crate) mod deferred_key;
mod embedded;
mod fallback_chain;
mod key_pool;
pub(crate) mod list_cache;
pub mod model_info;
mod near_models;
mod parking_dir;
mod protocol_memory;
pub(crate) mod recordings;

use ibeam_config::{Config, Setting, Settings};
use ibeam_protocol::{AcceptedMedia, KeySource, ModelInfo, Notice, Reason, Sentence, UnusedKey, sentence};
use ibeam_providers::{KnownModel, Timeouts, known_provider, maker_of, model_label};

use self::configured_provider::similar_provider;
pub(crate) use self::default_choice::DefaultOrigin;
use self::default_choice::{default_id, default_rule, line_model};
use self::near_models::{NameSources, near_models};
use crate::app::AppContext;
pub use configured_facts::ConfiguredFacts;
pub use configured_provider::{
    ConfiguredProvider, all_keys, all_secrets, check_provider_name, key_sources, key_variable,
    key_variable_names, overriding_key, provider_names, unused_key,
};
pub use connect::{Parking, batch_endpoint, list_models};
pub use connection::{ServiceConnection, check_encryption, proxy_selector, tls_settings};
pub use current_facts::{current_model, model_with_listed};
pub(crate) use deferred_key::{KeyCommandRunner, expand_home};
pub use embedded::{
    DISPLAY_NAME as EMBEDDED_DISPLAY, EMBEDDED_PROVIDER, is_installed, model_file, set_load_observer,
};
pub use fallback_chain::FallbackChain;
pub use list_cache::{ListCache, MAX_AGE as LIST_MAX_AGE};
pub(crate) use parking_dir::ParkingDir;

const EMBEDDED_NAMES: [&str; 3] = ["embedded", "embedded/qwen2.5-coder-1.5b", "qwen2.5-coder-1.5b"];
/// The maximum length of a chain of aliases.
const MAX_ALIAS_CHAIN: usize = 8;

/// The model for a run.
pub struct ModelChoice {
    info: ModelInfo,
    /// `None` for the embedded model.
    provider: Option<ConfiguredProvider>,
    origin: Sentence,
    /// A key that is set but that no provider uses, if the embedded model is used instead.
    unused_key: Option<UnusedKey>,
    /// The rule that chose the model; `None` if the user named it.
    default: Option<DefaultOrigin>,
    /// The facts about the model.
    known: Option<KnownModel>,
    /// Whether someone reads its thoughts.
    shows_thinking: bool,
}

impl ModelChoice {
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// Returns the source of the choice: a flag, a variable, a file and line, or a key.
    pub fn origin(&self) -> &Sentence {
        &self.origin
    }

    /// Returns the provider and the rule of a model that a rule chose.
    pub(crate) fn default_origin(&self) -> Option<(&ConfiguredProvider, &DefaultOrigin)> {
        self.provider.as_ref().zip(self.default.as_ref())
    }

    /// Returns the choice for a front end that shows the thoughts of the model.
    pub fn with_shown_thinking(self) -> Self {
        Self { shows_thinking: true, ..self }
    }

    /// Returns a notice if the embedded model is used, because users should know that it is small.
    pub(crate) fn notice(&self) -> Option<Notice> {
        let (model, unused_key) = (self.info.display.clone(), self.unused_key.clone());
        self.provider.is_none().then_some(Notice::EmbeddedModel { model, unused_key })
    }

    /// Whether the model runs in this process.
    pub(crate) fn is_embedded(&self) -> bool {
        self.provider.is_none()
    }

    /// Returns the timeouts of its requests; `None` for the embedded model.
    pub fn timeouts(&self) -> Option<Timeouts> {
        self.provider.as_ref().map(|provider| provider.timeouts)
    }

    /// Returns the images and documents that the model accepts. A model whose abilities are unknown is asked.
    pub(crate) fn accepted_media(&self) -> AcceptedMedia {
        let Some(provider) = &self.provider else { return AcceptedMedia::default() };
        let images = self.known.and_then(|known| known.abilities.images).unwrap_or(true);
        let documents = images && provider.protocol_for(&self.info.id).accepts_documents();
        AcceptedMedia { images, documents }
    }

    pub fn key_source(&self) -> KeySource {
        self.provider.as_ref().map_or(KeySource::None, |provider| provider.key_source)
    }
}

/// Chooses the model.
///
/// # Errors
/// `UnknownModel`, `UnknownProvider`, `NoKey`, `NoModel`, `NoDefaultModel`, `ModelNotInstalled`, `NoLocalEngine`; `Usage` and `BadConfig` for an
/// address or a key that must not be used.
pub fn choose_model(app: &AppContext) -> Result<ModelChoice, Reason> {
    choose(app).map_err(|mut reason| {
        if let Reason::NoKey { embedded, without_engine, .. } = &mut reason {
            *embedded = is_installed(app);
            *without_engine = !cfg!(feature = "embedded");
        }
        reason
    })
}

fn choose(app: &AppContext) -> Result<ModelChoice, Reason> {
    let Setting { value, origin } = &app.base.settings.model;
    match value.first().map(String::as_str) {
        Some("auto") if alias_target(&app.base.settings, "auto").is_some() => {
            choose_by_name(app, "auto", "models.aliases".into())
        }
        Some("auto") | None => choose_default(app),
        Some(name) => choose_by_name(app, name, origin.to_string().into()),
    }
}

/// Chooses the model of this name, which comes from `origin`.
///
/// # Errors
/// The errors of [`choose_model`].
pub fn choose_model_named(app: &AppContext, name: &str, origin: &str) -> Result<ModelChoice, Reason> {
    match name {
        "auto" if alias_target(&app.base.settings, "auto").is_none() => choose_default(app),
        name => choose_by_name(app, name, origin.into()),
    }
}

/// Returns the aliases, each with its model name.
pub fn aliases(app: &AppContext) -> Vec<(String, String)> {
    let aliases = app.base.settings.models.aliases.iter();
    aliases.map(|(name, target)| (name.clone(), target.value.clone())).collect()
}

/// Chooses the default model of the first provider with a key, else the embedded model; in a replay, the model of the
/// first recording.
///
/// # Errors
/// `Usage` for `--endpoint` or `--api-key` without a model name.
fn choose_default(app: &AppContext) -> Result<ModelChoice, Reason> {
    if let Some((provider, model)) = app.traffic.player().and_then(|player| player.recorded_model(None)) {
        return choose_by_name(app, &format!("{provider}/{model}"), sentence!("the recordings"));
    }
    if let Some(url) = &app.base.options.endpoint {
        let detail = sentence!(
            "`--endpoint {url}` needs `--model NAME`, the name of a model of that server; \
             `ibeam models --endpoint {url}` lists them",
            url,
        );
        return Err(Reason::Usage { detail });
    }
    if app.base.options.api_key.is_some() {
        let detail = sentence!("`--api-key` needs `--model PROVIDER/NAME`, which says whose key it is");
        return Err(Reason::Usage { detail });
    }
    if let Some(provider) = ConfiguredProvider::first_with_key(app)
        && let Some(model) = default_id(app, &provider)
    {
        let origin = sentence!(
            "first provider with a key: {provider}; its default model: {rule}",
            provider = provider.name,
            rule = default_rule(&provider.name),
        );
        let choice = remote_model(app, provider, &model, origin)?;
        return Ok(ModelChoice { default: Some(DefaultOrigin::Provider), ..choice });
    }
    let key_without_model = key_sources(app).into_iter().next().map(|(provider, _)| provider);
    let unused_key = unused_key(app);
    if !cfg!(feature = "embedded") && !app.replays() {
        return Err(match key_without_model {
            Some(provider) => Reason::NoDefaultModel { provider },
            None => Reason::NoModel { unused_key },
        });
    }
    match unused_key {
        None => {
            let without_key = key_without_model.is_none();
            let origin = match key_without_model {
                Some(provider) => sentence!("{provider} has a key, but no default model", provider),
                None => sentence!("no key is set"),
            };
            embedded_model(app, origin, None, without_key)
        }
        Some(key) => {
            let origin = sentence!(
                "no key of a provider is set; {variable} is a key of {service}",
                variable = key.variable,
                service = key.service
            );
            embedded_model(app, origin, Some(key), true)
        }
    }
}

fn choose_by_name(app: &AppContext, name: &str, origin: Sentence) -> Result<ModelChoice, Reason> {
    let mut name = name.trim().to_owned();
    for _ in 0..MAX_ALIAS_CHAIN {
        match alias_target(&app.base.settings, &name) {
            Some(target) if target != name => name = target,
            Some(_) | None => break,
        }
    }
    if name == "auto" {
        return choose_default(app);
    }
    if let Some(player) = app.traffic.player().filter(|_| !name.contains('/'))
        && let Some((provider, model)) = player.recorded_model(Some(&name))
    {
        name = format!("{provider}/{model}");
    }
    if EMBEDDED_NAMES.contains(&name.as_str()) {
        return embedded_model(app, origin, None, false);
    }
    if let Some((provider, model)) = name.split_once('/')
        && let Some(provider) = ConfiguredProvider::find(app, provider)?
    {
        if model.is_empty() {
            return Err(unknown_model_error(app, name));
        }
        return remote_model(app, provider.require_key()?, model, origin);
    }
    if let Some((provider, model, rule)) = line_model(app, &name)? {
        let choice = remote_model(app, provider.require_key()?, &model, origin)?;
        return Ok(ModelChoice { default: Some(rule), ..choice });
    }
    let maker = match bare_name_maker(app, &name) {
        Some(maker) => ConfiguredProvider::find(app, maker)?,
        None => None,
    };
    if let Some(Ok(provider)) = maker.clone().map(ConfiguredProvider::require_key) {
        reject_misspelt_provider(app, &name, &provider)?;
        return remote_model(app, provider, &name, origin);
    }
    if let Some(reason) = untrusted_setting_error(&app.base.config, &name) {
        return Err(reason);
    }
    let is_bare = maker.is_none() && !name.contains('/');
    if let Some(usual) = app.base.options.conventions.provider.filter(|_| is_bare)
        && let Some(provider) = ConfiguredProvider::find(app, usual)?.filter(ConfiguredProvider::has_key)
    {
        reject_misspelt_provider(app, &name, &provider)?;
        return remote_model(app, provider, &name, origin);
    }
    if let Some(provider) = ConfiguredProvider::only_usable(app)? {
        reject_misspelt_provider(app, &name, &provider)?;
        // The service of another maker does not have the model: the prompt must not go there.
        let is_elsewhere = !name.contains('/') && !provider.may_serve_any_name();
        if let Some(maker) = maker.filter(|_| is_elsewhere) {
            return remote_model(app, maker.require_key()?, &name, origin);
        }
        return remote_model(app, provider, &name, origin);
    }
    match maker {
        Some(maker) => remote_model(app, maker.require_key()?, &name, origin),
        None => Err(unknown_model_error(app, name)),
    }
}

/// Returns the provider that develops the model of a bare name. A server at `--endpoint` may serve models with public weights
/// over its own API.
fn bare_name_maker(app: &AppContext, name: &str) -> Option<&'static str> {
    let maker = maker_of(name).filter(|_| !name.contains('/'))?;
    let is_elsewhere = app.base.options.endpoint.is_some() && known_provider(maker)?.has_open_models;
    (!is_elsewhere).then_some(maker)
}

/// Checks that the part of `name` before a slash is not a misspelt provider, if no model of `chosen` has a slash in its
/// name.
///
/// # Errors
/// `UnknownModel` with the corrected name.
fn reject_misspelt_provider(app: &AppContext, name: &str, chosen: &ConfiguredProvider) -> Result<(), Reason> {
    let is_misspelt = |(typed, _): (&str, &str)| similar_provider(app, typed).is_some();
    match !chosen.may_serve_any_name() && name.split_once('/').is_some_and(is_misspelt) {
        true => Err(unknown_model_error(app, name.to_owned())),
        false => Ok(()),
    }
}

/// Returns the failure for a model name without a known provider.
fn unknown_model_error(app: &AppContext, model: String) -> Reason {
    let mut near = near_models(&NameSources::new(app), &model).into_iter();
    let (near, also_near) = (near.next(), near.collect());
    Reason::UnknownModel { model, provider: None, near, also_near }
}

/// Returns the failure for a name that only an untrusted project file defines.
fn untrusted_setting_error(config: &Config, name: &str) -> Option<Reason> {
    let provider = name.split_once('/').map(|(provider, _)| ("providers", vec!["providers", provider]));
    let alias = Some(("models.aliases", vec!["models", "aliases", name]));
    provider.into_iter().chain(alias).find_map(|(table, path)| {
        let file = config.untrusted_file(&path)?;
        let (what, path) = (format!("{table}.{}", path.last()?), file.display().to_string());
        Some(Reason::Untrusted { what, path })
    })
}

/// Returns the model name that the configuration has for the alias `name`.
fn alias_target(settings: &Settings, name: &str) -> Option<String> {
    settings.models.aliases.get(name).map(|target| target.value.clone())
}

/// Returns a model of `provider`.
///
/// # Errors
/// `BadConfig` if the key would be sent unencrypted, or for the settings of the connection.
fn remote_model(
    app: &AppContext,
    provider: ConfiguredProvider,
    model: &str,
    origin: Sentence,
) -> Result<ModelChoice, Reason> {
    let provider = if app.replays() { provider } else { provider.with_connection(app)? };
    let facts = ConfiguredFacts::new(&app.base.config, &provider.name, model);
    facts.check()?;
    let configured = app.base.settings.models.display.get(model);
    let display = configured
        .map(|name| name.value.as_str())
        .or(facts.text("label"))
        .unwrap_or_else(|| model_label(&provider.name, model));
    let display = display.to_owned();
    let info = ModelInfo { provider: provider.name.clone(), id: model.to_owned(), display };
    let known = current_model(app, &info.provider, &info.id);
    let (unused_key, default) = (None, None);
    let provider = Some(provider);
    Ok(ModelChoice { info, provider, origin, unused_key, default, known, shows_thinking: false })
}

fn embedded_model(
    app: &AppContext,
    origin: Sentence,
    unused_key: Option<UnusedKey>,
    without_key: bool,
) -> Result<ModelChoice, Reason> {
    let display = embedded::DISPLAY_NAME.to_owned();
    if !cfg!(feature = "embedded") && !app.replays() {
        return Err(Reason::NoLocalEngine);
    }
    // `--setup` installs the model before a run uses it. A replay needs neither the model file nor the engine.
    if !is_installed(app) && !app.base.options.setup && !app.replays() {
        return Err(Reason::ModelNotInstalled { model: display, unused_key, without_key });
    }
    let info =
        ModelInfo { provider: EMBEDDED_PROVIDER.to_owned(), id: "qwen2.5-coder-1.5b".to_owned(), display };
    let (provider, default, known) = (None, None, None);
    Ok(ModelChoice { info, provider, origin, unused_key, default, known, shows_thinking: false })
}
