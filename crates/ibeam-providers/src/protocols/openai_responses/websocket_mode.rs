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

/// The last field of a body, with the start of its list.
const INPUT_FIELD: &[u8] = b"\"input\":[";

/// The code of the error with which the service ends a connection after 60 minutes.
const CONNECTION_LIMIT: &str = "websocket_connection_limit_reached";

/// The WebSocket mode of Responses.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResponsesOverWebSocket;

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
    fn write_message(&self, body: &[u8]) -> Vec<u8> {
        let mut message = br#"{"type":"response.create","#.to_vec();
        push_fields(body, &mut message);
        message
    }

    fn write_continuation(&self, body: &[u8], response_id: &str, messages: &[u8]) -> Vec<u8> {
        // The input of the body may have the system prompt, which the service has too. Its text cannot contain the
        // field, because its quotes are escaped.
        let input = memmem::rfind(body, INPUT_FIELD).map_or(body.len(), |start| start + INPUT_FIELD.len());
        let mut message = br#"{"type":"response.create","previous_response_id":"#.to_vec();
        message.extend_from_slice(Value::from(response_id).to_string().as_bytes());
        message.push(b',');
        push_fields(body.get(..input).unwrap_or(body), &mut message);
        message.extend_from_slice(messages.strip_prefix(b"[").unwrap_or(messages));
        message.push(b'}');
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

/// Appends the fields of a body, up to its end.
fn push_fields(body: &[u8], message: &mut Vec<u8>) {
    let fields = body.strip_prefix(b"{").unwrap_or(body);
    message.reserve(fields.len());
    match memmem::find(fields, STREAM_FIELD).and_then(|start| fields.split_at_checked(start)) {
        Some((before, after)) => {
            message.extend_from_slice(before);
            message.extend_from_slice(after.strip_prefix(STREAM_FIELD).unwrap_or(after));
        }
        None => message.extend_from_slice(fields),
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
        let body =
            br#"{"model":"m","stream":true,"store":false,"tools":[{"stream":true,"a":1}],"input":[{"b":1}]}"#;
        let message = String::from_utf8(MODE.write_message(body)).unwrap();
        let rest = r#""model":"m","store":false,"tools":[{"stream":true,"a":1}],"input":[{"b":1}]}"#;
        assert_eq!(message, format!(r#"{{"type":"response.create",{rest}"#));
    }

    #[test]
    fn a_continuation_has_only_the_new_messages() {
        let tools = r#""tools":[{"input":["x"]}]"#;
        for input in ["", r#"{"role":"developer","content":"\"input\":["}"#] {
            let body = format!(r#"{{"model":"m","stream":true,{tools},"input":[{input}]}}"#);
            let message = MODE.write_continuation(body.as_bytes(), "resp_\"1", br#"[{"new":1}]"#);
            let start = r#"{"type":"response.create","previous_response_id":"resp_\"1","model":"m","#;
            assert_eq!(
                String::from_utf8(message).unwrap(),
                format!(r#"{start}{tools},"input":[{{"new":1}}]}}"#)
            );
        }
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
