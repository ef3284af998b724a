//! The response of a command hook in the format of Claude Code.
//!
//! Exit code 2 refuses, with stderr as the reason. At the end of an answer it continues the run, after a call it adds
//! context. With exit code 0, stdout is one JSON object or text; text is context for the model at the start of a
//! session and at a prompt, and has no effect otherwise. Everything else is a failure of the hook.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::event_name::EventName;
use crate::process::ProcessOutput;
use crate::response::{HookResponse, Permission, SuccessfulExit, check_length, given};

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawResponse {
    decision: Option<String>,
    reason: Option<String>,
    #[serde(rename = "continue")]
    should_continue: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    hook_specific_output: EventOutput,
}

/// The part of a response that differs by event.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct EventOutput {
    hook_event_name: Option<String>,
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Map<String, Value>>,
    additional_context: Option<String>,
}

/// Returns the response of a hook of `event` with this `output`, which had `timeout` to run.
///
/// # Errors
/// The reason why the hook failed.
pub(crate) fn from_output(
    event: EventName,
    output: &ProcessOutput,
    timeout: Duration,
) -> Result<HookResponse, String> {
    match SuccessfulExit::from_output(output, timeout)? {
        SuccessfulExit::Two => refusal(event, given(Some(output.stderr.trim().to_owned())), None),
        SuccessfulExit::Zero => {
            check_length(output)?;
            let stdout = output.response();
            if stdout.starts_with(b"{") {
                let raw: RawResponse = serde_json::from_slice(stdout)
                    .map_err(|error| format!("its stdout is not one JSON object: {error}"))?;
                return raw.into_response(event);
            }
            let takes_text = matches!(event, EventName::SessionStart | EventName::BeforeSubmitPrompt);
            let context = given(Some(String::from_utf8_lossy(stdout).into_owned()).filter(|_| takes_text));
            Ok(HookResponse { context, ..HookResponse::default() })
        }
    }
}

/// Returns the response of a hook that refuses `event`: what that means depends on the event.
///
/// # Errors
/// The hook cannot refuse this event.
fn refusal(
    event: EventName,
    message: Option<String>,
    for_people: Option<String>,
) -> Result<HookResponse, String> {
    if event == EventName::SubagentStart {
        return Err(message.unwrap_or("it cannot refuse this event".to_owned()));
    }
    if event.can_continue() {
        let follow_up = Some(message.unwrap_or("a hook requires that you continue".to_owned()));
        return Ok(HookResponse { follow_up, ..HookResponse::default() });
    }
    if matches!(event, EventName::PostToolUse | EventName::PostToolUseFailure) {
        return Ok(HookResponse { context: message, ..HookResponse::default() });
    }
    let permission = Permission::Deny;
    Ok(HookResponse { permission, message, for_people, ..HookResponse::default() })
}

impl RawResponse {
    fn into_response(self, event: EventName) -> Result<HookResponse, String> {
        let specific = self.hook_specific_output;
        let expected = event.claude_name();
        if let Some(name) = specific.hook_event_name.filter(|name| Some(name.as_str()) != expected) {
            return Err(format!("its output is about `{name}`"));
        }
        let is_blocked = match self.decision.as_deref() {
            Some("block") => true,
            Some("approve") | None => false,
            Some(other) => return Err(format!("`decision` is {other:?}, not \"block\" or \"approve\"")),
        };
        let permission = match specific.permission_decision.as_deref() {
            Some("deny") => Permission::Deny,
            Some("ask") => Permission::Ask,
            Some("allow") | None => Permission::None,
            Some(other) => {
                return Err(format!("`permissionDecision` is {other:?}, not \"allow\", \"ask\" or \"deny\""));
            }
        };
        let ends_run = self.should_continue == Some(false);
        let reason = given(specific.permission_decision_reason).or(given(self.reason));
        let for_people = given(self.system_message);
        let context = given(specific.additional_context);
        let input = specific.updated_input;
        if ends_run && event.can_continue() {
            // The run ends now, as the hook wants it.
            return Ok(HookResponse::default());
        }
        let mut response = match (permission, is_blocked || ends_run) {
            (Permission::Deny, _) | (_, true) => {
                refusal(event, reason.or(given(self.stop_reason)), for_people)?
            }
            (permission @ (Permission::Ask | Permission::None), false) => {
                HookResponse { permission, message: reason, for_people, input, ..HookResponse::default() }
            }
        };
        response.context = match (response.context, context) {
            (Some(reason), Some(context)) => Some(format!("{reason}\n{context}")),
            (reason, context) => reason.or(context),
        };
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use serde_json::json;

    use super::*;
    use crate::process::ProcessEnd;

    fn response(event: EventName, code: i32, stdout: &str, stderr: &str) -> Result<HookResponse, String> {
        let output = ProcessOutput {
            end: ProcessEnd::Exited(ExitStatus::from_raw(code << 8)),
            stdout: stdout.into(),
            stdout_length: stdout.len() as u64,
            stderr: stderr.to_owned(),
        };
        from_output(event, &output, Duration::from_secs(60))
    }

    #[track_caller]
    fn check(stdout: &Value, permission: Permission, message: Option<&str>) {
        let response = response(EventName::PreToolUse, 0, &stdout.to_string(), "").unwrap();
        assert_eq!((response.permission, response.message.as_deref()), (permission, message), "{stdout}");
    }

    #[test]
    fn decisions_about_a_call_are_permissions() {
        let specific = |decision: &str| {
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision,
                "permissionDecisionReason": "why"}})
        };
        check(&specific("deny"), Permission::Deny, Some("why"));
        check(&specific("ask"), Permission::Ask, Some("why"));
        check(&specific("allow"), Permission::None, Some("why"));
        check(&json!({"decision": "block", "reason": "no"}), Permission::Deny, Some("no"));
        check(&json!({"decision": "approve"}), Permission::None, None);
        check(&json!({"continue": false, "stopReason": "enough"}), Permission::Deny, Some("enough"));
        let changed = json!({"hookSpecificOutput": {"updatedInput": {"command": "ls"}}});
        let response = response(EventName::PreToolUse, 0, &changed.to_string(), "").unwrap();
        assert_eq!(response.input, json!({"command": "ls"}).as_object().cloned());
    }

    #[test]
    fn exit_code_2_means_what_the_event_can_do() {
        let check = |event| response(event, 2, "{", " no \n").unwrap();
        let refused = check(EventName::PreToolUse);
        assert_eq!((refused.permission, refused.message.as_deref()), (Permission::Deny, Some("no")));
        assert_eq!(check(EventName::BeforeSubmitPrompt).permission, Permission::Deny);
        assert_eq!(check(EventName::Stop).follow_up.as_deref(), Some("no"));
        assert_eq!(check(EventName::PostToolUse).context.as_deref(), Some("no"));
        assert!(response(EventName::SubagentStart, 2, "", "no").is_err());
    }

    #[test]
    fn the_end_of_an_answer_can_be_blocked() {
        let block = json!({"decision": "block", "reason": "run the tests"}).to_string();
        let blocked = response(EventName::Stop, 0, &block, "").unwrap();
        assert_eq!(blocked.follow_up.as_deref(), Some("run the tests"));
        let end = json!({"decision": "block", "reason": "r", "continue": false}).to_string();
        assert_eq!(response(EventName::Stop, 0, &end, ""), Ok(HookResponse::default()));
    }

    #[test]
    fn text_is_context_where_a_prompt_follows() {
        let context = |event| response(event, 0, "be brief\n", "").unwrap().context;
        assert_eq!(context(EventName::SessionStart).as_deref(), Some("be brief"));
        assert_eq!(context(EventName::BeforeSubmitPrompt).as_deref(), Some("be brief"));
        assert_eq!(context(EventName::PreToolUse), None);
    }

    #[test]
    fn f179_an_invalid_response_is_a_failure() {
        for stdout in [
            json!({"decision": "maybe"}),
            json!({"hookSpecificOutput": {"permissionDecision": "defer"}}),
            json!({"hookSpecificOutput": {"hookEventName": "Stop"}}),
            json!({"hookSpecificOutput": {"updatedInput": "ls"}}),
        ] {
            assert!(response(EventName::PreToolUse, 0, &stdout.to_string(), "").is_err(), "{stdout}");
        }
        assert!(response(EventName::PreToolUse, 0, "{} {}", "").is_err());
        let failed = response(EventName::PreToolUse, 1, "", "broken").unwrap_err();
        assert_eq!(failed, "exit code 1: broken");
    }
}
