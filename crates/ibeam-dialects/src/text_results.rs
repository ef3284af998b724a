//! Converts results of calls between contract 1 and dialects whose results are text.

use ibeam_wire::tool::{SUCCESS, is_arm};
use serde_json::{Value, json};

use crate::contract;
use crate::json::{Object, add_missing, into_object, object, text};

/// Pairs of a tool and the key of its result in contract 1 that contains the text. Results of other tools are written as
/// JSON.
const TEXT_KEYS: &[(&str, &str)] = &[
    ("readToolCall", "content"),
    ("writeToolCall", "message"),
    ("editToolCall", "message"),
    ("deleteToolCall", "message"),
    ("shellToolCall", "interleavedOutput"),
    ("webFetchToolCall", "markdown"),
    ("webSearchToolCall", "content"),
];

/// Returns the result in contract 1 of a call with the output `output`; the keys of `extra` are added.
pub(crate) fn success_from_text(key: &str, args: &Object, output: &str, extra: Object, cwd: &str) -> Value {
    let path = || absolute_path(text(args, "path").unwrap_or_default(), cwd);
    let known = match key {
        "readToolCall" => json!({
            "content": output,
            "isEmpty": output.is_empty(),
            "exceededLimit": false,
            "totalLines": output.lines().count(),
            "totalChars": output.chars().count(),
        }),
        "writeToolCall" => {
            let written = text(args, "fileText").unwrap_or_default();
            json!({
                "path": path(), "linesCreated": written.lines().count(), "fileSize": written.len(), "message": output,
            })
        }
        "editToolCall" => json!({ "path": path(), "message": output }),
        "deleteToolCall" => json!({ "path": path(), "fileSize": 0, "message": output }),
        "shellToolCall" => json!({
            "command": args.get("command"), "exitCode": 0, "stdout": output, "stderr": "", "interleavedOutput": output,
        }),
        "webFetchToolCall" => json!({ "url": args.get("url"), "markdown": output }),
        "webSearchToolCall" => json!({ "content": output }),
        _ => match ibeam_wire::parse::<Value>(output) {
            Ok(Value::Object(payload)) => Value::Object(payload),
            _ => json!({ "message": output }),
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
    json!({ "success": contract::sort_contract_keys(key, success) })
}

/// Returns the text of a result, and the keys of the result that cannot be derived from the text.
pub(crate) fn text_from_success(key: &str, args: &Object, payload: &Value) -> (String, Object) {
    let mut rest = into_object(payload.clone());
    let Some((_, name)) = TEXT_KEYS.iter().find(|(known, _)| *known == key) else {
        return match rest.get("message").and_then(Value::as_str) {
            Some(message) if rest.len() == 1 => (message.to_owned(), Object::new()),
            _ => (payload.to_string(), Object::new()),
        };
    };
    let output = match key {
        "shellToolCall" => contract::command_output(payload),
        _ => text(&rest, name).unwrap_or_default().to_owned(),
    };
    rest.shift_remove(*name);
    let derived = success_from_text(key, args, &output, Object::new(), "");
    for (key, value) in derived.get("success").and_then(Value::as_object).into_iter().flatten() {
        if rest.get(key) == Some(value) {
            rest.shift_remove(key);
        }
    }
    (output, rest)
}

/// Returns the kind and the message of a failure of contract 1.
pub(crate) fn failure_to_text(arm: &str, payload: &Value) -> (String, String) {
    let message = match arm {
        "failure" => {
            let code = payload.get("exitCode").and_then(Value::as_i64).unwrap_or_default();
            format!("Exit code {code}")
        }
        "timeout" => payload.get("timeoutMs").map(Value::to_string).unwrap_or_default(),
        "fileNotFound" => text_under(payload, "path"),
        _ => contract::failure_text(arm, payload),
    };
    (arm.to_owned(), message)
}

/// Returns a failure in contract 1; `output` is the output of a command.
pub(crate) fn failure_to_contract(kind: &str, message: &str, args: &Object, output: &str) -> Value {
    let arm = if is_arm(kind) && kind != SUCCESS { kind } else { "error" };
    let code = message.strip_prefix("Exit code ").and_then(|code| code.parse::<i64>().ok());
    match (arm, code) {
        ("failure", Some(code)) => json!({ "failure": {
            "command": args.get("command"), "exitCode": code, "stdout": output, "stderr": "",
            "interleavedOutput": output,
        } }),
        ("timeout", _) => json!({ "timeout": { "timeoutMs": message.parse::<u64>().unwrap_or_default() } }),
        ("fileNotFound", _) => json!({ "fileNotFound": { "path": message } }),
        ("rejected", _) => json!({ "rejected": { "reason": message } }),
        ("permissionDenied", _) => {
            json!({ "permissionDenied": { "path": text(args, "path").unwrap_or_default(), "error": message } })
        }
        ("spawnError", _) => json!({ "spawnError": { "errorMessage": message } }),
        _ => json!({ "error": { "errorMessage": message } }),
    }
}

/// Returns the result of a `function` as text: its output, or else the result as JSON.
pub(crate) fn function_text(result: &Value) -> String {
    match result.get("output").and_then(Value::as_str) {
        Some(output) if result.as_object().is_some_and(|result| result.len() == 1) => output.to_owned(),
        _ => result.to_string(),
    }
}

/// Returns the result of a `function` from its text: the result of contract 1 if the text contains one, or else the text
/// as output.
pub(crate) fn function_to_contract(text: &str) -> Value {
    match ibeam_wire::parse::<Value>(text) {
        Ok(Value::Object(result)) if result.keys().any(|key| is_arm(key)) => Value::Object(result),
        _ => object([("output", text.into())]),
    }
}

/// Returns the absolute form of `path`, which is relative to `cwd`.
pub(crate) fn absolute_path(path: &str, cwd: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", cwd.trim_end_matches('/')) }
}

fn text_under(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Adds the keys of `extra` before the known keys of an arm.
pub(crate) fn with_extra(mut payload: Value, arm: &str, extra: Object) -> Value {
    if let Some(inner) = payload.get_mut(arm).and_then(Value::as_object_mut) {
        let known = std::mem::replace(inner, extra);
        add_missing(inner, known);
    }
    payload
}
