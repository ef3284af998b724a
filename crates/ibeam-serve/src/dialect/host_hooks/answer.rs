//! The response of a hook of the host, in the format of hooks of Claude Code.
//!
//! An invalid response counts as a failure of the hook, because it may have been a refusal.

use serde_json::{Map, Value};

use super::registration::HostHookEvent;
use crate::dialect::control_protocol::value_at;

/// The response of one hook.
#[derive(Debug, Default, PartialEq)]
pub(super) struct HookAnswer {
    pub(super) permission: HookPermission,
    /// The reason, for the model.
    pub(super) reason: Option<String>,
    /// The reason, for people, where it differs.
    pub(super) for_people: Option<String>,
    /// The input that replaces the input of the call.
    pub(super) input: Option<Map<String, Value>>,
    /// Further context for the model.
    pub(super) context: Option<String>,
    /// Whether the run should end.
    pub(super) ends_run: bool,
    /// The keys of the response that have no effect.
    pub(super) unused: Vec<&'static str>,
}

/// The decision of a hook. `allow` has no effect, because a hook cannot allow more than the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HookPermission {
    #[default]
    Undecided,
    /// The host should be asked with `can_use_tool`.
    Ask,
    Deny,
}

/// Reads the response of a hook of `event`.
///
/// # Errors
/// The reason why the response is invalid.
pub(super) fn parse(event: HostHookEvent, answer: &Value) -> Result<HookAnswer, String> {
    if !(answer.is_object() || answer.is_null()) {
        return Err("its answer is not an object".to_owned());
    }
    let specific = value_at(answer, "/hookSpecificOutput");
    if let Some(name) = value_at(specific, "/hookEventName").as_str().filter(|name| *name != event.name()) {
        return Err(format!("its answer is about `{name}`"));
    }
    let ends_run = *value_at(answer, "/continue") == false;
    let mut permission = match text(answer, "/decision").as_deref() {
        Some("block") => HookPermission::Deny,
        Some("approve") | None => HookPermission::Undecided,
        Some(other) => return Err(format!("`decision` is {other:?}, not \"block\" or \"approve\"")),
    };
    let decided = text(specific, "/permissionDecision");
    match decided.as_deref() {
        Some("deny") => permission = HookPermission::Deny,
        Some("ask") if permission == HookPermission::Undecided => permission = HookPermission::Ask,
        Some("ask" | "allow") | None => {}
        Some(other) => {
            return Err(format!("`permissionDecision` is {other:?}, not \"allow\", \"ask\" or \"deny\""));
        }
    }
    if ends_run {
        permission = HookPermission::Deny;
    }
    let input = match value_at(specific, "/updatedInput") {
        Value::Null => None,
        Value::Object(input) => Some(input.clone()),
        _ => return Err("`updatedInput` is not an object".to_owned()),
    };
    let reasons = [(specific, "/permissionDecisionReason"), (answer, "/reason"), (answer, "/stopReason")];
    let mut unused = Vec::new();
    for (key, pointer) in
        [("updatedToolOutput", "/updatedToolOutput"), ("updatedMCPToolOutput", "/updatedMCPToolOutput")]
    {
        if !value_at(specific, pointer).is_null() {
            unused.push(key);
        }
    }
    Ok(HookAnswer {
        permission,
        reason: reasons.into_iter().find_map(|(of, pointer)| text(of, pointer)),
        for_people: text(answer, "/systemMessage"),
        input,
        context: text(specific, "/additionalContext"),
        ends_run,
        unused,
    })
}

/// Returns the text at a JSON pointer, unless it is blank.
fn text(of: &Value, pointer: &str) -> Option<String> {
    let text = value_at(of, pointer).as_str().filter(|text| !text.trim().is_empty());
    text.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(answer: Value, permission: HookPermission, reason: Option<&str>) {
        let read = parse(HostHookEvent::PreToolUse, &answer).unwrap();
        assert_eq!((read.permission, read.reason.as_deref()), (permission, reason), "{answer}");
    }

    fn specific(decision: &str) -> Value {
        json!({
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": "why",
        })
    }

    #[test]
    fn answers_restrict_or_decide_nothing() {
        check(json!(null), HookPermission::Undecided, None);
        check(json!({ "async": true }), HookPermission::Undecided, None);
        check(json!({ "decision": "approve" }), HookPermission::Undecided, None);
        check(json!({ "hookSpecificOutput": specific("allow") }), HookPermission::Undecided, Some("why"));
        check(json!({ "hookSpecificOutput": specific("ask") }), HookPermission::Ask, Some("why"));
        check(json!({ "hookSpecificOutput": specific("deny") }), HookPermission::Deny, Some("why"));
        check(json!({ "decision": "block", "reason": "no" }), HookPermission::Deny, Some("no"));
        let both = json!({ "decision": "block", "hookSpecificOutput": specific("allow") });
        check(both, HookPermission::Deny, Some("why"));
        check(json!({ "continue": false, "stopReason": "enough" }), HookPermission::Deny, Some("enough"));
    }

    #[test]
    fn an_invalid_answer_is_a_failure() {
        for answer in [
            json!("no"),
            json!({ "decision": "refuse" }),
            json!({ "hookSpecificOutput": { "permissionDecision": "defer" } }),
            json!({ "hookSpecificOutput": { "hookEventName": "Stop" } }),
            json!({ "hookSpecificOutput": { "updatedInput": "ls" } }),
        ] {
            assert!(parse(HostHookEvent::PreToolUse, &answer).is_err(), "{answer}");
        }
    }

    #[test]
    fn inputs_contexts_and_unused_parts_are_taken() {
        let specific =
            json!({ "updatedInput": { "a": 1 }, "additionalContext": "c", "updatedMCPToolOutput": {} });
        let read = parse(HostHookEvent::PostToolUse, &json!({ "hookSpecificOutput": specific })).unwrap();
        assert_eq!(read.input, json!({ "a": 1 }).as_object().cloned());
        assert_eq!((read.context.as_deref(), read.unused), (Some("c"), vec!["updatedMCPToolOutput"]));
    }
}
