//! Runs the hooks of a run, event by event.
//!
//! Before a tool call, the hooks of `preToolUse` run first. If none of them refuses, the hooks for the kind of access
//! run: those for a command, an MCP call, or reading a file.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use ibeam_core::{
    Access, AnswerEnd, CompactionStart, FinishedCall, HookBlock, HookDecision, HookEvent, HookOutput, Hooks,
    Redactor, Subagent,
};
use ibeam_files::regular_file;
use ibeam_protocol::{
    Answer, Block, Notice, RunOutcome, RunStarted, SandboxMode, SessionId, ToolCall, ToolOutcome,
};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::claude_call::{ClaudeCall, ClaudeCalls, ClaudeFields};
use crate::claude_response;
use crate::combined_response::{CombinedResponse, HookInput};
use crate::event_name::EventName;
use crate::hook_config::{Hook, HookAction, HookConfig, HookFormat};
use crate::payload::{PayloadBuilder, ToolCallPayload, post_tool_event, run_status};
use crate::process::{ProcessOutput, ProcessRunner};
use crate::prompt_hook::{self, PromptAnswer, PromptModel};
use crate::response::HookResponse;

/// The failure of a hook for which calls have no form.
const NO_CLAUDE_FORM: &str = "the call has no form of Claude Code";

/// The number of bytes of a file that `beforeReadFile` receives.
const MAX_CONTENT_BYTES: u64 = 1 << 20;
/// The time limit for reading that file.
const CONTENT_TIMEOUT: Duration = Duration::from_secs(5);

/// The settings with which the hooks of a run are started.
pub struct RunnerOptions {
    /// The shell that runs the commands; `None` if there is none, and then every hook fails.
    pub bash: Option<PathBuf>,
    /// All environment variables of the hooks.
    pub environment: Vec<(OsString, OsString)>,
    /// The number of processes that all hooks together may have.
    pub process_limit: u32,
    /// Removes secrets from payloads.
    pub redactor: Redactor,
    pub workspace: PathBuf,
    /// The time limit of a hook that sets none.
    pub timeout: Duration,
    /// The time limit of all hooks at the end of a run that was stopped.
    pub grace: Duration,
    /// Whether the session has one run only, so that the end of the run is the end of the session.
    pub is_single_run: bool,
    /// The time at which the session started.
    pub started_at: Instant,
    /// The form of calls for hooks of the settings of Claude Code; without it, those hooks of calls fail.
    pub claude_calls: Option<Arc<dyn ClaudeCalls>>,
    /// The model for hooks of type `prompt`; without it, those hooks fail.
    pub prompt_model: Option<Arc<dyn PromptModel>>,
}

/// Runs the configured hooks of a run.
pub struct HookRunner {
    config: HookConfig,
    payloads: PayloadBuilder,
    processes: ProcessRunner,
    claude_calls: Option<Arc<dyn ClaudeCalls>>,
    prompt_model: Option<Arc<dyn PromptModel>>,
    workspace: PathBuf,
    is_sandboxed: bool,
    timeout: Duration,
    grace: Duration,
    is_single_run: bool,
    started_at: Instant,
    /// Whether `sessionStart` was run.
    has_started: AtomicBool,
    reported_failures: Mutex<BTreeSet<String>>,
}

/// The result of a hook that was run.
pub(crate) enum FinishedHook {
    /// The end and the output of a command.
    Process(ProcessOutput),
    Answer(PromptAnswer),
}

/// An event, the hooks that match it, and its fields in each format.
pub(crate) struct HookInvocation<'a> {
    pub(crate) event: EventName,
    pub(crate) hooks: Vec<&'a Hook>,
    pub(crate) fields: Value,
    /// The fields for hooks of the settings of Claude Code, or the reason why the event has no such form.
    pub(crate) claude_fields: Result<Value, String>,
    /// The number of messages with which hooks have continued the run.
    pub(crate) follow_ups: u32,
}

impl HookRunner {
    /// Returns a runner of the hooks in `config` for the run that `head` describes.
    pub fn new(config: HookConfig, head: &RunStarted, options: RunnerOptions) -> Arc<Self> {
        let RunnerOptions { bash, environment, process_limit, redactor, workspace, .. } = options;
        Arc::new(Self {
            config,
            payloads: PayloadBuilder::new(head, SessionId::random().to_string(), redactor),
            processes: ProcessRunner::new(bash, environment, process_limit),
            claude_calls: options.claude_calls,
            prompt_model: options.prompt_model,
            workspace,
            is_sandboxed: head.sandbox.mode != SandboxMode::Off,
            timeout: options.timeout,
            grace: options.grace,
            is_single_run: options.is_single_run,
            started_at: options.started_at,
            has_started: AtomicBool::new(false),
            reported_failures: Mutex::default(),
        })
    }

    /// Runs the hooks of the end of a session with several runs; `None` if there are none.
    pub fn end_session<'a>(&'a self, outcome: &RunOutcome) -> Option<BoxFuture<'a, HookOutput>> {
        self.notify_all([self.session_end_invocation(outcome)])
    }

    /// Returns the configured hooks of `event`.
    pub(crate) fn hooks_of(&self, event: EventName) -> &[Hook] {
        self.config.hooks.get(&event).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the workspace of the run.
    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Selects the hooks of `event` whose matcher accepts a subject of the event; without subjects, all hooks of the
    /// event. `claude` returns the event in the form of Claude Code, if a hook needs it.
    pub(crate) fn invocation(
        &self,
        event: EventName,
        subject: Option<&str>,
        fields: Value,
        claude: impl FnOnce() -> Result<ClaudeFields, String>,
    ) -> HookInvocation<'_> {
        let hooks = self.hooks_of(event);
        let needs_claude = hooks.iter().any(|hook| hook.format == HookFormat::ClaudeSettings);
        let claude = if needs_claude { claude() } else { Ok(ClaudeFields::default()) };
        let (subjects, claude_fields) = match claude {
            Ok(ClaudeFields { subjects, fields }) => (subjects, Ok(fields)),
            // A hook that cannot check the event has failed.
            Err(error) => (Vec::new(), Err(error)),
        };
        let matches = |hook: &&Hook| match (&hook.matcher, hook.format) {
            (None, _) => true,
            (Some(matcher), HookFormat::HooksFile) => subject.is_none_or(|subject| matcher.is_match(subject)),
            (Some(matcher), HookFormat::ClaudeSettings) => {
                subjects.is_empty() || subjects.iter().any(|subject| matcher.is_match(subject))
            }
        };
        let hooks = hooks.iter().filter(matches).collect();
        HookInvocation { event, hooks, fields, claude_fields, follow_ups: 0 }
    }

    /// Runs the hooks one after the other and combines their responses.
    async fn invoke(&self, invocation: &HookInvocation<'_>) -> CombinedResponse {
        let mut response = CombinedResponse::default();
        for hook in &invocation.hooks {
            let result = match self.run_hook(invocation, hook).await {
                Ok(finished) => {
                    if let FinishedHook::Answer(answer) = &finished {
                        response.output.requests.extend(answer.request.clone());
                    }
                    self.response(invocation.event, hook, &finished)
                }
                Err(error) => Err(error),
            };
            response.add(invocation.event, hook, invocation.follow_ups, result);
        }
        response.output.notices.retain(|failure| self.record_failure(failure));
        response
    }

    /// Runs a hook with its input.
    ///
    /// # Errors
    /// The reason why it could not be run.
    pub(crate) async fn run_hook(
        &self,
        invocation: &HookInvocation<'_>,
        hook: &Hook,
    ) -> Result<FinishedHook, String> {
        let fields = match hook.format {
            HookFormat::HooksFile => &invocation.fields,
            HookFormat::ClaudeSettings => match &invocation.claude_fields {
                Ok(fields) => fields,
                Err(error) => return Err(format!("its input cannot be written: {error}")),
            },
        };
        let payload = self.payloads.payload_line(hook.format, invocation.event, fields);
        match &hook.action {
            HookAction::Command(command) => {
                let timeout = self.timeout_of(hook);
                let output = self.processes.run(command, &hook.directory, &payload, timeout).await?;
                Ok(FinishedHook::Process(output))
            }
            HookAction::Prompt { text, model } => {
                let request = prompt_hook::request(text, model.as_deref(), &payload)?;
                let model = self.prompt_model.as_ref().ok_or("there is no model to answer its prompt")?;
                let timeout = self.timeout_of(hook);
                match tokio::time::timeout(timeout, model.answer(request)).await {
                    Ok(answer) => Ok(FinishedHook::Answer(answer)),
                    Err(_) => Err(format!("the model did not answer within {} s", timeout.as_secs_f64())),
                }
            }
            HookAction::Unreadable(message) => Err(message.clone()),
        }
    }

    /// Returns the time limit of a hook.
    fn timeout_of(&self, hook: &Hook) -> Duration {
        let default = match hook.action {
            HookAction::Command(_) | HookAction::Unreadable(_) => self.timeout,
            HookAction::Prompt { .. } => prompt_hook::DEFAULT_TIMEOUT.min(self.timeout),
        };
        hook.timeout.unwrap_or(default)
    }

    /// Returns the response of a hook that was run.
    ///
    /// # Errors
    /// The reason why the hook failed.
    pub(crate) fn response(
        &self,
        event: EventName,
        hook: &Hook,
        finished: &FinishedHook,
    ) -> Result<HookResponse, String> {
        match (finished, hook.format) {
            (FinishedHook::Process(output), HookFormat::HooksFile) => {
                HookResponse::from_output(output, self.timeout_of(hook))
            }
            (FinishedHook::Process(output), HookFormat::ClaudeSettings) => {
                claude_response::from_output(event, output, self.timeout_of(hook))
            }
            (FinishedHook::Answer(answer), _) => answer
                .text
                .as_deref()
                .map_err(String::clone)
                .and_then(|text| prompt_hook::response(event, text)),
        }
    }

    /// Records the failure. Returns whether it is new.
    fn record_failure(&self, failure: &Notice) -> bool {
        let mut reported = self.reported_failures.lock().unwrap_or_else(PoisonError::into_inner);
        reported.insert(format!("{failure:?}"))
    }

    /// Runs hooks that cannot refuse; `None` if there are none.
    fn notify_all<'a>(
        &'a self,
        invocations: impl IntoIterator<Item = HookInvocation<'a>>,
    ) -> Option<BoxFuture<'a, HookOutput>> {
        let invocations: Vec<_> =
            invocations.into_iter().filter(|invocation| !invocation.hooks.is_empty()).collect();
        if invocations.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            let mut all = HookOutput::default();
            for invocation in invocations {
                let output = self.invoke(&invocation).await.output;
                all.notices.extend(output.notices);
                all.requests.extend(output.requests);
                all.context.extend(output.context);
                all.follow_up = all.follow_up.or(output.follow_up);
            }
            all
        }))
    }

    fn before_prompt<'a>(&'a self, content: &[String]) -> Option<BoxFuture<'a, HookOutput>> {
        let prompt = content.join("\n\n");
        let fields = json!({"prompt": prompt, "attachments": []});
        let claude = || Ok(ClaudeFields::without_subject(json!({ "prompt": prompt })));
        let invocation = self.invocation(EventName::BeforeSubmitPrompt, None, fields, claude);
        if invocation.hooks.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            let mut response = self.invoke(&invocation).await;
            let output = std::mem::take(&mut response.output);
            let decision = response.into_block().map_or(HookDecision::Continue, HookDecision::Block);
            HookOutput { decision, ..output }
        }))
    }

    fn before_call<'a>(
        &'a self,
        call: &'a ToolCall,
        access: &'a Access,
        is_rewritten: bool,
    ) -> Option<BoxFuture<'a, HookOutput>> {
        let payload = ToolCallPayload::new(call, &self.workspace, self.is_sandboxed);
        let fields = self.payloads.tool_call(&payload);
        let mut form = None;
        let tool_invocation = self.invocation(EventName::PreToolUse, Some(&payload.name), fields, || {
            let form = form.insert(self.claude_call(call, None)?);
            Ok(ClaudeFields::before_call(call, form))
        });
        let access_invocation = payload
            .access_event(access)
            .map(|(event, subject, mut fields)| {
                let mut claude = ClaudeFields::default();
                if event == EventName::SubagentStart
                    && let Some(fields) = fields.as_object_mut()
                {
                    let agent = fields.get("subagent_id");
                    claude = ClaudeFields::new(&subject, json!({"agent_id": agent, "agent_type": subject}));
                    let parent = self.payloads.session().into();
                    fields.insert("parent_conversation_id".to_owned(), parent);
                }
                self.invocation(event, Some(&subject), fields, || Ok(claude))
            })
            .filter(|invocation| !invocation.hooks.is_empty());
        if tool_invocation.hooks.is_empty() && access_invocation.is_none() {
            return None;
        }
        Some(Box::pin(async move {
            let mut first = self.invoke(&tool_invocation).await;
            let mut notices = std::mem::take(&mut first.output.notices);
            let mut requests = std::mem::take(&mut first.output.requests);
            if first.refusal.is_none()
                && !is_rewritten
                && let Some(HookInput { hook, format, input }) = first.input.take()
                && let Some(arguments) = self.changed_arguments(&payload, form.as_ref(), format, input)
            {
                let decision = match arguments {
                    Ok(arguments) => HookDecision::UpdateInput { hook, arguments },
                    Err(error) => {
                        let message = format!("hook `{hook}` returned invalid arguments: {error}");
                        HookDecision::Block(HookBlock { hook, message, for_people: None, ask: false })
                    }
                };
                return HookOutput { decision, notices, requests, ..HookOutput::default() };
            }
            let mut second = CombinedResponse::default();
            if let (None, Some(mut invocation)) = (&first.refusal, access_invocation) {
                add_content(&mut invocation, access).await;
                second = self.invoke(&invocation).await;
                notices.append(&mut second.output.notices);
                requests.append(&mut second.output.requests);
            }
            // A refusal of either event counts more than a required approval of the other.
            let refusal = first.refusal.take().or(second.refusal.take());
            let block = refusal.or_else(|| first.into_block()).or_else(|| second.into_block());
            let decision = block.map_or(HookDecision::Continue, HookDecision::Block);
            HookOutput { decision, notices, requests, ..HookOutput::default() }
        }))
    }

    /// Returns the arguments of the tool for the `input` that a hook returned; `None` if it is that of the call.
    fn changed_arguments(
        &self,
        payload: &ToolCallPayload<'_>,
        form: Option<&ClaudeCall>,
        format: HookFormat,
        input: Map<String, Value>,
    ) -> Option<Result<Value, String>> {
        match (format, form, &self.claude_calls) {
            (HookFormat::ClaudeSettings, Some(form), Some(calls)) => {
                (form.input.as_object() != Some(&input)).then(|| calls.arguments(form, input))
            }
            (HookFormat::ClaudeSettings, _, _) => Some(Err(NO_CLAUDE_FORM.to_owned())),
            (HookFormat::HooksFile, _, _) => {
                (payload.input.as_object() != Some(&input)).then(|| Ok(payload.tool_arguments(input)))
            }
        }
    }

    /// Returns a call in the form of Claude Code. Hooks receive a redacted input. If a hook returns it unchanged, it must
    /// be equal to this input.
    fn claude_call(&self, call: &ToolCall, outcome: Option<&ToolOutcome>) -> Result<ClaudeCall, String> {
        let calls = self.claude_calls.as_ref().ok_or(NO_CLAUDE_FORM)?;
        let mut form = calls.call(call, outcome)?;
        self.payloads.redact(&mut form.input);
        Ok(form)
    }

    fn after_call<'a>(&'a self, finished: &'a FinishedCall) -> Option<BoxFuture<'a, HookOutput>> {
        let call = ToolCallPayload::new(&finished.call, &self.workspace, self.is_sandboxed);
        let (event, fields) = self.payloads.finished_call(&call, finished);
        let mut tool_invocation = self.invocation(event, Some(&call.name), fields, || {
            let form = self.claude_call(&finished.call, Some(&finished.outcome))?;
            Ok(ClaudeFields::after_call(finished, &form))
        });
        // For Claude Code, a call that never ran has not failed.
        if let ToolOutcome::Rejected { .. } = &finished.outcome {
            tool_invocation.hooks.retain(|hook| hook.format == HookFormat::HooksFile);
        }
        let effect_invocation = post_tool_event(&call, finished).map(|(event, subject, fields)| {
            self.invocation(event, Some(&subject), fields, || Ok(ClaudeFields::default()))
        });
        self.notify_all([tool_invocation].into_iter().chain(effect_invocation))
    }

    fn answer_received<'a>(&'a self, answer: &Answer) -> Option<BoxFuture<'a, HookOutput>> {
        let events = [EventName::AfterAgentThought, EventName::AfterAgentResponse];
        let events = events.into_iter().filter(|event| !self.hooks_of(*event).is_empty());
        self.notify_all(events.filter_map(|event| {
            let text = answer_text(answer, event);
            let claude = || Ok(ClaudeFields::default());
            (!text.trim().is_empty()).then(|| self.invocation(event, None, json!({ "text": text }), claude))
        }))
    }

    fn compaction<'a>(&'a self, start: CompactionStart) -> Option<BoxFuture<'a, HookOutput>> {
        let fields = PayloadBuilder::compaction(start);
        let claude = || Ok(ClaudeFields::compaction());
        self.notify_all([self.invocation(EventName::PreCompact, None, fields, claude)])
    }

    fn answer_end<'a>(&'a self, end: AnswerEnd<'_>) -> Option<BoxFuture<'a, HookOutput>> {
        let claude = || Ok(ClaudeFields::stop(end));
        let invocation = self.invocation(EventName::Stop, None, self.payloads.stop(end), claude);
        self.notify_all([HookInvocation { follow_ups: end.follow_ups, ..invocation }])
    }

    fn subagent_end<'a>(
        &'a self,
        subagent: &Subagent,
        end: AnswerEnd<'_>,
    ) -> Option<BoxFuture<'a, HookOutput>> {
        let fields = self.payloads.subagent_stop(subagent, end);
        let claude = || Ok(ClaudeFields::subagent_stop(subagent, end));
        let invocation = self.invocation(EventName::SubagentStop, Some(&subagent.kind), fields, claude);
        self.notify_all([HookInvocation { follow_ups: end.follow_ups, ..invocation }])
    }

    fn run_end<'a>(&'a self, outcome: &RunOutcome) -> Option<BoxFuture<'a, HookOutput>> {
        if !self.is_single_run {
            return None;
        }
        self.notify_all([self.session_end_invocation(outcome)])
    }

    fn session_end_invocation(&self, outcome: &RunOutcome) -> HookInvocation<'_> {
        let (status, error) = run_status(outcome);
        let fields = self.payloads.session_end(status, error.as_deref(), self.started_at.elapsed());
        let claude = || Ok(ClaudeFields::new("other", json!({"reason": "other"})));
        self.invocation(EventName::SessionEnd, None, fields, claude)
    }
}

impl Hooks for HookRunner {
    fn wants_tool_results(&self) -> bool {
        let after = [
            EventName::PostToolUse,
            EventName::PostToolUseFailure,
            EventName::AfterShellExecution,
            EventName::AfterMcpExecution,
            EventName::AfterFileEdit,
        ];
        after.iter().any(|event| self.config.hooks.contains_key(event))
    }

    fn grace(&self) -> Duration {
        self.grace
    }

    fn run<'a>(&'a self, event: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>> {
        if self.config.hooks.is_empty() {
            return None;
        }
        match event {
            HookEvent::RunStart if self.has_started.swap(true, Ordering::Relaxed) => None,
            HookEvent::RunStart => {
                let fields = self.payloads.session_start();
                let claude = || Ok(self.payloads.claude_session_start());
                self.notify_all([self.invocation(EventName::SessionStart, None, fields, claude)])
            }
            HookEvent::PromptSubmit(content) => self.before_prompt(content),
            HookEvent::BeforeToolCall { call, access, is_rewritten } => {
                self.before_call(call, access, is_rewritten)
            }
            HookEvent::AfterToolCall(finished) => self.after_call(finished),
            HookEvent::AnswerReceived(answer) => self.answer_received(answer),
            HookEvent::Compaction(start) => self.compaction(start),
            HookEvent::AnswerEnd(end) => self.answer_end(end),
            HookEvent::SubagentEnd { subagent, end } => self.subagent_end(subagent, end),
            HookEvent::RunEnd(outcome) => self.run_end(outcome),
        }
    }
}

/// Returns the part of an answer that the hooks of `event` receive: the thinking or the text.
fn answer_text(answer: &Answer, event: EventName) -> String {
    let is_thought = event == EventName::AfterAgentThought;
    let parts = answer.blocks.iter().filter_map(|block| match block {
        Block::Thinking { text, .. } => is_thought.then_some(text.as_str()),
        Block::Text(text) => (!is_thought).then_some(text.as_str()),
        Block::ToolCall(_) | Block::Opaque(_) => None,
    });
    parts.collect()
}

/// Adds the content of the file that is about to be read.
async fn add_content(invocation: &mut HookInvocation<'_>, access: &Access) {
    if let (Access::Read(path), Some(fields)) = (access, invocation.fields.as_object_mut()) {
        fields.insert("content".to_owned(), read_head(path).await.into());
    }
}

/// Returns the start of a file as text; empty for what is not a regular file or takes too long.
async fn read_head(path: &Path) -> String {
    let path = path.to_owned();
    let (sender, receiver) = oneshot::channel();
    // A separate thread, because the end of the program must not wait for it.
    let thread = std::thread::Builder::new().name("hook-content".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        let file = regular_file::open(&path, true);
        let read = file.and_then(|file| file.take(MAX_CONTENT_BYTES).read_to_end(&mut bytes));
        let text = read.map(|_| String::from_utf8_lossy(&bytes).into_owned());
        // The receiver is gone after the timeout.
        let _ = sender.send(text.unwrap_or_default());
    });
    match thread {
        Ok(_) => {
            let read = tokio::time::timeout(CONTENT_TIMEOUT, receiver).await;
            read.ok().and_then(Result::ok).unwrap_or_default()
        }
        Err(_) => String::new(),
    }
}
