//! `claude -p --output-format stream-json --verbose`, as of Claude Code 2.1: what its cards mean in contract 1.
//!
//! A head is `{"system/init": …}`, a call `{"assistant/tool_use": {name, input}, "user/tool_result": {content, …}}`,
//! an end `{"result": …}`.

mod call;
mod decode;
mod encode;
mod ends;
mod result;

pub(crate) use self::decode::Decoder;
pub(crate) use self::encode::Encoder;
use crate::step::{Aside, Card, Kind};

/// The version whose forms are written.
pub const VERSION: &str = "2.1.0";

pub(crate) fn place(aside: Aside) -> Option<&'static str> {
    match aside {
        Aside::Prompt | Aside::Blocks => Some("user/text"),
        Aside::Thought => Some("assistant/thinking"),
        Aside::TextAt | Aside::StartAt => None,
        Aside::TextAnswer => Some("assistant/text.message.id"),
        Aside::EndAt => Some("user/tool_result.timestamp"),
        Aside::CallAnswer => Some("assistant/tool_use.message.id"),
        Aside::Call => Some("assistant/tool_use"),
        Aside::Pieces => Some("assistant/text"),
    }
}

pub(crate) fn to_ours(kind: Kind, card: Card, cwd: &str) -> Card {
    match kind {
        Kind::Init => ends::init_to_ours(card),
        Kind::Call => call::to_ours(card, cwd),
        Kind::End => ends::end_to_ours(card),
    }
}

pub(crate) fn from_ours(kind: Kind, card: Card) -> Card {
    match kind {
        Kind::Init => ends::init_from_ours(card),
        Kind::Call => call::from_ours(card),
        Kind::End => ends::end_from_ours(card),
    }
}
