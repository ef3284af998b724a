//! The response of a hook, and the combined response of all hooks of an event.
//!
//! The exit code counts first, then the JSON object on stdout. Exit code 2 refuses, whatever is on stdout. With exit
//! code 0, stdout must be empty or one JSON object. Everything else is a failure of the hook.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use ibeam_core::{HookBlock, HookOutput};
use ibeam_protocol::Notice;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::event_name::EventName;
use crate::hooks_file::Hook;
use crate::process::{MAX_RESPONSE_BYTES, ProcessEnd, ProcessOutput};

/// The number of characters of stderr in the message about a hook that failed.
const MAX_STDERR_CHARS: usize = 400;

/// The response of one hook.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HookResponse {
    pub(crate) permission: Permission,
    /// The reason for the permission, for the model.
    pub(crate) message: Option<String>,
    /// The message for people, if it differs.
    pub(crate) for_people: Option<String>,
    /// Arguments that replace those of the call.
    pub(crate) input: Option<Map<String, Value>>,
    /// Additional context for the model.
    pub(crate) context: Option<String>,
}

/// The permission of a hook. `allow` has no effect: no hook can allow what others refuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Permission {
    /// No objection.
    #[default]
    None,
    /// A person should decide.
    Ask,
    /// Refuse.
    Deny,
}

#[derive(Default, Deserialize)]
struct RawResponse {
    permission: Option<String>,
    #[serde(rename = "continue")]
    should_continue: Option<bool>,
    #[serde(alias = "userMessage")]
    user_message: Option<String>,
    #[serde(alias = "agentMessage")]
    agent_message: Option<String>,
    updated_input: Option<Map<String, Value>>,
    additional_context: Option<String>,
}

impl HookResponse {
    /// Returns the response of a hook with this `output`, which had `timeout` to run.
    ///
    /// # Errors
    /// The reason why the hook failed.
    pub(crate) fn from_output(output: &ProcessOutput, timeout: Duration) -> Result<Self, String> {
        let status = match &output.end {
            ProcessEnd::TimedOut => {
                let message = format!("it took longer than {} s and was ended", timeout.as_secs_f64());
                return Err(with_stderr(message, output));
            }
            ProcessEnd::Exited(status) => status,
        };
        match (status.code(), status.signal()) {
            (Some(0), _) => RawResponse::parse(output)?.into_response(),
            (Some(2), _) => {
                let stderr = output.stderr.trim();
                // Without stderr, the message may be on stdout, which is otherwise ignored.
                let (message, for_people) = match stderr.is_empty() {
                    true => RawResponse::parse(output).map_or((None, None), RawResponse::messages),
                    false => (Some(stderr.to_owned()), None),
                };
                Ok(HookResponse {
                    permission: Permission::Deny,
                    message,
                    for_people,
                    ..HookResponse::default()
                })
            }
            (Some(code), _) => Err(with_stderr(format!("exit code {code}"), output)),
            (None, Some(signal)) => Err(with_stderr(format!("signal {signal} ended it"), output)),
            (None, None) => Err(with_stderr("it ended without an exit code".to_owned(), output)),
        }
    }
}

impl RawResponse {
    fn parse(output: &ProcessOutput) -> Result<Self, String> {
        if output.stdout_length > MAX_RESPONSE_BYTES as u64 {
            let length = output.stdout_length;
            return Err(format!("it wrote {length} bytes to stdout; the limit is {MAX_RESPONSE_BYTES}"));
        }
        if output.stdout.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        if !output.stdout.trim_ascii_start().starts_with(b"{") {
            return Err("its stdout is not one JSON object".to_owned());
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("its stdout is not one JSON object: {error}"))
    }

    /// Returns the message for the model, and the message for people if it differs. If one of them is missing, the
    /// other replaces it.
    fn messages(self) -> (Option<String>, Option<String>) {
        let given = |message: Option<String>| message.filter(|message| !message.trim().is_empty());
        match (given(self.agent_message), given(self.user_message)) {
            (None, message) => (message, None),
            messages => messages,
        }
    }

    fn into_response(mut self) -> Result<HookResponse, String> {
        let permission = match (self.permission.as_deref(), self.should_continue) {
            (Some("deny"), _) | (_, Some(false)) => Permission::Deny,
            (Some("ask"), _) => Permission::Ask,
            (None | Some("allow"), _) => Permission::None,
            (Some(other), _) => {
                return Err(format!("`permission` is {other:?}, not \"allow\", \"deny\" or \"ask\""));
            }
        };
        let (input, context) = (self.updated_input.take(), self.additional_context.take());
        let context = context.filter(|context| !context.trim().is_empty());
        let (message, for_people) = self.messages();
        Ok(HookResponse { permission, message, for_people, input, context })
    }
}

/// Returns `message` with the end of the hook's stderr.
fn with_stderr(message: String, output: &ProcessOutput) -> String {
    let stderr = output.stderr.trim();
    let from = stderr.char_indices().rev().nth(MAX_STDERR_CHARS - 1).map_or(0, |(start, _)| start);
    match stderr.get(from..).unwrap_or_default() {
        "" => message,
        stderr => format!("{message}: {stderr}"),
    }
}

/// The combined response of several hooks: the first refusal, the first required approval and the first arguments.
#[derive(Default)]
pub(crate) struct CombinedResponse {
    /// Context and notices; the decision is not set.
    pub(crate) output: HookOutput,
    pub(crate) refusal: Option<HookBlock>,
    question: Option<HookBlock>,
    /// The first hook that returned other arguments, and the arguments.
    pub(crate) input: Option<(String, Map<String, Value>)>,
}

impl CombinedResponse {
    /// Returns the refusal; without one, the required approval.
    pub(crate) fn into_block(self) -> Option<HookBlock> {
        self.refusal.or(self.question)
    }

    /// Adds the response of `hook` to `event`, or the reason why the hook failed.
    pub(crate) fn add(&mut self, event: EventName, hook: &Hook, response: Result<HookResponse, String>) {
        let block = |message, for_people, ask| {
            let hook = hook.name.clone();
            HookBlock { hook, message, for_people, ask }
        };
        let HookResponse { permission, message, for_people, input, context } = match response {
            Ok(response) => response,
            Err(error) if hook.fail_closed && event.can_refuse() => {
                let message = format!("a hook that must agree (`failClosed`) failed: {error}");
                self.refusal.get_or_insert(block(message, None, false));
                return;
            }
            Err(error) => return self.warn(event, hook, error),
        };
        match (permission, event.can_refuse()) {
            (Permission::None, _) | (Permission::Ask, false) => {}
            (Permission::Ask, true) => {
                let message = message.unwrap_or(
                    "a hook requires the approval of a person, and no person approved it".to_owned(),
                );
                self.question.get_or_insert(block(message, for_people, true));
            }
            (Permission::Deny, true) => {
                let message = message.unwrap_or("a hook refused it".to_owned());
                self.refusal.get_or_insert(block(message, for_people, false));
            }
            (Permission::Deny, false) => {
                self.warn(event, hook, message.unwrap_or("it refused what cannot be refused".to_owned()));
            }
        }
        if let Some(input) = input {
            self.input.get_or_insert((hook.name.clone(), input));
        }
        if let Some(context) = context {
            self.output.context.push(format!("Context from the hook `{}`:\n{context}", hook.name));
        }
    }

    fn warn(&mut self, event: EventName, hook: &Hook, detail: String) {
        let event = event.as_str().to_owned();
        self.output.notices.push(Notice::HookFailed { hook: hook.name.clone(), event, detail });
    }
}

#[cfg(test)]
mod tests {
    use std::process::ExitStatus;

    use serde_json::json;

    use super::*;

    fn output(code: i32, stdout: &str, stderr: &str) -> ProcessOutput {
        ProcessOutput {
            end: ProcessEnd::Exited(ExitStatus::from_raw(code << 8)),
            stdout: stdout.into(),
            stdout_length: stdout.len() as u64,
            stderr: stderr.to_owned(),
        }
    }

    #[track_caller]
    fn check_for_people(output: &ProcessOutput, message: &str) {
        let response = HookResponse::from_output(output, Duration::from_secs(60)).unwrap();
        assert_eq!(response.for_people.as_deref(), Some(message));
    }

    #[track_caller]
    fn check(output: &ProcessOutput, permission: Permission, message: Option<&str>) {
        let response = HookResponse::from_output(output, Duration::from_secs(60)).unwrap();
        assert_eq!((response.permission, response.message.as_deref()), (permission, message));
    }

    #[track_caller]
    fn check_failed(output: &ProcessOutput, expect: &str) {
        let message = HookResponse::from_output(output, Duration::from_secs(60)).unwrap_err();
        assert!(message.contains(expect), "{message}");
    }

    #[test]
    fn no_response_and_allow_are_no_objection() {
        for stdout in ["", " \n", "{}", "{\"permission\": \"allow\"}", "{\"continue\": true, \"x\": [1]}"] {
            check(&output(0, stdout, "noise"), Permission::None, None);
        }
    }

    #[test]
    fn a_hook_refuses_by_its_response_or_by_exit_2() {
        check(&output(0, r#"{"permission":"deny","user_message":"u"}"#, ""), Permission::Deny, Some("u"));
        let both = r#"{"permission":"deny","userMessage":"u","agentMessage":"a"}"#;
        check(&output(0, both, ""), Permission::Deny, Some("a"));
        check_for_people(&output(0, both, ""), "u");
        check(&output(0, r#"{"permission":"ask"}"#, ""), Permission::Ask, None);
        check(&output(0, r#"{"continue":false,"permission":"allow"}"#, ""), Permission::Deny, None);
        check(&output(2, "", " no\n"), Permission::Deny, Some("no"));
        check(&output(2, r#"{"permission":"allow","user_message":"u"}"#, ""), Permission::Deny, Some("u"));
    }

    #[test]
    fn f179_exit_2_refuses_whatever_is_on_stdout() {
        check(&output(2, "{\"permission\": \"al", "no"), Permission::Deny, Some("no"));
        check(&output(2, "{\"permission\": \"al", ""), Permission::Deny, None);
    }

    #[test]
    fn every_other_end_is_a_failure() {
        check_failed(&output(1, "", "broken\n"), "exit code 1: broken");
        check_failed(&output(127, "", ""), "exit code 127");
        for stdout in ["{", "[]", "1", "{} {}", "null", "{\"permission\": 1}", "{\"updated_input\": []}"] {
            check_failed(&output(0, stdout, ""), "not one JSON object");
        }
        check_failed(&output(0, r#"{"permission":"block"}"#, ""), "block");
        let killed =
            ProcessOutput { end: ProcessEnd::Exited(ExitStatus::from_raw(9)), ..output(0, "{}", "") };
        check_failed(&killed, "signal 9");
        check_failed(
            &ProcessOutput { end: ProcessEnd::TimedOut, ..output(0, "{}", "slow") },
            "longer than 60 s and was ended: slow",
        );
        let flood = ProcessOutput { stdout_length: 100 << 20, ..output(0, "", "") };
        check_failed(&flood, "104857600 bytes");
    }

    #[test]
    fn arguments_and_context_are_parsed() {
        let stdout = r#"{"updated_input":{"command":"ls"},"additional_context":"c"}"#;
        let response = HookResponse::from_output(&output(0, stdout, ""), Duration::ZERO).unwrap();
        assert_eq!(response.input, json!({"command": "ls"}).as_object().cloned());
        assert_eq!(response.context.as_deref(), Some("c"));
    }

    #[test]
    fn the_message_has_the_end_of_stderr() {
        let message =
            HookResponse::from_output(&output(1, "", &"é".repeat(1000)), Duration::ZERO).unwrap_err();
        assert_eq!(message.chars().filter(|c| *c == 'é').count(), MAX_STDERR_CHARS);
    }
}
