//! Checks a `tool_call` object: the key that names the tool, the arguments, and the result with its one arm.

use serde_json::{Map, Value};

use super::finding::{LineContext, printable_excerpt};
use super::rule::Rule;
use super::value::{check_object, path_name, type_name};
use crate::describe::{Key, Need, Object, Shape};
use crate::event::CallPhase;
use crate::scan::PathStep;
use crate::tool::{self, CALL_ID, FUNCTION, SUCCESS, Tool};

/// The path from an event to its `tool_call`.
const CALL: PathStep<'static> = PathStep::Key("tool_call");

/// The value under the key of a tool.
static NAMED_CALL: Object = Object::new(
    "NamedCall",
    &["A call of a tool with its own key."],
    &[Key::new("args", Need::Always, Shape::AnyObject, &["The arguments."])],
);

/// The value under [`FUNCTION`].
pub(crate) static FUNCTION_CALL: Object = Object::new(
    "FunctionCall",
    &["A call of a tool without its own key."],
    &[
        Key::new("name", Need::Always, Shape::Text, &["The name of the tool."]),
        Key::new(
            "arguments",
            Need::Always,
            Shape::Text,
            &["The arguments as the model wrote them: a string, usually with JSON."],
        ),
    ],
);

/// Checks the `tool_call` of `event`. Returns the tool's key and the value under it, if that is an object.
pub(super) fn check_call<'a>(
    line: &mut LineContext<'_>,
    event: &'a Map<String, Value>,
    phase: CallPhase,
) -> Option<(&'a str, &'a Map<String, Value>)> {
    let call = event.get("tool_call")?.as_object()?;
    if call.len() != 1 {
        line.add(&[CALL], Rule::OneTool, format!("`tool_call` has {} keys, not one", call.len()));
    }
    let (key, body) = call.iter().next()?;
    let mut path = vec![CALL, PathStep::Key(key)];
    let tool = Tool::with_key(key);
    if key != FUNCTION && tool.is_none() {
        line.add(&path, Rule::UnknownTool, format!("unknown tool `{}`", printable_excerpt(key)));
    }
    let Some(body) = body.as_object() else {
        add_not_an_object(line, &path, body);
        return None;
    };
    check_object(line, &mut path, if key == FUNCTION { &FUNCTION_CALL } else { &NAMED_CALL }, body);
    let repeated = body.get("args").and_then(|args| args.get(CALL_ID));
    if let Some(repeated) = repeated.filter(|repeated| Some(*repeated) != event.get("call_id")) {
        path.extend([PathStep::Key("args"), PathStep::Key(CALL_ID)]);
        let found = repeated.as_str().map_or_else(|| type_name(repeated).to_owned(), printable_excerpt);
        line.add(&path, Rule::CallIdDiffers, format!("`toolCallId` is `{found}`, and `call_id` is not"));
        path.truncate(2);
    }
    match (phase, body.get("result")) {
        (CallPhase::Started, None) => {}
        (CallPhase::Started, Some(_)) => {
            path.push(PathStep::Key("result"));
            line.add(&path, Rule::EarlyResult, "a call that starts has a `result`");
        }
        (CallPhase::Completed, None) => {
            line.add(&path, Rule::MissingKey, format!("`result` is missing in {}", path_name(&path)));
        }
        // The contract does not define the results of other tools.
        (CallPhase::Completed, Some(_)) if key == FUNCTION => {}
        (CallPhase::Completed, Some(result)) => {
            path.push(PathStep::Key("result"));
            check_result(line, &mut path, key, tool, result);
        }
    }
    Some((key, body))
}

/// Checks the object `result`: exactly one arm, which the tool has, and the payload of this arm.
fn check_result<'a>(
    line: &mut LineContext<'_>,
    path: &mut Vec<PathStep<'a>>,
    key: &str,
    tool: Option<&'static Tool>,
    result: &'a Value,
) {
    let Some(result) = result.as_object() else { return add_not_an_object(line, path, result) };
    // A key next to the arm is not an object, e.g. `isBackground`.
    let arms: Vec<_> = result.iter().filter(|(name, arm)| tool::is_arm(name) || arm.is_object()).collect();
    let [(name, arm)] = arms.as_slice() else {
        let message = format!("{} has {} arms, not one", path_name(path), arms.len());
        return line.add(path, Rule::OneArm, message);
    };
    path.push(PathStep::Key(name));
    let known = tool::arm(name);
    if known.is_some() && tool.is_some_and(|tool| !tool.has_arm(name)) {
        line.add(path, Rule::WrongArm, format!("`{key}` does not have the arm `{name}`"));
    }
    let payload = match known {
        Some(known) => Some((known.payload)()),
        None if *name == SUCCESS => tool.map(|tool| (tool.success)()),
        None => {
            let message = format!("unknown arm `{}`", printable_excerpt(name));
            return line.add(path, Rule::UnknownArm, message);
        }
    };
    let Some(arm) = arm.as_object() else { return add_not_an_object(line, path, arm) };
    if let Some(payload) = payload {
        check_object(line, path, payload, arm);
    }
    if key == tool::shell::KEY {
        check_exit_code(line, path, name, arm);
    }
}

/// Adds the finding that a value is not an object.
fn add_not_an_object(line: &mut LineContext<'_>, path: &[PathStep<'_>], value: &Value) {
    let message = format!("{} should be an object, and is {}", path_name(path), type_name(value));
    line.add(path, Rule::WrongType, message);
}

/// Checks the exit code of a command: 0 for success, and another code for a failure unless a signal ended the command.
fn check_exit_code<'a>(
    line: &mut LineContext<'_>,
    path: &mut Vec<PathStep<'a>>,
    arm: &str,
    command: &'a Map<String, Value>,
) {
    let Some(code) = command.get("exitCode").and_then(Value::as_i64) else { return };
    let is_consistent = match arm {
        SUCCESS => code == 0,
        "failure" => code != 0 || command.contains_key("signal"),
        _ => true,
    };
    if !is_consistent {
        path.push(PathStep::Key("exitCode"));
        line.add(path, Rule::WrongValue, format!("`exitCode` is {code} in the arm `{arm}`"));
        path.pop();
    }
}
