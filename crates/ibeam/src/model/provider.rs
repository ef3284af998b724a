//! A service as this user has it: address, key, headers, from flags, variables, files and the stored keys.

use ibeam_config::{Setting, Value};
use ibeam_protocol::{KeySource, Reason, UnusedKey};
use ibeam_providers::provider_table::{
    self, DEFAULT_QUIRKS, KnownProvider, PROVIDERS, Quirks, UNSUPPORTED_KEY_VARIABLES,
};
use ibeam_providers::{
    PlainHttpServer, Secret, Timeouts, Wire, has_credentials, is_secret_header, with_default_scheme,
};

use crate::app::AppContext;
use crate::environment::variable;
use crate::similar_names::closest;

/// A provider of models, resolved.
#[derive(Clone, Debug)]
pub(crate) struct ConfiguredProvider {
    pub(crate) name: String,
    pub(crate) wire: Wire,
    pub(crate) base_url: String,
    /// The flag, variable, or file and line that set the base URL; `None` for the one of the table.
    base_url_source: Option<String>,
    pub(crate) key: Option<Secret>,
    pub(crate) key_source: KeySource,
    /// The variable that would hold the key; `None` where none is needed.
    pub(crate) key_variable: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) quirks: Quirks,
    pub(crate) timeouts: Timeouts,
    /// Somebody said where it is: by flag, variable or file.
    pub(crate) has_own_address: bool,
}

impl ConfiguredProvider {
    /// The provider of that name: of the table, or of the configuration.
    ///
    /// # Errors
    /// `Usage` or `BadConfig` for a header or a wire that is none.
    pub(crate) fn find(app: &AppContext, name: &str) -> Result<Option<Self>, Reason> {
        let service = provider_table::known_provider(name);
        let configured = app.base.config.children(&["providers"]).contains(&name);
        if service.is_none() && !configured {
            return Ok(None);
        }
        let text = |key: &str| app.base.config.text(&["providers", name, key]);
        let wire = match text("wire") {
            None => service.map_or(Wire::OpenAi, |service| service.wire),
            Some("openai") => Wire::OpenAi,
            Some("anthropic") => Wire::Anthropic,
            Some(other) => {
                return Err(Reason::BadConfig {
                    path: format!("providers.{name}.wire"),
                    line: None,
                    column: None,
                    detail: format!("`{other}` should be \"openai\" or \"anthropic\""),
                });
            }
        };
        let variables = service.map_or(&[][..], |service| service.base_url_variables);
        let ruled = app.base.config.managed(&["providers", name, "base_url"]);
        refuse_contradiction("--endpoint", app.base.flags.endpoint.as_deref(), ruled)?;
        let configured = || {
            let origin = app.base.config.get(&["providers", name, "base_url"])?.origin.to_string();
            Some((text("base_url")?.to_owned(), origin))
        };
        let of_variable = |name: &&'static str| Some((variable(name)?, format!("${name}")));
        let given = ruled
            .and_then(|_| configured())
            .or_else(|| Some((app.base.flags.endpoint.clone()?, "--endpoint".to_owned())))
            .or_else(|| variables.iter().find_map(of_variable))
            .or_else(configured);
        let addressed = given.is_some();
        let (given, base_url_source) = given.unzip();
        let base_url = match (given, service) {
            (Some(url), Some(service)) => service.base_url_from(&url),
            (Some(url), None) => with_default_scheme(&url),
            (None, Some(service)) => service.base_url.to_owned(),
            (None, None) => {
                return Err(Reason::BadConfig {
                    path: format!("providers.{name}"),
                    line: None,
                    column: None,
                    detail: "`base_url` is missing".to_owned(),
                });
            }
        };
        let mut quirks = service.map_or(DEFAULT_QUIRKS, |service| service.quirks);
        quirks.text_tool_calls |= app.base.config.is_enabled(&["providers", name, "text_tool_calls"]);
        let gets_own_key = !is_endpoint_of_another_server(app, name);
        let (key, key_source) = if gets_own_key { find_key(app, name, service) } else { flag_key(app) };
        let key_variable = text("key_variable").map(str::to_owned).or_else(|| {
            service.and_then(|service| service.key_variables.first()).map(|name| (*name).to_owned())
        });
        Ok(Some(Self {
            name: name.to_owned(),
            wire,
            base_url,
            base_url_source,
            key,
            key_source,
            // A server of one's own may want no key.
            key_variable: key_variable.filter(|_| gets_own_key),
            headers: headers(app, name, gets_own_key)?,
            quirks,
            timeouts: timeouts(app, service),
            has_own_address: addressed,
        }))
    }

    /// The same, when it has the key that it needs.
    ///
    /// # Errors
    /// `NoKey` naming the variable.
    pub(crate) fn with_key(self) -> Result<Self, Reason> {
        match (&self.key, &self.key_variable) {
            (None, Some(variable)) => Err(Reason::NoKey {
                provider: self.name.clone(),
                variable: variable.clone(),
                embedded: false,
            }),
            (Some(_), _) | (None, None) => Ok(self),
        }
    }

    /// Refuses to send a key over plain HTTP to another machine, unless a setting names the host.
    ///
    /// # Errors
    /// `BadConfig` with what set the base URL; also for a base URL that cannot be used at all.
    pub(crate) fn check_encryption(&self, app: &AppContext) -> Result<(), Reason> {
        let bad = |detail: String| Reason::BadConfig {
            path: self.base_url_source.clone().unwrap_or_else(|| format!("providers.{}", self.name)),
            line: None,
            column: None,
            detail,
        };
        let server = PlainHttpServer::from_base_url(&self.base_url).map_err(bad)?;
        let carries_secret = self.key.is_some()
            || self.headers.iter().any(|(name, _)| is_secret_header(name))
            || has_credentials(&self.base_url);
        let Some(server) = server.filter(|_| carries_secret) else { return Ok(()) };
        let hosts = app.base.config.list(&["network", "insecure_hosts"]);
        if hosts.iter().any(|(entry, _)| server.matches_entry(entry)) {
            return Ok(());
        }
        let (url, host) = (without_credentials(&self.base_url), &server.host);
        Err(bad(format!(
            "`{url}` would send a key unencrypted; use `https://`, or add \"{host}\" to \
             `network.insecure_hosts` in your own configuration"
        )))
    }

    /// The first with a key, in the order of the table, then of the configuration.
    pub(crate) fn first_with_key(app: &AppContext) -> Option<Self> {
        provider_names(app).into_iter().find_map(|name| {
            let provider = Self::find(app, &name).ok()??;
            (provider.key.is_some() && provider.key_source != KeySource::Flag).then_some(provider)
        })
    }

    /// Returns the providers that can be asked now: they have the key or the address they need. With `--endpoint`, the server there.
    ///
    /// # Errors
    /// As `find`.
    pub(crate) fn usable(app: &AppContext) -> Result<Vec<Self>, Reason> {
        if app.base.flags.endpoint.is_some() {
            return Ok(Self::find(app, "openai")?.into_iter().collect());
        }
        let mut usable = Vec::new();
        for name in provider_names(app) {
            let Some(provider) = Self::find(app, &name)? else { continue };
            let has_key = provider.key.is_some() && provider.key_source != KeySource::Flag;
            if has_key || provider.has_own_address {
                usable.push(provider);
            }
        }
        Ok(usable)
    }

    /// The one that any name means: the only one with a key or an address of its own; with `--endpoint`, the server
    /// there, which speaks Chat Completions.
    ///
    /// # Errors
    /// As `find`.
    pub(crate) fn only_one(app: &AppContext) -> Result<Option<Self>, Reason> {
        let mut usable = Self::usable(app)?;
        // One that is known by its address alone may want no key; its 401 says so otherwise.
        Ok(if usable.len() > 1 { None } else { usable.pop() })
    }
}

/// Whether `--endpoint` leads to a server that is not known to be the one of provider `name`: only `--model NAME/…`
/// on the same command line says that it is. Such a server gets no key and no header but those of flags.
fn is_endpoint_of_another_server(app: &AppContext, name: &str) -> bool {
    let named = app.base.flags.model.as_deref().and_then(|model| model.trim().split_once('/'));
    app.base.flags.endpoint.is_some() && named.is_none_or(|(provider, _)| provider != name)
}

/// Returns `url` without a user name and a password, for messages.
fn without_credentials(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) if has_credentials(url) => format!("{scheme}://{rest}"),
        (Some(_) | None, Some(_) | None) => url.to_owned(),
    }
}

/// The names of all providers, those of the table first.
pub(crate) fn provider_names(app: &AppContext) -> Vec<String> {
    let mut names: Vec<String> = PROVIDERS.iter().map(|service| service.name.to_owned()).collect();
    for name in app.base.config.children(&["providers"]) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The name, when it is one of a provider.
///
/// # Errors
/// `UnknownProvider`.
pub(crate) fn check_provider_name(app: &AppContext, name: &str) -> Result<String, Reason> {
    match provider_names(app).into_iter().find(|known| known == name) {
        Some(name) => Ok(name),
        None => Err(Reason::UnknownProvider { provider: name.to_owned(), near: near_provider(app, name) }),
    }
}

/// Returns the provider whose name is close to `name`.
pub(super) fn near_provider(app: &AppContext, name: &str) -> Option<String> {
    closest(name, provider_names(app).iter().map(String::as_str)).map(str::to_owned)
}

/// The providers with a key, and where it comes from, for people.
pub(crate) fn key_sources(app: &AppContext) -> Vec<(String, String)> {
    provider_names(app)
        .into_iter()
        .filter_map(|name| {
            let source = key_variables(app, &name, provider_table::known_provider(&name))
                .into_iter()
                .find(|variable_name| variable(variable_name).is_some())
                .map(|variable_name| format!("${variable_name}"))
                .or_else(|| app.credentials.get(&name).map(|_| app.dirs.credentials.display().to_string()))?;
            Some((name, source))
        })
        .collect()
}

/// Every variable that holds a key: no command may see it.
pub(crate) fn key_variable_names(app: &AppContext) -> Vec<String> {
    provider_names(app)
        .iter()
        .flat_map(|name| key_variables(app, name, provider_table::known_provider(name)))
        .collect()
}

/// Returns every key of a model there is: of variables, stored ones, and the one of the flag.
pub(crate) fn all_keys(app: &AppContext) -> Vec<String> {
    let variables = key_variable_names(app).into_iter().filter_map(|name| variable(&name));
    let stored = app.credentials.keys().map(str::to_owned);
    variables.chain(stored).chain(app.base.flags.api_key.clone()).map(|key| key.trim().to_owned()).collect()
}

/// Every key and every value of a header there is: none of them may be recorded or shown.
pub(crate) fn all_secrets(app: &AppContext) -> Vec<String> {
    let headers =
        provider_names(app).into_iter().flat_map(|name| headers(app, &name, true).unwrap_or_default());
    all_keys(app).into_iter().chain(headers.map(|(_, value)| value)).collect()
}

/// Returns the key that is set of a service that is no provider, neither of the table nor of the configuration.
pub(super) fn unused_key(app: &AppContext) -> Option<UnusedKey> {
    let used = key_variable_names(app);
    let is_unused = |name: &str| variable(name).is_some() && !used.iter().any(|known| known == name);
    let (name, service) = UNSUPPORTED_KEY_VARIABLES.iter().find(|(name, _)| is_unused(name))?;
    Some(UnusedKey { variable: (*name).to_owned(), service: (*service).to_owned() })
}

/// Returns the variable that a person sets to give provider `name` a key; `None` where none is needed.
pub(crate) fn key_variable(app: &AppContext, name: &str) -> Option<String> {
    key_variables(app, name, provider_table::known_provider(name)).into_iter().next()
}

fn key_variables(app: &AppContext, name: &str, service: Option<&KnownProvider>) -> Vec<String> {
    let configured = app.base.config.text(&["providers", name, "key_variable"]).map(str::to_owned);
    let known = service.map_or(&[][..], |service| service.key_variables);
    configured.into_iter().chain(known.iter().map(|name| (*name).to_owned())).collect()
}

/// Returns the key of `--api-key`, which goes wherever the run goes.
fn flag_key(app: &AppContext) -> (Option<Secret>, KeySource) {
    match &app.base.flags.api_key {
        Some(key) => (Some(Secret::new(key)), KeySource::Flag),
        None => (None, KeySource::None),
    }
}

/// Flag, then variables, then what `login` stored.
fn find_key(app: &AppContext, name: &str, service: Option<&KnownProvider>) -> (Option<Secret>, KeySource) {
    if app.base.flags.api_key.is_some() {
        return flag_key(app);
    }
    if let Some(key) = key_variables(app, name, service).iter().find_map(|name| variable(name)) {
        return (Some(Secret::new(&key)), KeySource::Env);
    }
    match app.credentials.get(name) {
        Some(key) => (Some(Secret::new(key)), KeySource::Login),
        None => (None, KeySource::None),
    }
}

/// A flag cannot lift what the managed file rules.
fn refuse_contradiction(flag: &str, given: Option<&str>, ruled: Option<&Setting>) -> Result<(), Reason> {
    match (given, ruled) {
        (Some(given), Some(Setting { value: Value::Text(text), origin })) if given != text => {
            Err(Reason::Usage { detail: format!("`{flag}` contradicts {origin}") })
        }
        (Some(_), Some(_)) | (None, _) | (_, None) => Ok(()),
    }
}

/// Returns the headers of a provider: those of files where `with_configured`, then those of flags.
fn headers(app: &AppContext, provider: &str, with_configured: bool) -> Result<Vec<(String, String)>, Reason> {
    let mut headers = Vec::new();
    let configured = app.base.config.children(&["providers", provider, "headers"]);
    for header in configured.into_iter().filter(|_| with_configured) {
        let value = app.base.config.text(&["providers", provider, "headers", header]).unwrap_or_default();
        headers.push((header.to_owned(), value.to_owned()));
    }
    for header in &app.base.flags.header {
        let (name, value) =
            header.split_once(':').filter(|(name, _)| !name.trim().is_empty()).ok_or_else(|| {
                Reason::Usage { detail: format!("`--header {header}` should be `Name: value`") }
            })?;
        let same = app.base.config.children(&["providers", provider, "headers"]).into_iter();
        for same in same.filter(|same| same.eq_ignore_ascii_case(name.trim())) {
            let ruled = app.base.config.managed(&["providers", provider, "headers", same]);
            refuse_contradiction("--header", Some(value.trim()), ruled)?;
        }
        headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(headers)
}

/// The bounds: what somebody set, else what suits the service.
fn timeouts(app: &AppContext, service: Option<&KnownProvider>) -> Timeouts {
    let standard = service.map_or_else(Timeouts::default, KnownProvider::timeouts);
    let time = |key: &str| app.base.config.time(&["timeouts", key]);
    Timeouts {
        connect: time("connect").unwrap_or(standard.connect),
        first_byte: time("first_byte").unwrap_or(standard.first_byte),
        idle: time("idle").unwrap_or(standard.idle),
        content_idle: time("content_idle").unwrap_or(standard.content_idle),
        total: time("answer").unwrap_or(standard.total),
    }
}
