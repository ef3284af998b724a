//! The transport over HTTP (streamable HTTP of both lifecycles), on 127.0.0.1 only.
//!
//! Each message is a `POST` to `/mcp` with the token of the server. A tool call is answered with a stream of events if
//! the client accepts one, and everything else with a JSON document. The server sends no messages of its own, so a `GET`
//! is refused. Every size, count and time that a client determines is bounded.

mod client_sessions;
mod origin_check;
mod request_headers;
mod response;
mod token;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use ibeam_json_rpc::{
    INVALID_PARAMS, INVALID_REQUEST, IncomingMessage, METHOD_NOT_FOUND, Notification, OutgoingMessage,
    OutgoingResponse, PARSE_ERROR, RequestId, RpcError, parse_line,
};
use serde_json::{Map, Value};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use self::client_sessions::{ClientSessions, SESSION_HEADER};
use self::response::{Answer, AnswerStream, ResponseBody};
pub use self::token::Token;
use crate::dispatcher::Dispatcher;
use crate::progress::Progress;
use crate::revision::{
    HEADER_MISMATCH, Lifecycle, SESSION_REVISIONS, STATELESS_REVISION, UNSUPPORTED_REVISION, check_metadata,
    check_stateless_revision, requested_revision, unsupported_revision,
};
use crate::streams::{cancelled_request, lock};

const PATH: &str = "/mcp";
/// Maximum size of the body of a request. A prompt is text.
const MAX_BODY_BYTES: usize = 4 << 20;
/// Maximum size of the head of a request.
const MAX_HEAD_BYTES: usize = 32 << 10;
/// Maximum number of connections served at once.
const MAX_CONNECTIONS: usize = 128;
/// Maximum time from the start of a request to the end of its head, and from there to the end of its body.
const READ_TIMEOUT: Duration = Duration::from_secs(15);
/// Pause after `accept` failed, for example because of too many descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
/// The number of events that wait for a client.
const MAX_WAITING_EVENTS: usize = 64;

/// A server on 127.0.0.1.
pub struct HttpServer {
    dispatcher: Arc<Dispatcher>,
    token: Token,
    sessions: Mutex<ClientSessions>,
    listener: std::net::TcpListener,
}

/// A message that is checked, and the lifecycle of its client.
struct CheckedRequest {
    lifecycle: Lifecycle,
    id: RequestId,
    method: String,
    params: Map<String, Value>,
    session: Option<String>,
    accepts_events: bool,
}

impl HttpServer {
    /// Listens on a port of 127.0.0.1; 0 selects a free one. Requests must carry `token`.
    ///
    /// # Errors
    /// The error of the system, for example for a port that is in use.
    pub fn bind(port: u16, dispatcher: Arc<Dispatcher>, token: Token) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        Ok(Self { dispatcher, token, sessions: Mutex::default(), listener })
    }

    /// Returns the URL of the endpoint.
    pub fn url(&self) -> io::Result<String> {
        let address: SocketAddr = self.listener.local_addr()?;
        Ok(format!("http://{address}{PATH}"))
    }

    /// Serves clients until the future is dropped, which ends every connection and cancels every call.
    ///
    /// # Errors
    /// The error of the system, if the listener cannot be used.
    pub async fn serve(self) -> io::Result<()> {
        let listener = TcpListener::from_std(self.listener.try_clone()?)?;
        let server = Arc::new(self);
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            let Ok((client, _)) = accepted else {
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                continue;
            };
            // Connections above the limit are closed.
            let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else { continue };
            let server = Arc::clone(&server);
            connections.spawn(async move {
                server.serve_connection(client).await;
                drop(permit);
            });
        }
    }

    async fn serve_connection(self: Arc<Self>, client: TcpStream) {
        let service = service_fn(|request| {
            let server = Arc::clone(&self);
            async move { Ok::<_, std::convert::Infallible>(server.respond(request).await) }
        });
        // An error concerns only this client.
        drop(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(READ_TIMEOUT)
                .max_buf_size(MAX_HEAD_BYTES)
                .serve_connection(TokioIo::new(client), service)
                .await,
        );
    }

    async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Response<ResponseBody> {
        match self.answer(request).await {
            Ok(answer) | Err(answer) => answer.into_response(),
        }
    }

    /// Checks a request and answers it.
    ///
    /// # Errors
    /// The answer to a request that is refused.
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Answer, Answer> {
        let refuse = |status, message: &str| Answer::refusal(status, RequestId::Null, message);
        if !origin_check::is_local(request.headers()) {
            let message = "the `Host` or `Origin` of the request is not this machine";
            return Err(refuse(StatusCode::FORBIDDEN, message));
        }
        if !self.token.is_in(request.headers()) {
            let message = "the request needs `Authorization: Bearer TOKEN` with the token of the server";
            return Err(refuse(StatusCode::UNAUTHORIZED, message));
        }
        if request.uri().path() != PATH {
            return Err(refuse(StatusCode::NOT_FOUND, "the endpoint is `/mcp`"));
        }
        if request.method() == Method::DELETE {
            let session = header(request.headers(), &SESSION_HEADER).unwrap_or_default();
            return match lock(&self.sessions).end(session) {
                true => Ok(Answer::Empty(StatusCode::NO_CONTENT)),
                false => Err(refuse(StatusCode::NOT_FOUND, "there is no such session")),
            };
        }
        if request.method() != Method::POST {
            return Err(refuse(StatusCode::METHOD_NOT_ALLOWED, "send messages with `POST`"));
        }
        if !media_types(request.headers(), &CONTENT_TYPE).any(|found| found == "application/json") {
            let message = "the `Content-Type` should be `application/json`";
            return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
        }
        let (head, body) = request.into_parts();
        let body = read_body(body).await?;
        let invalid = |error| Answer::Document {
            status: StatusCode::BAD_REQUEST,
            body: error_body(RequestId::Null, error),
        };
        let mut messages = parse_line(&body).map_err(|problem| invalid(problem.into()))?;
        let (Some(message), true) = (messages.pop(), messages.is_empty()) else {
            return Err(invalid(RpcError::new(
                INVALID_REQUEST,
                "send each message with a request of its own",
            )));
        };
        match message {
            IncomingMessage::Request(request) => {
                let id = request.id.clone();
                let rejected = |lifecycle| {
                    let id = id.clone();
                    move |error| Answer::error(lifecycle, id, error)
                };
                let params = request.parse_params().map_err(rejected(Lifecycle::Stateless))?;
                if id == RequestId::Null {
                    return Err(invalid(RpcError::new(
                        INVALID_REQUEST,
                        "the id of a request must not be null",
                    )));
                }
                let accepts_events = media_types(&head.headers, &ACCEPT)
                    .any(|found| matches!(found, "text/event-stream" | "text/*" | "*/*"));
                let checked = CheckedRequest {
                    lifecycle: Lifecycle::Session,
                    id: request.id,
                    method: request.method,
                    params,
                    session: None,
                    accepts_events,
                };
                let checked = self.check(&head.headers, checked)?;
                Ok(self.answer_request(checked).await)
            }
            IncomingMessage::Notification(notification) => self.notice(&head.headers, &notification),
            // The server sends no requests, so it waits for no response.
            IncomingMessage::Response { .. } | IncomingMessage::ErrorWithoutId(_) => {
                Ok(Answer::Empty(StatusCode::ACCEPTED))
            }
        }
    }

    /// Checks the headers and the metadata of a request, and finds its session.
    fn check(&self, headers: &HeaderMap, request: CheckedRequest) -> Result<CheckedRequest, Answer> {
        let revision = header(headers, &request_headers::REVISION_HEADER);
        let is_stateless =
            requested_revision(&request.params).is_some() || revision == Some(STATELESS_REVISION);
        let lifecycle = if is_stateless { Lifecycle::Stateless } else { Lifecycle::Session };
        let request = CheckedRequest { lifecycle, ..request };
        let rejected = |error| Answer::error(Lifecycle::Stateless, request.id.clone(), error);
        if is_stateless {
            let requested = check_metadata(&request.params).map_err(rejected)?;
            request_headers::check_revision(headers, requested).map_err(rejected)?;
            check_stateless_revision(requested).map_err(rejected)?;
            request_headers::check_method(headers, &request.method, &request.params).map_err(rejected)?;
            return Ok(request);
        }
        if request.method == "initialize" {
            return Ok(request);
        }
        check_session_revision(revision).map_err(rejected)?;
        let refuse = |status, message| Answer::refusal(status, request.id.clone(), message);
        let Some(session) = header(headers, &SESSION_HEADER) else {
            let message = "the request has no `Mcp-Session-Id`; send `initialize` first";
            return Err(refuse(StatusCode::BAD_REQUEST, message));
        };
        if !lock(&self.sessions).touch(session) {
            let message = "there is no such session; send `initialize` again";
            return Err(refuse(StatusCode::NOT_FOUND, message));
        }
        let session = Some(session.to_owned());
        Ok(CheckedRequest { session, ..request })
    }

    async fn answer_request(self: Arc<Self>, request: CheckedRequest) -> Answer {
        let CheckedRequest { lifecycle, id, method, params, session, accepts_events } = request;
        if !accepts_events || !self.dispatcher.is_tool_call(&method, &params) {
            let answer = self.dispatcher.answer(lifecycle, &method, params, Progress::default()).await;
            let begins_session = lifecycle == Lifecycle::Session && method == "initialize";
            return match answer {
                Ok(result) => {
                    let body = response_body(&id, Ok(result));
                    match begins_session {
                        true => Answer::SessionStart { id: lock(&self.sessions).begin(), body },
                        false => Answer::Document { status: StatusCode::OK, body },
                    }
                }
                Err(error) => Answer::error(lifecycle, id, error),
            };
        }
        let (events, waiting) = mpsc::channel(MAX_WAITING_EVENTS);
        let progress = {
            let events = events.clone();
            Progress::for_call(&params, move |report| {
                let message = OutgoingMessage::notification("notifications/progress", report);
                // A client that does not read loses reports.
                let _ = events.try_send(serde_json::to_vec(&message).unwrap_or_default());
            })
        };
        let (dispatcher, request_id) = (Arc::clone(&self.dispatcher), id.clone());
        let call = tokio::spawn(async move {
            let answer = dispatcher.answer(lifecycle, &method, params, progress).await;
            // A client that is gone needs no response.
            let _ = events.send(response_body(&request_id, answer)).await;
        });
        let cancel_on_drop = match session {
            // The end of a connection does not cancel a call of a session.
            Some(session) => {
                lock(&self.sessions).add_call(&session, id, call.abort_handle());
                None
            }
            None => Some(call.abort_handle()),
        };
        Answer::Events(AnswerStream::new(waiting, cancel_on_drop))
    }

    /// Acts on a notification.
    fn notice(&self, headers: &HeaderMap, notification: &Notification) -> Result<Answer, Answer> {
        let revision = header(headers, &request_headers::REVISION_HEADER);
        if revision != Some(STATELESS_REVISION) {
            let refuse = |status, message: &str| Answer::refusal(status, RequestId::Null, message);
            let Some(session) = header(headers, &SESSION_HEADER) else {
                return Err(refuse(StatusCode::BAD_REQUEST, "the notification has no `Mcp-Session-Id`"));
            };
            let mut sessions = lock(&self.sessions);
            if !sessions.touch(session) {
                return Err(refuse(StatusCode::NOT_FOUND, "there is no such session"));
            }
            if let Some(request) = cancelled_request(notification) {
                sessions.cancel_call(session, &request);
            }
        }
        Ok(Answer::Empty(StatusCode::ACCEPTED))
    }
}

/// Reads the body of a request.
async fn read_body(body: Incoming) -> Result<Bytes, Answer> {
    let refuse = |status, message: &str| Answer::refusal(status, RequestId::Null, message);
    let read = tokio::time::timeout(READ_TIMEOUT, Limited::new(body, MAX_BODY_BYTES).collect()).await;
    match read {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            let message = format!("the body is longer than {} MB", MAX_BODY_BYTES >> 20);
            Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &message))
        }
        Ok(Err(_)) => Err(refuse(StatusCode::BAD_REQUEST, "the body is incomplete")),
        Err(_) => Err(refuse(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    }
}

/// Checks the revision that a request of a session names. Without one, the request is of an older revision.
fn check_session_revision(revision: Option<&str>) -> Result<(), RpcError> {
    match revision {
        Some(revision) if !SESSION_REVISIONS.contains(&revision) => Err(unsupported_revision(revision)),
        Some(_) | None => Ok(()),
    }
}

/// Returns the response to the request `id` as JSON.
fn response_body(id: &RequestId, answer: Result<Value, RpcError>) -> Vec<u8> {
    serde_json::to_vec(&OutgoingResponse::new(id, answer)).unwrap_or_default()
}

fn error_body(id: RequestId, error: RpcError) -> Vec<u8> {
    response_body(&id, Err(error))
}

/// Returns the status of an error response. Only requests without a session have statuses for errors of methods.
fn error_status(lifecycle: Lifecycle, error: &RpcError) -> StatusCode {
    match (lifecycle, error.code) {
        (Lifecycle::Session, _) => StatusCode::OK,
        (Lifecycle::Stateless, METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        (
            Lifecycle::Stateless,
            PARSE_ERROR | INVALID_REQUEST | INVALID_PARAMS | HEADER_MISMATCH | UNSUPPORTED_REVISION,
        ) => StatusCode::BAD_REQUEST,
        (Lifecycle::Stateless, _) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Returns the value of a header, if it is text.
fn header<'a>(headers: &'a HeaderMap, name: &hyper::header::HeaderName) -> Option<&'a str> {
    headers.get(name).map(HeaderValue::to_str)?.ok().map(str::trim)
}

/// Returns the media types of a header without their parameters.
fn media_types<'a>(
    headers: &'a HeaderMap,
    name: &hyper::header::HeaderName,
) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|entry| entry.split(';').next().unwrap_or_default().trim())
}
