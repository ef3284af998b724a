//! The WebSocket mode of Responses.
//!
//! Source: the guide "WebSocket mode" of OpenAI. Each request is a `response.create` message with the fields of the body
//! over HTTP, except `stream`. Events are those of the stream, and errors have the status that they have over HTTP.

use std::collections::BTreeMap;

use memchr::memmem;
use serde::Deserialize;
use serde_json::Value;

use crate::wire_protocol::{WebSocketError, WebSocketMode};

/// The field of a body that only HTTP has. In a string, its quotes would be escaped.
const STREAM_FIELD: &[u8] = b"\"stream\":true,";

/// The code of the error with which the service ends a connection after 60 minutes.
const CONNECTION_LIMIT: &str = "websocket_connection_limit_reached";

/// The WebSocket mode of Responses.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResponsesOverWebSocket;

/// A message with an error.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ErrorMessage {
    r#type: String,
    #[serde(alias = "status_code")]
    status: Option<u16>,
    error: Value,
    code: Value,
    headers: Option<BTreeMap<String, Value>>,
}

impl WebSocketMode for ResponsesOverWebSocket {
    fn write_message(&self, body: &[u8], previous_response_id: Option<&str>) -> Vec<u8> {
        let fields = body.strip_prefix(b"{").unwrap_or(body);
        let (before, after) = match memmem::find(fields, STREAM_FIELD) {
            Some(start) => (
                fields.get(..start).unwrap_or_default(),
                fields.get(start + STREAM_FIELD.len()..).unwrap_or_default(),
            ),
            None => (fields, &[][..]),
        };
        let mut message = Vec::with_capacity(body.len() + 128);
        message.extend_from_slice(br#"{"type":"response.create","#);
        if let Some(id) = previous_response_id {
            message.extend_from_slice(br#""previous_response_id":"#);
            message.extend_from_slice(Value::from(id).to_string().as_bytes());
            message.push(b',');
        }
        message.extend_from_slice(before);
        message.extend_from_slice(after);
        message
    }

    fn parse_error(&self, text: &str) -> Option<WebSocketError> {
        let message = parse(text)?;
        let headers = message.headers.unwrap_or_default().into_iter().map(|(name, value)| match value {
            Value::String(value) => (name, value),
            value => (name, value.to_string()),
        });
        let status = message.status.filter(|status| (400..600).contains(status));
        Some(WebSocketError { status, headers: headers.collect() })
    }

    fn is_connection_limit(&self, text: &str) -> bool {
        let is_code = |code: &Value| *code == CONNECTION_LIMIT;
        // Nearly every event has no such word, and needs no parsing.
        memmem::find(text.as_bytes(), CONNECTION_LIMIT.as_bytes()).is_some()
            && parse(text).is_some_and(|message| {
                is_code(&message.code) || message.error.get("code").is_some_and(is_code)
            })
    }
}

/// Parses a message with an error; `None` for any other message.
fn parse(text: &str) -> Option<ErrorMessage> {
    serde_json::from_str(text).ok().filter(|message: &ErrorMessage| message.r#type == "error")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODE: ResponsesOverWebSocket = ResponsesOverWebSocket;

    #[test]
    fn a_message_has_the_fields_of_the_body_except_stream() {
        let body = br#"{"model":"m","stream":true,"store":false,"tools":[{"stream":true,"a":1}],"input":[]}"#;
        let rest = r#""model":"m","store":false,"tools":[{"stream":true,"a":1}],"input":[]}"#;
        let message = |id| String::from_utf8(MODE.write_message(body, id)).unwrap();
        assert_eq!(message(None), format!(r#"{{"type":"response.create",{rest}"#));
        let id = r#""previous_response_id":"resp_\"1""#;
        assert_eq!(message(Some("resp_\"1")), format!(r#"{{"type":"response.create",{id},{rest}"#));
    }

    #[test]
    fn an_error_has_the_status_and_headers_of_http() {
        let error = MODE.parse_error(
            r#"{"type":"error","status":429,"error":{"code":"slow"},"headers":{"Retry-After":"7","n":1}}"#,
        );
        let headers = vec![("Retry-After".to_owned(), "7".to_owned()), ("n".to_owned(), "1".to_owned())];
        assert_eq!(error, Some(WebSocketError { status: Some(429), headers }));
        let without_status = WebSocketError { status: None, headers: Vec::new() };
        assert_eq!(MODE.parse_error(r#"{"type":"error","code":"x","message":"m"}"#), Some(without_status));
        assert_eq!(MODE.parse_error(r#"{"type":"response.created","response":{"error":null}}"#), None);
        assert_eq!(MODE.parse_error("no json"), None);
    }

    #[test]
    fn only_an_error_ends_the_connection() {
        for text in [
            r#"{"type":"error","status":400,"error":{"code":"websocket_connection_limit_reached"}}"#,
            r#"{"type":"error","code":"websocket_connection_limit_reached","message":"60 minutes"}"#,
        ] {
            assert!(MODE.is_connection_limit(text), "{text}");
        }
        for text in [
            r#"{"type":"response.output_text.delta","delta":"websocket_connection_limit_reached"}"#,
            r#"{"type":"error","error":{"code":"x","message":"not websocket_connection_limit_reached"}}"#,
        ] {
            assert!(!MODE.is_connection_limit(text), "{text}");
        }
    }
}
