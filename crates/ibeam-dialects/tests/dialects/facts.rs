//! The facts of a stream, and whether they return after a conversion there and back.

use ibeam_dialects::{DialectName, LossKind, Losses};
use serde_json::Value;

use crate::convert::converted;

/// A leaf of a line: the names that a loss of it may have, and its value.
#[derive(Clone, Debug)]
struct Fact {
    names: Vec<String>,
    value: Value,
}

/// Converts there and back. Checks that every fact that was not reported as lost returns, and the order of texts and calls.
#[track_caller]
pub(crate) fn comes_back(from: DialectName, to: DialectName, source: &str) {
    let (there, lost) = converted(from, to, source);
    let (back, _) = converted(to, from, &there);
    let mut known = facts(from, &back);
    for fact in facts(from, source) {
        if is_lost(&fact, &lost) {
            continue;
        }
        let found = known
            .iter()
            .position(|other| other.names[..2] == fact.names[..2] && same(&other.value, &fact.value));
        match found {
            Some(at) => drop(known.swap_remove(at)),
            None => {
                panic!("{from} → {to} loses {fact:?} without a report\n{source}\n{there}\n{back}\n{lost:#?}")
            }
        }
    }
    assert_eq!(
        outline(from, source, &lost),
        outline(from, &back, &lost),
        "{from} → {to}\n{source}\n{there}\n{back}"
    );
}

fn same(one: &Value, other: &Value) -> bool {
    one == other || (one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64()
}

fn is_lost(fact: &Fact, lost: &Losses) -> bool {
    lost.iter().any(|loss| fact.names.iter().any(|name| covers(&loss.key, name)))
}

fn covers(key: &str, name: &str) -> bool {
    name.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn facts(dialect: DialectName, stream: &str) -> Vec<Fact> {
    let mut facts = Vec::new();
    for line in stream.lines().filter(|line| !line.trim().is_empty()) {
        let event: Value = serde_json::from_str(line).unwrap();
        if text_of(dialect, &event).is_some() {
            // The outline checks the texts; the other keys of their lines are facts.
            let mut event = event.clone();
            take_text(dialect, &mut event);
            leaves(dialect, &event, &mut facts);
        } else {
            leaves(dialect, &event, &mut facts);
        }
    }
    facts
}

/// The keys that every line repeats, and the keys of their first occurrence.
const REPEATED: &[(&str, &str)] = &[
    ("session_id", "init.session_id"),
    ("sessionID", "sessionID"),
    ("part.sessionID", "sessionID"),
    ("message.model", "system/init.model"),
    ("message.type", "message.type"),
];

fn leaves(dialect: DialectName, event: &Value, facts: &mut Vec<Fact>) {
    let bases = bases(dialect, event);
    walk(event, &mut String::new(), &mut |path, value| {
        // The last event repeats the answer; the other keys are fixed.
        let fixed = [
            "type",
            "subtype",
            "result",
            "delta",
            "isReplay",
            "role",
            "message.role",
            "message.content[].type",
        ];
        if fixed.contains(&path) || is_empty_value(value) {
            return;
        }
        let mut names = vec![path.to_owned()];
        for (base, inside) in &bases {
            names.push(format!("{base}.{path}"));
            if let Some(rest) = path.strip_prefix(inside.as_str()).filter(|_| !inside.is_empty()) {
                names.push(format!("{base}.{rest}"));
            }
        }
        // A key that every line repeats is one fact. Its loss is reported at the first occurrence.
        if let Some((_, first)) = REPEATED.iter().find(|(repeated, _)| *repeated == path) {
            let mut names = vec![path.to_owned(), (*first).to_owned()];
            names.extend(bases.iter().map(|(base, _)| format!("{base}.{path}")));
            if !facts.iter().any(|fact| fact.names[..2] == names[..2] && fact.value == *value) {
                facts.push(Fact { names, value: value.clone() });
            }
            return;
        }
        facts.push(Fact { names, value: value.clone() });
    });
}

/// Returns the names of an event, and the path of the part that each name denotes.
fn bases(dialect: DialectName, event: &Value) -> Vec<(String, String)> {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
    let kind = text("/type").unwrap_or_default();
    let mut bases = vec![(kind.to_owned(), String::new())];
    let mut add = |name: String, inside: &str| bases.push((name, inside.to_owned()));
    match dialect {
        DialectName::Cursor | DialectName::Claude => {
            if let Some(subtype) = text("/subtype") {
                add(format!("{kind}/{subtype}"), "");
            }
            for block in event.pointer("/message/content").and_then(Value::as_array).into_iter().flatten() {
                add(format!("{kind}/{}", block["type"].as_str().unwrap_or_default()), "message.content[].");
            }
            if let Some(inner) = text("/event/type") {
                add(format!("{kind}/{inner}"), "");
            }
        }
        DialectName::Codex => {
            add("item".to_owned(), "item.");
            add(format!("item/{}", text("/item/type").unwrap_or_default()), "item.");
            add(format!("{kind}/{}", text("/item/type").unwrap_or_default()), "item.");
        }
        DialectName::Gemini => add(format!("{kind}/{}", text("/role").unwrap_or_default()), ""),
        DialectName::Opencode => {}
    }
    bases
}

fn walk(value: &Value, path: &mut String, visit: &mut impl FnMut(&str, &Value)) {
    let end = path.len();
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                if end > 0 {
                    path.push('.');
                }
                path.push_str(key);
                walk(value, path, visit);
                path.truncate(end);
            }
        }
        Value::Array(items) => {
            path.push_str("[]");
            items.iter().for_each(|item| walk(item, path, visit));
            path.truncate(end);
        }
        leaf => visit(path, leaf),
    }
}

fn is_empty_value(value: &Value) -> bool {
    value.is_null() || value == false || value == "" || value.as_f64() == Some(0.0)
}

/// The keys of the ids of calls.
const ID_KEYS: &[&str] =
    &["tool_call.call_id", "assistant/tool_use.id", "item.id", "tool_use.tool_id", "tool_use.part.callID"];

/// Returns the texts of the model and the ends of calls, in order. Adjacent texts are joined.
fn outline(dialect: DialectName, stream: &str, lost: &Losses) -> Vec<String> {
    let mut outline: Vec<String> = Vec::new();
    let contract = match dialect {
        DialectName::Cursor => stream.to_owned(),
        dialect => converted(dialect, DialectName::Cursor, stream).0,
    };
    // A conversion removes the repetitions of contract 2.
    let contract = match contract.contains("\"contract\":\"2\"") {
        true => {
            let claude = converted(DialectName::Cursor, DialectName::Claude, &contract).0;
            converted(DialectName::Claude, DialectName::Cursor, &claude).0
        }
        false => contract,
    };
    let ids = !lost.iter().any(|loss| loss.kind == LossKind::Changed && ID_KEYS.contains(&loss.key.as_str()));
    for line in contract.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        if let Some(text) = text_of(DialectName::Cursor, &event) {
            match outline.last_mut().filter(|last| last.starts_with("text ")) {
                Some(last) => last.push_str(text),
                None => outline.push(format!("text {text}")),
            }
        } else if event["subtype"] == "completed" {
            let id = if ids { event["call_id"].as_str().unwrap() } else { "" };
            outline.push(format!("call {id}"));
        }
    }
    outline.retain(|entry| entry != "text ");
    outline
}

fn text_of(dialect: DialectName, event: &Value) -> Option<&str> {
    let is = |pointer: &str, expected: &str| event.pointer(pointer).is_some_and(|value| value == expected);
    let pointer = match dialect {
        DialectName::Cursor | DialectName::Claude
            if is("/type", "assistant") && is("/message/content/0/type", "text") =>
        {
            "/message/content/0/text"
        }
        DialectName::Claude if is("/event/delta/type", "text_delta") => "/event/delta/text",
        DialectName::Codex if is("/item/type", "agent_message") => "/item/text",
        DialectName::Gemini if is("/type", "message") && is("/role", "assistant") => "/content",
        DialectName::Opencode if is("/type", "text") => "/part/text",
        _ => return None,
    };
    event.pointer(pointer)?.as_str()
}

fn take_text(dialect: DialectName, event: &mut Value) {
    let pointer = match dialect {
        DialectName::Cursor | DialectName::Claude if event["type"] == "stream_event" => "/event/delta/text",
        DialectName::Cursor | DialectName::Claude => "/message/content/0/text",
        DialectName::Codex => "/item/text",
        DialectName::Gemini => "/content",
        DialectName::Opencode => "/part/text",
    };
    *event.pointer_mut(pointer).unwrap() = Value::Null;
}
