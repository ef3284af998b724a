//! One HTTP client for all wires.
//!
//! Made at the first request, so that a start costs nothing; one connection serves a whole run, until it fails.
//! Follows no redirect, because a key must not travel to another host. The proxies of the environment apply, but for
//! servers on this machine.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use ibeam_core::{ProviderError, Retry};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, StatusCode};
use rustls::ClientConfig;

use crate::anthropic;
use crate::base_url::is_loopback;
use crate::endpoint::Endpoint;
use crate::failure::{Head, Origin};
use crate::keys::Keys;
use crate::resolver::SystemResolver;
use crate::retry_after::{plain_ms, retry_after_ms};
use crate::secret::Secret;
use crate::trust;
use crate::wire::Wire;

/// Error bodies and documents over this size are cut.
const DOCUMENT_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// The slowest upload that is waited for: a conversation of 100 MB takes its time before any server can answer.
const UPLOAD_BYTES_PER_SECOND: u64 = 1024 * 1024;

/// A connection to one endpoint.
#[derive(Debug)]
pub(crate) struct Transport {
    endpoint: Endpoint,
    origin: Origin,
    keys: Arc<Keys>,
    tls: OnceLock<ClientConfig>,
    connection: Mutex<Option<Connection>>,
}

/// The client, which keeps its connection open between requests.
#[derive(Clone, Debug)]
struct Connection {
    client: Client,
    /// It has answered before, so it may have been closed since.
    served: bool,
}

impl Transport {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        let keys = Arc::new(Keys::new(&endpoint));
        Self {
            origin: Origin::new(&endpoint, Arc::clone(&keys)),
            endpoint,
            keys,
            tls: OnceLock::new(),
            connection: Mutex::default(),
        }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Posts a request to the model and returns the head of the answer and its body.
    pub(crate) async fn post(&self, body: Bytes) -> Result<(Head, Response), ProviderError> {
        self.send(Method::POST, &self.endpoint.request_url(), Some(body)).await
    }

    /// Gets the document that lists the models.
    pub(crate) async fn get_models(&self) -> Result<(Head, String), ProviderError> {
        let (head, response) = self.send(Method::GET, &self.endpoint.models_url(), None).await?;
        let body = self.document(response).await;
        Ok((head, body))
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        body: Option<Bytes>,
    ) -> Result<(Head, Response), ProviderError> {
        let unusable = |said: String| self.origin.unusable(&said);
        let headers = self.headers().map_err(unusable)?;
        let upload = body.as_ref().map_or(Duration::ZERO, upload_time);
        let limit = self.endpoint.timeouts.first_byte + upload;
        let response = loop {
            let Connection { client, served } = self.connection().map_err(unusable)?;
            let mut request = client.request(method.clone(), url).headers(headers.clone());
            if let Some(body) = &body {
                request = request.body(body.clone());
            }
            match tokio::time::timeout(limit, request.send()).await {
                Ok(Ok(response)) => break response,
                // A connection that was closed while nobody used it says nothing about the server.
                Ok(Err(error)) if served && is_lost(&error) => self.forget_connection(),
                Ok(Err(error)) => {
                    self.forget_connection();
                    return Err(self.origin.unsent(&error));
                }
                Err(_) => {
                    self.forget_connection();
                    return Err(self.origin.stalled(limit, Retry::Fast, Head::default()));
                }
            }
        };
        if let Some(connection) = self.state().as_mut() {
            connection.served = true;
        }
        let head = head(&response);
        if response.status().is_success() {
            return Ok((head, response));
        }
        if response.status() == StatusCode::UNAUTHORIZED {
            self.keys.read_again();
        }
        let body = self.document(response).await;
        Err(self.origin.refused(head, &body))
    }

    /// Makes the next request open a connection of its own: this one is dead, or as good as dead.
    pub(crate) fn forget_connection(&self) {
        *self.state() = None;
    }

    /// The whole body as text, as much of it as comes within the bounds: for errors and lists, where a part is
    /// better than nothing.
    async fn document(&self, mut response: Response) -> String {
        let mut bytes = Vec::new();
        let read = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                bytes.extend_from_slice(&chunk);
                if bytes.len() > DOCUMENT_LIMIT_BYTES {
                    break;
                }
            }
        };
        // The status already tells the failure; a slow body must not hold it up for long.
        let limit = self.endpoint.timeouts.idle.min(Duration::from_secs(10));
        let _cut_short = tokio::time::timeout(limit, read).await;
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn state(&self) -> MutexGuard<'_, Option<Connection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connection(&self) -> Result<Connection, String> {
        let mut state = self.state();
        if let Some(connection) = state.as_ref() {
            return Ok(connection.clone());
        }
        Ok(state.insert(Connection { client: self.client()?, served: false }).clone())
    }

    fn client(&self) -> Result<Client, String> {
        let tls = match self.tls.get() {
            Some(tls) => tls.clone(),
            None => {
                let tls = trust::tls_config().map_err(|error| error.to_string())?;
                self.tls.get_or_init(|| tls).clone()
            }
        };
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(SystemResolver)
            .connect_timeout(self.endpoint.timeouts.connect)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("ibeam/", env!("CARGO_PKG_VERSION")));
        if self.is_this_machine() {
            builder = builder.no_proxy();
        }
        builder.build().map_err(|error| format!("no HTTP client: {error}"))
    }

    fn is_this_machine(&self) -> bool {
        let Ok(url) = reqwest::Url::parse(&self.endpoint.base_url) else {
            return false;
        };
        url.host_str().is_some_and(is_loopback)
    }

    fn headers(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        let key = self.keys.current();
        let key = key.as_ref().map(Secret::expose);
        match self.endpoint.wire {
            Wire::Anthropic => {
                headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
                if let Some(key) = key {
                    headers.insert("x-api-key", secret_value(key)?);
                }
            }
            Wire::OpenAi => {
                if let Some(key) = key {
                    headers.insert(AUTHORIZATION, secret_value(&format!("Bearer {key}"))?);
                }
            }
        }
        for (name, value) in &self.endpoint.headers {
            let header: HeaderName = name.parse().map_err(|_| format!("`{name}` is no header name"))?;
            // A header of the caller's may carry a key too.
            headers.insert(header, secret_value(value)?);
        }
        Ok(headers)
    }
}

/// The time that a request may take to reach the server, before the bound of the first byte begins.
fn upload_time(body: &Bytes) -> Duration {
    let bytes = u64::try_from(body.len()).unwrap_or(u64::MAX);
    Duration::from_millis(bytes.saturating_mul(1000) / UPLOAD_BYTES_PER_SECOND)
}

/// Whether a connection broke under a request before any answer.
fn is_lost(error: &reqwest::Error) -> bool {
    error.is_request() && !error.is_connect() && !error.is_timeout()
}

fn secret_value(value: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| "a key or header holds characters that no header may carry".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

fn head(response: &Response) -> Head {
    let text = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let retry_after_ms = text("retry-after-ms")
        .and_then(plain_ms)
        .or_else(|| retry_after_ms(text("retry-after")?, text("date"), SystemTime::now()));
    Head {
        status: Some(response.status().as_u16()),
        request_id: text("request-id").or_else(|| text("x-request-id")).map(str::to_owned),
        retry_after_ms,
        location: text(LOCATION.as_str()).map(host_of),
    }
}

/// Scheme and host of a URL: its query may carry secrets.
fn host_of(location: &str) -> String {
    match reqwest::Url::parse(location) {
        Ok(url) => format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default()),
        Err(_) => "another path".to_owned(),
    }
}
