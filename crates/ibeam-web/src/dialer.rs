//! Connections to hosts on the Internet.
//!
//! A name is resolved once, every address is checked, and a checked address is connected to. There is no second lookup,
//! which could give another address. A private address is reached only if a person has pinned the name or granted the
//! address and port. A proxy of the environment resolves names itself, so it receives only names and public addresses.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::header::{HOST, PROXY_AUTHORIZATION};
use hyper::{Method, Request, Uri};
use hyper_util::client::legacy::connect::proxy::SocksV5;
use hyper_util::rt::TokioIo;
use ibeam_protocol::{Sentence, sentence};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tower_service::Service;
use url::Host;

use crate::host;
use crate::pin::PinnedHosts;
use crate::public_address::{NonPublicAddress, check_public};
use crate::resolver::Resolver;
use crate::upstream_proxy::{InvalidProxy, ProxyProtocol, ProxyRoute, UpstreamProxies};

/// The reason why a connection failed.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The address is not public. No connection was made.
    #[error("{}", describe_non_public(host, *port, *address, class))]
    NotPublic {
        /// The requested host.
        host: String,
        /// The requested port.
        port: u16,
        /// The address of the host.
        address: IpAddr,
        class: NonPublicAddress,
    },
    /// The name refers to this machine. A proxy would resolve the name to the proxy's own machine.
    #[error("`{host}` is a name of this machine, which a proxy cannot reach")]
    LocalName {
        /// The requested host.
        host: String,
    },
    #[error("`{host}` has no address: {detail}")]
    Unresolved {
        /// The requested host.
        host: String,
        /// The error of the system.
        detail: String,
    },
    /// No address of the host accepts a connection.
    #[error("`{host}` cannot be reached: {detail}")]
    Unreachable {
        /// The requested host.
        host: String,
        /// The error of the system.
        detail: String,
    },
    /// The connection took too long.
    #[error("`{host}` cannot be reached: nothing answered within {} s", timeout.as_secs_f32())]
    TimedOut {
        /// The requested host.
        host: String,
        /// The limit for a connection.
        timeout: Duration,
    },
    /// The proxy of the environment failed.
    #[error("the proxy `{proxy}` that `${variable}` names {detail}")]
    Proxy {
        /// The URL of the proxy without user and password.
        proxy: String,
        variable: String,
        /// The failure, as the end of the sentence.
        detail: String,
    },
    /// A variable of the environment does not name a proxy.
    #[error("the proxy variable `${}` is invalid: {_0}", _0.variable)]
    InvalidProxy(#[from] InvalidProxy),
}

impl DialError {
    /// Returns the error of the proxy `route`. `detail` is the end of the sentence.
    fn proxy(route: &ProxyRoute, detail: String) -> Self {
        let (proxy, variable) = (route.display_url.clone(), route.variable.clone());
        Self::Proxy { proxy, variable, detail }
    }

    /// Returns the message.
    pub(crate) fn sentence(&self) -> Sentence {
        match self {
            Self::NotPublic { host, port, address, class } => {
                describe_non_public(host, *port, *address, class)
            }
            other => other.to_string().into(),
        }
    }

    /// Whether this program refused the connection, and not the other side.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::NotPublic { .. } | Self::LocalName { .. } => true,
            Self::Unresolved { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::Proxy { .. }
            | Self::InvalidProxy(_) => false,
        }
    }
}

/// Returns the message of [`DialError::NotPublic`].
fn describe_non_public(host: &str, port: u16, address: IpAddr, class: &NonPublicAddress) -> Sentence {
    let authority = SocketAddr::new(address, port);
    let what = class.sentence();
    if host.trim_matches(['[', ']']) == address.to_string() {
        sentence!(
            "`{host}` is {what}; only public addresses are reached; a person may grant it with `--allow-net {authority}` \
             or pin the name in the configuration (`network.resolve`)",
            host,
            what,
            authority
        )
    } else {
        sentence!(
            "`{host}` leads to {address}, {what}; only public addresses are reached; a person may grant it with \
             `--allow-net {authority}` or pin the name in the configuration (`network.resolve`)",
            host,
            address,
            what,
            authority
        )
    }
}

/// A connection for bytes in both directions.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A connection for one request in plain HTTP.
pub(crate) struct PlainConnection {
    pub(crate) stream: Box<dyn Stream>,
    /// The HTTP proxy at its other end, if any. It needs the absolute URL and perhaps credentials.
    pub(crate) route: Option<ProxyRoute>,
}

/// Opens checked connections.
pub struct Dialer {
    resolver: Arc<dyn Resolver>,
    pins: PinnedHosts,
    granted: Vec<(IpAddr, u16)>,
    upstream: UpstreamProxies,
    timeout: Duration,
    /// The check of an address. Tests replace it to treat a loopback address as public.
    pub(crate) check: fn(IpAddr) -> Result<(), NonPublicAddress>,
}

impl Dialer {
    /// Creates a dialer that resolves names with `resolver` unless they are in `pins`. The dialer reaches only two
    /// kinds of private addresses: those in `pins`, and those `granted` with their port. A connection may take up to
    /// `timeout`.
    pub fn new(
        resolver: Arc<dyn Resolver>,
        pins: PinnedHosts,
        granted: Vec<(IpAddr, u16)>,
        upstream: UpstreamProxies,
        timeout: Duration,
    ) -> Self {
        Self { resolver, pins, granted, upstream, timeout, check: check_public }
    }

    /// Opens a connection to `host` that carries bytes unchanged.
    pub(crate) async fn tunnel(&self, host: &Host, port: u16) -> Result<Box<dyn Stream>, DialError> {
        self.run_with_timeout(host, async {
            match self.proxy_for(host, port, true)? {
                Some(route) => self.tunnel_through(&route, host, port).await,
                None => Ok(Box::new(self.connect_direct(host, port).await?) as Box<dyn Stream>),
            }
        })
        .await
    }

    /// Opens a connection to `host` for one request in plain HTTP.
    pub(crate) async fn connect_plain(&self, host: &Host, port: u16) -> Result<PlainConnection, DialError> {
        self.run_with_timeout(host, async {
            match self.proxy_for(host, port, false)? {
                Some(route) if route.protocol == ProxyProtocol::Http => {
                    let stream = Box::new(self.connect_to_proxy(&route).await?);
                    Ok(PlainConnection { stream, route: Some(route) })
                }
                Some(route) => {
                    let stream = self.tunnel_through(&route, host, port).await?;
                    Ok(PlainConnection { stream, route: None })
                }
                None => {
                    let stream = Box::new(self.connect_direct(host, port).await?);
                    Ok(PlainConnection { stream, route: None })
                }
            }
        })
        .await
    }

    async fn run_with_timeout<T>(
        &self,
        host: &Host,
        connecting: impl Future<Output = Result<T, DialError>>,
    ) -> Result<T, DialError> {
        let timed_out = |_| DialError::TimedOut { host: host.to_string(), timeout: self.timeout };
        timeout(self.timeout, connecting).await.map_err(timed_out)?
    }

    /// Returns the proxy of the environment that leads to `host`, if there is one.
    fn proxy_for(&self, host: &Host, port: u16, tunnel: bool) -> Result<Option<ProxyRoute>, DialError> {
        if self.pins.get(host).is_some() {
            return Ok(None);
        }
        let route = self.upstream.route(host, port, tunnel)?;
        match (host::ip_address(host), host) {
            _ if route.is_none() => Ok(None),
            (Some(address), _) if self.granted.contains(&(address, port)) => Ok(None),
            (Some(address), _) => self.check(host, port, address).map(|()| route),
            (None, Host::Domain(name)) if name == "localhost" || name.ends_with(".localhost") => {
                Err(DialError::LocalName { host: host.to_string() })
            }
            (None, _) => Ok(route),
        }
    }

    async fn connect_direct(&self, host: &Host, port: u16) -> Result<TcpStream, DialError> {
        let sockets = self.checked_sockets(host, port).await?;
        let unreachable =
            |error: io::Error| DialError::Unreachable { host: host.to_string(), detail: error.to_string() };
        self.connect(&sockets).await.map_err(unreachable)
    }

    /// Returns the addresses of `host` to connect to: its pin, or its addresses if all of them are public.
    async fn checked_sockets(&self, host: &Host, port: u16) -> Result<Vec<SocketAddr>, DialError> {
        if let Some(pin) = self.pins.get(host) {
            return Ok(vec![pin.socket_address(port)]);
        }
        let addresses = match host {
            Host::Domain(name) => {
                let unresolved = |detail: String| DialError::Unresolved { host: host.to_string(), detail };
                let found = self.resolver.resolve(name).await;
                found
                    .and_then(
                        |found| {
                            if found.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(found) }
                        },
                    )
                    .map_err(|error| unresolved(error.to_string()))?
            }
            Host::Ipv4(address) if self.granted.contains(&((*address).into(), port)) => {
                return Ok(vec![(*address, port).into()]);
            }
            Host::Ipv6(address) if self.granted.contains(&((*address).into(), port)) => {
                return Ok(vec![(*address, port).into()]);
            }
            Host::Ipv4(address) => vec![(*address).into()],
            Host::Ipv6(address) => vec![(*address).into()],
        };
        for address in &addresses {
            self.check(host, port, *address)?;
        }
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    /// Checks that an address of `host` is public.
    fn check(&self, host: &Host, port: u16, address: IpAddr) -> Result<(), DialError> {
        (self.check)(address).map_err(|class| DialError::NotPublic {
            host: host.to_string(),
            port,
            address,
            class,
        })
    }

    /// Connects to the first of `sockets` that accepts a connection. Each socket except the last may take a quarter of
    /// the timeout.
    async fn connect(&self, sockets: &[SocketAddr]) -> io::Result<TcpStream> {
        let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
        let mut remaining = sockets.len();
        for socket in sockets {
            remaining -= 1;
            let limit = if remaining == 0 { self.timeout } else { self.timeout / 4 };
            match timeout(limit, TcpStream::connect(socket)).await {
                Ok(Ok(stream)) => {
                    stream.set_nodelay(true)?;
                    return Ok(stream);
                }
                Ok(Err(error)) => failed = error,
                Err(_) => failed = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(failed)
    }

    /// Connects to the proxy of the environment. Its address is not checked, because the user named it.
    async fn connect_to_proxy(&self, route: &ProxyRoute) -> Result<TcpStream, DialError> {
        let failed = |detail: String| DialError::proxy(route, detail);
        let addresses = match route.host.parse() {
            Ok(address) => vec![address],
            Err(_) => {
                let found = self.resolver.resolve(&route.host).await;
                found.map_err(|error| failed(format!("has no address: {error}")))?
            }
        };
        let sockets: Vec<_> =
            addresses.into_iter().map(|address| SocketAddr::new(address, route.port)).collect();
        self.connect(&sockets).await.map_err(|error| failed(format!("cannot be reached: {error}")))
    }

    /// Opens a tunnel through the proxy of the environment.
    async fn tunnel_through(
        &self,
        route: &ProxyRoute,
        host: &Host,
        port: u16,
    ) -> Result<Box<dyn Stream>, DialError> {
        match route.protocol {
            ProxyProtocol::Http => self.http_tunnel(route, host, port).await,
            ProxyProtocol::Https => {
                let detail = "is reached over TLS, which web pages do not support; use http:// or socks5h://";
                Err(DialError::proxy(route, detail.to_owned()))
            }
            ProxyProtocol::Socks5 => {
                let address = self.checked_sockets(host, port).await?.first().map(SocketAddr::to_string);
                let address = address.unwrap_or_else(|| format!("{host}:{port}"));
                self.socks_tunnel(route, &address).await
            }
            ProxyProtocol::Socks5h => self.socks_tunnel(route, &format!("{host}:{port}")).await,
        }
    }

    /// Opens a tunnel to `authority` through a SOCKS proxy, which resolves the name if there is one.
    async fn socks_tunnel(&self, route: &ProxyRoute, authority: &str) -> Result<Box<dyn Stream>, DialError> {
        let failed = |detail: String| DialError::proxy(route, detail);
        let target: Uri =
            format!("http://{authority}/").parse().map_err(|error| failed(format!("failed: {error}")))?;
        let connection = OpenConnection(Some(TokioIo::new(self.connect_to_proxy(route).await?)));
        let mut proxy = SocksV5::new(target.clone(), connection);
        if let Some((user, password)) = route.credentials.clone() {
            proxy = proxy.with_auth(user, password);
        }
        let stream = proxy.call(target).await;
        let stream = stream.map_err(|error| failed(format!("refused `{authority}`: {error}")))?;
        Ok(Box::new(stream.into_inner()))
    }

    /// Opens a tunnel through an HTTP proxy.
    async fn http_tunnel(
        &self,
        route: &ProxyRoute,
        host: &Host,
        port: u16,
    ) -> Result<Box<dyn Stream>, DialError> {
        let failed = |detail: String| DialError::proxy(route, detail);
        let broken = |error: hyper::Error| failed(format!("failed: {error}"));
        let authority = format!("{host}:{port}");
        let stream = TokioIo::new(self.connect_to_proxy(route).await?);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.map_err(broken)?;
        let task = AbortOnDrop::spawn(connection.with_upgrades());
        let mut request = Request::builder().method(Method::CONNECT).uri(&authority).header(HOST, &authority);
        if let Some(authorization) = route.authorization() {
            request = request.header(PROXY_AUTHORIZATION, authorization);
        }
        let request = request.body(Empty::<Bytes>::new()).map_err(|error| failed(error.to_string()))?;
        let answer = sender.send_request(request).await.map_err(broken)?;
        if !answer.status().is_success() {
            return Err(failed(format!("refused `{authority}`: {}", answer.status())));
        }
        let upgraded = hyper::upgrade::on(answer).await.map_err(broken)?;
        task.detach();
        Ok(Box::new(TokioIo::new(upgraded)))
    }
}

/// A connector that returns a connection which is already open.
struct OpenConnection(Option<TokioIo<TcpStream>>);

impl Service<Uri> for OpenConnection {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        std::future::ready(self.0.take().ok_or_else(|| io::ErrorKind::NotConnected.into()))
    }
}

/// A spawned task that is aborted when this handle is dropped.
#[derive(Debug)]
pub(crate) struct AbortOnDrop(Option<JoinHandle<()>>);

impl AbortOnDrop {
    /// Spawns `work` and discards its result.
    pub(crate) fn spawn<W>(work: W) -> Self
    where
        W: Future<Output: Send + 'static> + Send + 'static,
    {
        Self(Some(tokio::spawn(async move {
            drop(work.await);
        })))
    }

    /// Lets the task run to its end.
    pub(crate) fn detach(mut self) {
        self.0 = None;
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

#[cfg(test)]
#[path = "dialer_test.rs"]
mod tests;
