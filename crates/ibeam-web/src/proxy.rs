//! The network access of sandboxed commands: an HTTP proxy that reaches only granted hosts.
//!
//! Serves `CONNECT` and absolute `http://` requests on a listener in the network namespace of the commands. A
//! refused request gets a response 403 that names the host and the flag that would allow it. Clients are not trusted:
//! the size of heads, times and the number of connections are limited. The content of a tunnel is not inspected.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::header::{self, CONTENT_TYPE, HOST, HeaderName, HeaderValue, PROXY_AUTHORIZATION};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use url::Host;

use crate::dialer::{AbortOnDrop, DialError, Dialer, Stream};
use crate::grant::{GrantDecision, Grants};
use crate::host;

/// Maximum number of connections served at once. No package installer opens so many.
const MAX_CONNECTIONS: usize = 256;
/// Maximum size of the head of a request.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// Maximum time from the start of a request to the end of its head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Pause after `accept` failed, for example because of too many descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Headers for one connection only, which a proxy does not forward.
const HOP_BY_HOP: [HeaderName; 8] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
];

const PROXY_VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
/// Variables that name the hosts to reach without the proxy.
const NO_PROXY_VARIABLES: [&str; 2] = ["NO_PROXY", "no_proxy"];

pub struct EgressProxy {
    dialer: Arc<Dialer>,
    grants: Grants,
    max_connections: usize,
    head_timeout: Duration,
}

type Body = BoxBody<Bytes, hyper::Error>;

impl EgressProxy {
    /// Creates a proxy that connects with `dialer` to the hosts that `grants` allow.
    pub fn new(dialer: Arc<Dialer>, grants: Grants) -> Self {
        Self { dialer, grants, max_connections: MAX_CONNECTIONS, head_timeout: HEAD_TIMEOUT }
    }

    /// Serves `listener` until the future is dropped, which ends every connection.
    ///
    /// # Errors
    /// The errors of the system, if the listener cannot be used.
    pub async fn serve(self, listener: std::net::TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let proxy = Arc::new(self);
        let permits = Arc::new(Semaphore::new(proxy.max_connections));
        let mut served = JoinSet::new();
        loop {
            let client = tokio::select! {
                accepted = listener.accept() => accepted,
                Some(_) = served.join_next() => continue,
            };
            let Ok((client, _)) = client else {
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                continue;
            };
            let (proxy, permit) = (Arc::clone(&proxy), Arc::clone(&permits).try_acquire_owned());
            served.spawn(async move {
                match permit {
                    Ok(_permit) => proxy.serve_one(client).await,
                    Err(_) => reject_overload(client).await,
                }
            });
        }
    }

    /// Serves a connection of a client, and the tunnel that it may become.
    async fn serve_one(&self, client: TcpStream) {
        let tunnel: Mutex<Option<Tunnel>> = Mutex::default();
        let service =
            service_fn(|request| async { Ok::<_, hyper::Error>(self.answer(request, &tunnel).await) });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.head_timeout)
            .max_buf_size(MAX_HEAD_BYTES)
            .half_close(true)
            .serve_connection(TokioIo::new(client), service)
            .with_upgrades()
            .await;
        let tunnel = tunnel.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let (Ok(()), Some(Tunnel { inside, mut outside })) = (served, tunnel)
            && let Ok(inside) = inside.await
        {
            // Each direction ends on its own. An error of the tunnel concerns only its two ends.
            drop(copy_bidirectional(&mut TokioIo::new(inside), &mut outside).await);
        }
    }

    async fn answer(&self, request: Request<Incoming>, tunnel: &Mutex<Option<Tunnel>>) -> Response<Body> {
        let response = if request.method() == Method::CONNECT {
            self.connect(request, tunnel).await
        } else {
            self.forward(request).await
        };
        response.unwrap_or_else(ErrorResponse::into_response)
    }

    async fn connect(
        &self,
        request: Request<Incoming>,
        tunnel: &Mutex<Option<Tunnel>>,
    ) -> Result<Response<Body>, ErrorResponse> {
        let (host, port) = self.granted_target(request.uri(), None)?;
        let outside = self.dialer.tunnel(&host, port).await?;
        let opened = Tunnel { inside: hyper::upgrade::on(request), outside };
        *tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
        Ok(Response::new(Empty::new().map_err(|never| match never {}).boxed()))
    }

    async fn forward(&self, mut request: Request<Incoming>) -> Result<Response<Body>, ErrorResponse> {
        if request.uri().scheme_str() != Some("http") {
            return Err(ErrorResponse::bad_request(
                "this is a proxy: it accepts `CONNECT HOST:PORT` and requests for absolute `http://` URLs",
            ));
        }
        let (host, port) = self.granted_target(request.uri(), Some(80))?;
        let opened = self.dialer.connect_plain(&host, port).await?;
        let uri = request.uri().clone();
        let authority = if port == 80 { host.to_string() } else { format!("{host}:{port}") };
        remove_hop_by_hop(request.headers_mut());
        let headers = request.headers_mut();
        headers.insert(HOST, HeaderValue::try_from(authority).map_err(ErrorResponse::bad_gateway)?);
        match opened.route {
            Some(route) => {
                if let Some(authorization) = route.authorization() {
                    headers.insert(PROXY_AUTHORIZATION, authorization);
                }
            }
            None => {
                let path = uri.path_and_query().map_or("/", |path| path.as_str());
                *request.uri_mut() = path.parse().map_err(ErrorResponse::bad_gateway)?;
            }
        }
        let stream = TokioIo::new(opened.stream);
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(stream).await.map_err(ErrorResponse::bad_gateway)?;
        let task = AbortOnDrop::spawn(connection);
        let mut response = sender.send_request(request).await.map_err(ErrorResponse::bad_gateway)?;
        remove_hop_by_hop(response.headers_mut());
        // The connection must stay open until its body is read.
        Ok(response.map(|body| {
            body.map_frame(move |frame| {
                let _ = &task;
                frame
            })
            .boxed()
        }))
    }

    /// Returns the host and port of a request, if they are granted.
    fn granted_target(&self, uri: &Uri, default: Option<u16>) -> Result<(Host, u16), ErrorResponse> {
        let authority =
            uri.authority().ok_or_else(|| ErrorResponse::bad_request("the request names no host"))?;
        if authority.as_str().contains('@') {
            return Err(ErrorResponse::bad_request("a user or password before the host is not allowed"));
        }
        let host = host::parse_canonical(authority.host()).ok_or_else(|| {
            ErrorResponse::bad_request(&format!(
                "`{}` is not a host name in plain spelling",
                authority.host()
            ))
        })?;
        let port = authority.port_u16().or(default);
        let port = port.filter(|port| *port != 0);
        let port =
            port.ok_or_else(|| ErrorResponse::bad_request(&format!("`{host}` is requested without a port")))?;
        match self.grants.decide(&host, port) {
            GrantDecision::Allowed => Ok((host, port)),
            GrantDecision::NotGranted => Err(ErrorResponse::not_granted(&host, port)),
            GrantDecision::Denied => Err(ErrorResponse::denied_by_rule(&host, port)),
        }
    }
}

/// A connection that becomes a tunnel after its response is sent.
struct Tunnel {
    /// The connection of the client in the sandbox.
    inside: OnUpgrade,
    /// The connection to the requested host.
    outside: Box<dyn Stream>,
}

/// A response of the proxy itself, in place of a forwarded response.
struct ErrorResponse {
    status: StatusCode,
    /// The reason phrase, which is all that some programs print about a refused tunnel.
    phrase: String,
    detail: String,
}

impl ErrorResponse {
    fn bad_request(detail: &str) -> Self {
        Self { status: StatusCode::BAD_REQUEST, phrase: "Bad Request".to_owned(), detail: detail.to_owned() }
    }

    fn not_granted(host: &Host, port: u16) -> Self {
        let flag = format!("--allow-net {host}:{port}");
        Self {
            status: StatusCode::FORBIDDEN,
            detail: format!(
                "commands may not reach `{host}` at port {port}; a person may allow it with `{flag}`"
            ),
            phrase: format!("Forbidden: needs {flag}"),
        }
    }

    fn denied_by_rule(host: &Host, port: u16) -> Self {
        Self {
            status: StatusCode::FORBIDDEN,
            detail: format!("commands may not reach `{host}` at port {port}: a rule denies it"),
            phrase: "Forbidden: denied by a rule".to_owned(),
        }
    }

    fn bad_gateway(error: impl std::fmt::Display) -> Self {
        Self {
            status: StatusCode::BAD_GATEWAY,
            phrase: "Bad Gateway".to_owned(),
            detail: format!("the connection broke: {error}"),
        }
    }

    fn into_response(self) -> Response<Body> {
        let body = Full::from(format!("{}\n", self.detail)).map_err(|never| match never {}).boxed();
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if let Ok(phrase) = ReasonPhrase::try_from(self.phrase.into_bytes()) {
            response.extensions_mut().insert(phrase);
        }
        response
    }
}

impl From<DialError> for ErrorResponse {
    fn from(error: DialError) -> Self {
        let (status, phrase) = match &error {
            DialError::NotPublic { address, class, .. } => {
                (StatusCode::FORBIDDEN, format!("Forbidden: {address} is {class}"))
            }
            DialError::LocalName { .. } => (StatusCode::FORBIDDEN, "Forbidden".to_owned()),
            DialError::TimedOut { .. } => (StatusCode::GATEWAY_TIMEOUT, "Gateway Timeout".to_owned()),
            DialError::Unresolved { .. }
            | DialError::Unreachable { .. }
            | DialError::Proxy { .. }
            | DialError::InvalidProxy(_) => (StatusCode::BAD_GATEWAY, "Bad Gateway".to_owned()),
        };
        Self { status, phrase, detail: error.to_string() }
    }
}

/// Removes the headers that a proxy does not forward.
fn remove_hop_by_hop(headers: &mut hyper::HeaderMap) {
    let listed: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in listed.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// Answers a client that there are too many connections.
async fn reject_overload(mut client: TcpStream) {
    const ANSWER: &[u8] =
        b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n\
                            too many connections at once; end some of them\n";
    let answer = async {
        client.write_all(ANSWER).await?;
        client.shutdown().await
    };
    drop(tokio::time::timeout(ACCEPT_RETRY_DELAY, answer).await);
}

/// Returns the environment of commands whose proxy listens at `port` of their loopback interface.
///
/// Commands reach their own loopback interface directly, except for granted addresses, which refer to the loopback
/// interface of the host.
pub fn proxy_environment(port: u16, grants: &Grants) -> Vec<(OsString, OsString)> {
    let proxy = format!("http://127.0.0.1:{port}");
    let granted = grants.addresses();
    let outside = |own: &&str| {
        own.parse::<IpAddr>().is_ok_and(|own| granted.iter().any(|(address, _)| *address == own))
    };
    let own: Vec<_> = ["localhost", "127.0.0.1", "::1"].into_iter().filter(|own| !outside(own)).collect();
    let direct = own.join(",");
    let set = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    let proxies = PROXY_VARIABLES.iter().map(|name| set(name, &proxy));
    proxies.chain(NO_PROXY_VARIABLES.iter().map(|name| set(name, &direct))).collect()
}

#[cfg(test)]
#[path = "proxy_test.rs"]
mod tests;
