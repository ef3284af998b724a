//! The response of a hook of a hook file.
//!
//! The exit code counts first, then the JSON object on stdout. Exit code 2 refuses, whatever is on stdout. With exit
//! code 0, stdout must be empty or one JSON object. Everything else is a failure of the hook.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::process::{MAX_RESPONSE_BYTES, ProcessEnd, ProcessOutput};

/// The number of characters of stderr in the message about a hook that failed.
const MAX_STDERR_CHARS: usize = 400;

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
    /// A message that continues a run whose answer is complete.
    pub(crate) follow_up: Option<String>,
}

/// The permission of a hook. `allow` has no effect: no hook can allow what others refuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Permission {
    /// No objection.
    #[default]
    None,
    /// A person should decide.
    Ask,
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
    followup_message: Option<String>,
}

impl HookResponse {
    /// Returns the response of a hook with this `output`, which had `timeout` to run.
    ///
    /// # Errors
    /// The reason why the hook failed.
    pub(crate) fn from_output(output: &ProcessOutput, timeout: Duration) -> Result<Self, String> {
        match SuccessfulExit::from_output(output, timeout)? {
            SuccessfulExit::Zero => RawResponse::parse(output)?.into_response(),
            SuccessfulExit::Two => {
                let stderr = output.stderr.trim();
                // Without stderr, the message may be on stdout, which is otherwise ignored.
                let (message, for_people) = match stderr.is_empty() {
                    true => RawResponse::parse(output).map_or((None, None), RawResponse::messages),
                    false => (Some(stderr.to_owned()), None),
                };
                let permission = Permission::Deny;
                Ok(HookResponse { permission, message, for_people, ..HookResponse::default() })
            }
        }
    }
}

impl RawResponse {
    fn parse(output: &ProcessOutput) -> Result<Self, String> {
        check_length(output)?;
        let response = output.response();
        if response.is_empty() {
            return Ok(Self::default());
        }
        if !response.starts_with(b"{") {
            return Err("its stdout is not one JSON object".to_owned());
        }
        serde_json::from_slice(response)
            .map_err(|error| format!("its stdout is not one JSON object: {error}"))
    }

    /// Returns the message for the model, and the message for people if it differs. If one of them is missing, the
    /// other replaces it.
    fn messages(self) -> (Option<String>, Option<String>) {
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
        let input = self.updated_input.take();
        let (context, follow_up) = (self.additional_context.take(), self.followup_message.take());
        let (context, follow_up) = (given(context), given(follow_up));
        let (message, for_people) = self.messages();
        Ok(HookResponse { permission, message, for_people, input, context, follow_up })
    }
}

/// Checks the size of the stdout of a hook.
///
/// # Errors
/// The message about more bytes than the limit.
pub(crate) fn check_length(output: &ProcessOutput) -> Result<(), String> {
    let length = output.stdout_length;
    match length > MAX_RESPONSE_BYTES as u64 {
        true => Err(format!("it wrote {length} bytes to stdout; the limit is {MAX_RESPONSE_BYTES}")),
        false => Ok(()),
    }
}

/// Returns the text unless it is blank.
pub(crate) fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// The end of a hook that ran to its end without a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SuccessfulExit {
    /// Exit code 0.
    Zero,
    /// Exit code 2, which refuses.
    Two,
}

impl SuccessfulExit {
    /// Returns how a hook with this `output`, which had `timeout` to run, ended.
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
            (Some(0), _) => Ok(Self::Zero),
            (Some(2), _) => Ok(Self::Two),
            (Some(code), _) => Err(with_stderr(format!("exit code {code}"), output)),
            (None, Some(signal)) => Err(with_stderr(format!("signal {signal} ended it"), output)),
            (None, None) => Err(with_stderr("it ended without an exit code".to_owned(), output)),
        }
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
        check(&output(0, "\u{feff}{\r\n\"permission\":\"deny\"}\r\n", ""), Permission::Deny, None);
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
