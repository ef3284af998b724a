//! The two lifecycles of the protocol: sessions that begin with `initialize` (up to revision 2025-11-25), and requests that
//! each carry everything (since revision 2026-07-28).

use serde_json::{Map, Value, json};

/// The revision with sessions that this client requests.
pub(crate) const SESSION_REVISION: &str = "2025-11-25";
/// The revisions with sessions that do not differ in what this client uses.
pub(crate) const SESSION_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", SESSION_REVISION];
/// The revision without sessions.
pub(crate) const STATELESS_REVISION: &str = "2026-07-28";
/// The error code for a revision that the server does not support.
pub(crate) const UNSUPPORTED_REVISION: i64 = -32022;

/// The revision that a connection may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RevisionChoice {
    /// The newest that the server supports.
    #[default]
    Auto,
    /// 2025-11-25, or an older one with sessions.
    Session,
    /// 2026-07-28.
    Stateless,
}

impl RevisionChoice {
    /// Returns the choice for a value of the configuration.
    pub fn parse(value: &str) -> Option<Self> {
        match value {
            "auto" => Some(Self::Auto),
            SESSION_REVISION => Some(Self::Session),
            STATELESS_REVISION => Some(Self::Stateless),
            _ => None,
        }
    }
}

/// Returns what this client offers to servers.
pub(crate) fn client_capabilities() -> Value {
    json!({ "elicitation": {} })
}

/// Returns the name and version of this client.
pub(crate) fn client_info() -> Value {
    json!({ "name": "ibeam", "version": env!("CARGO_PKG_VERSION") })
}

/// Adds to the parameters of a request what revision 2026-07-28 requires in every request.
pub(crate) fn add_request_metadata(params: &mut Value) {
    if !params.is_object() {
        *params = Value::Object(Map::new());
    }
    if let Some(params) = params.as_object_mut() {
        let metadata = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS_REVISION,
            "io.modelcontextprotocol/clientInfo": client_info(),
            "io.modelcontextprotocol/clientCapabilities": client_capabilities(),
        });
        params.insert("_meta".to_owned(), metadata);
    }
}
