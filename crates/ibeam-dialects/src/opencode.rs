//! `opencode run --format json`: what its cards mean in contract 1.
//!
//! There is no head. A call is `{"tool_use.part": {tool, state}}`, told once it has ended; an end `{"step_finish.part":
//! {reason, cost, tokens}, "step_finish": steps}`, put together of all steps, or `{"error": {error}}`.

mod call;
mod decode;
mod encode;
mod ends;

pub(crate) use self::decode::Decoder;
pub(crate) use self::encode::Encoder;
use crate::step::{Aside, Card, Kind};

pub(crate) fn place(aside: Aside) -> Option<&'static str> {
    match aside {
        Aside::Thought => Some("reasoning"),
        Aside::TextAt => Some("text.timestamp"),
        Aside::TextAnswer => Some("text.part.messageID"),
        Aside::StartAt => Some("tool_use.part.state.time.start"),
        Aside::EndAt => Some("tool_use.part.state.time.end"),
        Aside::CallAnswer => Some("tool_use.part.messageID"),
        Aside::Call => Some("tool_use"),
        Aside::Pieces => Some("text"),
        Aside::Prompt | Aside::Blocks => None,
    }
}

pub(crate) fn to_ours(kind: Kind, card: Card, cwd: &str) -> Card {
    match kind {
        Kind::Init => serde_json::json!({ "system/init": {} }),
        Kind::Call => call::to_ours(card, cwd),
        Kind::End => ends::to_ours(&card),
    }
}

pub(crate) fn from_ours(kind: Kind, card: Card) -> Card {
    match kind {
        Kind::Init => serde_json::json!({}),
        Kind::Call => call::from_ours(card),
        Kind::End => ends::from_ours(&card),
    }
}
