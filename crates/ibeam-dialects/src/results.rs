//! Results of calls between contract 1 and dialects that have them as text.

use serde_json::{Value, json};

use crate::json::{Object, add_missing, into_object, object, text};
use crate::ours::{self, ARMS};

/// The keys of contract 1 that hold what a tool gave as text; other tools give values, which go as JSON.
const TEXTS: &[(&str, &str)] = &[
    ("readToolCall", "content"),
    ("writeToolCall", "message"),
    ("editToolCall", "message"),
    ("deleteToolCall", "message"),
    ("shellToolCall", "interleavedOutput"),
    ("webFetchToolCall", "markdown"),
];

/// What a tool gave, as contract 1 has it: `said`, with whatever `extra` tells of it.
pub(crate) fn success_of(key: &str, args: &Object, said: &str, extra: Object, cwd: &str) -> Value {
    let path = || absolute(text(args, "path").unwrap_or_default(), cwd);
    let known = match key {
        "readToolCall" => json!({
            "content": said,
            "isEmpty": said.is_empty(),
            "exceededLimit": false,
            "totalLines": said.lines().count(),
            "totalChars": said.chars().count(),
        }),
        "writeToolCall" => {
            let written = text(args, "fileText").unwrap_or_default();
            json!({
                "path": path(), "linesCreated": written.lines().count(), "fileSize": written.len(), "message": said,
            })
        }
        "editToolCall" => json!({ "path": path(), "message": said }),
        "deleteToolCall" => json!({ "path": path(), "fileSize": 0, "message": said }),
        "shellToolCall" => json!({
            "command": args.get("command"), "exitCode": 0, "stdout": said, "stderr": "", "interleavedOutput": said,
        }),
        "webFetchToolCall" => json!({ "url": args.get("url"), "markdown": said }),
        _ => match ibeam_wire::parse::<Value>(said) {
            Ok(Value::Object(payload)) => Value::Object(payload),
            _ => json!({ "message": said }),
        },
    };
    let mut success = into_object(known);
    for (key, value) in extra {
        success.insert(key, value);
    }
    success
        .shift_remove("message")
        .filter(|message| message != "")
        .map(|message| success.insert("message".to_owned(), message));
    json!({ "success": ours::in_order(key, success) })
}

/// What a tool gave as text, and what of the payload the text does not say.
pub(crate) fn text_of(key: &str, args: &Object, payload: &Value) -> (String, Object) {
    let mut rest = into_object(payload.clone());
    let Some((_, name)) = TEXTS.iter().find(|(known, _)| *known == key) else {
        return match rest.get("message").and_then(Value::as_str) {
            Some(message) if rest.len() == 1 => (message.to_owned(), Object::new()),
            _ => (payload.to_string(), Object::new()),
        };
    };
    let said = match key {
        "shellToolCall" => ours::output_of(payload),
        _ => text(&rest, name).unwrap_or_default().to_owned(),
    };
    rest.shift_remove(*name);
    // What the text alone leads back to.
    let derived = success_of(key, args, &said, Object::new(), "");
    for (key, value) in derived.get("success").and_then(Value::as_object).into_iter().flatten() {
        if rest.get(key) == Some(value) {
            rest.shift_remove(key);
        }
    }
    (said, rest)
}

/// A failure of contract 1 as a word for its kind and a sentence.
pub(crate) fn failure_of(arm: &str, payload: &Value) -> (String, String) {
    let said = match arm {
        "failure" => {
            let code = payload.get("exitCode").and_then(Value::as_i64).unwrap_or_default();
            format!("Exit code {code}")
        }
        "timeout" => payload.get("timeoutMs").map(Value::to_string).unwrap_or_default(),
        "fileNotFound" => text_at(payload, "path"),
        _ => ours::words_of(arm, payload),
    };
    (arm.to_owned(), said)
}

/// A failure of a word and a sentence as contract 1 has it; `printed` is what a command printed.
pub(crate) fn failure_to_ours(word: &str, said: &str, args: &Object, printed: &str) -> Value {
    let arm = ARMS.iter().copied().find(|arm| *arm == word && *arm != "success").unwrap_or("error");
    let code = said.strip_prefix("Exit code ").and_then(|code| code.parse::<i64>().ok());
    match (arm, code) {
        ("failure", Some(code)) => json!({ "failure": {
            "command": args.get("command"), "exitCode": code, "stdout": printed, "stderr": "",
            "interleavedOutput": printed,
        } }),
        ("timeout", _) => json!({ "timeout": { "timeoutMs": said.parse::<u64>().unwrap_or_default() } }),
        ("fileNotFound", _) => json!({ "fileNotFound": { "path": said } }),
        ("rejected", _) => json!({ "rejected": { "reason": said } }),
        ("permissionDenied", _) => {
            json!({ "permissionDenied": { "path": text(args, "path").unwrap_or_default(), "error": said } })
        }
        ("spawnError", _) => json!({ "spawnError": { "errorMessage": said } }),
        _ => json!({ "error": { "errorMessage": said } }),
    }
}

/// The result of a tool that is no key of contract 1, as text; ours where it has an arm.
pub(crate) fn free_text(result: &Value) -> String {
    match result.get("output").and_then(Value::as_str) {
        Some(output) if result.as_object().is_some_and(|result| result.len() == 1) => output.to_owned(),
        _ => result.to_string(),
    }
}

/// What such a tool gave: the value that was written, or the text.
pub(crate) fn free_to_ours(said: &str) -> Value {
    match ibeam_wire::parse::<Value>(said) {
        Ok(Value::Object(result)) if result.keys().any(|key| ARMS.contains(&key.as_str())) => {
            Value::Object(result)
        }
        _ => object([("output", said.into())]),
    }
}

/// A path that begins at the root; `cwd` is where others begin.
pub(crate) fn absolute(path: &str, cwd: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", cwd.trim_end_matches('/')) }
}

fn text_at(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Puts what a payload says beside the text back to it.
pub(crate) fn with(mut payload: Value, arm: &str, extra: Object) -> Value {
    if let Some(inner) = payload.get_mut(arm).and_then(Value::as_object_mut) {
        let known = std::mem::replace(inner, extra);
        add_missing(inner, known);
    }
    payload
}
