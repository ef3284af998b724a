//! The HTTP client of one endpoint.
//!
//! Created at the first request, so that starting the program costs nothing. One connection serves a run until it fails.
//! Redirects are not followed, because a key must not be sent to another host.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use ibeam_core::{ModelRequest, Notices, ProviderError, Retry};
use ibeam_http::{ClientSettings, Secret, build_client, tls};
use ibeam_protocol::Notice;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, StatusCode};
use rustls::ClientConfig;
use serde_json::{Value, json};

use crate::endpoint::{Endpoint, TransportKind};
use crate::keys::Keys;
use crate::provider_errors::{ErrorBuilder, ResponseHead};
use crate::recording::{
    ExchangeOutcome, HttpRecording, LiveBody, LiveResponse, ReplayedBody, ResponseBody, TrafficMode,
};
use crate::remaining_quota::RemainingQuota;
use crate::response_error::ResponseError;
use crate::retry_after::{parse_retry_after, parse_retry_after_ms};
use crate::websocket::{Conversation, SocketOutcome, SocketSession};
use crate::wire_protocol::OutgoingRequest;

/// The maximum size of an error body or a model list. Longer ones are cut.
const DOCUMENT_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// The minimum upload rate. A large conversation extends the timeout of the first byte by its upload time at this rate.
const MIN_UPLOAD_BYTES_PER_SECOND: u64 = 1024 * 1024;

/// The HTTP client of one endpoint.
#[derive(Debug)]
pub(crate) struct Transport {
    endpoint: Endpoint,
    error_builder: ErrorBuilder,
    keys: Arc<Keys>,
    tls: OnceLock<ClientConfig>,
    connection: Mutex<Option<Connection>>,
    traffic: TrafficMode,
    /// The WebSocket connections; `None` if requests go over HTTP.
    sockets: Option<Arc<SocketSession>>,
    notices: Notices,
    /// Whether the service refused a request because it has no such API, or not for this model.
    has_refused_api: AtomicBool,
}

/// The client, which keeps its connection open between requests.
#[derive(Clone, Debug)]
struct Connection {
    client: Client,
    /// Whether the connection has served a request, after which the server may have closed it.
    was_used: bool,
}

impl Transport {
    pub(crate) fn new(endpoint: Endpoint, traffic: TrafficMode) -> Self {
        let Endpoint { key, key_reader, headers, .. } = &endpoint;
        let keys = Arc::new(Keys::new(key.clone(), key_reader.clone(), headers));
        let websocket_mode = match endpoint.transport {
            TransportKind::Http => None,
            TransportKind::WebSocket => endpoint.protocol.websocket_mode(),
        };
        Self {
            error_builder: ErrorBuilder::new(&endpoint, Arc::clone(&keys)),
            endpoint,
            keys,
            tls: OnceLock::new(),
            connection: Mutex::default(),
            traffic,
            sockets: websocket_mode.map(|mode| Arc::new(SocketSession::new(mode))),
            notices: Notices::default(),
            has_refused_api: AtomicBool::new(false),
        }
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) fn error_builder(&self) -> &ErrorBuilder {
        &self.error_builder
    }

    /// Whether the service has refused a request because it has no such API, or not for this model.
    pub(crate) fn has_refused_api(&self) -> bool {
        self.has_refused_api.load(Ordering::Relaxed)
    }

    pub(crate) fn traffic(&self) -> &TrafficMode {
        &self.traffic
    }

    /// Posts a request to the model.
    pub(crate) async fn post(
        &self,
        conversation: &Conversation<'_>,
    ) -> Result<(ResponseHead, ResponseBody), ProviderError> {
        self.send(Method::POST, &self.model_url(), Some(conversation)).await
    }

    /// Returns the URL for requests to the model.
    pub(crate) fn model_url(&self) -> String {
        let Endpoint { protocol, base_url, model, .. } = &self.endpoint;
        protocol.request_url(base_url, model)
    }

    /// Reads the key if it is not known yet.
    pub(crate) async fn load_key(&self) -> Result<(), ProviderError> {
        self.keys.load().await.map_err(|reason| self.error_builder.key_unavailable(reason))
    }

    /// Returns the key that requests have now.
    pub(crate) fn current_key(&self) -> Option<Secret> {
        self.keys.current()
    }

    /// Reads the key again after the service has refused `refused`.
    pub(crate) async fn reload_key(&self, refused: Option<&Secret>) {
        self.keys.reload(refused).await;
    }

    /// Returns the client, for requests that are not requests to the model.
    pub(crate) fn client(&self) -> Result<Client, String> {
        self.connection().map(|connection| connection.client)
    }

    /// Returns the headers of a request that is not a request to the model.
    pub(crate) fn service_headers(&self, method: &str, url: &str) -> Result<HeaderMap, ProviderError> {
        let headers = self.headers(&OutgoingRequest { method, url, body: &[] }, None);
        headers.map_err(|message| self.error_builder.invalid_configuration(&message))
    }

    /// Removes the notices of the requests so far and returns them.
    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        self.notices.take()
    }

    /// Sends all further requests over HTTP, with a notice.
    pub(crate) fn fall_back(&self, reason: &str) {
        if let Some(sockets) = &self.sockets {
            sockets.disable();
        }
        let (provider, detail) = (self.endpoint.provider.clone(), self.error_builder.sanitize(reason));
        self.notices.add(Notice::WebsocketUnavailable { provider, detail });
    }

    /// Fetches the list of models.
    pub(crate) async fn get_models(&self) -> Result<(ResponseHead, String), ProviderError> {
        let url = self.endpoint.protocol.models_url(&self.endpoint.base_url);
        let (head, mut response) = self.send(Method::GET, &url, None).await?;
        let body = self.read_text(&mut response).await;
        response.store_recording(None)?;
        Ok((head, body))
    }

    /// Sends a request, or finds its recording. A response whose status is not success is an error.
    async fn send(
        &self,
        method: Method,
        url: &str,
        conversation: Option<&Conversation<'_>>,
    ) -> Result<(ResponseHead, ResponseBody), ProviderError> {
        let body = conversation.map(|conversation| &conversation.body[..]);
        let request = || self.recorded_request(&method, url, body);
        if self.traffic.player().is_none() {
            self.load_key().await?;
        }
        let key = self.keys.current();
        let (head, mut response) = match &self.traffic {
            TrafficMode::Live => {
                let LiveResponse { head, body, .. } = self.send_live(&method, url, conversation).await?;
                (head, ResponseBody::Live { body, recording: None })
            }
            TrafficMode::Record(recorder) => {
                let Endpoint { provider, model, protocol, .. } = &self.endpoint;
                let exchange = recorder.start(provider, model, protocol.name(), &request());
                let response = match self.send_live(&method, url, conversation).await {
                    Ok(response) => response,
                    Err(error) => {
                        HttpRecording::store_failure(&exchange, &error)?;
                        return Err(error);
                    }
                };
                let LiveResponse { head, content_type, body } = response;
                let recording = Some(Box::new(HttpRecording::new(exchange, &head, content_type)));
                (head, ResponseBody::Live { body, recording })
            }
            TrafficMode::Replay(player) => match player.find(self.endpoint.protocol.name(), &request())? {
                ExchangeOutcome::Response(response) => {
                    let body = ReplayedBody::new(response, player.speed());
                    (response.head(), ResponseBody::Replayed(body))
                }
                ExchangeOutcome::Failure(failure) => return Err(failure.clone().into()),
                ExchangeOutcome::Events(_) => {
                    let error = ResponseError::Protocol("the recording has no HTTP response".to_owned());
                    return Err(self.error_builder.invalid_response(error, ResponseHead::default()));
                }
            },
        };
        let status = head.status.unwrap_or_default();
        if (200..300).contains(&status) {
            return Ok((head, response));
        }
        if status == StatusCode::UNAUTHORIZED.as_u16() && self.traffic.player().is_none() {
            self.keys.reload(key.as_ref()).await;
        }
        let body = self.read_text(&mut response).await;
        response.store_recording(None)?;
        if conversation.is_some() && self.endpoint.protocol.is_api_refusal(status, &body) {
            self.has_refused_api.store(true, Ordering::Relaxed);
        }
        Err(self.error_builder.error_status(head, &body))
    }

    /// Returns a request as recordings contain it: without headers, and independent of the address of the server.
    fn recorded_request(&self, method: &Method, url: &str, body: Option<&[u8]>) -> Value {
        let base_url = self.endpoint.base_url.trim_end_matches('/');
        let path = match url.strip_prefix(base_url) {
            Some(path) => path.to_owned(),
            None => reqwest::Url::parse(url).map_or_else(|_| url.to_owned(), |url| url.path().to_owned()),
        };
        let body = body.map(|body| match serde_json::from_slice(body) {
            Ok(value) => value,
            Err(_) => Value::String(String::from_utf8_lossy(body).into_owned()),
        });
        json!({ "method": method.as_str(), "path": path, "body": body })
    }

    /// Sends a request over the network and returns the response, whatever its status.
    async fn send_live(
        &self,
        method: &Method,
        url: &str,
        conversation: Option<&Conversation<'_>>,
    ) -> Result<LiveResponse, ProviderError> {
        let mut unavailable = None;
        if let (Some(sockets), Some(conversation)) = (&self.sockets, conversation) {
            match sockets.send(self, conversation).await? {
                SocketOutcome::Response(response) => return Ok(*response),
                SocketOutcome::Unavailable(reason) => unavailable = reason,
            }
        }
        let response = self.send_http(method, url, conversation).await?;
        // A service that HTTP cannot reach either may offer WebSocket connections later.
        if let Some(reason) = unavailable.filter(|_| response.status().is_success()) {
            self.fall_back(&reason);
        }
        let text = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let head = read_head(response.status().as_u16(), text);
        if let Some(observer) = &self.endpoint.on_quota
            && let Some(quota) = RemainingQuota::read(text, SystemTime::now())
        {
            observer.notify(quota);
        }
        let content_type = text(CONTENT_TYPE.as_str()).map(str::to_owned);
        Ok(LiveResponse { head, content_type, body: LiveBody::Http(response) })
    }

    /// Sends a request over HTTP and returns the response, whatever its status.
    async fn send_http(
        &self,
        method: &Method,
        url: &str,
        conversation: Option<&Conversation<'_>>,
    ) -> Result<Response, ProviderError> {
        let invalid = |message: String| self.error_builder.invalid_configuration(&message);
        let body = conversation.map(|conversation| conversation.body);
        let content = body.map(|body| &body[..]).unwrap_or_default();
        let outgoing = OutgoingRequest { method: method.as_str(), url, body: content };
        let model_request = conversation.map(|conversation| conversation.request.as_ref());
        let headers = self.headers(&outgoing, model_request).map_err(invalid)?;
        let upload = body.map_or(Duration::ZERO, upload_time);
        let limit = self.endpoint.timeouts.first_byte + upload;
        let response = loop {
            let Connection { client, was_used } = self.connection().map_err(invalid)?;
            let mut request = client.request(method.clone(), url).headers(headers.clone());
            if let Some(body) = body {
                request = request.body(body.clone());
            }
            match tokio::time::timeout(limit, request.send()).await {
                Ok(Ok(response)) => break response,
                // Servers close idle connections, so this is not a failure of the server.
                Ok(Err(error)) if was_used && is_connection_lost(&error) => self.drop_connection(),
                Ok(Err(error)) => {
                    self.drop_connection();
                    return Err(self.error_builder.not_connected(&error));
                }
                Err(_) => {
                    self.drop_connection();
                    return Err(self.error_builder.stalled(limit, Retry::Fast, ResponseHead::default()));
                }
            }
        };
        if let Some(connection) = self.lock_connection().as_mut() {
            connection.was_used = true;
        }
        Ok(response)
    }

    /// Drops the connection, so that the next request opens a new one.
    pub(crate) fn drop_connection(&self) {
        *self.lock_connection() = None;
    }

    /// Reads a body as text, up to the limits of size and time. An incomplete error message is better than none.
    async fn read_text(&self, response: &mut ResponseBody) -> String {
        let mut bytes = Vec::new();
        let read = async {
            while let Ok(Some(chunk)) = response.chunk().await {
                bytes.extend_from_slice(&chunk);
                if bytes.len() > DOCUMENT_LIMIT_BYTES {
                    break;
                }
            }
        };
        // The status is already known, so a slow body must not delay the failure for long.
        let limit = self.endpoint.timeouts.idle.min(Duration::from_secs(10));
        let _cut_short = tokio::time::timeout(limit, read).await;
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn lock_connection(&self) -> MutexGuard<'_, Option<Connection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connection(&self) -> Result<Connection, String> {
        let mut state = self.lock_connection();
        if let Some(connection) = state.as_ref() {
            return Ok(connection.clone());
        }
        Ok(state.insert(Connection { client: self.build_client(false)?, was_used: false }).clone())
    }

    /// Returns a client for one request that is upgraded.
    pub(crate) fn build_upgrade_client(&self) -> Result<Client, String> {
        self.build_client(true)
    }

    fn build_client(&self, for_upgrade: bool) -> Result<Client, String> {
        let tls = match self.tls.get() {
            Some(tls) => tls.clone(),
            None => {
                let tls = tls::tls_config(&self.endpoint.tls).map_err(|error| error.to_string())?;
                self.tls.get_or_init(|| tls).clone()
            }
        };
        let settings = ClientSettings {
            tls,
            proxy: self.endpoint.used_proxy(),
            connect_timeout: self.endpoint.timeouts.connect,
            for_upgrade,
        };
        build_client(settings).map_err(|error| error.to_string())
    }

    /// Returns the headers of the request for a WebSocket connection, without those of the upgrade.
    pub(crate) fn upgrade_headers(&self, url: &str) -> Result<HeaderMap, String> {
        let mut headers = self.headers(&OutgoingRequest { method: "GET", url, body: &[] }, None)?;
        headers.remove(CONTENT_TYPE);
        headers.remove(ACCEPT);
        Ok(headers)
    }

    fn headers(
        &self,
        request: &OutgoingRequest<'_>,
        model_request: Option<&ModelRequest>,
    ) -> Result<HeaderMap, String> {
        let protocol = self.endpoint.protocol;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static(protocol.accept()));
        for (name, value) in protocol.fixed_headers() {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        let settings = self.endpoint.request_settings();
        if let Some((name, value)) = protocol.model_header(model_request, &settings) {
            headers.insert(name, secret_value(&value)?);
        }
        if let Some(key) = self.keys.current() {
            let key = Secret::expose(&key);
            let auth_headers = match self.endpoint.quirks.key_header {
                Some(name) => vec![(name, key.to_owned())],
                None => protocol.auth_headers(request, key),
            };
            for (name, value) in auth_headers {
                headers.insert(name, secret_value(&value)?);
            }
        }
        for (name, value) in &self.endpoint.headers {
            let header: HeaderName =
                name.parse().map_err(|_| format!("`{name}` is not a valid header name"))?;
            // A configured header may carry a key too.
            headers.insert(header, secret_value(value)?);
        }
        Ok(headers)
    }
}

/// Returns the time that sending `body` may take.
pub(crate) fn upload_time(body: &Bytes) -> Duration {
    upload_time_of(u64::try_from(body.len()).unwrap_or(u64::MAX))
}

/// Returns the time that sending a body of this size may take.
pub(crate) fn upload_time_of(bytes: u64) -> Duration {
    Duration::from_millis(bytes.saturating_mul(1000) / MIN_UPLOAD_BYTES_PER_SECOND)
}

/// Whether an open connection broke before any response.
fn is_connection_lost(error: &reqwest::Error) -> bool {
    error.is_request() && !error.is_connect() && !error.is_timeout()
}

fn secret_value(value: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| "a key or header contains characters that are not allowed in headers".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the parts of a head that matter for a failure. `text` returns a header.
pub(crate) fn read_head<'a>(status: u16, text: impl Fn(&str) -> Option<&'a str>) -> ResponseHead {
    let retry_after_ms = text("retry-after-ms")
        .and_then(parse_retry_after_ms)
        .or_else(|| parse_retry_after(text("retry-after")?, text("date"), SystemTime::now()));
    ResponseHead {
        status: Some(status),
        request_id: ["request-id", "x-request-id", "x-amzn-requestid"]
            .into_iter()
            .find_map(&text)
            .map(str::to_owned),
        retry_after_ms,
        location: text(LOCATION.as_str()).map(origin),
    }
}

/// Returns the scheme and host of a URL. The rest of it may contain secrets.
fn origin(location: &str) -> String {
    match reqwest::Url::parse(location) {
        Ok(url) => format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default()),
        Err(_) => "another path".to_owned(),
    }
}
