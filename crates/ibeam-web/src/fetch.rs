//! Fetching a page: request, redirects, body; requests to services.
//!
//! Each redirect of a page is checked before it is followed. A request for a page carries nothing that identifies the
//! user: no cookie, no key, no referrer. At most `FetchLimits::body_bytes` bytes of a body are read.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue,
    LOCATION, PROXY_AUTHORIZATION, USER_AGENT,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use ibeam_protocol::Sentence;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::dialer::{AbortOnDrop, DialError, Dialer, Stream};
use crate::fetch_url::FetchUrl;

/// Maximum number of redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// The accepted types. Text that needs no conversion is preferred.
const ACCEPT_HEADER: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1";

/// The policy for URLs: returns whether a URL may be fetched without approval.
pub type UrlPolicy = Arc<dyn Fn(&str) -> bool + Send + Sync>;
/// A function that creates the TLS configuration, called for the first secure connection.
pub type TlsConfigFactory = Arc<dyn Fn() -> Result<ClientConfig, String> + Send + Sync>;

/// Limits of time and size for one fetch.
#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    /// Maximum time from the start of the connection to the head of the response.
    pub response_timeout: Duration,
    /// Maximum time without data in a body.
    pub idle_timeout: Duration,
    /// Maximum time of the entire fetch, with redirects.
    pub total_timeout: Duration,
    /// Maximum number of bytes that are read from a body.
    pub body_bytes: usize,
    /// Maximum number of bytes of text that the model receives.
    pub text_bytes: usize,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            response_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(20),
            total_timeout: Duration::from_secs(60),
            body_bytes: 5 * 1024 * 1024,
            text_bytes: 100_000,
        }
    }
}

/// The reason why a page could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error("no secure connection to `{host}`: {detail}")]
    Tls { host: String, detail: String },
    #[error("the connection to `{host}` failed: {detail}")]
    ConnectionFailed { host: String, detail: String },
    #[error("`{url}` redirects more than {MAX_REDIRECTS} times")]
    TooManyRedirects { url: String },
    #[error("`{from}` redirects to a URL that is not fetched: {detail}")]
    BadRedirect { from: String, detail: String },
    #[error(
        "`{from}` redirects to `{to}`, which no rule allows; call `web_fetch` with that address to ask for it"
    )]
    RefusedRedirect { from: String, to: String },
    #[error("`{url}` answered {status}")]
    Status { url: String, status: StatusCode },
    #[error("`{url}` is encoded as `{encoding}`, which was not requested")]
    UnexpectedEncoding { url: String, encoding: String },
    #[error("`{url}` took longer than {} s", timeout.as_secs_f32())]
    TimedOut { url: String, timeout: Duration },
}

impl FetchError {
    /// Whether this program refused the request, not the server.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            Self::Dial(error) => error.is_refusal(),
            Self::BadRedirect { .. } | Self::RefusedRedirect { .. } => true,
            Self::Tls { .. }
            | Self::ConnectionFailed { .. }
            | Self::TooManyRedirects { .. }
            | Self::Status { .. }
            | Self::UnexpectedEncoding { .. }
            | Self::TimedOut { .. } => false,
        }
    }
}

/// A fetched page, before its conversion.
#[derive(Debug)]
pub(crate) struct FetchedPage {
    /// The URL after redirects.
    pub(crate) url: String,
    /// The header `Content-Type`; empty without one.
    pub(crate) content_type: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) unread: UnreadBody,
}

/// The part of a body that was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnreadBody {
    /// The whole body was read.
    None,
    /// This many bytes were not read.
    Bytes(u64),
    /// An unknown number of bytes was not read.
    Unknown,
}

/// The parts of a request in addition to its URL.
#[derive(Clone, Debug)]
pub(crate) struct RequestParts {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl RequestParts {
    /// Returns the parts of a request for a page.
    fn for_page() -> Self {
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(ACCEPT_HEADER))]);
        Self { method: Method::GET, headers, body: Bytes::new() }
    }
}

/// Fetches pages, and sends requests to services.
pub(crate) struct Fetcher {
    dialer: Arc<Dialer>,
    url_policy: UrlPolicy,
    tls_factory: TlsConfigFactory,
    tls_config: OnceLock<Arc<ClientConfig>>,
    pub(crate) limits: FetchLimits,
}

impl Fetcher {
    pub(crate) fn new(
        dialer: Arc<Dialer>,
        url_policy: UrlPolicy,
        tls_factory: TlsConfigFactory,
        limits: FetchLimits,
    ) -> Self {
        Self { dialer, url_policy, tls_factory, tls_config: OnceLock::new(), limits }
    }

    /// Fetches `target`, which the policy has permitted. Dropping the future closes the connection.
    pub(crate) async fn fetch(&self, target: &FetchUrl) -> Result<FetchedPage, FetchError> {
        let timed_out =
            |_| FetchError::TimedOut { url: target.url.to_string(), timeout: self.limits.total_timeout };
        timeout(self.limits.total_timeout, self.follow_redirects(target.clone())).await.map_err(timed_out)?
    }

    /// Sends a request to a service, which the policy has permitted. A redirect is an error, because it would send the
    /// headers to another address. Dropping the future closes the connection.
    pub(crate) async fn request_service(
        &self,
        target: &FetchUrl,
        parts: &RequestParts,
    ) -> Result<FetchedPage, FetchError> {
        let timed_out =
            |_| FetchError::TimedOut { url: target.url.to_string(), timeout: self.limits.total_timeout };
        let answer = async {
            let OpenResponse { response, _task } = self.request(target, parts).await?;
            let status = response.status();
            if !status.is_success() {
                return Err(FetchError::Status { url: target.url.to_string(), status });
            }
            self.read_body(target.clone(), response).await
        };
        timeout(self.limits.total_timeout, answer).await.map_err(timed_out)?
    }

    async fn follow_redirects(&self, requested: FetchUrl) -> Result<FetchedPage, FetchError> {
        let parts = RequestParts::for_page();
        let mut target = requested.clone();
        for _ in 0..=MAX_REDIRECTS {
            let OpenResponse { response, _task } = self.request(&target, &parts).await?;
            let status = response.status();
            let location = header_text(&response, LOCATION);
            if status.is_redirection() && !location.is_empty() {
                let from = target.url.to_string();
                let next = target
                    .resolve_redirect(&location)
                    .map_err(|detail| FetchError::BadRedirect { from: from.clone(), detail })?;
                // The permission for the first URL covers all redirects to the same host and port.
                if !next.shares_permission_with(&requested) && !(self.url_policy)(next.url.as_str()) {
                    return Err(FetchError::RefusedRedirect { from, to: next.url.into() });
                }
                target = next;
                continue;
            }
            if !status.is_success() {
                return Err(FetchError::Status { url: target.url.into(), status });
            }
            return self.read_body(target, response).await;
        }
        Err(FetchError::TooManyRedirects { url: requested.url.into() })
    }

    async fn request(&self, target: &FetchUrl, parts: &RequestParts) -> Result<OpenResponse, FetchError> {
        let timed_out =
            |_| FetchError::TimedOut { url: target.url.to_string(), timeout: self.limits.response_timeout };
        timeout(self.limits.response_timeout, self.send_request(target, parts)).await.map_err(timed_out)?
    }

    async fn send_request(
        &self,
        target: &FetchUrl,
        parts: &RequestParts,
    ) -> Result<OpenResponse, FetchError> {
        let broken = |error: hyper::Error| connection_error(target, &error);
        let mut request = Request::builder()
            .method(parts.method.clone())
            .uri(target.path_and_query())
            .header(HOST, target.authority())
            .header(USER_AGENT, concat!("ibeam/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT_ENCODING, "identity");
        for (name, value) in &parts.headers {
            request = request.header(name, value);
        }
        let stream: Box<dyn Stream> = if target.is_secure {
            let tunnel = self.dialer.tunnel(&target.host, target.port).await?;
            self.connect_tls(target, tunnel).await?
        } else {
            let opened = self.dialer.connect_plain(&target.host, target.port).await?;
            if let Some(route) = opened.route {
                request = request.uri(target.url.as_str());
                if let Some(authorization) = route.authorization() {
                    request = request.header(PROXY_AUTHORIZATION, authorization);
                }
            }
            opened.stream
        };
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let task = AbortOnDrop::spawn(connection);
        let request = request.body(Full::new(parts.body.clone())).map_err(|error| {
            FetchError::ConnectionFailed { host: target.host.to_string(), detail: error.to_string() }
        })?;
        let response = sender.send_request(request).await.map_err(broken)?;
        Ok(OpenResponse { response, _task: task })
    }

    async fn connect_tls(
        &self,
        target: &FetchUrl,
        stream: Box<dyn Stream>,
    ) -> Result<Box<dyn Stream>, FetchError> {
        let failed = |detail: String| FetchError::Tls { host: target.host.to_string(), detail };
        let config = self.tls_config().map_err(failed)?;
        let name = target.host.to_string();
        let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(name).map_err(|error| failed(error.to_string()))?;
        let connected = TlsConnector::from(config).connect(name, stream).await;
        Ok(Box::new(connected.map_err(|error| failed(error.to_string()))?))
    }

    fn tls_config(&self) -> Result<Arc<ClientConfig>, String> {
        if let Some(config) = self.tls_config.get() {
            return Ok(Arc::clone(config));
        }
        let mut config = (self.tls_factory)()?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::clone(self.tls_config.get_or_init(|| Arc::new(config))))
    }

    async fn read_body(
        &self,
        target: FetchUrl,
        response: Response<Incoming>,
    ) -> Result<FetchedPage, FetchError> {
        let encoding = header_text(&response, CONTENT_ENCODING);
        if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
            return Err(FetchError::UnexpectedEncoding { url: target.url.into(), encoding });
        }
        let content_type = header_text(&response, CONTENT_TYPE);
        let length: Option<u64> = header_text(&response, CONTENT_LENGTH).parse().ok();
        let mut body = response.into_body();
        let mut bytes = Vec::new();
        let mut unread = UnreadBody::None;
        loop {
            let timed_out =
                |_| FetchError::TimedOut { url: target.url.to_string(), timeout: self.limits.idle_timeout };
            let Some(frame) = timeout(self.limits.idle_timeout, body.frame()).await.map_err(timed_out)?
            else {
                break;
            };
            let frame = frame.map_err(|error| connection_error(&target, &error))?;
            let Some(chunk) = frame.data_ref() else { continue };
            let remaining = self.limits.body_bytes.saturating_sub(bytes.len());
            bytes.extend_from_slice(chunk.get(..remaining).unwrap_or(chunk));
            if chunk.len() > remaining {
                let read = bytes.len() as u64;
                unread = length
                    .map_or(UnreadBody::Unknown, |length| UnreadBody::Bytes(length.saturating_sub(read)));
                break;
            }
        }
        Ok(FetchedPage { url: target.url.into(), content_type, bytes, unread })
    }
}

/// A response whose body can be read while the task runs.
struct OpenResponse {
    response: Response<Incoming>,
    /// The task that drives the connection.
    _task: AbortOnDrop,
}

impl FetchError {
    /// Returns the message.
    pub(crate) fn sentence(&self) -> Sentence {
        match self {
            Self::Dial(error) => error.sentence(),
            other => other.to_string().into(),
        }
    }
}

fn connection_error(target: &FetchUrl, error: &hyper::Error) -> FetchError {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    FetchError::ConnectionFailed { host: target.host.to_string(), detail: format!("{error}{cause}") }
}

fn header_text(response: &Response<Incoming>, name: HeaderName) -> String {
    let value = response.headers().get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().trim().to_owned()
}
