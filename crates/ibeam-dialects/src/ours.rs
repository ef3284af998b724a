//! Calls and ends of contract 1, as all dialects look at them.

use serde_json::{Value, json};

use crate::json::{Object, into_object, object, take, take_object, take_text};

/// The key of a tool without a key of its own.
pub(crate) const FUNCTION: &str = "function";

/// A call of contract 1 in its parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OurCall {
    /// `readToolCall`, …, `function`.
    pub(crate) key: String,
    pub(crate) args: Object,
    pub(crate) result: Option<Value>,
}

impl OurCall {
    /// The parts of a card; a function's arguments are parsed, its name stands in `key`'s place if no tool has it.
    pub(crate) fn of(card: Value) -> Self {
        let call = into_object(card).shift_remove("tool_call").map(into_object).unwrap_or_default();
        let (key, body) = call.into_iter().next().unwrap_or_default();
        let mut body = into_object(body);
        let result = body.shift_remove("result");
        let args = if key == FUNCTION { body } else { take_object(&mut body, "args").unwrap_or_default() };
        Self { key, args, result }
    }

    pub(crate) fn into_card(self) -> Value {
        let Self { key, args, result } = self;
        let mut body = if key == FUNCTION { args } else { into_object(json!({ "args": args })) };
        if let Some(result) = result {
            body.insert("result".to_owned(), result);
        }
        json!({ "tool_call": { key: body } })
    }

    /// A tool that contract 1 has no key for.
    pub(crate) fn function(name: &str, arguments: &Value, result: Option<Value>) -> Self {
        let args = object([("name", name.into()), ("arguments", arguments.to_string().into())]);
        Self { key: FUNCTION.to_owned(), args: into_object(args), result }
    }

    /// The name and the arguments of a tool without a key; arguments that are no object stand in one.
    pub(crate) fn function_parts(&mut self) -> (String, Object) {
        let name = take_text(&mut self.args, "name").unwrap_or_default();
        let arguments = take(&mut self.args, "arguments");
        let parsed = arguments.as_str().and_then(|text| ibeam_wire::parse::<Value>(text).ok());
        match parsed {
            Some(Value::Object(arguments)) => (name, arguments),
            _ => (name, into_object(object([("arguments", arguments)]))),
        }
    }

    /// The arm of the result and what it holds.
    pub(crate) fn arm(&self) -> Option<(&str, &Value)> {
        let arms = self.result.as_ref()?.as_object()?;
        arms.iter()
            .find(|(name, arm)| ARMS.contains(&name.as_str()) && arm.is_object())
            .map(|(n, arm)| (n.as_str(), arm))
    }
}

/// The arms of results.
pub(crate) const ARMS: &[&str] =
    &["success", "failure", "timeout", "spawnError", "fileNotFound", "permissionDenied", "rejected", "error"];

/// What an arm other than `success` tells people.
pub(crate) fn words_of(arm: &str, payload: &Value) -> String {
    let word = |key: &str| payload.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    match arm {
        "failure" => output_of(payload),
        "timeout" => format!(
            "timed out after {} ms",
            payload.get("timeoutMs").and_then(Value::as_u64).unwrap_or_default()
        ),
        "fileNotFound" => format!("no such file: {}", word("path")),
        "permissionDenied" => word("error"),
        "rejected" => word("reason"),
        _ => word("errorMessage"),
    }
}

/// What a command printed.
pub(crate) fn output_of(payload: &Value) -> String {
    let word = |key: &str| payload.get(key).and_then(Value::as_str);
    match word("interleavedOutput") {
        Some(both) => both.to_owned(),
        None => [word("stdout").unwrap_or_default(), word("stderr").unwrap_or_default()].concat(),
    }
}

/// A call that did not do what it should.
pub(crate) fn failed(card: &Value) -> bool {
    OurCall::of(card.clone()).arm().is_some_and(|(arm, payload)| {
        arm != "success" || payload.get("isError").and_then(Value::as_bool).unwrap_or_default()
    })
}

/// Gives a call its result.
pub(crate) fn set_result(card: &mut Value, result: Value) {
    let call = card.get_mut("tool_call").and_then(Value::as_object_mut);
    if let Some(body) = call.and_then(|call| call.values_mut().next()).and_then(Value::as_object_mut) {
        body.insert("result".to_owned(), result);
    }
}

/// What a call of contract 1 gave.
pub(crate) fn result_of(mut card: Value) -> Option<Value> {
    let call = card.get_mut("tool_call")?.as_object_mut()?;
    call.values_mut().next()?.as_object_mut()?.shift_remove("result")
}

/// A call of contract 1 as it begins.
pub(crate) fn without_result(card: &mut Value) {
    if let Some(call) = card.get_mut("tool_call").and_then(Value::as_object_mut) {
        for (_, body) in call.iter_mut() {
            let mut object = into_object(body.take());
            object.shift_remove("result");
            *body = Value::Object(object);
        }
    }
}

/// The keys of payloads that are put together of several places, in their order.
const ORDERS: &[(&str, &[&str])] = &[
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

/// A payload with the keys that contract 1 knows first, in their order.
pub(crate) fn in_order(key: &str, mut payload: Object) -> Object {
    let order = ORDERS.iter().find(|(known, _)| *known == key).map(|(_, order)| *order).unwrap_or_default();
    let mut ordered = Object::new();
    for name in order {
        if let Some(value) = payload.shift_remove(*name) {
            ordered.insert((*name).to_owned(), value);
        }
    }
    ordered.extend(payload);
    ordered
}

/// A class of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) code: &'static str,
    pub(crate) exit_code: u8,
    pub(crate) retryable: bool,
}

/// The classes that a stream of another agent can tell apart.
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

/// The class of a code; `failed` for one that is not known.
pub(crate) fn class_of(code: &str) -> Class {
    let of = |&(code, exit_code, retryable): &(&'static str, u8, bool)| Class { code, exit_code, retryable };
    let found = CLASSES.iter().find(|(known, ..)| *known == code).map(of);
    found.unwrap_or(Class { code: "failed", exit_code: 1, retryable: false })
}

/// The class of an HTTP status.
pub(crate) fn code_of_status(status: u64) -> &'static str {
    match status {
        401 | 403 => "auth",
        404 => "model",
        400 | 413 | 422 => "request",
        429 => "rate_limited",
        500..=599 => "provider",
        _ => "failed",
    }
}

/// An end that failed.
pub(crate) fn error(code: &str, message: &str, extra: Object) -> Value {
    let Class { code, exit_code, retryable } = class_of(code);
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
