//! The revisions of the protocol, and the parts that revision 2026-07-28 requires in every request and result.

use ibeam_json_rpc::{INVALID_PARAMS, RpcError};
use serde_json::{Map, Value, json};

/// The newest revision with sessions.
const SESSION_REVISION: &str = "2025-11-25";
/// The revisions with sessions. They do not differ in what this server uses.
pub(crate) const SESSION_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", SESSION_REVISION];
/// The revision without sessions.
pub(crate) const STATELESS_REVISION: &str = "2026-07-28";
/// The error code for HTTP headers that contradict the body.
pub(crate) const HEADER_MISMATCH: i64 = -32020;
/// The error code for a revision that this server does not support.
pub(crate) const UNSUPPORTED_REVISION: i64 = -32022;
/// The error code for an unknown resource in the revisions with sessions.
pub(crate) const RESOURCE_NOT_FOUND: i64 = -32002;

const REVISION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The time for which a client may use a list or a content again, in milliseconds: none, because a run changes it.
const RESULT_TTL_MS: u64 = 0;

/// The way in which a client uses a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    /// A session that begins with `initialize`.
    Session,
    /// Requests that each carry everything.
    Stateless,
}

/// Returns the revision of a session whose client requests `requested`.
pub(crate) fn negotiate(requested: Option<&str>) -> &'static str {
    let found = SESSION_REVISIONS.iter().find(|revision| Some(**revision) == requested);
    found.copied().unwrap_or(SESSION_REVISION)
}

/// Returns the revision that the metadata of a request names.
pub(crate) fn requested_revision(params: &Map<String, Value>) -> Option<&Value> {
    params.get("_meta").and_then(|meta| meta.get(REVISION_KEY))
}

/// Checks the metadata of a request without a session, and returns its revision.
///
/// # Errors
/// `INVALID_PARAMS` with the missing key.
pub(crate) fn check_metadata(params: &Map<String, Value>) -> Result<&str, RpcError> {
    let missing = |what: &str| RpcError::new(INVALID_PARAMS, format!("the request has no `{what}`"));
    let meta = params.get("_meta").and_then(Value::as_object).ok_or_else(|| missing("_meta"))?;
    let revision = meta.get(REVISION_KEY).and_then(Value::as_str);
    let revision = revision.ok_or_else(|| missing(&format!("_meta[\"{REVISION_KEY}\"]")))?;
    if !meta.get(CAPABILITIES_KEY).is_some_and(Value::is_object) {
        return Err(missing(&format!("_meta[\"{CAPABILITIES_KEY}\"]")));
    }
    Ok(revision)
}

/// Checks that a request without a session has a revision that this server supports.
///
/// # Errors
/// `UNSUPPORTED_REVISION`, which lists the supported revisions.
pub(crate) fn check_stateless_revision(revision: &str) -> Result<(), RpcError> {
    if revision == STATELESS_REVISION { Ok(()) } else { Err(unsupported_revision(revision)) }
}

/// Returns the error about a revision that this server does not support.
pub(crate) fn unsupported_revision(requested: &str) -> RpcError {
    RpcError {
        code: UNSUPPORTED_REVISION,
        message: format!("unsupported protocol version; use {STATELESS_REVISION}, or `initialize`"),
        data: Some(json!({ "supported": [STATELESS_REVISION], "requested": requested })),
    }
}

/// Adds to a result what revision 2026-07-28 requires. `is_cacheable` is whether it must say how long it may be kept.
pub(crate) fn complete_result(result: &mut Map<String, Value>, server: &Value, is_cacheable: bool) {
    result.insert("resultType".to_owned(), "complete".into());
    if is_cacheable {
        result.insert("ttlMs".to_owned(), RESULT_TTL_MS.into());
        result.insert("cacheScope".to_owned(), "private".into());
    }
    result.insert("_meta".to_owned(), json!({ SERVER_KEY: server }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(meta: Value, expect: Result<&str, &str>) {
        let params = json!({ "_meta": meta });
        let found = check_metadata(params.as_object().unwrap());
        assert_eq!(found.map_err(|error| error.message), expect.map_err(str::to_owned));
    }

    #[test]
    fn the_metadata_of_a_request_names_the_revision_and_the_capabilities() {
        check(json!({ REVISION_KEY: "2026-07-28", CAPABILITIES_KEY: {} }), Ok("2026-07-28"));
        check(json!(null), Err("the request has no `_meta`"));
        check(
            json!({ CAPABILITIES_KEY: {} }),
            Err("the request has no `_meta[\"io.modelcontextprotocol/protocolVersion\"]`"),
        );
        check(
            json!({ REVISION_KEY: "2026-07-28" }),
            Err("the request has no `_meta[\"io.modelcontextprotocol/clientCapabilities\"]`"),
        );
    }

    #[test]
    fn a_session_has_the_requested_revision_or_the_newest() {
        assert_eq!(negotiate(Some("2025-06-18")), "2025-06-18");
        assert_eq!(negotiate(Some("2026-07-28")), "2025-11-25");
        assert_eq!(negotiate(None), "2025-11-25");
    }
}
