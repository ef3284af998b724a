//! The messages of JSON-RPC 2.0.

use ibeam_protocol::elide_end;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Number, Value};

/// Maximum number of characters of the other program's text that a message of ibeam quotes.
pub const MAX_QUOTED_CHARS: usize = 400;

/// The error code for a line that is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The error code for JSON that is not a request, and for a request that the state does not allow.
pub const INVALID_REQUEST: i64 = -32600;
/// The error code for a method that does not exist or is not available.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The error code for parameters of a wrong shape or value.
pub const INVALID_PARAMS: i64 = -32602;
/// The error code for a failure of the program that answers.
pub const INTERNAL_ERROR: i64 = -32603;

/// The id of a request, chosen by the program that sends it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    Number(Number),
    Text(String),
    /// `null`, which the specification discourages.
    Null,
}

/// A request; without `id`, a notification.
#[derive(Debug, Serialize)]
pub struct OutgoingMessage<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    params: P,
}

impl<'a, P: Serialize> OutgoingMessage<'a, P> {
    /// Returns the request `id`.
    pub fn request(id: u64, method: &'a str, params: P) -> Self {
        Self { jsonrpc: "2.0", id: Some(id), method, params }
    }

    pub fn notification(method: &'a str, params: P) -> Self {
        Self { jsonrpc: "2.0", id: None, method, params }
    }
}

/// The response to a request of the other program.
#[derive(Debug, Serialize)]
pub struct OutgoingResponse<'a, R> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    #[serde(flatten)]
    answer: Answer<R>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer<R> {
    Result(R),
    Error(RpcError),
}

impl<'a, R: Serialize> OutgoingResponse<'a, R> {
    /// Returns the response to the request `id`.
    pub fn new(id: &'a RequestId, result: Result<R, RpcError>) -> Self {
        let answer = result.map_or_else(Answer::Error, Answer::Result);
        Self { jsonrpc: "2.0", id, answer }
    }
}

/// A message of the other program.
#[derive(Debug)]
pub enum IncomingMessage {
    /// The response to a request of this program.
    Response {
        id: u64,
        /// The result as unparsed JSON, or the error.
        result: Result<Box<RawValue>, RpcError>,
    },
    Request(Request),
    Notification(Notification),
    /// The error of a line that the other program could not parse, so that it has no id.
    ErrorWithoutId(RpcError),
}

/// A request of the other program.
#[derive(Debug)]
pub struct Request {
    /// The id for the response.
    pub id: RequestId,
    pub method: String,
    /// The parameters as unparsed JSON.
    pub params: Option<Box<RawValue>>,
}

/// A notification of the other program.
#[derive(Debug)]
pub struct Notification {
    pub method: String,
    /// The parameters as unparsed JSON.
    pub params: Option<Box<RawValue>>,
}

impl Request {
    /// Returns the parsed parameters.
    ///
    /// # Errors
    /// `INVALID_PARAMS` with the reason.
    pub fn parse_params<T: DeserializeOwned>(&self) -> Result<T, RpcError> {
        parse_params(&self.method, self.params.as_deref())
    }
}

impl Notification {
    /// Returns the parsed parameters.
    ///
    /// # Errors
    /// `INVALID_PARAMS` with the reason.
    pub fn parse_params<T: DeserializeOwned>(&self) -> Result<T, RpcError> {
        parse_params(&self.method, self.params.as_deref())
    }
}

/// Returns the parsed parameters of `method`. Absent parameters are those of an empty object.
fn parse_params<T: DeserializeOwned>(method: &str, params: Option<&RawValue>) -> Result<T, RpcError> {
    serde_json::from_str(params.map_or("{}", RawValue::get)).map_err(|error| {
        let detail = elide_end(&error.to_string(), MAX_QUOTED_CHARS);
        RpcError::new(INVALID_PARAMS, format!("the parameters of `{method}` are not valid: {detail}"))
    })
}

/// The `error` of a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RpcError {
    /// The code, one of the constants of this crate or of the protocol that is spoken.
    #[serde(default)]
    pub code: i64,
    /// The message for people.
    #[serde(default)]
    pub message: String,
    /// Details for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// Returns an error without details.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Returns the error for a method that does not exist; `program` names the program that lacks it.
    pub fn method_not_found(program: &str, method: &str) -> Self {
        let method = elide_end(method, MAX_QUOTED_CHARS);
        Self::new(METHOD_NOT_FOUND, format!("the {program} has no method `{method}`"))
    }
}

/// The reason why a line has no messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidMessage {
    /// The line is not JSON.
    NotJson,
    /// The JSON is not a message.
    NotMessage,
}

impl From<InvalidMessage> for RpcError {
    fn from(problem: InvalidMessage) -> Self {
        match problem {
            InvalidMessage::NotJson => Self::new(PARSE_ERROR, "the message is not valid JSON"),
            InvalidMessage::NotMessage => {
                Self::new(INVALID_REQUEST, "the message is not one of JSON-RPC 2.0")
            }
        }
    }
}

#[derive(Deserialize)]
struct RawMessage {
    #[serde(default, deserialize_with = "present")]
    id: Option<RequestId>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    error: Option<RpcError>,
}

/// Distinguishes an id that is `null` from one that is absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RequestId>, D::Error> {
    RequestId::deserialize(deserializer).map(Some)
}

/// Returns the messages of a line: one, or several in a batch.
///
/// # Errors
/// The reason why the line is not a message.
pub fn parse_line(line: &[u8]) -> Result<Vec<IncomingMessage>, InvalidMessage> {
    let invalid = |error: serde_json::Error| match error.classify() {
        serde_json::error::Category::Data => InvalidMessage::NotMessage,
        serde_json::error::Category::Io
        | serde_json::error::Category::Syntax
        | serde_json::error::Category::Eof => InvalidMessage::NotJson,
    };
    let messages: Vec<RawMessage> = match line.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'[') => serde_json::from_slice(line).map_err(invalid)?,
        Some(_) => vec![serde_json::from_slice(line).map_err(invalid)?],
        None => return Err(InvalidMessage::NotJson),
    };
    let messages: Option<Vec<_>> = messages.into_iter().map(classify).collect();
    messages.filter(|messages| !messages.is_empty()).ok_or(InvalidMessage::NotMessage)
}

fn classify(RawMessage { id, method, params, result, error }: RawMessage) -> Option<IncomingMessage> {
    let error = error.map(|error| RpcError { message: elide_end(&error.message, MAX_QUOTED_CHARS), ..error });
    match (id, method, error) {
        (Some(id), Some(method), _) => Some(IncomingMessage::Request(Request { id, method, params })),
        (None, Some(method), _) => Some(IncomingMessage::Notification(Notification { method, params })),
        (None | Some(RequestId::Null), None, error) => error.map(IncomingMessage::ErrorWithoutId),
        (Some(id), None, error) => {
            let id = match id {
                RequestId::Number(number) => number.as_u64()?,
                // Some programs return the id as text.
                RequestId::Text(text) => text.parse().ok()?,
                RequestId::Null => return None,
            };
            let result = match error {
                Some(error) => Err(error),
                None => Ok(result.or_else(|| RawValue::from_string("null".to_owned()).ok())?),
            };
            Some(IncomingMessage::Response { id, result })
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
        let expect = "Ok([Response { id: 7, result: Ok(RawValue({\"a\":1})) }])";
        check(r#"{"jsonrpc":"2.0","id":7,"result":{"a":1}}"#, expect);
        check(r#"{"jsonrpc":"2.0","id":"7","result":{"a":1}}"#, expect);
        check(
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}"#,
            r#"Ok([Response { id: 7, result: Err(RpcError { code: -32601, message: "no", data: None }) }])"#,
        );
        check(r#"{"id":7}"#, "Ok([Response { id: 7, result: Ok(RawValue(null)) }])");
    }

    #[test]
    fn requests_notifications_and_batches_are_distinguished() {
        let request = r#"Request(Request { id: Text("x"), method: "ping", params: None })"#;
        check(r#"{"id":"x","method":"ping"}"#, &format!("Ok([{request}])"));
        let request = r#"Request(Request { id: Null, method: "ping", params: None })"#;
        check(r#"{"id":null,"method":"ping"}"#, &format!("Ok([{request}])"));
        let notification =
            |params| format!("Notification(Notification {{ method: \"a\", params: {params} }})");
        check(r#"{"method":"a","params":{}}"#, &format!("Ok([{}])", notification("Some(RawValue({}))")));
        let both = format!("Ok([{0}, {0}])", notification("None"));
        check(r#" [{"method":"a"},{"method":"a"}]"#, &both);
        let error = r#"ErrorWithoutId(RpcError { code: -32700, message: "", data: None })"#;
        check(r#"{"id":null,"error":{"code":-32700}}"#, &format!("Ok([{error}])"));
    }

    #[test]
    fn an_invalid_line_has_no_messages() {
        for line in ["", " ", "y", "Server started", "{\"id\":1", "\u{1}"] {
            check(line, "Err(NotJson)");
        }
        for line in ["{}", "[1]", "[]", "1", r#"{"id":"seven","result":1}"#, r#"{"id":{},"method":"a"}"#] {
            check(line, "Err(NotMessage)");
        }
    }

    #[test]
    fn a_response_is_written_with_a_result_or_an_error() {
        let line = |result: Result<u8, RpcError>| {
            serde_json::to_string(&OutgoingResponse::new(&RequestId::Text("a".to_owned()), result)).unwrap()
        };
        assert_eq!(line(Ok(1)), r#"{"jsonrpc":"2.0","id":"a","result":1}"#);
        let error = RpcError::method_not_found("client", "b");
        let expect = r#"{"code":-32601,"message":"the client has no method `b`"}"#;
        assert_eq!(line(Err(error)), format!(r#"{{"jsonrpc":"2.0","id":"a","error":{expect}}}"#));
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
                matches!(messages.as_deref(), Ok([IncomingMessage::Response { id: parsed, .. }]) if *parsed == id);
            prop_assert!(has_id);
        }
    }
}
