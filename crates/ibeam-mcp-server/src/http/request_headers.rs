//! The headers in which revision 2026-07-28 repeats parts of the body. They must not contradict it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderMap, HeaderName};
use ibeam_json_rpc::RpcError;
use serde_json::{Map, Value};

use super::header;
use crate::revision::HEADER_MISMATCH;

pub(super) const REVISION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");

/// Checks the header with the revision.
///
/// # Errors
/// `HEADER_MISMATCH`.
pub(super) fn check_revision(headers: &HeaderMap, revision: &str) -> Result<(), RpcError> {
    expect(headers, &REVISION_HEADER, "MCP-Protocol-Version", revision)
}

/// Checks the headers with the method and with the name of a tool or resource.
///
/// # Errors
/// `HEADER_MISMATCH`.
pub(super) fn check_method(
    headers: &HeaderMap,
    method: &str,
    params: &Map<String, Value>,
) -> Result<(), RpcError> {
    expect(headers, &METHOD_HEADER, "Mcp-Method", method)?;
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return Ok(()),
    };
    match params.get(key).and_then(Value::as_str) {
        Some(name) => expect(headers, &NAME_HEADER, "Mcp-Name", name),
        None => Ok(()),
    }
}

fn expect(headers: &HeaderMap, name: &HeaderName, label: &str, expect: &str) -> Result<(), RpcError> {
    let value = header(headers, name).map(decode);
    if value.as_deref() == Some(expect) {
        return Ok(());
    }
    let problem = if value.is_none() { "is missing" } else { "differs from the body" };
    Err(RpcError::new(HEADER_MISMATCH, format!("the header `{label}` {problem}")))
}

/// Returns the value of a header. One that is not plain ASCII is written as `=?base64?…?=`.
fn decode(value: &str) -> String {
    let encoded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let decoded = encoded.and_then(|encoded| STANDARD.decode(encoded).ok());
    decoded.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(method: &'static str, name: Option<&'static str>, expect: Result<(), &str>) {
        let mut headers = HeaderMap::new();
        headers.insert(METHOD_HEADER, HeaderValue::from_static(method));
        if let Some(name) = name {
            headers.insert(NAME_HEADER, HeaderValue::from_static(name));
        }
        let params = json!({ "name": "run" });
        let found = check_method(&headers, "tools/call", params.as_object().unwrap());
        assert_eq!(found.map_err(|error| error.message), expect.map_err(str::to_owned));
    }

    #[test]
    fn headers_repeat_the_body() {
        check("tools/call", Some("run"), Ok(()));
        check("tools/call", Some("  run  "), Ok(()));
        check("tools/call", Some("=?base64?cnVu?="), Ok(()));
        check("TOOLS/CALL", Some("run"), Err("the header `Mcp-Method` differs from the body"));
        check("tools/call", Some("other"), Err("the header `Mcp-Name` differs from the body"));
        check("tools/call", None, Err("the header `Mcp-Name` is missing"));
    }
}
