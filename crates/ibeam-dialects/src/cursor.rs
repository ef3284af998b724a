//! Contract 1, and what later releases of the original print. Its cards are the form in the middle.

mod decode;
mod encode;

pub(crate) use self::decode::Decoder;
pub(crate) use self::encode::Encoder;
use crate::step::Aside;

/// The calls whose `args` repeat the id of the call.
const WITH_CALL_ID: &[&str] =
    &["writeToolCall", "shellToolCall", "grepToolCall", "lsToolCall", "mcpToolCall"];

pub(crate) fn place(aside: Aside) -> Option<&'static str> {
    match aside {
        Aside::Prompt | Aside::Blocks => Some("user"),
        Aside::Thought => None,
        Aside::TextAt => Some("assistant.timestamp_ms"),
        // Contract 1 has none. Contract 2 has, and its decoder says so itself.
        Aside::TextAnswer => None,
        Aside::StartAt => Some("tool_call/started.timestamp_ms"),
        Aside::EndAt => Some("tool_call/completed.timestamp_ms"),
        Aside::CallAnswer => Some("tool_call.model_call_id"),
        Aside::Call => Some("tool_call"),
        Aside::Pieces => Some("assistant"),
    }
}
