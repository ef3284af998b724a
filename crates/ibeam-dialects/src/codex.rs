//! `codex exec --json`, as of Codex 0.169: what its cards mean in contract 1.
//!
//! A head has nothing but its thread, a call is `{"item": {type, …}}` without its id, an end `{"turn.completed": …}`,
//! `{"turn.failed": …}` or `{"error": …}`.

mod call;
mod decode;
mod encode;
mod ends;
mod lookup;

pub(crate) use self::decode::Decoder;
pub(crate) use self::encode::Encoder;
use crate::step::{Aside, Card, Kind};

pub(crate) fn place(aside: Aside) -> Option<&'static str> {
    match aside {
        Aside::Thought => Some("item/reasoning"),
        Aside::Call => Some("item"),
        Aside::Pieces => Some("item/agent_message"),
        Aside::Prompt
        | Aside::Blocks
        | Aside::TextAt
        | Aside::TextAnswer
        | Aside::StartAt
        | Aside::EndAt
        | Aside::CallAnswer => None,
    }
}

pub(crate) fn to_ours(kind: Kind, card: Card, cwd: &str) -> Card {
    match kind {
        Kind::Init => serde_json::json!({ "system/init": {} }),
        Kind::Call => call::to_ours(card, cwd),
        Kind::End => ends::to_ours(card),
    }
}

/// `base` is the directory in which relative paths begin; empty where it is not known.
pub(crate) fn from_ours(kind: Kind, card: Card, base: &str) -> Card {
    match kind {
        Kind::Init => serde_json::json!({}),
        Kind::Call => call::from_ours(card, base),
        Kind::End => ends::from_ours(card),
    }
}
