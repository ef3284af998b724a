//! The hooks that a host registers with `initialize`: their events, matchers, callbacks and timeouts.
//!
//! A hook that cannot be called is refused by name, because it may restrict the run, unless its event does not exist in
//! ibeam or precedes the registration.

use std::time::Duration;

use ibeam_hooks::compile_claude_matcher;
use regex::Regex;
use serde_json::Value;

use crate::dialect::control_protocol::value_at;

/// The timeout of a hook without one.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest timeout of a hook.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// An event for which hooks of a host are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostHookEvent {
    /// The permission of a call is about to be decided.
    PreToolUse,
    /// A call succeeded.
    PostToolUse,
    /// A call that ran failed.
    PostToolUseFailure,
    /// A prompt is about to become part of the conversation.
    UserPromptSubmit,
    /// The answer is complete.
    Stop,
}

impl HostHookEvent {
    const ALL: [Self; 5] =
        [Self::PreToolUse, Self::PostToolUse, Self::PostToolUseFailure, Self::UserPromptSubmit, Self::Stop];

    /// Returns the name of the event.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::Stop => "Stop",
        }
    }

    /// Whether a hook may refuse the event.
    pub(super) fn allows_refusal(self) -> bool {
        match self {
            Self::PreToolUse | Self::UserPromptSubmit => true,
            Self::PostToolUse | Self::PostToolUseFailure | Self::Stop => false,
        }
    }

    /// Whether the event is about a call, whose tool a matcher names.
    fn has_tool(self) -> bool {
        match self {
            Self::PreToolUse | Self::PostToolUse | Self::PostToolUseFailure => true,
            Self::UserPromptSubmit | Self::Stop => false,
        }
    }
}

/// The events whose hooks are never called: the event precedes the registration or does not exist in ibeam.
const UNCALLED_EVENTS: &[&str] = &[
    "Notification",
    "PostCompact",
    "PostModelSwitch",
    "SessionEnd",
    "SessionStart",
    "SubagentStart",
    "TaskCompleted",
    "TaskCreated",
];

/// The tools for which a hook is called.
#[derive(Clone, Debug)]
struct Matcher(Regex);

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Matcher {}

/// The hooks of one entry of the registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostHook {
    pub(super) event: HostHookEvent,
    /// `None` matches every tool.
    matcher: Option<Matcher>,
    /// The ids of the hooks at the host.
    pub(super) callbacks: Vec<String>,
    pub(super) timeout: Duration,
}

impl HostHook {
    /// Whether the hooks are called for `event` of a tool with any of these names.
    pub(super) fn matches(&self, event: HostHookEvent, names: &[&str]) -> bool {
        self.event == event
            && match &self.matcher {
                Some(Matcher(regex)) => names.iter().any(|name| regex.is_match(name)),
                None => true,
            }
    }
}

/// Returns the hooks of an `initialize` request, and the events whose hooks are never called.
///
/// # Errors
/// The reason for the refusal of a hook that cannot be called.
pub(in crate::dialect) fn read_registration(request: &Value) -> Result<(Vec<HostHook>, Vec<String>), String> {
    let (mut hooks, mut uncalled) = (Vec::new(), Vec::new());
    for (name, entries) in value_at(request, "/hooks").as_object().into_iter().flatten() {
        if entries.as_array().is_some_and(Vec::is_empty) {
            continue;
        }
        match HostHookEvent::ALL.into_iter().find(|event| event.name() == name) {
            Some(event) => {
                let entries = entries.as_array().ok_or_else(|| format!("`hooks.{name}` is not a list"))?;
                for entry in entries {
                    hooks.push(parse_hook(event, entry)?);
                }
            }
            None if UNCALLED_EVENTS.contains(&name.as_str()) => uncalled.push(name.clone()),
            None => {
                return Err(format!(
                    "hooks of the SDK for `{name}` are not supported; for the hooks of ibeam: `ibeam help hooks`"
                ));
            }
        }
    }
    hooks.retain(|hook| !hook.callbacks.is_empty());
    Ok((hooks, uncalled))
}

/// Parses one entry of the registration.
fn parse_hook(event: HostHookEvent, entry: &Value) -> Result<HostHook, String> {
    let name = event.name();
    let callbacks = value_at(entry, "/hookCallbackIds")
        .as_array()
        .map(|ids| ids.iter().map(|id| id.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>());
    let callbacks =
        callbacks.flatten().ok_or_else(|| format!("a hook for `{name}` has no `hookCallbackIds`"))?;
    let matcher = match value_at(entry, "/matcher") {
        Value::String(matcher) if event.has_tool() => compile_matcher(matcher)?,
        Value::Null | Value::String(_) => None,
        other => return Err(format!("the `matcher` {other} of a hook for `{name}` is not text")),
    };
    let timeout =
        value_at(entry, "/timeout").as_f64().and_then(|time| Duration::try_from_secs_f64(time).ok());
    let timeout = timeout.filter(|time| !time.is_zero()).unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT);
    Ok(HostHook { event, matcher, callbacks, timeout })
}

fn compile_matcher(matcher: &str) -> Result<Option<Matcher>, String> {
    match compile_claude_matcher(matcher) {
        Ok(regex) => Ok(regex.map(Matcher)),
        Err(_) => Err(format!("the `matcher` {matcher:?} is not a supported regular expression")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(matcher: &Value, name: &str, expect: bool) {
        let entry = json!({ "matcher": matcher, "hookCallbackIds": ["hook_0"] });
        let (hooks, _) = read_registration(&json!({ "hooks": { "PreToolUse": [entry] } })).unwrap();
        assert_eq!(hooks[0].matches(HostHookEvent::PreToolUse, &[name]), expect, "{matcher} {name}");
        assert!(!hooks[0].matches(HostHookEvent::PostToolUse, &[name]));
    }

    #[test]
    fn matchers_are_names_or_expressions() {
        for all in [json!(null), json!(""), json!("*")] {
            check(&all, "Bash", true);
        }
        check(&json!("Write|Edit"), "Edit", true);
        check(&json!("Write|Edit"), "MultiEdit", false);
        check(&json!("mcp__calc__.*"), "mcp__calc__add", true);
        check(&json!("^B.sh$"), "Read", false);
    }

    #[test]
    fn hooks_that_cannot_be_called_are_refused_by_name() {
        for (hooks, part) in [
            (json!({ "PreToolUse": [{}] }), "hookCallbackIds"),
            (json!({ "PreToolUse": [{ "hookCallbackIds": [7] }] }), "hookCallbackIds"),
            (json!({ "PreToolUse": {} }), "`hooks.PreToolUse`"),
            (json!({ "PreToolUse": [{ "matcher": "(?!a)", "hookCallbackIds": ["a"] }] }), "(?!a)"),
            (json!({ "SubagentStop": [{ "hookCallbackIds": ["a"] }] }), "`SubagentStop`"),
        ] {
            let reason = read_registration(&json!({ "hooks": hooks })).unwrap_err();
            assert!(reason.contains(part), "{reason}");
        }
    }

    #[test]
    fn timeouts_are_those_of_the_host_or_the_default() {
        for (given, expect) in [(json!(null), 60), (json!(5), 5), (json!(-1), 60), (json!(0), 60)] {
            let entry = json!({ "hookCallbackIds": ["a"], "timeout": given });
            let (hooks, uncalled) =
                read_registration(&json!({ "hooks": { "Stop": [entry], "SessionStart": [{}] } })).unwrap();
            assert_eq!((hooks[0].timeout.as_secs(), uncalled), (expect, vec!["SessionStart".to_owned()]));
        }
    }
}
