//! Clients with the certificates and the proxy of the user.
//!
//! Redirects are not followed, because a key must not be sent to another host.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Proxy, Url};
use rustls::ClientConfig;
use tokio::sync::oneshot;

use crate::base_url::is_loopback;
use crate::secret::Secret;

/// A proxy between this program and a service.
#[derive(Clone, Debug)]
pub struct ProxyServer {
    /// The URL, with user and password.
    pub url: Secret,
    /// The URL without user and password, for messages.
    pub display_url: String,
    /// The environment variable that names the proxy, for messages.
    pub variable: String,
}

impl ProxyServer {
    /// Whether connections to `url` use a proxy: all except those to this machine.
    pub fn is_used_for(url: &str) -> bool {
        !Url::parse(url).is_ok_and(|url| url.host_str().is_some_and(is_loopback))
    }
}

#[derive(Debug)]
pub struct ClientSettings<'a> {
    /// TLS, from [`tls_config`](crate::tls::tls_config).
    pub tls: ClientConfig,
    pub proxy: Option<&'a ProxyServer>,
    /// The limit of connecting: name resolution, TCP, proxy and TLS together.
    pub connect_timeout: Duration,
    /// Whether the client uses only HTTP/1.1, because its requests are upgraded.
    pub for_upgrade: bool,
}

/// The reason why a client cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The variable of the proxy has another value than a URL.
    #[error("`${0}` is not the URL of a proxy")]
    InvalidProxy(String),
    /// The HTTP library refuses the settings.
    #[error("cannot create an HTTP client: {0}")]
    Library(#[from] reqwest::Error),
}

/// Returns a client. It reads no variables of proxies: the caller has read them.
pub fn build_client(settings: ClientSettings<'_>) -> Result<Client, ClientError> {
    let ClientSettings { mut tls, proxy, connect_timeout, for_upgrade } = settings;
    let mut builder = Client::builder();
    if for_upgrade {
        // Only HTTP/1.1 can be upgraded.
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        builder = builder.http1_only();
    }
    let mut builder = builder
        .tls_backend_preconfigured(tls)
        .dns_resolver(SystemResolver)
        .connect_timeout(connect_timeout)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("ibeam/", env!("CARGO_PKG_VERSION")))
        .no_proxy();
    if let Some(proxy) = proxy {
        let invalid = |_| ClientError::InvalidProxy(proxy.variable.clone());
        builder = builder.proxy(Proxy::all(proxy.url.expose()).map_err(invalid)?);
    }
    Ok(builder.build()?)
}

/// The resolver of the system, on a separate thread.
///
/// The system call cannot be cancelled. On a thread of the runtime it would delay the end of the program while a name
/// server does not respond. The program does not wait for this thread; `connect_timeout` limits the wait for its result.
#[derive(Debug)]
struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let addresses = resolve_on_thread(name.as_str().to_owned()).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

async fn resolve_on_thread(name: String) -> io::Result<Vec<SocketAddr>> {
    let (sender, receiver) = oneshot::channel();
    let resolve = move || {
        let addresses = (name.as_str(), 0).to_socket_addrs().map(Iterator::collect);
        // Fails if the request has timed out.
        drop(sender.send(addresses));
    };
    std::thread::Builder::new().name("resolver".to_owned()).spawn(resolve)?;
    receiver.await.map_err(io::Error::other)?
}
