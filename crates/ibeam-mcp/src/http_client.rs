//! The streamable HTTP transport: one POST for each message, answered by a JSON document or by a stream of events.
//!
//! A stream that ends before its response is resumed if the server gave its events ids (revision 2025-11-25). Redirects
//! are not followed, because headers may carry secrets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ibeam_http::base_url::is_loopback;
use ibeam_http::framing::FrameParser as _;
use ibeam_http::sse::SseParser;
use ibeam_http::{Secret, sanitize_message};
use ibeam_json_rpc::{IncomingMessage, OutgoingMessage, OutgoingResponse, Request, RpcError, parse_line};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, StatusCode, Url};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use crate::call_error::{CallError, HttpError};
use crate::http_config::{HttpConfig, check_url};
use crate::lifecycle::{STATELESS_REVISION, add_request_metadata};
use crate::list_changes::ListChanges;
use crate::oauth::{Authorization, Challenge, dpop_nonce};
use crate::param_headers::encode;
use crate::routed_clients::RoutedClients;
use crate::server_requests::ServerRequests;

/// Maximum size of a JSON document.
const MAX_DOCUMENT_BYTES: usize = 16 << 20;
/// Maximum size of the body of an error.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// Maximum number of times that a stream is resumed.
pub(crate) const MAX_RESUMPTIONS: usize = 20;
/// The time before a resumption, if the server states none.
const DEFAULT_RETRY: Duration = Duration::from_secs(1);
/// The maximum time before a resumption that a server may ask for.
const MAX_RETRY: Duration = Duration::from_secs(30);
/// The limit of a message whose answer does not matter.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of times that one request is sent with different tokens, nonces or headers.
const MAX_AUTHORIZATIONS: usize = 4;
const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
const REVISION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The connection to a server over HTTP.
pub(crate) struct HttpClient {
    config: HttpConfig,
    url: Url,
    client: Client,
    authorization: Option<Authorization>,
    requests: ServerRequests,
    pub(crate) last_id: AtomicU64,
    session: Mutex<Session>,
    /// The lists of the server that have changed.
    pub(crate) changes: ListChanges,
    /// The task that receives messages that belong to no request.
    listener: Mutex<Option<AbortHandle>>,
    /// The headers that the reader returned.
    read_headers: tokio::sync::Mutex<Option<Vec<(String, Secret)>>>,
}

/// The state at the end of a stream.
pub(crate) struct StreamEnd {
    /// The response, if it was in the stream.
    pub(crate) answer: Option<Result<Box<RawValue>, RpcError>>,
    pub(crate) last_event_id: Option<String>,
    /// The time before a resumption.
    pub(crate) retry: Duration,
}

/// The agreement of the server and the client.
#[derive(Clone, Debug, Default)]
struct Session {
    id: Option<HeaderValue>,
    revision: Option<HeaderValue>,
    is_stateless: bool,
}

impl HttpClient {
    /// Returns a client without connecting.
    ///
    /// # Errors
    /// `Configuration`.
    pub(crate) fn new(config: HttpConfig, requests: ServerRequests) -> Result<Arc<Self>, HttpError> {
        let url = check_url(&config)?;
        let clients = RoutedClients::new(config.tls.clone(), config.proxies.clone());
        let client = clients.for_url(&url).map_err(HttpError::Configuration)?;
        // A token is never sent unencrypted to another machine.
        let is_secure = url.scheme() == "https" || url.host_str().is_some_and(is_loopback);
        let authorization = config.authorization.clone().filter(|_| is_secure);
        let authorization = authorization.map(|config| Authorization::new(config, url.clone(), clients));
        Ok(Arc::new(Self {
            config,
            url,
            client,
            authorization,
            requests,
            last_id: AtomicU64::new(0),
            session: Mutex::default(),
            changes: ListChanges::default(),
            listener: Mutex::default(),
            read_headers: tokio::sync::Mutex::default(),
        }))
    }

    /// Satisfies the demand for another token that an earlier run has stored, if a person is there to log in.
    pub(crate) async fn log_in(&self) -> Result<(), HttpError> {
        match &self.authorization {
            Some(authorization) if authorization.has_user() => Ok(authorization.satisfy_pending().await?),
            Some(_) | None => Ok(()),
        }
    }

    /// Makes all further requests without a session, as revision 2026-07-28 has them.
    pub(crate) fn use_stateless(&self) {
        let revision = Some(HeaderValue::from_static(STATELESS_REVISION));
        *self.session() = Session { id: None, revision, is_stateless: true };
    }

    /// Forgets the session and the revision.
    pub(crate) fn reset_session(&self) {
        *self.session() = Session::default();
    }

    /// Sets the revision of a session.
    pub(crate) fn set_revision(&self, revision: &str) {
        self.session().revision = HeaderValue::from_str(revision).ok();
    }

    /// Sends a request with additional headers and waits for its result, without a time limit. Dropping the future
    /// cancels the request.
    pub(crate) async fn request(
        self: &Arc<Self>,
        method: &str,
        mut params: Value,
        headers: &[(String, String)],
    ) -> Result<Box<RawValue>, CallError> {
        let is_stateless = self.session().is_stateless;
        if is_stateless {
            add_request_metadata(&mut params);
        }
        let mut all = self.message_headers(method, &params);
        for (name, value) in headers {
            insert(&mut all, name, value)?;
        }
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let body = serde_json::to_vec(&OutgoingMessage::request(id, method, &params))?;
        let mut sent = SentRequest { client: Arc::clone(self), id, is_open: !is_stateless };
        let result = self.exchange(method, id, all, body).await;
        sent.is_open = false;
        result
    }

    /// Sends a notification. An error has no effect.
    pub(crate) async fn notify(&self, method: &str, mut params: Value) {
        if self.session().is_stateless {
            add_request_metadata(&mut params);
        }
        if let Ok(body) = serde_json::to_vec(&OutgoingMessage::notification(method, &params)) {
            let send = self.send(Method::POST, self.message_headers(method, &params), Some(body));
            let _ = tokio::time::timeout(NOTIFY_TIMEOUT, send).await;
        }
    }

    /// Ends the session at the server, within `timeout`.
    pub(crate) async fn close(&self, timeout: Duration) {
        self.stop_listening();
        if self.session().id.is_some() {
            let _ = tokio::time::timeout(timeout, self.send(Method::DELETE, HeaderMap::new(), None)).await;
        }
    }

    /// Posts a request and reads its answer.
    async fn exchange(
        &self,
        method: &str,
        id: u64,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Box<RawValue>, CallError> {
        let response = self.send(Method::POST, headers, Some(body)).await?;
        if method == "initialize"
            && response.status().is_success()
            && let Some(session) = response.headers().get(&SESSION_HEADER)
        {
            self.session().id = Some(session.clone());
        }
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        if content_type(&response).starts_with("text/event-stream") {
            return self.read_stream(response, id).await;
        }
        let document = read_body(response, MAX_DOCUMENT_BYTES).await?;
        for message in parse_messages(&document)? {
            match message {
                IncomingMessage::Response { id: of, result } if of == id => {
                    return result.map_err(CallError::Rejected);
                }
                IncomingMessage::ErrorWithoutId(error) => return Err(CallError::Rejected(error)),
                IncomingMessage::Response { .. }
                | IncomingMessage::Request(_)
                | IncomingMessage::Notification(_) => {}
            }
        }
        Err(HttpError::EndOfAnswer.into())
    }

    /// Reads the events of a stream until the response to request `id`, and resumes the stream if it ends before.
    async fn read_stream(&self, mut response: Response, id: u64) -> Result<Box<RawValue>, CallError> {
        let mut last_event_id: Option<String> = None;
        for _ in 0..=MAX_RESUMPTIONS {
            let end = self.read_events(response, Some(id)).await?;
            if let Some(answer) = end.answer {
                return answer.map_err(CallError::Rejected);
            }
            last_event_id = end.last_event_id.or(last_event_id);
            if last_event_id.is_none() || self.session().is_stateless {
                break;
            }
            tokio::time::sleep(end.retry).await;
            response = self.open_stream(last_event_id.as_deref()).await?;
            if !response.status().is_success() {
                return Err(self.refusal(response).await);
            }
        }
        Err(HttpError::EndOfAnswer.into())
    }

    /// Requests a stream of events, from the one after `last_event_id` on.
    pub(crate) async fn open_stream(&self, last_event_id: Option<&str>) -> Result<Response, HttpError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(event_id) = last_event_id {
            insert(&mut headers, "last-event-id", event_id)?;
        }
        self.send(Method::GET, headers, None).await
    }

    /// Reads the events of a stream until the response to request `id`, or until the stream ends.
    pub(crate) async fn read_events(
        &self,
        mut response: Response,
        id: Option<u64>,
    ) -> Result<StreamEnd, CallError> {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        let mut answer = None;
        let mut is_open = true;
        while is_open && answer.is_none() {
            is_open = match response.chunk().await {
                Ok(Some(bytes)) => parser.feed(&bytes, &mut events).is_ok(),
                // A connection that breaks is an end too: the stream can be resumed.
                Ok(None) | Err(_) => false,
            };
            for event in events.drain(..) {
                if !event.data.trim().is_empty() && ["", "message"].contains(&event.event.as_str()) {
                    answer = self.receive(event.data.as_bytes(), id).await?.or(answer);
                }
            }
        }
        Ok(StreamEnd {
            answer,
            last_event_id: parser.last_event_id().map(str::to_owned),
            retry: parser.retry().unwrap_or(DEFAULT_RETRY).min(MAX_RETRY),
        })
    }

    /// Receives the messages of an event, answers requests, and returns the response to request `id` if it is there.
    async fn receive(
        &self,
        data: &[u8],
        id: Option<u64>,
    ) -> Result<Option<Result<Box<RawValue>, RpcError>>, CallError> {
        for message in parse_messages(data)? {
            match message {
                IncomingMessage::Response { id: of, result } if Some(of) == id => return Ok(Some(result)),
                IncomingMessage::ErrorWithoutId(error) => return Ok(Some(Err(error))),
                IncomingMessage::Request(request) => self.answer(&request).await,
                IncomingMessage::Notification(notification) => self.changes.record(&notification.method),
                IncomingMessage::Response { .. } => {}
            }
        }
        Ok(None)
    }

    /// Answers a request of the server in a POST of its own.
    async fn answer(&self, request: &Request) {
        let params = request.parse_params::<Value>().unwrap_or_default();
        let answer = self.requests.answer(&request.method, &params).await;
        if let Ok(body) = serde_json::to_vec(&OutgoingResponse::new(&request.id, answer)) {
            let headers = self.message_headers(&request.method, &Value::Null);
            let send = self.send(Method::POST, headers, Some(body));
            let _ = tokio::time::timeout(NOTIFY_TIMEOUT, send).await;
        }
    }

    /// Returns the headers of a message, without those of its connection.
    pub(crate) fn message_headers(&self, method: &str, params: &Value) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if self.session().is_stateless {
            if let Ok(method) = HeaderValue::from_str(method) {
                headers.insert(HeaderName::from_static("mcp-method"), method);
            }
            let key = match method {
                "tools/call" | "prompts/get" => Some("name"),
                "resources/read" => Some("uri"),
                _ => None,
            };
            let name = key.and_then(|key| params.get(key)?.as_str());
            if let Some(name) = name.and_then(|name| HeaderValue::from_str(&encode(name)).ok()) {
                headers.insert(HeaderName::from_static("mcp-name"), name);
            }
        }
        headers
    }

    /// Sends one HTTP request and returns its response, whatever its status. A refused request is repeated with headers
    /// that are read again, or with another token.
    pub(crate) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Option<Vec<u8>>,
    ) -> Result<Response, HttpError> {
        let mut may_read_headers = self.config.header_reader.is_some();
        for _ in 0..MAX_AUTHORIZATIONS {
            let (response, token) = self.send_once(&method, headers.clone(), body.clone()).await?;
            let status = response.status();
            if ![StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status) {
                return Ok(response);
            }
            if status == StatusCode::UNAUTHORIZED && std::mem::take(&mut may_read_headers) {
                self.read_headers.lock().await.take();
                continue;
            }
            let Some(authorization) = &self.authorization else { return Ok(response) };
            let challenge = Challenge::from_headers(response.headers());
            let nonce = dpop_nonce(response.headers());
            if !authorization.answer(status.as_u16(), challenge, token.as_deref(), nonce).await? {
                return Ok(response);
            }
        }
        Err(HttpError::Status { status: 401, detail: ": it accepts no token".to_owned() })
    }

    /// Sends one HTTP request and returns its response, with the token that it carried.
    async fn send_once(
        &self,
        method: &Method,
        mut headers: HeaderMap,
        body: Option<Vec<u8>>,
    ) -> Result<(Response, Option<String>), HttpError> {
        let mut token = None;
        if let Some(authorization) = &self.authorization {
            let authorized = authorization.headers(method.as_str()).await?;
            for (name, value) in &authorized.headers {
                insert_secret(&mut headers, name, value)?;
            }
            token = authorized.token;
        }
        let Session { id, revision, .. } = self.session().clone();
        if let Some(id) = id {
            headers.insert(SESSION_HEADER, id);
        }
        if let Some(revision) = revision {
            headers.insert(REVISION_HEADER, revision);
        }
        for (name, value) in &self.config.headers {
            insert_secret(&mut headers, name, value)?;
        }
        if let Some(reader) = &self.config.header_reader {
            let mut read = self.read_headers.lock().await;
            let values = match read.take() {
                Some(values) => values,
                None => reader.read().await.map_err(HttpError::Configuration)?,
            };
            for (name, value) in &values {
                insert_secret(&mut headers, name, value)?;
            }
            *read = Some(values);
        }
        let mut request = self.client.request(method.clone(), self.url.clone()).headers(headers);
        if let Some(body) = body {
            request = request.body(body);
        }
        let response = request.send().await.map_err(|error| HttpError::Connection(innermost(&error)))?;
        if response.status().is_redirection() {
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            return Err(HttpError::Redirect(sanitize_message(location.unwrap_or_default())));
        }
        Ok((response, token))
    }

    /// Returns the error of a response whose status is not success.
    async fn refusal(&self, response: Response) -> CallError {
        let status = response.status();
        let body = read_body(response, MAX_ERROR_BYTES).await.unwrap_or_default();
        let error = parse_line(&body).ok().and_then(|messages| {
            messages.into_iter().find_map(|message| match message {
                IncomingMessage::Response { result, .. } => result.err(),
                IncomingMessage::ErrorWithoutId(error) => Some(error),
                IncomingMessage::Request(_) | IncomingMessage::Notification(_) => None,
            })
        });
        if status == StatusCode::NOT_FOUND && self.session().id.is_some() {
            return HttpError::SessionExpired.into();
        }
        if let Some(error) = error {
            return CallError::Rejected(error);
        }
        let text = sanitize_message(&String::from_utf8_lossy(&body));
        let detail = if text.is_empty() { String::new() } else { format!(": {text}") };
        HttpError::Status { status: status.as_u16(), detail }.into()
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock_listener(&self) -> MutexGuard<'_, Option<AbortHandle>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request of a session that was sent. Dropping it before the response arrives cancels the request. Without a session,
/// the end of the connection cancels it.
struct SentRequest {
    client: Arc<HttpClient>,
    id: u64,
    is_open: bool,
}

impl Drop for SentRequest {
    fn drop(&mut self) {
        if self.is_open
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (client, id) = (Arc::clone(&self.client), self.id);
            runtime.spawn(async move {
                let params = json!({ "requestId": id, "reason": "the client no longer waits" });
                client.notify("notifications/cancelled", params).await;
            });
        }
    }
}

fn insert(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), HttpError> {
    let invalid = || HttpError::Configuration(format!("the header `{name}` cannot be sent"));
    let name: HeaderName = name.parse().map_err(|_| invalid())?;
    let value = HeaderValue::from_str(value).map_err(|_| invalid())?;
    headers.insert(name, value);
    Ok(())
}

fn insert_secret(headers: &mut HeaderMap, name: &str, value: &Secret) -> Result<(), HttpError> {
    insert(headers, name, value.expose())?;
    if let Some(value) = headers.get_mut(name) {
        value.set_sensitive(true);
    }
    Ok(())
}

pub(crate) fn content_type(response: &Response) -> &str {
    response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

pub(crate) async fn read_body(mut response: Response, max_bytes: usize) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) =
        response.chunk().await.map_err(|error| HttpError::Connection(innermost(&error)))?
    {
        if body.len() + chunk.len() > max_bytes {
            return Err(HttpError::InvalidAnswer(format!("it is longer than {} kB", max_bytes >> 10)));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn parse_messages(document: &[u8]) -> Result<Vec<IncomingMessage>, HttpError> {
    parse_line(document).map_err(|_| {
        let start = String::from_utf8_lossy(document.get(..200).unwrap_or(document)).into_owned();
        HttpError::InvalidAnswer(format!("it is not a message: `{}`", sanitize_message(&start)))
    })
}

/// Returns the message of the innermost cause of an error.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    sanitize_message(&last.to_string())
}
