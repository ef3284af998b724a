//! The settings of a provider. The caller resolves them from flags, environment and configuration.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::adaptation::Adaptation;
use crate::keys::KeyReader;
use crate::model_traits::ModelTraits;
use crate::reasoning::Reasoning;
use crate::remaining_quota::RemainingQuota;
use crate::wire_protocol::{Quirks, RequestSettings, WireProtocol};
use ibeam_http::tls::TlsSettings;
use ibeam_http::{ProxyServer, Secret};

/// One model of one provider.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The name of the provider, for failures.
    pub provider: String,
    pub protocol: &'static dyn WireProtocol,
    /// The protocol to change to if the service has no such API or refuses the model there; `None` for no change.
    pub other_protocol: Option<&'static dyn WireProtocol>,
    /// Stores that the service needs the other protocol; `None` to find that out in each run.
    pub on_protocol_change: Option<Observer<&'static dyn WireProtocol>>,
    /// Stores a deviation that the service shows; `None` to find it out in each run.
    pub on_adaptation: Option<Observer<Adaptation>>,
    /// Receives what is left of the rate limits of the key, after each response that says so.
    pub on_quota: Option<Observer<RemainingQuota>>,
    /// The URL to which the protocol appends its paths, e.g. `https://api.openai.com/v1`.
    pub base_url: String,
    /// The key, if the service needs one and it is known.
    pub key: Option<Secret>,
    /// Reads the key if it is not known, and again after the service has refused it; `None` for a key that cannot
    /// change during a run.
    pub key_reader: Option<KeyReader>,
    /// The flag, variable or setting that has the key, for messages, if it takes precedence over a stored key.
    pub key_origin: Option<String>,
    /// The proxy of the connections; it is not used for servers on this machine.
    pub proxy: Option<ProxyServer>,
    /// The certificates of the user.
    pub tls: TlsSettings,
    /// Additional headers, name and value. They replace built-in headers of the same name.
    pub headers: Vec<(String, String)>,
    /// The id of the model at the service.
    pub model: String,
    /// The deviations of the service from its protocol.
    pub quirks: Quirks,
    /// The transport of requests to the model.
    pub transport: TransportKind,
    /// The limits of every wait.
    pub timeouts: Timeouts,
    /// The maximum number of tokens to generate, if a request does not limit them itself.
    pub max_output_tokens: Option<u32>,
    /// A key that all requests of a session share, for the cache of the service.
    pub cache_key: Option<String>,
    /// The reasoning that the user asked for.
    pub reasoning: Reasoning,
    /// The settings that the model accepts.
    pub traits: ModelTraits,
    /// Finds similar models after the service has rejected the name of the model; `None` for no suggestions.
    pub near_models: Option<NearModels>,
}

/// A transport of requests to a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransportKind {
    #[default]
    Http,
    /// One WebSocket connection for many requests, for the APIs that have one, and HTTP if it cannot be used.
    WebSocket,
}

impl Endpoint {
    /// Whether requests may have messages that some services with the protocol do not accept.
    pub fn appends_updates(&self) -> bool {
        let settings = self.request_settings();
        self.protocol.appends_tools(&settings) || self.protocol.appends_effort(&settings)
    }

    /// Returns the settings of requests to this endpoint.
    pub(crate) fn request_settings(&self) -> RequestSettings<'_> {
        RequestSettings {
            model: &self.model,
            max_output_tokens: self.max_output_tokens,
            quirks: self.quirks,
            cache_key: self.cache_key.as_deref(),
            reasoning: self.traits.thinking.accepted(self.reasoning),
            traits: self.traits,
        }
    }

    /// Returns the proxy of the connections; `None` for a server on this machine.
    pub(crate) fn used_proxy(&self) -> Option<&ProxyServer> {
        self.proxy.as_ref().filter(|_| ProxyServer::is_used_for(&self.base_url))
    }
}

/// Receives what requests show about an endpoint.
#[derive(Clone)]
pub struct Observer<T>(Arc<dyn Fn(T) + Send + Sync>);

impl<T> Observer<T> {
    /// `store` may write files. One that does is called at most once for each value.
    pub fn new(store: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self(Arc::new(store))
    }

    pub(crate) fn notify(&self, found: T) {
        (self.0)(found);
    }
}

impl<T> fmt::Debug for Observer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// Finds the models whose names are similar to the name of a model, the most similar first.
#[derive(Clone)]
pub struct NearModels(Arc<FindNear>);

/// Returns the names that are similar to a name.
type FindNear = dyn Fn(&str) -> Vec<String> + Send + Sync;

impl NearModels {
    /// `find` may read files; it is called once, when the run has failed.
    pub fn new(find: impl Fn(&str) -> Vec<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }

    pub(crate) fn find(&self, model: &str) -> Vec<String> {
        (self.0)(model)
    }
}

impl fmt::Debug for NearModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NearModels")
    }
}

/// The limits of every wait of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// The maximum time for connecting: name resolution, TCP, proxy and TLS together, because the HTTP library does not
    /// separate them.
    pub connect: Duration,
    /// The maximum time until the head of the response arrives.
    pub first_byte: Duration,
    /// The maximum time between two chunks of the answer.
    pub idle: Duration,
    /// The maximum time between two chunks with content. Comments and pings keep a stream alive only this long.
    pub content_idle: Duration,
    /// The maximum time for the complete answer.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(90),
            content_idle: Duration::from_secs(300),
            total: Duration::from_secs(15 * 60),
        }
    }
}
