//! The settings of connections to a server over HTTP, and the check of its URL.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ibeam_http::base_url::is_loopback;
use ibeam_http::{Secret, TlsSettings};
use reqwest::Url;

use crate::call_error::HttpError;
use crate::oauth::OAuthConfig;
use crate::routed_clients::ProxySelector;

/// The settings of connections to a server over HTTP.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    pub url: String,
    /// Headers of every request, name and value.
    pub headers: Vec<(String, Secret)>,
    /// Reads further headers; again after the server has refused them.
    pub header_reader: Option<HeaderReader>,
    /// The certificates of the user.
    pub tls: TlsSettings,
    /// Chooses the proxies of the connections to the server and to its authorization servers. No proxy is used for
    /// servers on this machine.
    pub proxies: ProxySelector,
    /// The authorization of requests; `None` if the headers have it.
    pub authorization: Option<OAuthConfig>,
}

/// Reads headers, for example from a command.
#[derive(Clone)]
pub struct HeaderReader(Arc<ReadHeaders>);

type ReadHeaders = dyn Fn() -> BoxFuture<'static, Result<Vec<(String, Secret)>, String>> + Send + Sync;

impl HeaderReader {
    /// `read` returns the headers. Dropping the future must end what it started.
    pub fn new(
        read: impl Fn() -> BoxFuture<'static, Result<Vec<(String, Secret)>, String>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(read))
    }

    pub(crate) async fn read(&self) -> Result<Vec<(String, Secret)>, String> {
        (self.0)().await
    }
}

impl fmt::Debug for HeaderReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeaderReader")
    }
}

/// Returns the URL of a server, unless it cannot be used.
pub(crate) fn check_url(config: &HttpConfig) -> Result<Url, HttpError> {
    let invalid = |reason: &str| {
        Err(HttpError::Configuration(format!("its URL `{}` cannot be used: {reason}", config.url)))
    };
    let url = match Url::parse(&config.url) {
        Ok(url) => url,
        Err(error) => return invalid(&error.to_string()),
    };
    let is_local = url.host_str().is_some_and(is_loopback);
    if !url.username().is_empty() || url.password().is_some() {
        let reason = "it contains a user or a password; use `headers` or `auth` instead";
        // The URL is not repeated, because it has a secret.
        return Err(HttpError::Configuration(format!("its URL cannot be used: {reason}")));
    }
    let has_secrets = !config.headers.is_empty() || config.header_reader.is_some();
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_local || !has_secrets => Ok(url),
        "http" => invalid("its headers would be sent unencrypted; use `https://`"),
        scheme => invalid(&format!("it begins with `{scheme}:`, not with `https://` or `http://`")),
    }
}
