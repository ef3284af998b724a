//! Calls and ends of contract 1: the parts of a call, its results, and the classes of failures.

use serde_json::{Value, json};

use crate::json::{Object, into_object, object, take, take_object, take_text};

/// The key of tools that contract 1 has no key for.
pub(crate) const FUNCTION: &str = "function";

/// The tools whose `args` repeat the id of the call, under [`CALL_ID`].
pub(crate) const TOOLS_WITH_CALL_ID: &[&str] =
    &["writeToolCall", "shellToolCall", "grepToolCall", "lsToolCall", "mcpToolCall"];

/// The argument that repeats the id of a call.
pub(crate) const CALL_ID: &str = "toolCallId";

/// A call of contract 1 in its parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ContractCall {
    /// `readToolCall`, …, `function`.
    pub(crate) key: String,
    pub(crate) args: Object,
    pub(crate) result: Option<Value>,
}

impl ContractCall {
    /// Takes a payload apart. The arguments of a `function` are its name and the text of its arguments.
    pub(crate) fn from_payload(payload: Value) -> Self {
        let call = into_object(payload).shift_remove("tool_call").map(into_object).unwrap_or_default();
        let (key, body) = call.into_iter().next().unwrap_or_default();
        let mut body = into_object(body);
        let result = body.shift_remove("result");
        let args = if key == FUNCTION { body } else { take_object(&mut body, "args").unwrap_or_default() };
        Self { key, args, result }
    }

    pub(crate) fn into_payload(self) -> Value {
        let Self { key, args, result } = self;
        let mut body = if key == FUNCTION { args } else { into_object(json!({ "args": args })) };
        if let Some(result) = result {
            body.insert("result".to_owned(), result);
        }
        json!({ "tool_call": { key: body } })
    }

    /// Returns the call of a tool that contract 1 has no key for.
    pub(crate) fn function(name: &str, arguments: &Value, result: Option<Value>) -> Self {
        let args = object([("name", name.into()), ("arguments", arguments.to_string().into())]);
        Self { key: FUNCTION.to_owned(), args: into_object(args), result }
    }

    /// Returns the name and the arguments of a `function`; other arguments than an object become the key `arguments`
    /// of one.
    pub(crate) fn function_parts(&mut self) -> (String, Object) {
        let name = take_text(&mut self.args, "name").unwrap_or_default();
        let arguments = take(&mut self.args, "arguments");
        let parsed = arguments.as_str().and_then(|text| ibeam_wire::parse::<Value>(text).ok());
        match parsed {
            Some(Value::Object(arguments)) => (name, arguments),
            _ => (name, into_object(object([("arguments", arguments)]))),
        }
    }

    /// Returns the arm of the result and its content.
    pub(crate) fn arm(&self) -> Option<(&str, &Value)> {
        let arms = self.result.as_ref()?.as_object()?;
        arms.iter()
            .find(|(name, arm)| ARMS.contains(&name.as_str()) && arm.is_object())
            .map(|(n, arm)| (n.as_str(), arm))
    }
}

/// The arms of results in contract 1.
pub(crate) const ARMS: &[&str] =
    &["success", "failure", "timeout", "spawnError", "fileNotFound", "permissionDenied", "rejected", "error"];

/// Returns the text of a failure, which is any arm but `success`.
pub(crate) fn failure_text(arm: &str, payload: &Value) -> String {
    let text = |key: &str| payload.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    match arm {
        "failure" => command_output(payload),
        "timeout" => format!(
            "timed out after {} ms",
            payload.get("timeoutMs").and_then(Value::as_u64).unwrap_or_default()
        ),
        "fileNotFound" => format!("no such file: {}", text("path")),
        "permissionDenied" => text("error"),
        "rejected" => text("reason"),
        _ => text("errorMessage"),
    }
}

/// Returns the output of a command.
pub(crate) fn command_output(payload: &Value) -> String {
    let text = |key: &str| payload.get(key).and_then(Value::as_str);
    match text("interleavedOutput") {
        Some(both) => both.to_owned(),
        None => [text("stdout").unwrap_or_default(), text("stderr").unwrap_or_default()].concat(),
    }
}

/// Whether a call failed or was rejected.
pub(crate) fn is_failed_call(payload: &Value) -> bool {
    ContractCall::from_payload(payload.clone()).arm().is_some_and(|(arm, payload)| {
        arm != "success" || payload.get("isError").and_then(Value::as_bool).unwrap_or_default()
    })
}

/// Sets the result of a call.
pub(crate) fn set_result(payload: &mut Value, result: Value) {
    let call = payload.get_mut("tool_call").and_then(Value::as_object_mut);
    if let Some(body) = call.and_then(|call| call.values_mut().next()).and_then(Value::as_object_mut) {
        body.insert("result".to_owned(), result);
    }
}

/// Returns the result of a call.
pub(crate) fn result_of(mut payload: Value) -> Option<Value> {
    let call = payload.get_mut("tool_call")?.as_object_mut()?;
    call.values_mut().next()?.as_object_mut()?.shift_remove("result")
}

/// Removes the result of a call.
pub(crate) fn without_result(payload: &mut Value) {
    if let Some(call) = payload.get_mut("tool_call").and_then(Value::as_object_mut) {
        for (_, body) in call.iter_mut() {
            let mut object = into_object(body.take());
            object.shift_remove("result");
            *body = Value::Object(object);
        }
    }
}

/// The order of keys in results that are put together from several parts.
const KEY_ORDERS: &[(&str, &[&str])] = &[
    (
        "shellToolCall",
        &[
            "command",
            "workingDirectory",
            "exitCode",
            "signal",
            "stdout",
            "stderr",
            "interleavedOutput",
            "executionTime",
        ],
    ),
    ("editToolCall", &["path", "linesAdded", "linesRemoved", "diffString", "message"]),
];

/// Moves the keys of contract 1 to the front, in their order.
pub(crate) fn in_contract_order(key: &str, mut payload: Object) -> Object {
    let order =
        KEY_ORDERS.iter().find(|(known, _)| *known == key).map(|(_, order)| *order).unwrap_or_default();
    let mut ordered = Object::new();
    for name in order {
        if let Some(value) = payload.shift_remove(*name) {
            ordered.insert((*name).to_owned(), value);
        }
    }
    ordered.extend(payload);
    ordered
}

/// A class of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) code: &'static str,
    pub(crate) exit_code: u8,
    pub(crate) retryable: bool,
}

/// Code, exit code and whether a retry may help, of each class that streams of other agents distinguish.
const CLASSES: &[(&str, u8, bool)] = &[
    ("failed", 1, false),
    ("usage", 2, false),
    ("denied", 3, false),
    ("auth", 20, false),
    ("model", 21, false),
    ("request", 22, false),
    ("context", 23, false),
    ("rate_limited", 24, true),
    ("provider", 25, true),
    ("network", 26, true),
    ("tls", 27, false),
    ("stalled", 28, true),
    ("limit", 30, false),
    ("empty", 31, true),
    ("refused", 32, false),
    ("timeout", 33, false),
    ("sandbox", 40, false),
    ("untrusted", 41, false),
    ("data", 65, false),
    ("too_large", 64, false),
    ("noinput", 66, false),
    ("internal", 70, false),
    ("os", 71, false),
    ("cantcreat", 73, false),
    ("io", 74, false),
    ("busy", 75, true),
    ("config", 78, false),
    ("signal", 130, false),
];

/// Returns the class of a code; `failed` for an unknown code.
pub(crate) fn class_from_code(code: &str) -> Class {
    let to_class =
        |&(code, exit_code, retryable): &(&'static str, u8, bool)| Class { code, exit_code, retryable };
    let found = CLASSES.iter().find(|(known, ..)| *known == code).map(to_class);
    found.unwrap_or(Class { code: "failed", exit_code: 1, retryable: false })
}

/// Returns the code of an HTTP status.
pub(crate) fn code_from_status(status: u64) -> &'static str {
    match status {
        401 | 403 => "auth",
        404 => "model",
        400 | 413 | 422 => "request",
        429 => "rate_limited",
        500..=599 => "provider",
        _ => "failed",
    }
}

/// Returns the payload of a run that failed.
pub(crate) fn error_payload(code: &str, message: &str, extra: Object) -> Value {
    let Class { code, exit_code, retryable } = class_from_code(code);
    let event = object([
        ("code", code.into()),
        ("message", message.into()),
        ("exit_code", exit_code.into()),
        ("retryable", retryable.into()),
    ]);
    let mut event = into_object(event);
    event.extend(extra);
    json!({ "error": event })
}
