//! HTTP clients by the proxy of a URL: a server and its authorization servers may be on different sides of a proxy.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ibeam_http::tls::tls_config;
use ibeam_http::{ClientSettings, ProxyServer, TlsSettings, build_client};
use reqwest::{Client, Url};

/// The limit of connecting: name resolution, TCP, proxy and TLS together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

type SelectProxy = dyn Fn(&str) -> Result<Option<ProxyServer>, String> + Send + Sync;

/// Chooses the proxy of a connection by its URL.
#[derive(Clone)]
pub struct ProxySelector(Arc<SelectProxy>);

impl ProxySelector {
    /// `select` returns the proxy for a URL, or the reason why there must be no connection to it.
    pub fn new(select: impl Fn(&str) -> Result<Option<ProxyServer>, String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(select))
    }
}

impl fmt::Debug for ProxySelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxySelector")
    }
}

/// One client for each proxy, built when a URL needs it.
#[derive(Clone)]
pub(crate) struct RoutedClients {
    tls: TlsSettings,
    proxies: ProxySelector,
    clients: Arc<Mutex<Vec<RoutedClient>>>,
}

/// A client and the URL of its proxy.
struct RoutedClient {
    proxy: Option<String>,
    client: Client,
}

impl RoutedClients {
    pub(crate) fn new(tls: TlsSettings, proxies: ProxySelector) -> Self {
        Self { tls, proxies, clients: Arc::default() }
    }

    /// Returns the client for requests to `url`.
    ///
    /// # Errors
    /// The reason why there is no connection to this URL.
    pub(crate) fn for_url(&self, url: &Url) -> Result<Client, String> {
        let proxy = (self.proxies.0)(url.as_str())?.filter(|_| ProxyServer::is_used_for(url.as_str()));
        let proxy_url = proxy.as_ref().map(|proxy| proxy.url.expose().to_owned());
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = clients.iter().find(|known| known.proxy == proxy_url) {
            return Ok(known.client.clone());
        }
        let client = build_client(ClientSettings {
            tls: tls_config(&self.tls).map_err(|error| error.to_string())?,
            proxy: proxy.as_ref(),
            connect_timeout: CONNECT_TIMEOUT,
            for_upgrade: false,
        })
        .map_err(|error| error.to_string())?;
        clients.push(RoutedClient { proxy: proxy_url, client: client.clone() });
        Ok(client)
    }
}
