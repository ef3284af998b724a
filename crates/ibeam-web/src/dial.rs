//! Connections to the outside: a name is resolved once, every address of it is checked, and one of the checked
//! addresses is connected to. There is no second look-up that could say something else.
//!
//! A private address is reached only by a person's word: a pin, or a grant of that address and port. Where the
//! environment names a proxy, that one resolves, so nothing but a name goes through it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::header::{HOST, PROXY_AUTHORIZATION};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Host;

use crate::address::{NonPublicAddress, check_public};
use crate::host;
use crate::pin::PinnedHosts;
use crate::resolver::Resolver;
use crate::task::Task;
use crate::upstream::{UpstreamProxies, Via};

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The address is nobody's public one. Nothing was connected to.
    #[error("{}", not_public(host, *port, *address, what))]
    NotPublic {
        /// As asked for.
        host: String,
        /// As asked for.
        port: u16,
        /// Where it leads.
        address: IpAddr,
        /// What that is.
        what: NonPublicAddress,
    },
    /// The name is one of this machine's own, and a proxy would resolve it.
    #[error("`{host}` is a name of the machine itself, which is not reached through a proxy")]
    LocalName {
        /// As asked for.
        host: String,
    },
    /// The name has no address.
    #[error("`{host}` has no address: {detail}")]
    Unresolved {
        /// As asked for.
        host: String,
        /// The system's words.
        detail: String,
    },
    /// No address of it can be connected to.
    #[error("`{host}` cannot be reached: {detail}")]
    Unreachable {
        /// As asked for.
        host: String,
        /// The system's words.
        detail: String,
    },
    /// Nothing came of it in time.
    #[error("`{host}` cannot be reached: nothing answered within {} s", bound.as_secs_f32())]
    TimedOut {
        /// As asked for.
        host: String,
        /// The time it had.
        bound: Duration,
    },
    /// The environment's proxy does not do its part.
    #[error("the proxy `{proxy}` that the environment names {detail}")]
    Proxy {
        /// Its address, without password.
        proxy: String,
        /// What it does instead.
        detail: String,
    },
}

impl DialError {
    /// True where it was refused here, not there.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::NotPublic { .. } | Self::LocalName { .. } => true,
            Self::Unresolved { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::Proxy { .. } => false,
        }
    }
}

fn not_public(host: &str, port: u16, address: IpAddr, what: &NonPublicAddress) -> String {
    let place = SocketAddr::new(address, port);
    let subject = if host.trim_matches(['[', ']']) == address.to_string() {
        format!("`{host}` is {what}")
    } else {
        format!("`{host}` leads to {address}, {what}")
    };
    format!(
        "{subject}; only public addresses are reached, unless a person grants it with `--allow-net {place}` or \
         pins the name in the configuration (`network.resolve`)"
    )
}

/// What bytes go over.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A connection for one request in plain HTTP.
pub(crate) struct Opened {
    pub(crate) stream: Box<dyn Stream>,
    /// It ends at a proxy, which wants to be told the whole address and perhaps who asks.
    pub(crate) via: Option<Via>,
}

/// Makes connections within the rules.
pub struct Dialer {
    resolver: Arc<dyn Resolver>,
    pins: PinnedHosts,
    granted: Vec<(IpAddr, u16)>,
    upstream: UpstreamProxies,
    bound: Duration,
    /// Which addresses anybody may mean; tests have a loopback address stand for one.
    pub(crate) check: fn(IpAddr) -> Result<(), NonPublicAddress>,
}

impl Dialer {
    /// A dialer that asks `resolver` for what is not pinned; of the private addresses it reaches those of `pins`
    /// and those `granted` by number and port. A connection has `bound` to come about.
    pub fn new(
        resolver: Arc<dyn Resolver>,
        pins: PinnedHosts,
        granted: Vec<(IpAddr, u16)>,
        upstream: UpstreamProxies,
        bound: Duration,
    ) -> Self {
        Self { resolver, pins, granted, upstream, bound, check: check_public }
    }

    /// A connection over which bytes go to `host` and back as they are.
    pub(crate) async fn tunnel(&self, host: &Host, port: u16) -> Result<Box<dyn Stream>, DialError> {
        self.bounded(host, async {
            match self.via(host, port, true)? {
                Some(via) => self.through(&via, host, port).await,
                None => Ok(Box::new(self.direct(host, port).await?) as Box<dyn Stream>),
            }
        })
        .await
    }

    /// A connection for one request in plain HTTP to `host`.
    pub(crate) async fn plain(&self, host: &Host, port: u16) -> Result<Opened, DialError> {
        self.bounded(host, async {
            let via = self.via(host, port, false)?;
            let stream = match &via {
                Some(via) => self.to_proxy(via).await?,
                None => self.direct(host, port).await?,
            };
            Ok(Opened { stream: Box::new(stream), via })
        })
        .await
    }

    async fn bounded<T>(
        &self,
        host: &Host,
        connecting: impl Future<Output = Result<T, DialError>>,
    ) -> Result<T, DialError> {
        let late = |_| DialError::TimedOut { host: host.to_string(), bound: self.bound };
        timeout(self.bound, connecting).await.map_err(late)?
    }

    /// The environment's proxy, where that one is to be asked for `host`.
    fn via(&self, host: &Host, port: u16, tunnel: bool) -> Result<Option<Via>, DialError> {
        if self.pins.get(host).is_some() {
            return Ok(None);
        }
        let via = self.upstream.via(host, port, tunnel).map_err(|proxy| DialError::Proxy {
            proxy,
            detail: "is none for plain HTTP (`http://HOST:PORT`), the only kind that is supported here"
                .to_owned(),
        })?;
        match (host::literal(host), host) {
            _ if via.is_none() => Ok(None),
            (Some(address), _) if self.granted.contains(&(address, port)) => Ok(None),
            (Some(address), _) => self.check(host, port, address).map(|()| via),
            (None, Host::Domain(name)) if name == "localhost" || name.ends_with(".localhost") => {
                Err(DialError::LocalName { host: host.to_string() })
            }
            (None, _) => Ok(via),
        }
    }

    async fn direct(&self, host: &Host, port: u16) -> Result<TcpStream, DialError> {
        let sockets = self.sockets(host, port).await?;
        let unreachable =
            |error: io::Error| DialError::Unreachable { host: host.to_string(), detail: error.to_string() };
        self.connect(&sockets).await.map_err(unreachable)
    }

    /// Where `host` may be connected to: its pin, or its addresses if all of them are public.
    async fn sockets(&self, host: &Host, port: u16) -> Result<Vec<SocketAddr>, DialError> {
        if let Some(pin) = self.pins.get(host) {
            return Ok(vec![pin.socket(port)]);
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

    fn check(&self, host: &Host, port: u16, address: IpAddr) -> Result<(), DialError> {
        (self.check)(address).map_err(|what| DialError::NotPublic {
            host: host.to_string(),
            port,
            address,
            what,
        })
    }

    /// The first of `sockets` that answers; one that is silent has a quarter of the time, unless it is the last.
    async fn connect(&self, sockets: &[SocketAddr]) -> io::Result<TcpStream> {
        let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
        let mut left = sockets.len();
        for socket in sockets {
            left -= 1;
            let bound = if left == 0 { self.bound } else { self.bound / 4 };
            match timeout(bound, TcpStream::connect(socket)).await {
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

    /// A connection to the environment's proxy, wherever that is: the user named it.
    async fn to_proxy(&self, via: &Via) -> Result<TcpStream, DialError> {
        let failed = |detail: String| DialError::Proxy { proxy: via.name.clone(), detail };
        let addresses = match via.host.parse() {
            Ok(address) => vec![address],
            Err(_) => {
                let found = self.resolver.resolve(&via.host).await;
                found.map_err(|error| failed(format!("has no address: {error}")))?
            }
        };
        let sockets: Vec<_> =
            addresses.into_iter().map(|address| SocketAddr::new(address, via.port)).collect();
        self.connect(&sockets).await.map_err(|error| failed(format!("cannot be reached: {error}")))
    }

    /// A tunnel through the environment's proxy.
    async fn through(&self, via: &Via, host: &Host, port: u16) -> Result<Box<dyn Stream>, DialError> {
        let failed = |detail: String| DialError::Proxy { proxy: via.name.clone(), detail };
        let broke = |error: hyper::Error| failed(format!("broke off: {error}"));
        let place = format!("{host}:{port}");
        let stream = TokioIo::new(self.to_proxy(via).await?);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.map_err(broke)?;
        let task = Task::spawn(connection.with_upgrades());
        let mut request = Request::builder().method(Method::CONNECT).uri(&place).header(HOST, &place);
        if let Some(authorization) = &via.authorization {
            request = request.header(PROXY_AUTHORIZATION, authorization);
        }
        let request = request.body(Empty::<Bytes>::new()).map_err(|error| failed(error.to_string()))?;
        let answer = sender.send_request(request).await.map_err(broke)?;
        if !answer.status().is_success() {
            return Err(failed(format!("refused `{place}`: {}", answer.status())));
        }
        let upgraded = hyper::upgrade::on(answer).await.map_err(broke)?;
        task.end_by_itself();
        Ok(Box::new(TokioIo::new(upgraded)))
    }
}

#[cfg(test)]
#[path = "dial_test.rs"]
mod tests;
