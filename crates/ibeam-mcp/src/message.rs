//! The messages of JSON-RPC 2.0, as far as MCP uses them.

use ibeam_protocol::elide_end;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Maximum number of characters of a server's text that a message of ibeam quotes.
pub(crate) const MAX_QUOTED_CHARS: usize = 400;
/// The error code for a method that does not exist or is not available.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

/// A request; without `id`, a notification.
#[derive(Serialize)]
pub(crate) struct OutgoingMessage<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    params: P,
}

impl<'a, P: Serialize> OutgoingMessage<'a, P> {
    pub(crate) fn request(id: u64, method: &'a str, params: P) -> Self {
        Self { jsonrpc: "2.0", id: Some(id), method, params }
    }

    pub(crate) fn notification(method: &'a str, params: P) -> Self {
        Self { jsonrpc: "2.0", id: None, method, params }
    }
}

/// A message of a server.
#[derive(Debug)]
pub(crate) enum IncomingMessage {
    /// The response to a request of the client.
    Response {
        /// The id of the request.
        id: u64,
        /// The result as unparsed JSON, or the error.
        result: Result<Box<RawValue>, RpcError>,
    },
    /// A request of the server.
    Request {
        /// The id for the reply.
        id: Value,
        /// The method.
        method: String,
    },
    /// A notification of the server.
    Notification,
}

/// The `error` of a response.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RpcError {
    #[serde(default)]
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
}

#[derive(Deserialize)]
struct RawMessage {
    id: Option<Value>,
    method: Option<String>,
    result: Option<Box<RawValue>>,
    error: Option<RpcError>,
}

/// Returns the messages of a line: one, or several in a batch, which revision 2025-03-26 allows. `None` if the line is
/// not a message.
pub(crate) fn parse_line(line: &[u8]) -> Option<Vec<IncomingMessage>> {
    let messages: Vec<RawMessage> = match line.iter().find(|byte| !byte.is_ascii_whitespace())? {
        b'[' => serde_json::from_slice(line).ok()?,
        _ => vec![serde_json::from_slice(line).ok()?],
    };
    messages.into_iter().map(classify).collect()
}

fn classify(RawMessage { id, method, result, error }: RawMessage) -> Option<IncomingMessage> {
    match (id, method) {
        (Some(id), Some(method)) => Some(IncomingMessage::Request { id, method }),
        (None, Some(_)) => Some(IncomingMessage::Notification),
        (Some(id), None) => {
            // Some servers return the id as text.
            let id = id.as_u64().or_else(|| id.as_str()?.parse().ok())?;
            let result = match error {
                Some(RpcError { code, message }) => {
                    Err(RpcError { code, message: elide_end(&message, MAX_QUOTED_CHARS) })
                }
                None => Ok(result.or_else(|| RawValue::from_string("null".to_owned()).ok())?),
            };
            Some(IncomingMessage::Response { id, result })
        }
        // An error without an id is about a line that the server could not parse.
        (None, None) => error.map(|_| IncomingMessage::Notification),
    }
}

/// Returns the reply to a request of the server. Only `ping` is supported.
pub(crate) fn reply(id: &Value, method: &str) -> Value {
    match method {
        "ping" => serde_json::json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
        _ => {
            let message = format!("the client has no method `{}`", elide_end(method, MAX_QUOTED_CHARS));
            let error = serde_json::json!({ "code": METHOD_NOT_FOUND, "message": message });
            serde_json::json!({ "jsonrpc": "2.0", "id": id, "error": error })
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(line: &str, expect: &str) {
        assert_eq!(format!("{:?}", parse_line(line.as_bytes())), expect, "{line}");
    }

    #[test]
    fn a_response_has_the_id_as_number_or_text() {
        let expect = "Some([Response { id: 7, result: Ok(RawValue({\"a\":1})) }])";
        check(r#"{"jsonrpc":"2.0","id":7,"result":{"a":1}}"#, expect);
        check(r#"{"jsonrpc":"2.0","id":"7","result":{"a":1}}"#, expect);
        check(
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}"#,
            r#"Some([Response { id: 7, result: Err(RpcError { code: -32601, message: "no" }) }])"#,
        );
        check(r#"{"id":7}"#, "Some([Response { id: 7, result: Ok(RawValue(null)) }])");
    }

    #[test]
    fn requests_notifications_and_batches_are_distinguished() {
        check(r#"{"id":"x","method":"ping"}"#, r#"Some([Request { id: String("x"), method: "ping" }])"#);
        check(r#"{"method":"notifications/message","params":{}}"#, "Some([Notification])");
        check(r#" [{"method":"a"},{"method":"b"}]"#, "Some([Notification, Notification])");
    }

    #[test]
    fn an_invalid_line_has_no_messages() {
        for line in
            ["", "y", "{}", "Server started", "[1]", r#"{"id":"seven","result":1}"#, "{\"id\":1", "\u{1}"]
        {
            check(line, "None");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_parsed(line in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_line(&line);
        }

        #[test]
        fn a_response_has_the_id_of_its_request(id: u64, text in ".*") {
            let line = serde_json::json!({ "jsonrpc": "2.0", "id": id, "result": text }).to_string();
            let messages = parse_line(line.as_bytes());
            let has_id =
                matches!(messages.as_deref(), Some([IncomingMessage::Response { id: parsed, .. }]) if *parsed == id);
            prop_assert!(has_id);
        }
    }
}
