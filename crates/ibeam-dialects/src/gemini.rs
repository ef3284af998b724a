//! `gemini --output-format stream-json`: what its cards mean in contract 1.
//!
//! A head is `{"init": {model}}`, a call `{"tool_use": {tool_name, parameters}, "tool_result": {status, output, error}}`,
//! an end `{"result": {status, stats, error}}`.

mod call;
mod decode;
mod encode;
mod ends;

pub(crate) use self::decode::Decoder;
pub(crate) use self::encode::Encoder;
use crate::step::{Aside, Card, Kind};

pub(crate) fn place(aside: Aside) -> Option<&'static str> {
    match aside {
        Aside::Prompt => Some("message/user"),
        Aside::TextAt => Some("message.timestamp"),
        Aside::StartAt => Some("tool_use.timestamp"),
        Aside::EndAt => Some("tool_result.timestamp"),
        Aside::Call => Some("tool_use"),
        Aside::Pieces => Some("message/assistant"),
        Aside::Blocks | Aside::Thought | Aside::TextAnswer | Aside::CallAnswer => None,
    }
}

pub(crate) fn to_ours(kind: Kind, card: Card, cwd: &str) -> Card {
    match kind {
        Kind::Init => ends::init_to_ours(card),
        Kind::Call => call::to_ours(card, cwd),
        Kind::End => ends::end_to_ours(&card),
    }
}

pub(crate) fn from_ours(kind: Kind, card: Card) -> Card {
    match kind {
        Kind::Init => ends::init_from_ours(card),
        Kind::Call => call::from_ours(card),
        Kind::End => ends::end_from_ours(&card),
    }
}
