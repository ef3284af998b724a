//! One line of `stream-json`: the table of contract section 3, a variant per row.

use ibeam_protocol::{CallId, ModelCallId, SessionId};
use serde::Serialize;

use super::{ErrorLine, InitExtras, LossyPath, RunSummary, ServerEntry, TokenUsage, ToolCallObject};

/// A line. Fields stand in the order of the wire.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Line<'a> {
    #[serde(rename = "system")]
    Init {
        subtype: Subtype,
        #[serde(rename = "apiKeySource")]
        api_key_source: &'static str,
        cwd: LossyPath<'a>,
        session_id: SessionId,
        /// The display name, not the id.
        model: &'a str,
        #[serde(rename = "permissionMode")]
        permission_mode: &'static str,
        tools: &'a [String],
        mcp_servers: Vec<ServerEntry<'a>>,
        ibeam: InitExtras<'a>,
    },
    User {
        message: Message<'a>,
        session_id: SessionId,
    },
    Assistant {
        message: Message<'a>,
        session_id: SessionId,
        timestamp_ms: u64,
    },
    ToolCall {
        subtype: Subtype,
        call_id: &'a CallId,
        tool_call: ToolCallObject<'a>,
        session_id: SessionId,
        model_call_id: &'a ModelCallId,
        timestamp_ms: u64,
    },
    Result {
        subtype: Subtype,
        duration_ms: u64,
        duration_api_ms: u64,
        is_error: bool,
        result: &'a str,
        session_id: SessionId,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<TokenUsage>,
        ibeam: RunSummary<'a>,
    },
    Error(ErrorLine<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Subtype {
    Init,
    Started,
    Completed,
    Success,
}

#[derive(Serialize)]
pub(crate) struct Message<'a> {
    pub(crate) role: Role,
    pub(crate) content: &'a [TextBlock<'a>],
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "text")]
pub(crate) struct TextBlock<'a> {
    pub(crate) text: &'a str,
}
