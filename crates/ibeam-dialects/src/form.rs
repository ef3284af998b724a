//! What each dialect can say, as tables and pure functions: cards, ids, and what stands beside them.

use crate::dialect::Dialect;
use crate::difference::difference;
use crate::losses::How;
use crate::step::{Aside, Card, Kind};
use crate::{claude, codex, cursor, gemini, ids, opencode};

/// The card in contract 1. `cwd` is where the run works, for paths that have to be absolute.
pub(crate) fn to_ours(dialect: Dialect, kind: Kind, card: Card, cwd: &str) -> Card {
    match dialect {
        Dialect::Cursor => card,
        Dialect::Claude => claude::to_ours(kind, card, cwd),
        Dialect::Codex => codex::to_ours(kind, card, cwd),
        Dialect::Gemini => gemini::to_ours(kind, card, cwd),
        Dialect::Opencode => opencode::to_ours(kind, card, cwd),
    }
}

/// The card of contract 1 in a dialect. `base` is the directory in which relative paths begin, for paths that have to be
/// absolute; empty where it is not known.
pub(crate) fn from_ours(dialect: Dialect, kind: Kind, card: Card, base: &str) -> Card {
    match dialect {
        Dialect::Cursor => card,
        Dialect::Claude => claude::from_ours(kind, card),
        Dialect::Codex => codex::from_ours(kind, card, base),
        Dialect::Gemini => gemini::from_ours(kind, card),
        Dialect::Opencode => opencode::from_ours(kind, card),
    }
}

/// Tells what of a card of `from` does not come back when `to` says it.
///
/// Where the run works is known in the source, and in the target as far as that says it. `base` is as in `from_ours`.
pub(crate) fn losses_of(
    (from, to): (Dialect, Dialect),
    kind: Kind,
    card: &Card,
    (cwd, back_cwd, base): (&str, &str, &str),
    tell: &mut impl FnMut(&str, How),
) {
    let there = from_ours(to, kind, to_ours(from, kind, card.clone(), cwd), base);
    let back = from_ours(from, kind, to_ours(to, kind, there, back_cwd), "");
    difference(card, Some(&back), &mut String::new(), tell);
}

/// Tells what a call has when it begins and otherwise, or not at all, when it has ended; and the other way.
pub(crate) fn changes_of(dialect: Dialect, begun: &Card, ended: &Card, tell: &mut impl FnMut(&str, How)) {
    let results: &[&str] = match dialect {
        Dialect::Cursor => &["result"],
        Dialect::Claude => &["user/tool_result"],
        Dialect::Codex => &["aggregated_output", "exit_code", "status", "result", "error"],
        Dialect::Gemini => &["tool_result"],
        Dialect::Opencode => &[],
    };
    let mut tell = |path: &str, how| {
        let depth = if dialect == Dialect::Cursor { 2 } else { usize::from(dialect == Dialect::Codex) };
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
pub(crate) fn tool_of(dialect: Dialect, card: &Card) -> Option<&str> {
    match dialect {
        Dialect::Cursor => card.get("tool_call")?.as_object()?.keys().next().map(String::as_str),
        Dialect::Claude => card.pointer("/assistant~1tool_use/name")?.as_str(),
        Dialect::Codex => card.pointer("/item/type")?.as_str(),
        Dialect::Gemini => card.pointer("/tool_use/tool_name")?.as_str(),
        Dialect::Opencode => card.pointer("/tool_use.part/tool")?.as_str(),
    }
}

/// The id of a session as the dialect writes it.
pub(crate) fn session(dialect: Dialect, id: &str) -> String {
    match dialect {
        Dialect::Cursor => ids::uuid_of(id),
        Dialect::Opencode => ids::opencode_of(id),
        Dialect::Claude | Dialect::Codex | Dialect::Gemini => id.to_owned(),
    }
}

/// Where a dialect says what stands beside the cards; `None` where it does not.
pub(crate) fn place(dialect: Dialect, aside: Aside) -> Option<&'static str> {
    match dialect {
        Dialect::Cursor => cursor::place(aside),
        Dialect::Claude => claude::place(aside),
        Dialect::Codex => codex::place(aside),
        Dialect::Gemini => gemini::place(aside),
        Dialect::Opencode => opencode::place(aside),
    }
}

/// It has the text of the model in whole segments, not in pieces.
pub(crate) fn whole_texts(dialect: Dialect) -> bool {
    match dialect {
        Dialect::Claude | Dialect::Codex | Dialect::Opencode => true,
        Dialect::Cursor | Dialect::Gemini => false,
    }
}

/// It has one prompt, before anything else.
pub(crate) fn prompt_is_first(dialect: Dialect) -> bool {
    dialect == Dialect::Cursor
}

/// Where a dialect says the id of a call.
pub(crate) fn call_id_keys(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Cursor => &["tool_call.call_id"],
        Dialect::Claude => &["assistant/tool_use.id", "user/tool_result.tool_use_id"],
        Dialect::Codex => &["item.id"],
        Dialect::Gemini => &["tool_use.tool_id", "tool_result.tool_id"],
        Dialect::Opencode => &["tool_use.part.callID"],
    }
}

/// Calls of this tool have one id in a stream, that of the first.
pub(crate) fn shares_id(dialect: Dialect, card: &Card) -> bool {
    dialect == Dialect::Codex && tool_of(dialect, card) == Some("todo_list")
}

/// It says a call when that has ended, and not before.
pub(crate) fn says_ended_alone(dialect: Dialect, card: &Card) -> bool {
    dialect == Dialect::Opencode || shares_id(dialect, card)
}

/// Where a dialect says the id of the session.
pub(crate) fn session_key(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Cursor | Dialect::Claude => "session_id",
        Dialect::Codex => "thread.started.thread_id",
        Dialect::Gemini => "init.session_id",
        Dialect::Opencode => "sessionID",
    }
}
