//! The HTTP requests of the batch APIs. They share the connection, the keys and the errors of the requests to models.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use ibeam_core::{ProviderError, Retry};
use ibeam_http::sanitize_message;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Body, Method, Response, StatusCode};
use serde_json::Value;

use super::{BatchContent, BatchError, BatchId};
use crate::endpoint::Endpoint;
use crate::provider_errors::{ErrorBuilder, ResponseHead};
use crate::response_error::ResponseError;
use crate::transport::{Transport, read_head, upload_time_of};
use crate::wire_protocol::WireProtocol;

/// The maximum size of a document that is not a file of results.
const DOCUMENT_LIMIT_BYTES: usize = 16 * 1024 * 1024;
/// The size of the pieces in which a batch is uploaded.
const UPLOAD_PIECE_BYTES: usize = 256 * 1024;

#[derive(Clone, Debug)]
pub struct Service {
    transport: Arc<Transport>,
}

/// The body of a request.
pub(super) enum Content<'a> {
    None,
    Json(&'a Value),
    /// An upload: bytes before the content, the content, and bytes after it.
    Upload {
        media_type: &'a str,
        before: Vec<u8>,
        content: &'a dyn BatchContent,
        after: Vec<u8>,
    },
}

/// Whether a request has the headers of the endpoint, among them the key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Authorisation {
    Key,
    Url,
}

impl Service {
    pub(super) fn new(transport: Arc<Transport>) -> Self {
        Self { transport }
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        self.transport.endpoint()
    }

    pub(super) fn protocol(&self) -> &'static dyn WireProtocol {
        self.endpoint().protocol
    }

    pub(super) fn errors(&self) -> &ErrorBuilder {
        self.transport.error_builder()
    }

    /// Returns the base URL without a slash at its end.
    pub(super) fn base_url(&self) -> &str {
        self.endpoint().base_url.trim_end_matches('/')
    }

    /// Returns the error of a response that violates the API.
    pub(super) fn protocol_error(&self, detail: &str) -> BatchError {
        let error = ResponseError::Protocol(detail.to_owned());
        self.errors().invalid_response(error, ResponseHead::default()).into()
    }

    /// Returns the id in a document of the service.
    pub(super) fn batch_id(&self, document: &Value, key: &str) -> Result<BatchId, BatchError> {
        let id = document.get(key).and_then(Value::as_str).and_then(BatchId::new);
        id.ok_or_else(|| self.protocol_error("the batch has no valid id"))
    }

    /// Sends `GET url` and returns the response, whose status is success.
    pub(super) async fn get(&self, url: &str) -> Result<Response, BatchError> {
        self.send(Method::GET, url, &[], Content::None, Authorisation::Key).await
    }

    /// Sends `GET url` and returns the document.
    pub(super) async fn get_json(&self, url: &str) -> Result<Value, BatchError> {
        let response = self.get(url).await?;
        self.read_json(response).await
    }

    /// Sends `POST url` and returns the document.
    pub(super) async fn post_json(&self, url: &str, content: Content<'_>) -> Result<Value, BatchError> {
        let response = self.send(Method::POST, url, &[], content, Authorisation::Key).await?;
        self.read_json(response).await
    }

    /// Reads the next bytes of a response; `None` at its end.
    pub(super) async fn next_chunk(&self, response: &mut Response) -> Result<Option<Bytes>, BatchError> {
        let idle = self.endpoint().timeouts.idle;
        match tokio::time::timeout(idle, response.chunk()).await {
            Ok(Ok(chunk)) => Ok(chunk),
            Ok(Err(_)) => {
                self.transport.drop_connection();
                Err(self.errors().invalid_response(ResponseError::Truncated, ResponseHead::default()).into())
            }
            Err(_) => {
                self.transport.drop_connection();
                Err(self.errors().stalled(idle, Retry::Fast, ResponseHead::default()).into())
            }
        }
    }

    /// Reads a response as a JSON document.
    pub(super) async fn read_json(&self, mut response: Response) -> Result<Value, BatchError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.next_chunk(&mut response).await? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > DOCUMENT_LIMIT_BYTES {
                return Err(self.protocol_error("the document is too long"));
            }
        }
        let not_json = |_| {
            let start = String::from_utf8_lossy(bytes.get(..200).unwrap_or(&bytes)).into_owned();
            self.protocol_error(&format!("the document is not JSON: {}", sanitize_message(&start)))
        };
        serde_json::from_slice(&bytes).map_err(not_json)
    }

    /// Sends a request and returns the response, whose status is success.
    pub(super) async fn send(
        &self,
        method: Method,
        url: &str,
        extra: &[(&'static str, String)],
        content: Content<'_>,
        authorisation: Authorisation,
    ) -> Result<Response, BatchError> {
        self.transport.load_key().await?;
        let key = self.transport.current_key();
        let mut headers = match authorisation {
            Authorisation::Key => self.transport.service_headers(method.as_str(), url)?,
            Authorisation::Url => HeaderMap::new(),
        };
        headers.remove(CONTENT_TYPE);
        let mut insert = |name: HeaderName, value: &str| {
            let value = HeaderValue::from_str(value)
                .map_err(|_| self.errors().invalid_configuration("a header has invalid characters"))?;
            headers.insert(name, value);
            Ok::<_, ProviderError>(())
        };
        for (name, value) in extra {
            insert(HeaderName::from_static(name), value)?;
        }
        let (body, upload) = match content {
            Content::None => (None, Duration::ZERO),
            Content::Json(value) => {
                insert(CONTENT_TYPE, "application/json")?;
                (Some(Body::from(value.to_string())), Duration::ZERO)
            }
            Content::Upload { media_type, before, content, after } => {
                let length = content.size() + before.len() as u64 + after.len() as u64;
                insert(CONTENT_TYPE, media_type)?;
                insert(CONTENT_LENGTH, &length.to_string())?;
                (Some(stream_body(before, content, after)?), upload_time_of(length))
            }
        };
        let invalid = |message: String| self.errors().invalid_configuration(&message);
        let client = self.transport.client().map_err(invalid)?;
        let mut request = client.request(method, url).headers(headers);
        if let Some(body) = body {
            request = request.body(body);
        }
        let limit = self.endpoint().timeouts.first_byte + upload;
        let response = match tokio::time::timeout(limit, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                self.transport.drop_connection();
                return Err(self.errors().not_connected(&error).into());
            }
            Err(_) => {
                self.transport.drop_connection();
                return Err(self.errors().stalled(limit, Retry::Fast, ResponseHead::default()).into());
            }
        };
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status == StatusCode::UNAUTHORIZED {
            self.transport.reload_key(key.as_ref()).await;
        }
        let text = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let head = read_head(status.as_u16(), text);
        let mut response = response;
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = self.next_chunk(&mut response).await {
            body.extend_from_slice(&chunk);
            if body.len() > DOCUMENT_LIMIT_BYTES {
                break;
            }
        }
        Err(self.errors().error_status(head, &String::from_utf8_lossy(&body)).into())
    }
}

/// Returns a body that reads its content in pieces.
fn stream_body(before: Vec<u8>, content: &dyn BatchContent, after: Vec<u8>) -> Result<Body, BatchError> {
    let reader = content.open()?;
    let mut reader = std::io::Cursor::new(before).chain(reader).chain(std::io::Cursor::new(after));
    let pieces = std::iter::from_fn(move || {
        let mut piece = Vec::with_capacity(UPLOAD_PIECE_BYTES);
        let limit = u64::try_from(UPLOAD_PIECE_BYTES).unwrap_or(u64::MAX);
        match reader.by_ref().take(limit).read_to_end(&mut piece) {
            Ok(0) => None,
            Ok(_) => Some(Ok(Bytes::from(piece))),
            Err(error) => Some(Err(error)),
        }
    });
    Ok(Body::wrap_stream(stream::iter(pieces)))
}
