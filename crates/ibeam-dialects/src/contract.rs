//! Calls and ends of runs in contract 1: the parts of a call, its result, and the keys of a failure.

use ibeam_wire::FAILURE_CLASSES;
use ibeam_wire::tool::{FUNCTION, Tool, edit, is_arm, shell};
use serde_json::{Value, json};

use crate::json::{Object, into_object, object, take, take_object, take_text};

/// Whether the `args` of the tool with this key repeat the id of the call, under `CALL_ID`.
pub(crate) fn repeats_call_id(key: &str) -> bool {
    Tool::with_key(key).is_some_and(|tool| tool.repeats_call_id)
}

/// A call of contract 1 in its parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ContractCall {
    /// The key that names the tool: `readToolCall`, …, `function`.
    pub(crate) key: String,
    pub(crate) args: Object,
    pub(crate) result: Option<Value>,
}

impl ContractCall {
    /// Splits a payload into its parts. The arguments of a `function` are its name and the text of its arguments.
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

    /// Returns the name and the arguments of a `function`. Arguments that are not an object become the value of the key
    /// `arguments` of a new object.
    pub(crate) fn function_parts(&mut self) -> (String, Object) {
        let name = take_text(&mut self.args, "name").unwrap_or_default();
        let arguments = take(&mut self.args, "arguments");
        let parsed = arguments.as_str().and_then(|text| ibeam_wire::parse::<Value>(text).ok());
        match parsed {
            Some(Value::Object(arguments)) => (name, arguments),
            _ => (name, into_object(object([("arguments", arguments)]))),
        }
    }

    /// Returns the arm of the result (the key that names the outcome) and its value.
    pub(crate) fn arm(&self) -> Option<(&str, &Value)> {
        let arms = self.result.as_ref()?.as_object()?;
        arms.iter().find(|(name, arm)| is_arm(name) && arm.is_object()).map(|(n, arm)| (n.as_str(), arm))
    }
}

/// Returns the text of a failure: a result with any arm except `success`.
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

/// Returns the output of a command: stdout and stderr, interleaved if possible.
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
pub(crate) fn take_result(mut payload: Value) -> Option<Value> {
    let call = payload.get_mut("tool_call")?.as_object_mut()?;
    call.values_mut().next()?.as_object_mut()?.shift_remove("result")
}

/// Removes the result of a call.
pub(crate) fn remove_result(payload: &mut Value) {
    if let Some(call) = payload.get_mut("tool_call").and_then(Value::as_object_mut) {
        for (_, body) in call.iter_mut() {
            let mut object = into_object(body.take());
            object.shift_remove("result");
            *body = Value::Object(object);
        }
    }
}

/// Moves the keys of contract 1 to the front, in their order.
pub(crate) fn sort_contract_keys(key: &str, mut payload: Object) -> Object {
    // Only the results of these tools are assembled from several parts.
    let tool = Tool::with_key(key).filter(|tool| [shell::KEY, edit::KEY].contains(&tool.key));
    let mut ordered = Object::new();
    for name in tool.into_iter().flat_map(Tool::success_keys) {
        if let Some(value) = payload.shift_remove(name) {
            ordered.insert(name.to_owned(), value);
        }
    }
    ordered.extend(payload);
    ordered
}

/// The keys of an `error` event that depend on its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeFields {
    pub(crate) code: &'static str,
    pub(crate) exit_code: u64,
    pub(crate) retryable: bool,
}

/// The exit code of a run that SIGINT ended: the most frequent exit code of the class `signal`.
const INTERRUPT_EXIT_CODE: u64 = 130;

/// Returns the keys for a code. An unknown code becomes `failed`.
pub(crate) fn fields_for_code(code: &str) -> CodeFields {
    let Some(class) = FAILURE_CLASSES.iter().find(|class| class.code == code) else {
        return CodeFields { code: "failed", exit_code: 1, retryable: false };
    };
    let exit_code = match class.exit_codes {
        codes if codes.contains(&INTERRUPT_EXIT_CODE) => INTERRUPT_EXIT_CODE,
        codes => codes.first().copied().unwrap_or(1),
    };
    CodeFields { code: class.code, exit_code, retryable: class.is_retryable }
}

/// Returns the code of a failure with this HTTP status.
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
    let CodeFields { code, exit_code, retryable } = fields_for_code(code);
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
