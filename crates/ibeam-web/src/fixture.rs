//! Helpers for the tests of this crate: sites on loopback, a name server with changing answers, dialers.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::dialer::{AbortOnDrop, Dialer};
use crate::pin::PinnedHosts;
use crate::public_address::check_public;
use crate::resolver::Resolver;
use crate::upstream_proxy::UpstreamProxies;

pub(crate) const LONG_TIMEOUT: Duration = Duration::from_secs(20);

/// The reply of a site to a request.
pub(crate) enum Reply {
    /// Sends these bytes, then closes the connection.
    Bytes(Vec<u8>),
    /// Sends these bytes, then no more data.
    Silence(Vec<u8>),
    /// Sends these bytes, then an endless stream of data.
    Endless(Vec<u8>),
}

impl Reply {
    /// Returns a complete response with this content type.
    pub(crate) fn page(content_type: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n");
        Self::Bytes([head.as_bytes(), body].concat())
    }

    pub(crate) fn redirect(to: &str) -> Self {
        Self::Bytes(format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n").into())
    }
}

/// A server on loopback that answers one request per connection.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    _task: AbortOnDrop,
}

impl Site {
    pub(crate) async fn start(reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        Self::at(Ipv4Addr::LOCALHOST.into(), 0, reply).await
    }

    pub(crate) async fn at(
        address: IpAddr,
        port: u16,
        reply: impl Fn(&str) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((address, port)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, reply) = (Arc::clone(&requests), Arc::new(reply));
        let task = AbortOnDrop::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let (seen, reply) = (Arc::clone(&seen), Arc::clone(&reply));
                tokio::spawn(async move { drop(serve_client(client, &seen, &*reply).await) });
            }
        });
        Self { address, requests, _task: task }
    }

    /// Returns the heads of the requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Reads the head of a request and replies.
pub(crate) async fn serve_client<S: AsyncRead + AsyncWrite + Unpin>(
    mut client: S,
    seen: &Mutex<Vec<String>>,
    reply: &(dyn Fn(&str) -> Reply + Send + Sync),
) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap();
    seen.lock().unwrap().push(head.clone());
    match reply(&head) {
        Reply::Bytes(bytes) => {
            client.write_all(&bytes).await?;
            client.shutdown().await
        }
        Reply::Silence(bytes) => {
            client.write_all(&bytes).await?;
            client.flush().await?;
            std::future::pending().await
        }
        Reply::Endless(bytes) => {
            client.write_all(&bytes).await?;
            loop {
                client.write_all(&[b'x'; 64 * 1024]).await?;
            }
        }
    }
}

/// A name server with a different answer each time, which records the queried names.
#[derive(Default)]
pub(crate) struct Fickle {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    queried: Mutex<Vec<String>>,
}

impl Fickle {
    /// Creates a server with these answers, each a list of addresses separated by spaces.
    pub(crate) fn new(answers: &[&str]) -> Arc<Self> {
        let answer = |text: &&str| text.split(' ').map(|address| address.parse().unwrap()).collect();
        let answers = Mutex::new(answers.iter().map(answer).collect());
        Arc::new(Self { answers, queried: Mutex::default() })
    }

    pub(crate) fn queried_names(&self) -> Vec<String> {
        self.queried.lock().unwrap().clone()
    }
}

impl Resolver for Fickle {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.queried.lock().unwrap().push(name.to_owned());
        let answer = self.answers.lock().unwrap().pop_front();
        Box::pin(async move { answer.ok_or_else(|| io::Error::other("no such name")) })
    }
}

/// Returns pins of these names.
pub(crate) fn pins(pinned: &[(&str, SocketAddr)]) -> PinnedHosts {
    let mut pins = PinnedHosts::default();
    for (name, address) in pinned {
        pins.insert(name, &address.to_string()).unwrap();
    }
    pins
}

/// Returns a dialer with these pins that resolves no other names.
pub(crate) fn dialer(pinned: &[(&str, SocketAddr)]) -> Arc<Dialer> {
    Arc::new(Dialer::new(Fickle::new(&[]), pins(pinned), Vec::new(), UpstreamProxies::none(), LONG_TIMEOUT))
}

/// The loopback address that tests treat as public.
pub(crate) const PUBLIC_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// Returns a dialer that treats `PUBLIC_ADDRESS` as public and resolves with `resolver`.
pub(crate) fn resolving_dialer(resolver: Arc<dyn Resolver>, upstream: UpstreamProxies) -> Dialer {
    let mut dialer = Dialer::new(resolver, PinnedHosts::default(), Vec::new(), upstream, LONG_TIMEOUT);
    dialer.check = |address| if address == PUBLIC_ADDRESS { Ok(()) } else { check_public(address) };
    dialer
}
