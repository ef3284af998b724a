//! One `tool_call` object: the key that names the tool, the arguments, the result with its one arm.

use serde_json::{Map, Value};

use super::finding::{Here, shown};
use super::rule::Rule;
use super::shape::{self, Key, hold_keys, kind};
use super::table::{ARMS, FUNCTION, FUNCTION_CALL, NAMED_CALL, SHELL, SUCCESSES};
use crate::event::CallPhase;
use crate::scan::Step;

const CALL: Step<'static> = Step::Key("tool_call");

/// Judges the object of `event`; gives the tool's key and what stands under it, where there is one.
pub(super) fn judge<'a>(
    here: &mut Here<'_>,
    event: &'a Map<String, Value>,
    phase: CallPhase,
) -> Option<(&'a str, &'a Map<String, Value>)> {
    let call = event.get("tool_call")?.as_object()?;
    if call.len() != 1 {
        here.add(&[CALL], Rule::OneTool, format!("`tool_call` has {} keys, not one", call.len()));
    }
    let (tool, body) = call.iter().next()?;
    let mut path = vec![CALL, Step::Key(tool)];
    let success = SUCCESSES.iter().find(|(name, _)| name == tool).map(|(_, keys)| *keys);
    if tool != FUNCTION && success.is_none() {
        here.add(&path, Rule::UnknownTool, format!("`{}` is not known", shown(tool)));
    }
    let Some(body) = body.as_object() else {
        let message = format!("{} should be an object, and is {}", shape::name(&path), kind(body));
        here.add(&path, Rule::WrongType, message);
        return None;
    };
    hold_keys(here, &mut path, if tool == FUNCTION { FUNCTION_CALL } else { NAMED_CALL }, body);
    let repeated = body.get("args").and_then(|args| args.get("toolCallId"));
    if let Some(repeated) = repeated.filter(|repeated| Some(*repeated) != event.get("call_id")) {
        path.extend([Step::Key("args"), Step::Key("toolCallId")]);
        let said = repeated.as_str().map_or_else(|| kind(repeated).to_owned(), shown);
        here.add(&path, Rule::CallIdDiffers, format!("`toolCallId` is `{said}`, and `call_id` is not"));
        path.truncate(2);
    }
    match (phase, body.get("result")) {
        (CallPhase::Started, None) => {}
        (CallPhase::Started, Some(_)) => {
            path.push(Step::Key("result"));
            here.add(&path, Rule::EarlyResult, "a call that begins has a `result`");
        }
        (CallPhase::Completed, None) => {
            here.add(&path, Rule::MissingKey, format!("`result` is missing in {}", shape::name(&path)));
        }
        // What a tool of another gives has no form of ours.
        (CallPhase::Completed, Some(_)) if tool == FUNCTION => {}
        (CallPhase::Completed, Some(result)) => {
            path.push(Step::Key("result"));
            judge_result(here, &mut path, tool, success, result);
        }
    }
    Some((tool, body))
}

fn judge_result<'a>(
    here: &mut Here<'_>,
    path: &mut Vec<Step<'a>>,
    tool: &str,
    success: Option<&'static [Key]>,
    result: &'a Value,
) {
    let Some(result) = result.as_object() else {
        let message = format!("{} should be an object, and is {}", shape::name(path), kind(result));
        return here.add(path, Rule::WrongType, message);
    };
    // What stands beside the arm is no object, e.g. `isBackground`.
    let named = |name: &str| name == "success" || ARMS.iter().any(|arm| arm.name == name);
    let arms: Vec<_> = result.iter().filter(|(name, arm)| named(name) || arm.is_object()).collect();
    let [(name, arm)] = arms.as_slice() else {
        let message = format!("{} has {} arms, not one", shape::name(path), arms.len());
        return here.add(path, Rule::OneArm, message);
    };
    path.push(Step::Key(name));
    let known = ARMS.iter().find(|known| known.name == *name);
    if let Some(known) = known
        && success.is_some()
        && !known.tools.is_empty()
        && !known.tools.contains(&tool)
    {
        here.add(path, Rule::WrongArm, format!("`{tool}` does not end in `{name}`"));
    }
    let keys = match known {
        Some(known) => known.keys,
        None if *name == "success" => success.unwrap_or_default(),
        None => return here.add(path, Rule::UnknownArm, format!("the arm `{}` is not known", shown(name))),
    };
    let Some(arm) = arm.as_object() else {
        let message = format!("{} should be an object, and is {}", shape::name(path), kind(arm));
        return here.add(path, Rule::WrongType, message);
    };
    hold_keys(here, path, keys, arm);
    if tool == SHELL {
        judge_exit(here, path, name, arm);
    }
}

/// A command that succeeds exits with 0; one that fails does not, unless a signal ended it.
fn judge_exit<'a>(here: &mut Here<'_>, path: &mut Vec<Step<'a>>, arm: &str, command: &'a Map<String, Value>) {
    let Some(code) = command.get("exitCode").and_then(Value::as_i64) else { return };
    let right = match arm {
        "success" => code == 0,
        "failure" => code != 0 || command.contains_key("signal"),
        _ => true,
    };
    if !right {
        path.push(Step::Key("exitCode"));
        here.add(path, Rule::WrongValue, format!("`exitCode` is {code} in the arm `{arm}`"));
        path.pop();
    }
}
