//! What a hook that has ended says: by its exit code first, then by the one JSON object on its stdout.
//!
//! Exit 2 refuses, whatever stands on stdout. Exit 0 with anything but one object or nothing counts as failed, as
//! every other end does.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::process::{End, Ended, LARGEST_ANSWER};

/// Characters of stderr that are told of a hook that failed.
const TOLD_OF_STDERR: usize = 400;

/// What a hook says of the one thing that it was told.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    pub(super) permission: Permission,
    /// The words that go with it.
    pub(super) message: Option<String>,
    /// The words for people, where they differ.
    pub(super) for_people: Option<String>,
    /// Arguments in the place of those it was told.
    pub(super) input: Option<Map<String, Value>>,
    /// What the model should know.
    pub(super) context: Option<String>,
}

/// Its word. There is none that lifts what others refuse: `allow` says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Permission {
    #[default]
    Silent,
    /// A person should decide.
    Ask,
    Deny,
}

#[derive(Default, Deserialize)]
struct Written {
    permission: Option<String>,
    #[serde(rename = "continue")]
    goes_on: Option<bool>,
    #[serde(alias = "userMessage")]
    user_message: Option<String>,
    #[serde(alias = "agentMessage")]
    agent_message: Option<String>,
    updated_input: Option<Map<String, Value>>,
    additional_context: Option<String>,
}

/// The answer of a hook that had `time`.
///
/// # Errors
/// Why it counts as failed, in words.
pub(super) fn of(ended: &Ended, time: Duration) -> Result<Answer, String> {
    let status = match &ended.end {
        End::TimedOut => {
            let said = format!("it took longer than {} s and was ended", time.as_secs_f64());
            return Err(with_stderr(said, ended));
        }
        End::Exited(status) => status,
    };
    match (status.code(), status.signal()) {
        (Some(0), _) => written(ended)?.answer(),
        (Some(2), _) => {
            let stderr = ended.stderr.trim();
            // What it prints besides is of no account; its words may be taken from there.
            let (message, for_people) = match stderr.is_empty() {
                true => written(ended).map_or((None, None), Written::messages),
                false => (Some(stderr.to_owned()), None),
            };
            Ok(Answer { permission: Permission::Deny, message, for_people, ..Answer::default() })
        }
        (Some(code), _) => Err(with_stderr(format!("exit code {code}"), ended)),
        (None, Some(signal)) => Err(with_stderr(format!("signal {signal} ended it"), ended)),
        (None, None) => Err(with_stderr("it ended without an exit code".to_owned(), ended)),
    }
}

fn written(ended: &Ended) -> Result<Written, String> {
    if ended.stdout_length > LARGEST_ANSWER as u64 {
        let length = ended.stdout_length;
        return Err(format!("it wrote {length} bytes to stdout, and {LARGEST_ANSWER} are the most"));
    }
    if ended.stdout.trim_ascii().is_empty() {
        return Ok(Written::default());
    }
    if !ended.stdout.trim_ascii_start().starts_with(b"{") {
        return Err("its stdout is not one JSON object".to_owned());
    }
    serde_json::from_slice(&ended.stdout)
        .map_err(|error| format!("its stdout is not one JSON object: {error}"))
}

impl Written {
    /// The message for the model, and that for people where it differs; each stands in for the other.
    fn messages(self) -> (Option<String>, Option<String>) {
        let given = |message: Option<String>| message.filter(|message| !message.trim().is_empty());
        match (given(self.agent_message), given(self.user_message)) {
            (None, message) => (message, None),
            messages => messages,
        }
    }

    fn answer(mut self) -> Result<Answer, String> {
        let permission = match (self.permission.as_deref(), self.goes_on) {
            (Some("deny"), _) | (_, Some(false)) => Permission::Deny,
            (Some("ask"), _) => Permission::Ask,
            (None | Some("allow"), _) => Permission::Silent,
            (Some(other), _) => {
                return Err(format!("`permission` is {other:?}, not \"allow\", \"deny\" or \"ask\""));
            }
        };
        let (input, context) = (self.updated_input.take(), self.additional_context.take());
        let context = context.filter(|context| !context.trim().is_empty());
        let (message, for_people) = self.messages();
        Ok(Answer { permission, message, for_people, input, context })
    }
}

/// `said` with the end of what it wrote to stderr.
fn with_stderr(said: String, ended: &Ended) -> String {
    let stderr = ended.stderr.trim();
    let from = stderr.char_indices().rev().nth(TOLD_OF_STDERR - 1).map_or(0, |(start, _)| start);
    match stderr.get(from..).unwrap_or_default() {
        "" => said,
        stderr => format!("{said}: {stderr}"),
    }
}

#[cfg(test)]
mod tests {
    use std::process::ExitStatus;

    use serde_json::json;

    use super::*;

    fn ended(code: i32, stdout: &str, stderr: &str) -> Ended {
        Ended {
            end: End::Exited(ExitStatus::from_raw(code << 8)),
            stdout: stdout.into(),
            stdout_length: stdout.len() as u64,
            stderr: stderr.to_owned(),
        }
    }

    #[track_caller]
    fn check_for_people(ended: &Ended, message: &str) {
        let answer = of(ended, Duration::from_secs(60)).unwrap();
        assert_eq!(answer.for_people.as_deref(), Some(message));
    }

    #[track_caller]
    fn check(ended: &Ended, permission: Permission, message: Option<&str>) {
        let answer = of(ended, Duration::from_secs(60)).unwrap();
        assert_eq!((answer.permission, answer.message.as_deref()), (permission, message));
    }

    #[track_caller]
    fn check_failed(ended: &Ended, expect: &str) {
        let said = of(ended, Duration::from_secs(60)).unwrap_err();
        assert!(said.contains(expect), "{said}");
    }

    #[test]
    fn a_hook_that_says_nothing_or_allow_says_nothing() {
        for stdout in ["", " \n", "{}", "{\"permission\": \"allow\"}", "{\"continue\": true, \"x\": [1]}"] {
            check(&ended(0, stdout, "noise"), Permission::Silent, None);
        }
    }

    #[test]
    fn a_hook_refuses_in_words_or_with_exit_2() {
        check(&ended(0, r#"{"permission":"deny","user_message":"u"}"#, ""), Permission::Deny, Some("u"));
        let both = r#"{"permission":"deny","userMessage":"u","agentMessage":"a"}"#;
        check(&ended(0, both, ""), Permission::Deny, Some("a"));
        check_for_people(&ended(0, both, ""), "u");
        check(&ended(0, r#"{"permission":"ask"}"#, ""), Permission::Ask, None);
        check(&ended(0, r#"{"continue":false,"permission":"allow"}"#, ""), Permission::Deny, None);
        check(&ended(2, "", " no\n"), Permission::Deny, Some("no"));
        check(&ended(2, r#"{"permission":"allow","user_message":"u"}"#, ""), Permission::Deny, Some("u"));
    }

    #[test]
    fn f179_exit_2_refuses_whatever_stands_on_stdout() {
        check(&ended(2, "{\"permission\": \"al", "no"), Permission::Deny, Some("no"));
        check(&ended(2, "{\"permission\": \"al", ""), Permission::Deny, None);
    }

    #[test]
    fn every_other_end_is_a_failure() {
        check_failed(&ended(1, "", "broken\n"), "exit code 1: broken");
        check_failed(&ended(127, "", ""), "exit code 127");
        for stdout in ["{", "[]", "1", "{} {}", "null", "{\"permission\": 1}", "{\"updated_input\": []}"] {
            check_failed(&ended(0, stdout, ""), "not one JSON object");
        }
        check_failed(&ended(0, r#"{"permission":"block"}"#, ""), "block");
        let killed = Ended { end: End::Exited(ExitStatus::from_raw(9)), ..ended(0, "{}", "") };
        check_failed(&killed, "signal 9");
        check_failed(
            &Ended { end: End::TimedOut, ..ended(0, "{}", "slow") },
            "longer than 60 s and was ended: slow",
        );
        let flood = Ended { stdout_length: 100 << 20, ..ended(0, "", "") };
        check_failed(&flood, "104857600 bytes");
    }

    #[test]
    fn arguments_and_context_are_taken() {
        let stdout = r#"{"updated_input":{"command":"ls"},"additional_context":"c"}"#;
        let answer = of(&ended(0, stdout, ""), Duration::ZERO).unwrap();
        assert_eq!(answer.input, json!({"command": "ls"}).as_object().cloned());
        assert_eq!(answer.context.as_deref(), Some("c"));
    }

    #[test]
    fn only_the_end_of_stderr_is_told() {
        let said = of(&ended(1, "", &"é".repeat(1000)), Duration::ZERO).unwrap_err();
        assert_eq!(said.chars().filter(|c| *c == 'é').count(), TOLD_OF_STDERR);
    }
}
