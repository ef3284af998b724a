//! Which model a run uses, where it is, and whose key opens it.
//!
//! The name comes from flag, environment or configuration; without one it is the first provider with a key, else
//! the embedded model. A name is `provider/name`, an alias, a name of the catalogue, or any name when exactly one
//! provider has a key or a base URL.

mod connect;
mod embedded;
mod provider;

use ibeam_protocol::{KeySource, ModelInfo, Notice, Reason, UnusedKey};
use ibeam_providers::{Timeouts, default_model, known_model, model_label};

use self::provider::{near_provider, unused_key};
use crate::app::AppContext;
pub(crate) use connect::list_models;
pub(crate) use embedded::{DISPLAY_NAME as EMBEDDED_DISPLAY, is_installed, model_file};
pub(crate) use provider::{
    ConfiguredProvider, all_keys, all_secrets, check_provider_name, key_sources, key_variable,
    key_variable_names, provider_names,
};

/// The provider name of the embedded model.
pub(crate) const EMBEDDED: &str = "embedded";
/// Names of the embedded model.
const EMBEDDED_NAMES: [&str; 3] = ["embedded", "embedded/qwen2.5-coder-1.5b", "qwen2.5-coder-1.5b"];
/// An alias may point to an alias, but not for ever.
const ALIAS_DEPTH: usize = 8;

/// A model that a run can use.
pub(crate) struct ModelChoice {
    info: ModelInfo,
    /// `None` for the embedded model.
    provider: Option<ConfiguredProvider>,
    why: String,
    /// A key that is set and opens nothing, where the embedded model stands in.
    unused_key: Option<UnusedKey>,
}

impl ModelChoice {
    /// The model.
    pub(crate) fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// What decided: a flag, a variable, a file and line, a key.
    pub(crate) fn origin(&self) -> String {
        self.why.clone()
    }

    /// The embedded model is small; whoever gets it should know.
    pub(crate) fn notice(&self) -> Option<Notice> {
        let (model, unused_key) = (self.info.display.clone(), self.unused_key.clone());
        self.provider.is_none().then_some(Notice::EmbeddedModel { model, unused_key })
    }

    /// The bounds of its requests; `None` for the embedded model.
    pub(crate) fn timeouts(&self) -> Option<Timeouts> {
        self.provider.as_ref().map(|provider| provider.timeouts)
    }

    /// Where the key comes from.
    pub(crate) fn key_source(&self) -> KeySource {
        self.provider.as_ref().map_or(KeySource::None, |provider| provider.key_source)
    }
}

/// Chooses the model.
///
/// # Errors
/// `UnknownModel`, `UnknownProvider`, `NoKey`, `ModelNotInstalled`, `NoLocalEngine`; `Usage` and `BadConfig` for an
/// address or a key that must not be used so.
pub(crate) fn choose_model(app: &AppContext) -> Result<ModelChoice, Reason> {
    chosen(app).map_err(|mut reason| {
        if let Reason::NoKey { embedded, .. } = &mut reason {
            *embedded = is_installed(app);
        }
        reason
    })
}

fn chosen(app: &AppContext) -> Result<ModelChoice, Reason> {
    let setting = app.base.config.get(&["model"]);
    let why = setting.map(|setting| setting.origin.to_string());
    match (app.base.config.text(&["model"]), why) {
        (Some(name), Some(why)) if name != "auto" => named(app, name, why),
        (Some(_), _) if alias(app, "auto").is_some() => named(app, "auto", "models.aliases".to_owned()),
        _ => unnamed(app),
    }
}

/// Chooses the model of that name, which `why` names the source of.
///
/// # Errors
/// Those of [`choose_model`].
pub(crate) fn choose_model_named(app: &AppContext, name: &str, why: &str) -> Result<ModelChoice, Reason> {
    match name {
        "auto" if alias(app, "auto").is_none() => unnamed(app),
        name => named(app, name, why.to_owned()),
    }
}

/// Returns the names of the aliases and what each means.
pub(crate) fn aliases(app: &AppContext) -> Vec<(String, String)> {
    let aliases = app.base.config.all().filter_map(|(path, _)| match path {
        [models, aliases, name] if (models.as_str(), aliases.as_str()) == ("models", "aliases") => {
            Some((name.clone(), alias(app, name)?))
        }
        _ => None,
    });
    aliases.collect()
}

/// The first provider with a key, else the embedded model.
///
/// # Errors
/// `Usage` for an address or a key that is given for a model that nobody named.
fn unnamed(app: &AppContext) -> Result<ModelChoice, Reason> {
    if let Some(url) = &app.base.flags.endpoint {
        let detail = format!(
            "`--endpoint {url}` needs `--model NAME`, the name of a model of that server; \
             `ibeam models --endpoint {url}` lists them"
        );
        return Err(Reason::Usage { detail });
    }
    if app.base.flags.api_key.is_some() {
        let detail = "`--api-key` needs `--model PROVIDER/NAME`, which says whose key it is".to_owned();
        return Err(Reason::Usage { detail });
    }
    if let Some(provider) = ConfiguredProvider::first_with_key(app)
        && let Some(model) = default_model(&provider.name)
    {
        let why = format!("first provider with a key: {}", provider.name);
        return remote(app, provider, model, why);
    }
    match unused_key(app) {
        None => embedded(app, "no key is set".to_owned(), None),
        Some(key) => {
            let why = format!("no key of a provider is set; {} is a key of {}", key.variable, key.service);
            embedded(app, why, Some(key))
        }
    }
}

fn named(app: &AppContext, name: &str, why: String) -> Result<ModelChoice, Reason> {
    let mut name = name.trim().to_owned();
    for _ in 0..ALIAS_DEPTH {
        match alias(app, &name) {
            Some(target) if target != name => name = target,
            Some(_) | None => break,
        }
    }
    if name == "auto" {
        return unnamed(app);
    }
    if EMBEDDED_NAMES.contains(&name.as_str()) {
        return embedded(app, why, None);
    }
    if let Some((provider, model)) = name.split_once('/')
        && let Some(provider) = ConfiguredProvider::find(app, provider)?
    {
        if model.is_empty() {
            return Err(Reason::UnknownModel { model: name.clone(), provider: None, near: None });
        }
        return remote(app, provider.with_key()?, model, why);
    }
    if let Some(known) = known_model(&name)
        && let Some(provider) = ConfiguredProvider::find(app, known.provider)?
        && let Ok(provider) = provider.with_key()
    {
        return remote(app, provider, &name, why);
    }
    if let Some(reason) = only_of_an_untrusted_project(app, &name) {
        return Err(reason);
    }
    if let Some(provider) = ConfiguredProvider::only_one(app)? {
        return remote(app, provider, &name, why);
    }
    match known_model(&name).map(|known| ConfiguredProvider::find(app, known.provider)) {
        Some(Ok(Some(provider))) => remote(app, provider.with_key()?, &name, why),
        Some(Err(reason)) => Err(reason),
        Some(Ok(None)) | None => {
            let near = near_model(app, &name);
            Err(Reason::UnknownModel { model: name, provider: None, near })
        }
    }
}

/// Returns the name with the provider that a misspelt provider of `name` most likely means.
fn near_model(app: &AppContext, name: &str) -> Option<String> {
    let (provider, model) = name.split_once('/')?;
    Some(format!("{}/{model}", near_provider(app, provider)?))
}

/// The reason where the name means something to the project's file alone.
fn only_of_an_untrusted_project(app: &AppContext, name: &str) -> Option<Reason> {
    let provider = name.split_once('/').map(|(provider, _)| ("providers", vec!["providers", provider]));
    let alias = Some(("models.aliases", vec!["models", "aliases", name]));
    provider.into_iter().chain(alias).find_map(|(table, path)| {
        let file = app.base.config.untrusted_file(&path)?;
        let (what, path) = (format!("{table}.{}", path.last()?), file.display().to_string());
        Some(Reason::Untrusted { what, path })
    })
}

fn alias(app: &AppContext, name: &str) -> Option<String> {
    app.base.config.text(&["models", "aliases", name]).map(str::to_owned)
}

/// A model of `provider`.
///
/// # Errors
/// `BadConfig` where the key would travel unencrypted.
fn remote(
    app: &AppContext,
    provider: ConfiguredProvider,
    model: &str,
    why: String,
) -> Result<ModelChoice, Reason> {
    provider.check_encryption(app)?;
    let display =
        app.base.config.text(&["models", "display", model]).unwrap_or_else(|| model_label(model)).to_owned();
    let info = ModelInfo { provider: provider.name.clone(), id: model.to_owned(), display };
    Ok(ModelChoice { info, provider: Some(provider), why, unused_key: None })
}

fn embedded(app: &AppContext, why: String, unused_key: Option<UnusedKey>) -> Result<ModelChoice, Reason> {
    let display = embedded::DISPLAY_NAME.to_owned();
    if !cfg!(feature = "embedded") {
        return Err(Reason::NoLocalEngine);
    }
    // `--setup` installs it before it is needed.
    if !is_installed(app) && !app.base.flags.setup {
        return Err(Reason::ModelNotInstalled { model: display, unused_key });
    }
    let info = ModelInfo { provider: EMBEDDED.to_owned(), id: "qwen2.5-coder-1.5b".to_owned(), display };
    Ok(ModelChoice { info, provider: None, why, unused_key })
}
