//! Lists the configured hooks, and runs those of an event on a sample input, outside a run.

use std::path::PathBuf;

use ibeam_protocol::{Sentence, sentence};
use serde_json::{Map, Value};

use crate::claude_call::ClaudeFields;
use crate::event_name::EventName;
use crate::hook_config::{Hook, HookAction, HookConfig};
use crate::process::{ProcessEnd, ProcessOutput};
use crate::response::{HookResponse, Permission};
use crate::runner::{FinishedHook, HookRunner};

/// A configured hook, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookListing {
    /// The event, as the file of the hook spells it.
    pub event: &'static str,
    /// `command`, `prompt` or `unreadable`.
    pub kind: &'static str,
    /// The command or the prompt.
    pub text: String,
    /// The regular expression that selects subjects; `None` for all.
    pub matcher: Option<String>,
    pub path: PathBuf,
}

impl HookListing {
    fn new(event: EventName, hook: &Hook) -> Self {
        Self {
            event: hook.format.event_name(event),
            kind: match hook.action {
                HookAction::Command(_) => "command",
                HookAction::Prompt { .. } => "prompt",
                HookAction::Unreadable(_) => "unreadable",
            },
            text: hook.action.text().to_owned(),
            matcher: hook.matcher.as_ref().map(|matcher| matcher.as_str().to_owned()),
            path: hook.path.clone(),
        }
    }
}

/// A hook that was tried.
#[derive(Debug)]
pub struct HookTrial {
    pub hook: HookListing,
    /// The result; `None` if the matcher does not accept the input.
    pub result: Option<TrialResult>,
}

/// The result of a hook in a trial.
#[derive(Debug, PartialEq, Eq)]
pub struct TrialResult {
    /// The exit code of a command that ended by itself.
    pub exit_code: Option<i32>,
    /// The stdout of a command, or the answer of a model.
    pub stdout: String,
    /// The end of the stderr of a command.
    pub stderr: String,
    pub decision: TrialDecision,
    /// The message of the decision, or the reason of the failure.
    pub message: Option<String>,
}

/// The decision of a hook in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialDecision {
    /// The run continues as without the hook.
    Continue,
    /// The call, prompt or sub-agent is refused.
    Deny,
    /// A person has to agree.
    Ask,
    /// The call gets other arguments.
    UpdateInput,
    /// The model receives additional context.
    AddContext,
    /// The run continues with a message.
    FollowUp,
    /// The hook failed, and the run continues without it.
    FailedOpen,
    /// The hook failed, and therefore the call, prompt or sub-agent is refused.
    FailedClosed,
}

impl TrialDecision {
    /// Returns the name for reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::UpdateInput => "update input",
            Self::AddContext => "add context",
            Self::FollowUp => "follow up",
            Self::FailedOpen => "failed, continue",
            Self::FailedClosed => "failed, deny",
        }
    }
}

/// The name of an event that hooks cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct UnknownEvent {
    pub name: String,
    pub known: String,
}

impl UnknownEvent {
    /// Returns the message.
    pub fn sentence(&self) -> Sentence {
        let Self { name, known } = self;
        sentence!("there is no event `{name}`; use one of: {names}", name, names = known)
    }
}

impl HookConfig {
    /// Returns the hooks by event, in the order in which they run.
    pub fn listings(&self) -> Vec<HookListing> {
        let hooks = self.hooks.iter();
        hooks.flat_map(|(event, hooks)| hooks.iter().map(|hook| HookListing::new(*event, hook))).collect()
    }
}

impl HookRunner {
    /// Runs the hooks of the event `name` on a sample input, in which `input` replaces keys. Each hook receives the input
    /// in its own format; `name` may have the spelling of either format.
    ///
    /// # Errors
    /// There is no such event.
    pub async fn try_event(
        &self,
        name: &str,
        input: &Map<String, Value>,
    ) -> Result<Vec<HookTrial>, UnknownEvent> {
        let event = EventName::parse(name).or_else(|| EventName::parse_claude(name));
        let event = event.ok_or_else(|| {
            let known = EventName::ALL.map(EventName::as_str).join(", ");
            UnknownEvent { name: name.to_owned(), known }
        })?;
        let fields = with_keys(event.sample(self.workspace()), input);
        let claude_fields = with_keys(event.claude_sample(), input);
        let subject = event.subject(&fields);
        let claude = || {
            let keys = ["tool_name", "agent_type", "source", "reason", "trigger"];
            let subject = keys.iter().find_map(|key| claude_fields.get(key)?.as_str()).map(str::to_owned);
            let has_subject = event.claude_name().is_some() && event != EventName::BeforeSubmitPrompt;
            let subjects = subject.into_iter().filter(|_| has_subject).collect();
            Ok(ClaudeFields { subjects, fields: claude_fields })
        };
        let invocation = self.invocation(event, subject.as_deref(), fields, claude);
        let mut trials = Vec::new();
        for hook in self.hooks_of(event) {
            let is_selected = invocation.hooks.iter().any(|selected| std::ptr::eq(*selected, hook));
            let result = match is_selected {
                true => Some(match self.run_hook(&invocation, hook).await {
                    Ok(finished) => {
                        let response = self.response(event, hook, &finished);
                        TrialResult::new(event, hook, finished, response)
                    }
                    Err(error) => TrialResult::failed(event, hook, error),
                }),
                false => None,
            };
            trials.push(HookTrial { hook: HookListing::new(event, hook), result });
        }
        Ok(trials)
    }
}

/// Replaces keys of an object.
fn with_keys(mut fields: Value, input: &Map<String, Value>) -> Value {
    if let Some(fields) = fields.as_object_mut() {
        fields.extend(input.clone());
    }
    fields
}

impl TrialResult {
    fn new(
        event: EventName,
        hook: &Hook,
        finished: FinishedHook,
        response: Result<HookResponse, String>,
    ) -> Self {
        let (exit_code, stdout, stderr) = match finished {
            FinishedHook::Process(ProcessOutput { end, stdout, stderr, .. }) => {
                let exit_code = match end {
                    ProcessEnd::Exited(status) => status.code(),
                    ProcessEnd::TimedOut => None,
                };
                (exit_code, String::from_utf8_lossy(&stdout).into_owned(), stderr)
            }
            FinishedHook::Answer(answer) => (None, answer.text.unwrap_or_default(), String::new()),
        };
        let Self { decision, message, .. } = match response {
            Ok(response) => Self::from_response(event, response),
            Err(error) => Self::failed(event, hook, error),
        };
        Self { exit_code, stdout, stderr, decision, message }
    }

    fn from_response(event: EventName, response: HookResponse) -> Self {
        let HookResponse { permission, message, input, context, follow_up, .. } = response;
        let context = context.filter(|_| event.can_add_context());
        let follow_up = follow_up.filter(|_| event.can_continue());
        let input = input.filter(|_| event == EventName::PreToolUse);
        let (decision, message) = match (permission, event.can_refuse()) {
            (Permission::Deny, true) => (TrialDecision::Deny, message),
            (Permission::Deny, false) => (TrialDecision::FailedOpen, message),
            (Permission::Ask, true) => (TrialDecision::Ask, message),
            (Permission::Ask, false) | (Permission::None, _) => {
                if let Some(input) = input {
                    (TrialDecision::UpdateInput, Some(Value::Object(input).to_string()))
                } else if follow_up.is_some() {
                    (TrialDecision::FollowUp, follow_up)
                } else if context.is_some() {
                    (TrialDecision::AddContext, context)
                } else {
                    (TrialDecision::Continue, None)
                }
            }
        };
        Self { exit_code: None, stdout: String::new(), stderr: String::new(), decision, message }
    }

    fn failed(event: EventName, hook: &Hook, error: String) -> Self {
        let decision = match hook.fail_closed && event.can_refuse() {
            true => TrialDecision::FailedClosed,
            false => TrialDecision::FailedOpen,
        };
        let (stdout, stderr) = (String::new(), String::new());
        Self { exit_code: None, stdout, stderr, decision, message: Some(error) }
    }
}
