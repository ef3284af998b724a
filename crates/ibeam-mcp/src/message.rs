//! JSON-RPC 2.0, as MCP uses it: what goes out, what comes in.

use ibeam_protocol::elide_end;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Maximum number of characters of a server's text that a message of ibeam quotes.
pub(crate) const MAX_QUOTED_CHARS: usize = 400;
/// "The method does not exist or is not available."
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

/// A request, or without `id` a notification.
#[derive(Serialize)]
pub(crate) struct Outgoing<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    params: P,
}

impl<'a, P: Serialize> Outgoing<'a, P> {
    pub(crate) fn request(id: u64, method: &'a str, params: P) -> Self {
        Self { jsonrpc: "2.0", id: Some(id), method, params }
    }

    pub(crate) fn notification(method: &'a str, params: P) -> Self {
        Self { jsonrpc: "2.0", id: None, method, params }
    }
}

/// What a server wrote.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// The answer to a request of ours.
    Response {
        /// Ours.
        id: u64,
        /// The result, not yet looked into, or the error.
        answer: Result<Box<RawValue>, RpcError>,
    },
    /// It wants something; `id` is to be echoed.
    Request {
        /// Theirs.
        id: Value,
        /// What they want.
        method: String,
    },
    /// It tells something.
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
struct Envelope {
    id: Option<Value>,
    method: Option<String>,
    result: Option<Box<RawValue>>,
    error: Option<RpcError>,
}

/// The messages of a line: one, or those of a batch, which revision 2025-03-26 has. `None` when it is no message.
pub(crate) fn parse(line: &[u8]) -> Option<Vec<Incoming>> {
    let envelopes: Vec<Envelope> = match line.iter().find(|byte| !byte.is_ascii_whitespace())? {
        b'[' => serde_json::from_slice(line).ok()?,
        _ => vec![serde_json::from_slice(line).ok()?],
    };
    envelopes.into_iter().map(incoming).collect()
}

fn incoming(Envelope { id, method, result, error }: Envelope) -> Option<Incoming> {
    match (id, method) {
        (Some(id), Some(method)) => Some(Incoming::Request { id, method }),
        (None, Some(_)) => Some(Incoming::Notification),
        (Some(id), None) => {
            // Some servers give our number back as text.
            let id = id.as_u64().or_else(|| id.as_str()?.parse().ok())?;
            let answer = match error {
                Some(RpcError { code, message }) => {
                    Err(RpcError { code, message: elide_end(&message, MAX_QUOTED_CHARS) })
                }
                None => Ok(result.or_else(|| RawValue::from_string("null".to_owned()).ok())?),
            };
            Some(Incoming::Response { id, answer })
        }
        // An error without an id is about a line that they could not read.
        (None, None) => error.map(|_| Incoming::Notification),
    }
}

/// The answer to a request of theirs: `ping` is the only one there is.
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
        assert_eq!(format!("{:?}", parse(line.as_bytes())), expect, "{line}");
    }

    #[test]
    fn a_response_has_our_id_as_number_or_text() {
        let expect = "Some([Response { id: 7, answer: Ok(RawValue({\"a\":1})) }])";
        check(r#"{"jsonrpc":"2.0","id":7,"result":{"a":1}}"#, expect);
        check(r#"{"jsonrpc":"2.0","id":"7","result":{"a":1}}"#, expect);
        check(
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}"#,
            r#"Some([Response { id: 7, answer: Err(RpcError { code: -32601, message: "no" }) }])"#,
        );
        check(r#"{"id":7}"#, "Some([Response { id: 7, answer: Ok(RawValue(null)) }])");
    }

    #[test]
    fn requests_notifications_and_batches_are_told_apart() {
        check(r#"{"id":"x","method":"ping"}"#, r#"Some([Request { id: String("x"), method: "ping" }])"#);
        check(r#"{"method":"notifications/message","params":{}}"#, "Some([Notification])");
        check(r#" [{"method":"a"},{"method":"b"}]"#, "Some([Notification, Notification])");
    }

    #[test]
    fn what_is_no_message_is_none() {
        for line in
            ["", "y", "{}", "Server started", "[1]", r#"{"id":"seven","result":1}"#, "{\"id\":1", "\u{1}"]
        {
            check(line, "None");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_messages_or_none(line in prop::collection::vec(any::<u8>(), 0..200)) {
            let _total = parse(&line);
        }

        #[test]
        fn an_answer_to_our_number_is_always_found(id: u64, words in ".*") {
            let line = serde_json::json!({ "jsonrpc": "2.0", "id": id, "result": words }).to_string();
            let found = parse(line.as_bytes());
            let found = found.as_deref();
            let is_ours = matches!(found, Some([Incoming::Response { id: same, .. }]) if *same == id);
            prop_assert!(is_ours);
        }
    }
}
