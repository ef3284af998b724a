//! What each dialect can say, as tables and pure functions: cards, ids, and what stands beside them.

use crate::dialect::DialectName;
use crate::difference::difference;
use crate::losses::LossKind;
use crate::step::{Aside, Card, Kind};
use crate::{claude, codex, cursor, gemini, ids, opencode};

/// The card in contract 1. `cwd` is where the run works, for paths that have to be absolute.
pub(crate) fn to_ours(dialect: DialectName, kind: Kind, card: Card, cwd: &str) -> Card {
    match dialect {
        DialectName::Cursor => card,
        DialectName::Claude => claude::to_ours(kind, card, cwd),
        DialectName::Codex => codex::to_ours(kind, card, cwd),
        DialectName::Gemini => gemini::to_ours(kind, card, cwd),
        DialectName::Opencode => opencode::to_ours(kind, card, cwd),
    }
}

/// The card of contract 1 in a dialect. `base` is the directory in which relative paths begin, for paths that have to be
/// absolute; empty where it is not known.
pub(crate) fn from_ours(dialect: DialectName, kind: Kind, card: Card, base: &str) -> Card {
    match dialect {
        DialectName::Cursor => card,
        DialectName::Claude => claude::from_ours(kind, card),
        DialectName::Codex => codex::from_ours(kind, card, base),
        DialectName::Gemini => gemini::from_ours(kind, card),
        DialectName::Opencode => opencode::from_ours(kind, card),
    }
}

/// Tells what of a card of `from` does not come back when `to` says it.
///
/// Where the run works is known in the source, and in the target as far as that says it. `base` is as in `from_ours`.
pub(crate) fn losses_of(
    (from, to): (DialectName, DialectName),
    kind: Kind,
    card: &Card,
    (cwd, back_cwd, base): (&str, &str, &str),
    tell: &mut impl FnMut(&str, LossKind),
) {
    let there = from_ours(to, kind, to_ours(from, kind, card.clone(), cwd), base);
    let back = from_ours(from, kind, to_ours(to, kind, there, back_cwd), "");
    difference(card, Some(&back), &mut String::new(), tell);
}

/// Tells what a call has when it begins and otherwise, or not at all, when it has ended; and the other way.
pub(crate) fn changes_of(
    dialect: DialectName,
    begun: &Card,
    ended: &Card,
    tell: &mut impl FnMut(&str, LossKind),
) {
    let results: &[&str] = match dialect {
        DialectName::Cursor => &["result"],
        DialectName::Claude => &["user/tool_result"],
        DialectName::Codex => &["aggregated_output", "exit_code", "status", "result", "error"],
        DialectName::Gemini => &["tool_result"],
        DialectName::Opencode => &[],
    };
    let mut tell = |path: &str, how| {
        let depth =
            if dialect == DialectName::Cursor { 2 } else { usize::from(dialect == DialectName::Codex) };
        let key = path.split('.').nth(depth).unwrap_or_default();
        if !results.iter().any(|result| key == *result || depth == 0 && path.starts_with(result)) {
            tell(path, how);
        }
    };
    difference(begun, Some(ended), &mut String::new(), &mut tell);
    difference(ended, Some(begun), &mut String::new(), &mut tell);
}

/// Where the run works, as contract 1 says it in a head.
pub(crate) fn cwd_of(ours: &Card) -> &str {
    known_cwd_of(ours).unwrap_or("/")
}

/// Returns the directory in which the run works, where a head says it.
pub(crate) fn known_cwd_of(ours: &Card) -> Option<&str> {
    let cwd = ours.pointer("/system~1init/cwd").and_then(serde_json::Value::as_str);
    cwd.filter(|cwd| cwd.starts_with('/'))
}

/// The tool of a call, by its name in the dialect.
pub(crate) fn tool_of(dialect: DialectName, card: &Card) -> Option<&str> {
    match dialect {
        DialectName::Cursor => card.get("tool_call")?.as_object()?.keys().next().map(String::as_str),
        DialectName::Claude => card.pointer("/assistant~1tool_use/name")?.as_str(),
        DialectName::Codex => card.pointer("/item/type")?.as_str(),
        DialectName::Gemini => card.pointer("/tool_use/tool_name")?.as_str(),
        DialectName::Opencode => card.pointer("/tool_use.part/tool")?.as_str(),
    }
}

/// The id of a session as the dialect writes it.
pub(crate) fn session(dialect: DialectName, id: &str) -> String {
    match dialect {
        DialectName::Cursor => ids::uuid_of(id),
        DialectName::Opencode => ids::opencode_of(id),
        DialectName::Claude | DialectName::Codex | DialectName::Gemini => id.to_owned(),
    }
}

/// Where a dialect says what stands beside the cards; `None` where it does not.
pub(crate) fn place(dialect: DialectName, aside: Aside) -> Option<&'static str> {
    match dialect {
        DialectName::Cursor => cursor::place(aside),
        DialectName::Claude => claude::place(aside),
        DialectName::Codex => codex::place(aside),
        DialectName::Gemini => gemini::place(aside),
        DialectName::Opencode => opencode::place(aside),
    }
}

/// It has the text of the model in whole segments, not in pieces.
pub(crate) fn whole_texts(dialect: DialectName) -> bool {
    match dialect {
        DialectName::Claude | DialectName::Codex | DialectName::Opencode => true,
        DialectName::Cursor | DialectName::Gemini => false,
    }
}

/// It has one prompt, before anything else.
pub(crate) fn prompt_is_first(dialect: DialectName) -> bool {
    dialect == DialectName::Cursor
}

/// Where a dialect says the id of a call.
pub(crate) fn call_id_keys(dialect: DialectName) -> &'static [&'static str] {
    match dialect {
        DialectName::Cursor => &["tool_call.call_id"],
        DialectName::Claude => &["assistant/tool_use.id", "user/tool_result.tool_use_id"],
        DialectName::Codex => &["item.id"],
        DialectName::Gemini => &["tool_use.tool_id", "tool_result.tool_id"],
        DialectName::Opencode => &["tool_use.part.callID"],
    }
}

/// Calls of this tool have one id in a stream, that of the first.
pub(crate) fn shares_id(dialect: DialectName, card: &Card) -> bool {
    dialect == DialectName::Codex && tool_of(dialect, card) == Some("todo_list")
}

/// It says a call when that has ended, and not before.
pub(crate) fn says_ended_alone(dialect: DialectName, card: &Card) -> bool {
    dialect == DialectName::Opencode || shares_id(dialect, card)
}

/// Where a dialect says the id of the session.
pub(crate) fn session_key(dialect: DialectName) -> &'static str {
    match dialect {
        DialectName::Cursor | DialectName::Claude => "session_id",
        DialectName::Codex => "thread.started.thread_id",
        DialectName::Gemini => "init.session_id",
        DialectName::Opencode => "sessionID",
    }
}
