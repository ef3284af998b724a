//! Providers with the user's settings: address, key and headers, from flags, variables, configuration and stored keys.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use ibeam_config::{NetworkSettings, Origin, ProviderSettings, Setting, Settings, TimeoutSettings};
use ibeam_protocol::{KeySource, Reason, UnusedKey, sentence};
use ibeam_providers::protocol_choice::{ProtocolChoice, ResponsesUse};
use ibeam_providers::provider_table::{self, KnownProvider, PROVIDERS, UNSUPPORTED_KEY_VARIABLES};
use ibeam_providers::{
    DEFAULT_PROTOCOL, PROTOCOLS, Quirks, Secret, Timeouts, TransportKind, WireProtocol, check_header,
    find_model, find_protocol, has_credentials, is_key_header, is_secret_header, with_default_scheme,
};

use super::configured_facts::configured_wires;
use super::connection::{ServiceConnection, check_encryption, proxy_passwords};
use super::deferred_key::DeferredKey;
use super::list_cache::ListSource;
use crate::app::AppContext;
use crate::environment::{MCP_TOKEN_VARIABLE, variable};
use crate::option_checks::split_header;
use crate::otel;
use crate::run_options::RunOptions;
use crate::similar_names::closest;

/// A further key of a provider.
#[derive(Clone, Debug)]
struct SpareKey {
    key: Option<Secret>,
    deferred_key: Option<DeferredKey>,
    origin: String,
}

/// A model provider with all settings resolved.
#[derive(Clone, Debug)]
pub struct ConfiguredProvider {
    pub name: String,
    protocol: &'static dyn WireProtocol,
    /// The models whose protocol the configuration sets.
    model_wires: Vec<(String, &'static dyn WireProtocol)>,
    /// The models that use Responses instead of `protocol`.
    responses: ResponsesUse,
    /// Whether the address is that of the provider itself.
    is_own_address: bool,
    pub base_url: String,
    /// The flag, variable, or file and line that sets the base URL; `None` for the default.
    base_url_source: Option<String>,
    pub key: Option<Secret>,
    /// The file or the command that has the key, if it is read when it is needed.
    pub deferred_key: Option<DeferredKey>,
    /// The other keys, if the variables or the files of several are configured.
    spare_keys: Vec<SpareKey>,
    pub key_source: KeySource,
    /// The flag, variable or setting that has the key; `None` for a stored key.
    pub key_origin: Option<String>,
    /// The variable for the key; `None` if the provider needs no key.
    pub(crate) key_variable: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) quirks: Quirks,
    pub(crate) transport: TransportKind,
    pub(crate) timeouts: Timeouts,
    /// Whether a flag, variable or file sets the base URL.
    pub(crate) has_own_address: bool,
    /// The proxy and the certificates, after [`Self::with_connection`].
    pub(crate) connection: ServiceConnection,
}

impl ConfiguredProvider {
    /// Returns the provider of this name, from the provider table or the configuration.
    ///
    /// # Errors
    /// `Usage` or `BadConfig` for an invalid header, protocol or base URL.
    pub fn find(app: &AppContext, name: &str) -> Result<Option<Self>, Reason> {
        let known = provider_table::known_provider(name);
        let configured = app.base.settings.providers.get(name);
        if known.is_none() && configured.is_none() {
            return Ok(None);
        }
        let unset = ProviderSettings::default();
        let settings = configured.unwrap_or(&unset);
        let wire = settings.wire.value.as_deref();
        let protocol = match wire {
            None => known.map_or(DEFAULT_PROTOCOL, |known| known.protocol),
            Some(value) => find_protocol(value).ok_or_else(|| Reason::BadConfig {
                path: format!("providers.{name}.wire"),
                line: None,
                column: None,
                detail: format!("`{value}` should be {}", protocol_names()).into(),
            })?,
        };
        let variables = known.map_or(&[][..], |known| known.base_url_variables);
        let Setting { value, origin } = &settings.base_url;
        let managed = value.as_deref().filter(|_| origin.is_managed());
        reject_contradiction("--endpoint", app.base.options.endpoint.as_deref(), managed, origin)?;
        let configured = || Some((value.clone()?, origin.to_string()));
        let from_variable = |name: &&'static str| Some((variable(name)?, format!("${name}")));
        let custom = managed
            .and_then(|_| configured())
            .or_else(|| Some((app.base.options.endpoint.clone()?, "--endpoint".to_owned())))
            .or_else(|| variables.iter().find_map(from_variable))
            .or_else(configured);
        let has_own_address = custom.is_some();
        let (custom, base_url_source) = custom.unzip();
        let base_url = match (custom, known) {
            (Some(url), Some(known)) => known.complete_base_url(&url),
            (Some(url), None) => with_default_scheme(&url),
            (None, Some(known)) => known.default_base_url(variable),
            (None, None) => {
                return Err(Reason::BadConfig {
                    path: format!("providers.{name}"),
                    line: None,
                    column: None,
                    detail: "`base_url` is missing".into(),
                });
            }
        };
        let responses = match known.filter(|_| wire.is_none()) {
            Some(known) => known.responses,
            None => ResponsesUse::Never,
        };
        let mut quirks = known.map_or(Quirks::DEFAULT, |known| known.quirks);
        quirks.text_tool_calls |= settings.text_tool_calls.value;
        if let Some(echoes) = settings.echo_reasoning.value {
            quirks.echo_reasoning = echoes;
        }
        // A server at another address may implement only the common part of the API. The provider table has no address
        // for Azure, so an address that the user sets is the address of Azure.
        let is_own_address = !has_own_address || known.is_some_and(|known| known.base_url.is_empty());
        quirks.answer_schema &= is_own_address;
        let is_live = app.base.options.record.is_none() && !app.replays();
        match settings.prompt_cache.value {
            Some(true) => quirks.prompt_cache_key = true,
            Some(false) => quirks.forget_cache(),
            // A recording is replayed without the address of its server, so its requests must not depend on the address.
            None if !is_own_address || !is_live => quirks.forget_cache(),
            None => {}
        }
        let gets_own_key = !is_endpoint_of_another_server(&app.base.options, name);
        let (key, key_source) = match gets_own_key {
            _ if app.replays() => (None, KeySource::None),
            true => find_key(app, name),
            false => flag_key(&app.base.options),
        };
        let is_stored = key.is_none() || key_source == KeySource::Login;
        let deferred_key = match gets_own_key && !app.replays() && is_stored {
            true => DeferredKey::find(app, name)?,
            false => None,
        };
        let (key, key_source) =
            if deferred_key.is_some() { (None, KeySource::Login) } else { (key, key_source) };
        let key_origin = match (key_source, &deferred_key) {
            (KeySource::Flag, _) => Some("--api-key".to_owned()),
            (KeySource::Env, _) | (KeySource::Login, Some(_)) => overriding_key(app, name),
            (KeySource::Login, None) | (KeySource::None, _) => None,
        };
        let spare_keys = match (key_source, &deferred_key) {
            (KeySource::Env, _) => spare_variables(&app.base.settings, name),
            (KeySource::Login, Some(first)) => spare_files(app, name, first),
            (KeySource::Login, None) | (KeySource::Flag | KeySource::None, _) => Vec::new(),
        };
        let key_variable = settings.key_variable.value.first();
        let key_variable = key_variable
            .cloned()
            .or_else(|| known.and_then(|known| known.key_variables.first()).map(|name| (*name).to_owned()));
        Ok(Some(Self {
            name: name.to_owned(),
            protocol,
            model_wires: configured_wires(&app.base.config)?,
            responses,
            is_own_address: known.is_some_and(|known| known.base_url == base_url),
            base_url,
            base_url_source,
            key,
            deferred_key,
            spare_keys,
            key_source,
            key_origin,
            // A server that is not the provider's own may need no key, and a replay needs none.
            key_variable: key_variable.filter(|_| gets_own_key && !app.replays()),
            headers: headers(app, name, gets_own_key)?,
            quirks,
            transport: match settings.transport.value.as_deref() {
                Some("websocket") => TransportKind::WebSocket,
                Some(_) | None => TransportKind::Http,
            },
            timeouts: timeouts(&app.base.settings.timeouts, known),
            has_own_address,
            connection: ServiceConnection::default(),
        }))
    }

    /// Returns the provider with each of its keys.
    pub(super) fn with_each_key(&self) -> Vec<Self> {
        let spare = self.spare_keys.iter().map(|SpareKey { key, deferred_key, origin }| Self {
            key: key.clone(),
            deferred_key: deferred_key.clone(),
            key_origin: Some(origin.clone()),
            ..self.clone()
        });
        std::iter::once(self.clone()).chain(spare).collect()
    }

    /// Whether the provider has a key, which may have to be read first.
    pub(crate) fn has_key(&self) -> bool {
        self.key.is_some() || self.deferred_key.is_some()
    }

    /// Whether the provider may serve a model of any name: it is a gateway, or a server at an address of the user.
    pub(super) fn may_serve_any_name(&self) -> bool {
        let is_own_service =
            |known: &&KnownProvider| known.has_only_own_models && known.base_url == self.base_url;
        provider_table::known_provider(&self.name).filter(is_own_service).is_none()
    }

    /// Returns the protocol for the first request to `model`.
    pub(crate) fn protocol_for(&self, model: &str) -> &'static dyn WireProtocol {
        self.protocols_for(model).first
    }

    /// Returns the protocols for requests to `model`.
    pub(crate) fn protocols_for(&self, model: &str) -> ProtocolChoice {
        let qualified = format!("{}/{model}", self.name);
        let wire = |name: &str| self.model_wires.iter().find(|(named, _)| named == name);
        if let Some((_, protocol)) = wire(&qualified).or_else(|| wire(model)) {
            return ProtocolChoice::only(*protocol);
        }
        let known = find_model(&self.name, model);
        self.responses.choose(self.protocol, known.as_ref(), self.is_own_address)
    }

    /// Checks that the key is set, if the provider needs one.
    ///
    /// # Errors
    /// `NoKey` with the name of the variable.
    pub(crate) fn require_key(self) -> Result<Self, Reason> {
        match &self.key_variable {
            Some(variable)
                if !self.has_key() && !self.headers.iter().any(|(name, _)| is_key_header(name)) =>
            {
                Err(Reason::NoKey {
                    provider: self.name.clone(),
                    variable: variable.clone(),
                    embedded: false,
                    without_engine: false,
                })
            }
            Some(_) | None => Ok(self),
        }
    }

    /// Returns the source of its list of models. The hash has only 16 bits, so that no one can find the key by trying keys.
    pub(crate) fn list_source(&self) -> ListSource<'_> {
        let mut hasher = DefaultHasher::new();
        (&self.base_url, &self.key, &self.deferred_key, &self.headers).hash(&mut hasher);
        ListSource { provider: &self.name, origin: hasher.finish() & 0xffff }
    }

    /// Checks the base URL, and returns the provider with the proxy and the certificates of its connections.
    ///
    /// # Errors
    /// The errors of [`Self::check_address`] and [`ServiceConnection::for_url`].
    pub fn with_connection(self, app: &AppContext) -> Result<Self, Reason> {
        self.check_address(&app.base.settings.network)?;
        let connection = ServiceConnection::for_url(app, &self.base_url)?;
        Ok(Self { connection, ..self })
    }

    /// Checks that the base URL is known, and that no key would be sent over plain HTTP to another machine, unless a
    /// setting allows the host.
    ///
    /// # Errors
    /// `BadConfig` with the source of the base URL; also for a base URL that cannot be used.
    fn check_address(&self, settings: &NetworkSettings) -> Result<(), Reason> {
        let bad = |detail: String| Reason::BadConfig {
            path: self.base_url_source.clone().unwrap_or_else(|| format!("providers.{}", self.name)),
            line: None,
            column: None,
            detail: detail.into(),
        };
        if self.base_url.is_empty() {
            return Err(bad(self.missing_address()));
        }
        let carries_secret = self.has_key()
            || self.headers.iter().any(|(name, _)| is_secret_header(name))
            || has_credentials(&self.base_url);
        check_encryption(settings, &self.base_url, carries_secret).map_err(bad)
    }

    /// Returns the message for a provider whose base URL depends on the account of the user.
    fn missing_address(&self) -> String {
        let variables =
            provider_table::known_provider(&self.name).map_or(&[][..], |known| known.base_url_variables);
        match variables.last() {
            Some(variable) => format!("`base_url` is missing; set it, or the variable `${variable}`"),
            None => "`base_url` is missing".to_owned(),
        }
    }

    /// Returns the first provider with a key and a default model, in the order of the table, then of the configuration.
    pub(crate) fn first_with_key(app: &AppContext) -> Option<Self> {
        let has_default = |name: &String| {
            provider_table::known_provider(name).is_some_and(|known| known.default_model.is_some())
        };
        provider_names(app).into_iter().filter(has_default).find_map(|name| {
            let provider = Self::find(app, &name).ok()??;
            (provider.has_key() && provider.key_source != KeySource::Flag).then_some(provider)
        })
    }

    /// Returns the providers with a key, or with an address that the user set. With `--endpoint`, returns only the
    /// provider at that address.
    ///
    /// # Errors
    /// The errors of [`Self::find`].
    pub fn usable(app: &AppContext) -> Result<Vec<Self>, Reason> {
        if app.base.options.endpoint.is_some() {
            return Ok(Self::find(app, "openai")?.into_iter().collect());
        }
        let mut usable = Vec::new();
        for name in provider_names(app).into_iter().filter(|name| has_settings(app, name)) {
            let Some(provider) = Self::find(app, &name)? else { continue };
            let has_key = provider.has_key() && provider.key_source != KeySource::Flag;
            if has_key || provider.has_own_address {
                usable.push(provider);
            }
        }
        Ok(usable)
    }

    /// Returns the provider for model names without a provider: the only usable one. With `--endpoint` it is the server
    /// at that address, which must implement Chat Completions.
    ///
    /// # Errors
    /// The errors of [`Self::find`].
    pub(crate) fn only_usable(app: &AppContext) -> Result<Option<Self>, Reason> {
        let mut usable = Self::usable(app)?;
        // A provider with only an address may need no key. If it does, the request fails with 401.
        Ok(if usable.len() > 1 { None } else { usable.pop() })
    }
}

/// Returns the names of all wire protocols, for messages: `"a", "b" or "c"`.
pub(super) fn protocol_names() -> String {
    let names: Vec<String> = PROTOCOLS.iter().map(|protocol| format!("{:?}", protocol.name())).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Whether `--endpoint` is a server that may not belong to provider `name`. It belongs to the provider only if `--model
/// NAME/…` is on the same command line. Any other server gets no key and no header, except those of flags.
fn is_endpoint_of_another_server(options: &RunOptions, name: &str) -> bool {
    let named = options.model.as_deref().and_then(|model| model.trim().split_once('/'));
    options.endpoint.is_some() && named.is_none_or(|(provider, _)| provider != name)
}

/// Whether anything of a provider is set: a variable, a stored key, or a key of the configuration.
fn has_settings(app: &AppContext, name: &str) -> bool {
    let known = provider_table::known_provider(name);
    let variables =
        known.into_iter().flat_map(|known| known.key_variables.iter().chain(known.base_url_variables));
    variables.copied().any(|name| variable(name).is_some())
        || app.credentials.get(name).is_some()
        || app.base.settings.providers.contains_key(name)
}

/// Returns the names of all providers: those of the table, then those of the configuration.
pub fn provider_names(app: &AppContext) -> Vec<String> {
    let mut names: Vec<String> = PROVIDERS.iter().map(|provider| provider.name.to_owned()).collect();
    let is_known = |name: &String| PROVIDERS.iter().any(|provider| provider.name == name);
    names.extend(app.base.settings.providers.keys().filter(|name| !is_known(name)).cloned());
    names
}

/// Checks that a provider of this name exists, and returns the name.
///
/// # Errors
/// `UnknownProvider`.
pub fn check_provider_name(app: &AppContext, name: &str) -> Result<String, Reason> {
    match provider_names(app).into_iter().find(|known| known == name) {
        Some(name) => Ok(name),
        None => Err(Reason::UnknownProvider { provider: name.to_owned(), near: similar_provider(app, name) }),
    }
}

/// Returns the provider whose name is similar to `name`.
pub(super) fn similar_provider(app: &AppContext, name: &str) -> Option<String> {
    closest(name, provider_names(app).iter().map(String::as_str)).map(str::to_owned)
}

/// Returns the providers with a key, each with the source of the key.
pub fn key_sources(app: &AppContext) -> Vec<(String, String)> {
    provider_names(app)
        .into_iter()
        .filter_map(|name| {
            let source = set_key_variable(&app.base.settings, &name)
                .map(|variable_name| format!("${variable_name}"))
                .or_else(|| DeferredKey::find(app, &name).ok()?.map(|key| key.describe()))
                .or_else(|| app.credentials.get(&name).map(|_| app.dirs.credentials.display().to_string()))?;
            Some((name, source))
        })
        .collect()
}

/// Returns the variable or the setting with a key of provider `name`, which takes precedence over a stored key.
pub fn overriding_key(app: &AppContext, name: &str) -> Option<String> {
    let variable = set_key_variable(&app.base.settings, name);
    variable.map(|variable| format!("${variable}")).or_else(|| {
        let deferred = DeferredKey::find(app, name).ok()??;
        Some(format!("providers.{name}.{}", deferred.setting()))
    })
}

/// Returns the names of all key variables, of models and of the search service, and of the variable with the token of the
/// MCP server. Commands must not get these variables.
pub fn key_variable_names(app: &AppContext) -> Vec<String> {
    provider_names(app)
        .iter()
        .flat_map(|name| key_variables(&app.base.settings, name))
        .chain(crate::search_config::key_variable(&app.base.settings.web_search))
        .chain([MCP_TOKEN_VARIABLE.to_owned()])
        .collect()
}

/// Returns all keys: from variables, from `login` and from the flag.
pub fn all_keys(app: &AppContext) -> Vec<String> {
    let variables = key_variable_names(app).into_iter().filter_map(|name| variable(&name));
    let stored = app.credentials.keys().map(str::to_owned);
    variables.chain(stored).chain(app.base.options.api_key.clone()).map(|key| key.trim().to_owned()).collect()
}

/// Returns all known keys, header values, passwords of proxies, and what the receiver of traces requires. None of them may
/// be recorded or shown.
///
/// A key that is read later is added to the redactor when it is read.
pub fn all_secrets(app: &AppContext) -> Vec<String> {
    let headers =
        provider_names(app).into_iter().flat_map(|name| headers(app, &name, true).unwrap_or_default());
    let known = all_keys(app).into_iter().chain(headers.map(|(_, value)| value));
    known.chain(proxy_passwords()).chain(otel::secrets()).collect()
}

/// Returns a key variable that is set but belongs to no provider of the table or the configuration.
pub fn unused_key(app: &AppContext) -> Option<UnusedKey> {
    let used = key_variable_names(app);
    let is_unused = |name: &str| variable(name).is_some() && !used.iter().any(|known| known == name);
    let (name, service) = UNSUPPORTED_KEY_VARIABLES.iter().find(|(name, _)| is_unused(name))?;
    Some(UnusedKey { variable: (*name).to_owned(), service: (*service).to_owned() })
}

/// Returns the name of the variable for the key of provider `name`; `None` if the provider needs no key.
pub fn key_variable(app: &AppContext, name: &str) -> Option<String> {
    key_variables(&app.base.settings, name).into_iter().next()
}

fn key_variables(settings: &Settings, name: &str) -> Vec<String> {
    let configured = configured_key_variables(settings, name).iter().cloned();
    let variables = provider_table::known_provider(name).map_or(&[][..], |known| known.key_variables);
    configured.chain(variables.iter().map(|name| (*name).to_owned())).collect()
}

fn configured_key_variables<'a>(settings: &'a Settings, name: &str) -> &'a [String] {
    settings.providers.get(name).map_or(&[], |provider| &provider.key_variable.value)
}

/// Returns the first key variable of provider `name` that is set.
fn set_key_variable(settings: &Settings, name: &str) -> Option<String> {
    key_variables(settings, name).into_iter().find(|name| variable(name).is_some())
}

/// Returns the keys of the configured variables that are set, besides the first one.
fn spare_variables(settings: &Settings, name: &str) -> Vec<SpareKey> {
    let set =
        configured_key_variables(settings, name).iter().filter_map(|name| Some((name, variable(name)?)));
    set.skip(1)
        .map(|(name, key)| SpareKey {
            key: Some(Secret::new(&key)),
            deferred_key: None,
            origin: format!("${name}"),
        })
        .collect()
}

/// Returns the keys of the configured files besides the first one.
fn spare_files(app: &AppContext, name: &str, first: &DeferredKey) -> Vec<SpareKey> {
    let files =
        app.base.settings.providers.get(name).map_or(&[][..], |provider| &provider.api_key_file.value);
    DeferredKey::files(&app.dirs.home, files)
        .filter(|file| file != first)
        .map(|file| SpareKey {
            key: None,
            origin: format!("providers.{name}.{}", file.setting()),
            deferred_key: Some(file),
        })
        .collect()
}

/// Returns the key of `--api-key`, which is for any provider.
fn flag_key(options: &RunOptions) -> (Option<Secret>, KeySource) {
    match &options.api_key {
        Some(key) => (Some(Secret::new(key)), KeySource::Flag),
        None => (None, KeySource::None),
    }
}

/// Returns the key of a provider: of the flag, else of a variable, else the one that `login` stored.
fn find_key(app: &AppContext, name: &str) -> (Option<Secret>, KeySource) {
    if app.base.options.api_key.is_some() {
        return flag_key(&app.base.options);
    }
    if let Some(key) = set_key_variable(&app.base.settings, name).and_then(|name| variable(&name)) {
        return (Some(Secret::new(&key)), KeySource::Env);
    }
    match app.credentials.get(name) {
        Some(key) => (Some(Secret::new(key)), KeySource::Login),
        None => (None, KeySource::None),
    }
}

/// Checks that a flag does not override a setting of the managed file.
fn reject_contradiction(
    flag: &str,
    value: Option<&str>,
    managed: Option<&str>,
    origin: &Origin,
) -> Result<(), Reason> {
    match (value, managed) {
        (Some(value), Some(text)) if value != text => {
            Err(Reason::Usage { detail: sentence!("`{flag}` contradicts {origin}", flag, origin) })
        }
        (Some(_), Some(_)) | (None, _) | (_, None) => Ok(()),
    }
}

/// Returns the headers of a provider: those of the configuration if `with_configured`, then those of flags.
fn headers(app: &AppContext, provider: &str, with_configured: bool) -> Result<Vec<(String, String)>, Reason> {
    let mut headers = Vec::new();
    let configured = || app.base.settings.providers.get(provider).into_iter().flat_map(|it| &it.headers);
    for (header, Setting { value, origin }) in configured().filter(|_| with_configured) {
        let value = value.trim();
        check_header(header, value).map_err(|error| origin.invalid(error.to_string()))?;
        headers.push((header.to_owned(), value.to_owned()));
    }
    for header in &app.base.options.header {
        let (name, value) = split_header(header)?;
        let same = configured().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        for (_, Setting { value: managed, origin }) in same.filter(|(_, setting)| setting.origin.is_managed())
        {
            reject_contradiction("--header", Some(value), Some(managed), origin)?;
        }
        headers.push((name.to_owned(), value.to_owned()));
    }
    Ok(headers)
}

/// Returns the timeouts: the configured ones, else the defaults of the provider.
fn timeouts(set: &TimeoutSettings, known: Option<&KnownProvider>) -> Timeouts {
    let default = known.map_or_else(Timeouts::default, KnownProvider::timeouts);
    Timeouts {
        connect: set.connect.value.unwrap_or(default.connect),
        first_byte: set.first_byte.value.unwrap_or(default.first_byte),
        idle: set.idle.value.unwrap_or(default.idle),
        content_idle: set.content_idle.value.unwrap_or(default.content_idle),
        total: set.answer.value.unwrap_or(default.total),
    }
}
