//! The answers to HTTP requests.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use ibeam_json_rpc::{INVALID_REQUEST, RequestId, RpcError};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::client_sessions::SESSION_HEADER;
use super::{error_body, error_status};
use crate::revision::Lifecycle;

pub(super) type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// The time without an event after which a comment is sent: clients and proxies end streams that are silent for long.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The answer to an HTTP request.
pub(super) enum Answer {
    /// A status without a body.
    Empty(StatusCode),
    /// A JSON document.
    Document { status: StatusCode, body: Vec<u8> },
    /// The document that begins a session.
    SessionStart { id: String, body: Vec<u8> },
    /// The messages of a call, as they happen.
    Events(AnswerStream),
}

/// The messages of a call. The last one is its response.
pub(super) struct AnswerStream {
    messages: mpsc::Receiver<Vec<u8>>,
    /// Cancels the call when the client closes the stream.
    _cancel: Option<AbortOnDrop>,
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl AnswerStream {
    pub(super) fn new(messages: mpsc::Receiver<Vec<u8>>, cancel_on_drop: Option<AbortHandle>) -> Self {
        Self { messages, _cancel: cancel_on_drop.map(AbortOnDrop) }
    }

    /// Returns the next event; `None` after the response.
    async fn next(&mut self) -> Option<Bytes> {
        match tokio::time::timeout(KEEP_ALIVE, self.messages.recv()).await {
            Err(_) => Some(Bytes::from_static(b":\n\n")),
            Ok(message) => message.map(|message| {
                // JSON has no line ends between its tokens, so a message is one line.
                Bytes::from([b"event: message\ndata: ".as_slice(), &message, b"\n\n"].concat())
            }),
        }
    }
}

impl Answer {
    /// Returns the refusal of an HTTP request.
    pub(super) fn refusal(status: StatusCode, id: RequestId, message: &str) -> Self {
        Self::Document { status, body: error_body(id, RpcError::new(INVALID_REQUEST, message)) }
    }

    /// Returns the error response to a request.
    pub(super) fn error(lifecycle: Lifecycle, id: RequestId, error: RpcError) -> Self {
        Self::Document { status: error_status(lifecycle, &error), body: error_body(id, error) }
    }

    pub(super) fn into_response(self) -> Response<ResponseBody> {
        let mut response = match self {
            Self::Empty(status) => with_body(status, None, Full::default().boxed_unsync()),
            Self::Document { status, body } => document(status, body),
            Self::SessionStart { id, body } => {
                let mut response = document(StatusCode::OK, body);
                if let Ok(id) = HeaderValue::from_str(&id) {
                    response.headers_mut().insert(SESSION_HEADER, id);
                }
                response
            }
            Self::Events(events) => {
                let frames = stream::unfold(events, |mut events| async move {
                    let event = events.next().await?;
                    Some((Ok::<_, Infallible>(Frame::data(event)), events))
                });
                let body = StreamBody::new(frames).boxed_unsync();
                with_body(StatusCode::OK, Some("text/event-stream"), body)
            }
        };
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

fn document(status: StatusCode, body: Vec<u8>) -> Response<ResponseBody> {
    with_body(status, Some("application/json"), Full::from(body).boxed_unsync())
}

fn with_body(
    status: StatusCode,
    content_type: Option<&'static str>,
    body: ResponseBody,
) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if let Some(content_type) = content_type {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("POST, DELETE"));
    }
    response
}
