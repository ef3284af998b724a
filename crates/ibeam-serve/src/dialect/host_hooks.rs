//! The hooks of a host that uses Claude Code's control protocol. Each call of a hook is a request to the host.
//!
//! The hooks restrict a run and never allow more: `allow` leaves the decision to the rules. A hook that fails or
//! does not answer in time refuses the call or the prompt.

mod answer;
mod registration;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use ibeam_core::{AnswerEnd, FinishedCall, HookBlock, HookDecision, HookEvent, HookOutput, Hooks, Redactor};
use ibeam_hooks::HookChain;
use ibeam_protocol::{CallId, Notice, RunOutcome, RunStarted, ToolCall, ToolOutcome};
use serde_json::{Map, Value, json};

use super::host::{Host, lock};
use answer::{HookAnswer, HookPermission};
use ibeam_agent::claude_call_form::ClaudeCallForm;
use registration::HostHookEvent;
pub(super) use registration::{HostHook, read_registration};

/// The hooks that a host registered, in a session.
pub(crate) struct HostHooks {
    host: Arc<Host>,
    hooks: Vec<HostHook>,
    /// The description of the session for the inputs of hooks.
    head: RunStarted,
    redactor: Redactor,
    /// The call whose input the hooks have just changed, and the block that they requested.
    changed: Mutex<Option<(CallId, Option<HookBlock>)>>,
    /// The failures that were reported before.
    warned: Mutex<BTreeSet<String>>,
}

/// A call of one hook: the id of its callback and its timeout.
type Callback = (String, Duration);

/// The combined answers to one event: the first refusal, the first request for an approval, the first other input.
#[derive(Default)]
struct CombinedAnswer {
    refused: Option<HookBlock>,
    needs_approval: Option<HookBlock>,
    input: Option<(String, Map<String, Value>)>,
    context: Vec<String>,
    notices: Vec<Notice>,
    ends_run: bool,
}

impl HostHooks {
    /// Returns `first` followed by the hooks of the host, if there are any. `head` describes the runs of the hooks.
    pub(crate) fn chain(
        first: Arc<dyn Hooks>,
        host: &Arc<Host>,
        hooks: Vec<HostHook>,
        head: &RunStarted,
        redactor: impl FnOnce() -> Redactor,
    ) -> Arc<dyn Hooks> {
        if hooks.is_empty() {
            return first;
        }
        let (host, head) = (Arc::clone(host), head.clone());
        let (changed, warned) = (Mutex::default(), Mutex::default());
        let second = Self { host, hooks, head, redactor: redactor(), changed, warned };
        Arc::new(HookChain { first, second: Arc::new(second) })
    }

    /// Returns the callbacks of `event` for a tool that has any of these names.
    fn callbacks(&self, event: HostHookEvent, names: &[&str]) -> Vec<Callback> {
        let hooks = self.hooks.iter().filter(|hook| hook.matches(event, names));
        hooks.flat_map(|hook| hook.callbacks.iter().map(|id| (id.clone(), hook.timeout))).collect()
    }

    /// Whether the host registered a hook for `event`.
    fn has_hooks_for(&self, event: HostHookEvent) -> bool {
        self.hooks.iter().any(|hook| hook.event == event)
    }

    /// Calls hooks at the same time and combines their answers in the order of the registration. `particular` has the
    /// keys of this event.
    async fn call(
        &self,
        event: HostHookEvent,
        callbacks: Vec<Callback>,
        particular: Value,
        id: Option<&CallId>,
    ) -> CombinedAnswer {
        let mut input = json!({
            "hook_event_name": event.name(),
            "session_id": self.head.session_id,
            // ibeam stores no transcript in the format of Claude Code.
            "transcript_path": "",
            "cwd": self.head.cwd.to_string_lossy(),
            "permission_mode": self.host.writer.options().claude.mode,
        });
        if let (Some(input), Value::Object(particular)) = (input.as_object_mut(), particular) {
            input.extend(particular);
        }
        self.redactor.redact_value(&mut input);
        let calls = callbacks.into_iter().map(|(callback, time)| {
            let request = json!({
                "subtype": "hook_callback",
                "callback_id": callback,
                "input": input,
                "tool_use_id": id,
            });
            async move { (callback, self.answer(event, request, time).await) }
        });
        let mut verdict = CombinedAnswer::default();
        for (callback, answer) in join_all(calls).await {
            verdict.add(event, format!("{callback} of the SDK"), answer);
        }
        verdict.notices.retain(|notice| lock(&self.warned).insert(format!("{notice:?}")));
        verdict
    }

    async fn answer(
        &self,
        event: HostHookEvent,
        request: Value,
        time: Duration,
    ) -> Result<HookAnswer, String> {
        let response = self.host.request(self.host.request_id("hook"), request);
        match tokio::time::timeout(time, response).await {
            Ok(Some(Ok(answer))) => answer::parse(event, &answer),
            Ok(Some(Err(message))) => Err(message),
            Ok(None) => Err("the host is gone".to_owned()),
            Err(_) => Err(format!("no answer within {} s", time.as_secs_f64())),
        }
    }

    fn at_prompt<'a>(&'a self, content: &[String]) -> Option<BoxFuture<'a, HookOutput>> {
        let event = HostHookEvent::UserPromptSubmit;
        let callbacks = self.callbacks(event, &[]);
        if callbacks.is_empty() {
            return None;
        }
        let particular = json!({ "prompt": content.join("\n\n") });
        Some(Box::pin(async move {
            let verdict = self.call(event, callbacks, particular, None).await;
            let decision = verdict
                .refused
                .or(verdict.needs_approval)
                .map_or(HookDecision::Continue, HookDecision::Block);
            let (context, notices) = (verdict.context, verdict.notices);
            HookOutput { decision, context, notices, ..HookOutput::default() }
        }))
    }

    /// Calls the hooks before a tool call. `is_changed` is whether a hook has changed the input of the call already.
    fn before_call<'a>(&'a self, call: &'a ToolCall, is_changed: bool) -> Option<BoxFuture<'a, HookOutput>> {
        let event = HostHookEvent::PreToolUse;
        // The hooks are not called again for an input that a hook of the host has set.
        if let Some((id, objection)) = lock(&self.changed).take()
            && is_changed
            && id == call.id
        {
            let decision = objection.map_or(HookDecision::Continue, HookDecision::Block);
            return Some(Box::pin(async move { HookOutput { decision, ..HookOutput::default() } }));
        }
        if !self.has_hooks_for(event) {
            return None;
        }
        let form = match ClaudeCallForm::new(&self.head, call, None) {
            Ok(mut form) => {
                // Hooks receive a redacted input. If they return it unchanged, it must be equal to this input.
                self.redactor.redact_value(&mut form.input);
                form
            }
            Err(message) => {
                let decision =
                    HookDecision::Block(refusal("the SDK", format!("no hook can judge the call: {message}")));
                return Some(Box::pin(async move { HookOutput { decision, ..HookOutput::default() } }));
            }
        };
        let callbacks = self.callbacks(event, &form.names());
        if callbacks.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            let mut verdict = self.call(event, callbacks, form.to_hook_input(call), Some(&call.id)).await;
            if verdict.ends_run {
                self.host.interrupt_run();
            }
            let input = verdict.input.take().filter(|(_, input)| form.input.as_object() != Some(input));
            let decision = match (verdict.refused, input) {
                (Some(refused), _) => HookDecision::Block(refused),
                (None, Some((hook, _))) if is_changed => {
                    let message = "it changed the input of a call that another hook has changed already";
                    HookDecision::Block(refusal(&hook, message.to_owned()))
                }
                (None, Some((hook, input))) => match form.arguments(input) {
                    Ok(arguments) => {
                        *lock(&self.changed) = Some((call.id.clone(), verdict.needs_approval));
                        HookDecision::UpdateInput { hook, arguments }
                    }
                    Err(message) => {
                        HookDecision::Block(refusal(&hook, format!("`updatedInput` is invalid: {message}")))
                    }
                },
                (None, None) => verdict.needs_approval.map_or(HookDecision::Continue, HookDecision::Block),
            };
            HookOutput { decision, notices: verdict.notices, ..HookOutput::default() }
        }))
    }

    fn after_call<'a>(&'a self, ended: &'a FinishedCall) -> Option<BoxFuture<'a, HookOutput>> {
        let event = match &ended.outcome {
            ToolOutcome::Success { .. } => HostHookEvent::PostToolUse,
            ToolOutcome::Failure { .. } => HostHookEvent::PostToolUseFailure,
            // The call never ran.
            ToolOutcome::Rejected { .. } => return None,
        };
        if !self.has_hooks_for(event) {
            return None;
        }
        let form = match ClaudeCallForm::new(&self.head, &ended.call, Some(&ended.outcome)) {
            Ok(form) => form,
            Err(message) => {
                let notices = vec![failure_notice(event, "the SDK", message)];
                return Some(Box::pin(async move { HookOutput { notices, ..HookOutput::default() } }));
            }
        };
        let callbacks = self.callbacks(event, &form.names());
        if callbacks.is_empty() {
            return None;
        }
        let mut particular = form.to_hook_input(&ended.call);
        if let Some(particular) = particular.as_object_mut() {
            let milliseconds = u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX);
            particular.insert("duration_ms".to_owned(), milliseconds.into());
            match event {
                HostHookEvent::PostToolUse => {
                    drop(particular.insert("tool_response".to_owned(), form.response))
                }
                HostHookEvent::PreToolUse
                | HostHookEvent::PostToolUseFailure
                | HostHookEvent::UserPromptSubmit
                | HostHookEvent::Stop => {
                    particular.insert("error".to_owned(), (*ended.outcome.for_model()).into());
                    particular.insert("is_interrupt".to_owned(), false.into());
                }
            }
        }
        Some(self.notify(event, callbacks, particular, Some(&ended.call.id)))
    }

    /// Calls hooks that cannot refuse anything.
    fn notify<'a>(
        &'a self,
        event: HostHookEvent,
        callbacks: Vec<Callback>,
        particular: Value,
        id: Option<&'a CallId>,
    ) -> BoxFuture<'a, HookOutput> {
        Box::pin(async move {
            let verdict = self.call(event, callbacks, particular, id).await;
            if verdict.ends_run && event != HostHookEvent::Stop {
                self.host.interrupt_run();
            }
            HookOutput { notices: verdict.notices, ..HookOutput::default() }
        })
    }

    fn at_end<'a>(&'a self, end: AnswerEnd<'_>) -> Option<BoxFuture<'a, HookOutput>> {
        match end.outcome {
            RunOutcome::Completed => {
                let callbacks = self.callbacks(HostHookEvent::Stop, &[]);
                let particular = json!({ "stop_hook_active": end.follow_ups > 0 });
                (!callbacks.is_empty()).then(|| self.notify(HostHookEvent::Stop, callbacks, particular, None))
            }
            RunOutcome::Failed(_) => None,
        }
    }
}

impl Hooks for HostHooks {
    fn wants_tool_results(&self) -> bool {
        self.has_hooks_for(HostHookEvent::PostToolUse)
            || self.has_hooks_for(HostHookEvent::PostToolUseFailure)
    }

    fn grace(&self) -> Duration {
        // No hook of the host is called at the end of a stopped run.
        Duration::ZERO
    }

    fn run<'a>(&'a self, event: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>> {
        match event {
            HookEvent::RunStart
            | HookEvent::AnswerReceived(_)
            | HookEvent::Compaction(_)
            | HookEvent::SubagentEnd { .. }
            | HookEvent::RunEnd(_) => None,
            HookEvent::PromptSubmit(content) => self.at_prompt(content),
            HookEvent::BeforeToolCall { call, access: _, is_rewritten: rewritten } => {
                self.before_call(call, rewritten)
            }
            HookEvent::AfterToolCall(ended) => self.after_call(ended),
            HookEvent::AnswerEnd(end) => self.at_end(end),
        }
    }
}

impl CombinedAnswer {
    /// Adds the answer of `hook` to `event`, or the failure in its place.
    fn add(&mut self, event: HostHookEvent, hook: String, answer: Result<HookAnswer, String>) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(message) if event.allows_refusal() => {
                self.refused
                    .get_or_insert_with(|| refusal(&hook, format!("a hook of the SDK failed: {message}")));
                return;
            }
            Err(message) => return self.notices.push(failure_notice(event, &hook, message)),
        };
        let HookAnswer { permission, reason, for_people, input, context, ends_run, unused } = answer;
        self.ends_run |= ends_run;
        let block = |default: &str, ask| {
            let message = reason.clone().unwrap_or_else(|| default.to_owned());
            HookBlock { hook: hook.clone(), message, for_people, ask }
        };
        match permission {
            HookPermission::Undecided => {}
            HookPermission::Deny if event.allows_refusal() => {
                self.refused.get_or_insert_with(|| block("a hook refused it", false));
            }
            HookPermission::Ask if event.allows_refusal() => {
                let default = "a hook requires an approval, which was not given";
                self.needs_approval.get_or_insert_with(|| block(default, true));
            }
            HookPermission::Deny if ends_run => {}
            HookPermission::Deny | HookPermission::Ask => {
                let default = "a refusal has no effect for this event";
                let message = reason.unwrap_or_else(|| default.to_owned());
                self.notices.push(failure_notice(event, &hook, message));
            }
        }
        for key in unused {
            self.notices.push(failure_notice(event, &hook, unusable_key_message(key)));
        }
        match input {
            Some(input) if event == HostHookEvent::PreToolUse => {
                self.input.get_or_insert((hook.clone(), input));
            }
            Some(_) => self.notices.push(failure_notice(event, &hook, unusable_key_message("updatedInput"))),
            None => {}
        }
        match context {
            Some(context) if event == HostHookEvent::UserPromptSubmit => {
                self.context.push(format!("Context from the hook `{hook}`:\n{context}"));
            }
            Some(_) => {
                self.notices.push(failure_notice(event, &hook, unusable_key_message("additionalContext")))
            }
            None => {}
        }
    }
}

/// Returns the message about a part of an answer that has no effect for this event.
fn unusable_key_message(key: &str) -> String {
    format!("`{key}` has no effect here")
}

/// Returns a refusal that an approval cannot lift.
fn refusal(hook: &str, message: String) -> HookBlock {
    HookBlock { hook: hook.to_owned(), message, for_people: None, ask: false }
}

/// Returns the notice about a hook that failed.
fn failure_notice(event: HostHookEvent, hook: &str, detail: String) -> Notice {
    Notice::HookFailed { hook: hook.to_owned(), event: event.name().to_owned(), detail }
}
