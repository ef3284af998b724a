//! A service as this user has it: address, key, headers, from flags, variables, files and the stored keys.

use ibeam_protocol::{KeySource, Reason};
use ibeam_providers::services::{self, COMMON, Quirks, SERVICES, Service};
use ibeam_providers::{Secret, Timeouts, Wire};

use crate::app::App;
use crate::config::{Setting, Value};
use crate::environment::variable;

/// A provider of models, resolved.
#[derive(Clone, Debug)]
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) wire: Wire,
    pub(crate) base_url: String,
    pub(crate) key: Option<Secret>,
    pub(crate) key_source: KeySource,
    /// The variable that would hold the key; `None` where none is needed.
    pub(crate) key_variable: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) quirks: Quirks,
    pub(crate) timeouts: Timeouts,
    /// Somebody said where it is: by flag, variable or file.
    pub(crate) addressed: bool,
}

impl Provider {
    /// The provider of that name: of the table, or of the configuration.
    ///
    /// # Errors
    /// `Usage` or `BadConfig` for a header or a wire that is none.
    pub(crate) fn find(app: &App, name: &str) -> Result<Option<Self>, Reason> {
        let service = services::service(name);
        let configured = app.config.children(&["providers"]).contains(&name);
        if service.is_none() && !configured {
            return Ok(None);
        }
        let text = |key: &str| app.config.text(&["providers", name, key]);
        let wire = match text("wire") {
            None => service.map_or(Wire::OpenAi, |service| service.wire),
            Some("openai") => Wire::OpenAi,
            Some("anthropic") => Wire::Anthropic,
            Some(other) => {
                return Err(Reason::BadConfig {
                    path: format!("providers.{name}.wire"),
                    line: None,
                    column: None,
                    said: format!("`{other}` should be \"openai\" or \"anthropic\""),
                });
            }
        };
        let variables = service.map_or(&[][..], |service| service.base_url_variables);
        let ruled = app.config.ruled(&["providers", name, "base_url"]);
        refuse_contradiction("--endpoint", app.flags.endpoint.as_deref(), ruled)?;
        let given = ruled
            .and_then(|_| text("base_url").map(str::to_owned))
            .or_else(|| app.flags.endpoint.clone())
            .or_else(|| variables.iter().find_map(|name| variable(name)))
            .or_else(|| text("base_url").map(str::to_owned));
        let addressed = given.is_some();
        let base_url = match (given, service) {
            (Some(url), Some(service)) => service.base_url_from(&url),
            (Some(url), None) => url,
            (None, Some(service)) => service.base_url.to_owned(),
            (None, None) => {
                return Err(Reason::BadConfig {
                    path: format!("providers.{name}"),
                    line: None,
                    column: None,
                    said: "`base_url` is missing".to_owned(),
                });
            }
        };
        let mut quirks = service.map_or(COMMON, |service| service.quirks);
        quirks.text_tool_calls |= app.config.switch(&["providers", name, "text_tool_calls"]);
        let (key, key_source) = find_key(app, name, service);
        let key_variable = text("key_variable").map(str::to_owned).or_else(|| {
            service.and_then(|service| service.key_variables.first()).map(|name| (*name).to_owned())
        });
        Ok(Some(Self {
            name: name.to_owned(),
            wire,
            base_url,
            key,
            key_source,
            key_variable,
            headers: headers(app, name)?,
            quirks,
            timeouts: timeouts(app, service),
            addressed,
        }))
    }

    /// The same, when it has the key that it needs.
    ///
    /// # Errors
    /// `NoKey` naming the variable.
    pub(crate) fn with_key(self) -> Result<Self, Reason> {
        match (&self.key, &self.key_variable) {
            (None, Some(variable)) => {
                Err(Reason::NoKey { provider: self.name.clone(), variable: variable.clone() })
            }
            (Some(_), _) | (None, None) => Ok(self),
        }
    }

    /// The first with a key, in the order of the table, then of the configuration.
    pub(crate) fn first_with_key(app: &App) -> Option<Self> {
        names(app).into_iter().find_map(|name| {
            let provider = Self::find(app, &name).ok()??;
            (provider.key.is_some() && provider.key_source != KeySource::Flag).then_some(provider)
        })
    }

    /// Those that can be asked now: they have the key or the address they need.
    ///
    /// # Errors
    /// As `find`.
    pub(crate) fn usable(app: &App) -> Result<Vec<Self>, Reason> {
        let mut usable = Vec::new();
        for name in names(app) {
            let Some(provider) = Self::find(app, &name)? else { continue };
            let has_key = provider.key.is_some() && provider.key_source != KeySource::Flag;
            let has_address = provider.addressed && app.flags.endpoint.is_none();
            if has_key || has_address {
                usable.push(provider);
            }
        }
        Ok(usable)
    }

    /// The one that any name means: the only one with a key or an address of its own.
    ///
    /// With `--endpoint` alone, an OpenAI-compatible server is meant.
    ///
    /// # Errors
    /// As `find`.
    pub(crate) fn only_one(app: &App) -> Result<Option<Self>, Reason> {
        let mut usable = Self::usable(app)?;
        let only = if usable.len() > 1 { None } else { usable.pop() };
        match (only, &app.flags.endpoint) {
            // One that is known by its address alone may want no key; its 401 says so otherwise.
            (Some(provider), _) => Ok(Some(provider)),
            (None, Some(_)) => {
                let provider = Self::find(app, "openai")?;
                // A server of one's own may want no key.
                Ok(provider.map(|provider| Self { key_variable: None, ..provider }))
            }
            (None, None) => Ok(None),
        }
    }
}

/// The names of all providers, those of the table first.
fn names(app: &App) -> Vec<String> {
    let mut names: Vec<String> = SERVICES.iter().map(|service| service.name.to_owned()).collect();
    for name in app.config.children(&["providers"]) {
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
pub(crate) fn known_provider(app: &App, name: &str) -> Result<String, Reason> {
    match names(app).into_iter().find(|known| known == name) {
        Some(name) => Ok(name),
        None => Err(Reason::UnknownProvider { provider: name.to_owned() }),
    }
}

/// The providers with a key, and where it comes from, for people.
pub(crate) fn keys(app: &App) -> Vec<(String, String)> {
    names(app)
        .into_iter()
        .filter_map(|name| {
            let source = key_variables(app, &name, services::service(&name))
                .into_iter()
                .find(|variable_name| variable(variable_name).is_some())
                .map(|variable_name| format!("${variable_name}"))
                .or_else(|| {
                    app.credentials.get(&name).map(|_| app.places.credentials.display().to_string())
                })?;
            Some((name, source))
        })
        .collect()
}

/// Every variable that holds a key: no command may see it.
pub(crate) fn secret_variables(app: &App) -> Vec<String> {
    names(app).iter().flat_map(|name| key_variables(app, name, services::service(name))).collect()
}

/// Every key and every value of a header there is: none of them may be recorded or shown.
pub(crate) fn secrets(app: &App) -> Vec<String> {
    let variables = secret_variables(app).into_iter().filter_map(|name| variable(&name));
    let headers = names(app).into_iter().flat_map(|name| headers(app, &name).unwrap_or_default());
    let stored = app.credentials.all().map(str::to_owned);
    variables.chain(headers.map(|(_, value)| value)).chain(stored).chain(app.flags.api_key.clone()).collect()
}

fn key_variables(app: &App, name: &str, service: Option<&Service>) -> Vec<String> {
    let configured = app.config.text(&["providers", name, "key_variable"]).map(str::to_owned);
    let known = service.map_or(&[][..], |service| service.key_variables);
    configured.into_iter().chain(known.iter().map(|name| (*name).to_owned())).collect()
}

/// Flag, then variables, then what `login` stored.
fn find_key(app: &App, name: &str, service: Option<&Service>) -> (Option<Secret>, KeySource) {
    if let Some(key) = &app.flags.api_key {
        return (Some(Secret::new(key)), KeySource::Flag);
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
            Err(Reason::Usage { said: format!("`{flag}` contradicts {origin}") })
        }
        (Some(_), Some(_)) | (None, _) | (_, None) => Ok(()),
    }
}

fn headers(app: &App, provider: &str) -> Result<Vec<(String, String)>, Reason> {
    let mut headers = Vec::new();
    for header in app.config.children(&["providers", provider, "headers"]) {
        let value = app.config.text(&["providers", provider, "headers", header]).unwrap_or_default();
        headers.push((header.to_owned(), value.to_owned()));
    }
    for header in &app.flags.header {
        let (name, value) = header
            .split_once(':')
            .filter(|(name, _)| !name.trim().is_empty())
            .ok_or_else(|| Reason::Usage { said: format!("`--header {header}` should be `Name: value`") })?;
        let same = app.config.children(&["providers", provider, "headers"]).into_iter();
        for same in same.filter(|same| same.eq_ignore_ascii_case(name.trim())) {
            let ruled = app.config.ruled(&["providers", provider, "headers", same]);
            refuse_contradiction("--header", Some(value.trim()), ruled)?;
        }
        headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(headers)
}

/// The bounds: what somebody set, else what suits the service.
fn timeouts(app: &App, service: Option<&Service>) -> Timeouts {
    let standard = service.map_or_else(Timeouts::default, Service::timeouts);
    let time = |key: &str| app.config.time(&["timeouts", key]);
    Timeouts {
        connect: time("connect").unwrap_or(standard.connect),
        first_byte: time("first_byte").unwrap_or(standard.first_byte),
        idle: time("idle").unwrap_or(standard.idle),
        content_idle: time("content_idle").unwrap_or(standard.content_idle),
        whole: time("answer").unwrap_or(standard.whole),
    }
}
