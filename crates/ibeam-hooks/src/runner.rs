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
use ibeam_core::{Access, FinishedCall, HookDecision, HookEvent, HookOutput, Hooks, Redactor};
use ibeam_files::regular_file;
use ibeam_protocol::{Notice, RunOutcome, SandboxMode, SessionId, SessionStarted, ToolCall};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::event_name::EventName;
use crate::hooks_file::{Hook, HookConfig};
use crate::payload::{PayloadBuilder, ToolCallPayload, post_tool_event, run_status};
use crate::process::ProcessRunner;
use crate::response::{CombinedResponse, HookResponse};

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
    /// The workspace of the run.
    pub workspace: PathBuf,
    /// The time limit of a hook that sets none.
    pub timeout: Duration,
    /// The time limit of all hooks at the end of a run that was stopped.
    pub grace: Duration,
    /// Whether the session has one run only, so that the end of the run is the end of the session.
    pub is_single_run: bool,
    /// The time at which the session started.
    pub started_at: Instant,
}

/// Runs the configured hooks of a run.
pub struct HookRunner {
    config: HookConfig,
    payloads: PayloadBuilder,
    processes: ProcessRunner,
    workspace: PathBuf,
    is_sandboxed: bool,
    timeout: Duration,
    grace: Duration,
    is_single_run: bool,
    started_at: Instant,
    /// Whether `sessionStart` was run.
    has_started: AtomicBool,
    /// The failures that were reported.
    reported_failures: Mutex<BTreeSet<String>>,
}

/// An event, the hooks that match it, and its fields.
struct HookInvocation<'a> {
    event: EventName,
    hooks: Vec<&'a Hook>,
    fields: Value,
}

impl HookRunner {
    /// Returns a runner of the hooks in `config` for the run that `head` describes.
    pub fn new(config: HookConfig, head: &SessionStarted, options: RunnerOptions) -> Arc<Self> {
        let RunnerOptions { bash, environment, process_limit, redactor, workspace, .. } = options;
        Arc::new(Self {
            config,
            payloads: PayloadBuilder::new(head, SessionId::random().to_string(), redactor),
            processes: ProcessRunner::new(bash, environment, process_limit),
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

    /// Selects the hooks of `event` whose matcher accepts `subject`; without a subject, all hooks of the event.
    fn invocation(&self, event: EventName, subject: Option<&str>, fields: Value) -> HookInvocation<'_> {
        let hooks = self.config.hooks.get(&event).map(Vec::as_slice).unwrap_or_default();
        let matches = |hook: &&Hook| match (&hook.matcher, subject) {
            (Some(matcher), Some(subject)) => matcher.is_match(subject),
            (None, _) | (_, None) => true,
        };
        HookInvocation { event, hooks: hooks.iter().filter(matches).collect(), fields }
    }

    /// Runs the hooks one after the other and combines their responses.
    async fn invoke(&self, invocation: &HookInvocation<'_>) -> CombinedResponse {
        let HookInvocation { event, hooks, fields } = invocation;
        let mut response = CombinedResponse::default();
        if hooks.is_empty() {
            return response;
        }
        let payload = self.payloads.payload_line(*event, fields);
        for hook in hooks {
            response.add(*event, hook, self.run_hook(hook, &payload).await);
        }
        response.output.notices.retain(|failure| self.record_failure(failure));
        response
    }

    async fn run_hook(&self, hook: &Hook, payload: &[u8]) -> Result<HookResponse, String> {
        let timeout = hook.timeout.unwrap_or(self.timeout);
        let output = self.processes.run(&hook.command, &hook.directory, payload, timeout).await?;
        HookResponse::from_output(&output, timeout)
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
                all.context.extend(output.context);
            }
            all
        }))
    }

    fn before_prompt<'a>(&'a self, content: &[String]) -> Option<BoxFuture<'a, HookOutput>> {
        let fields = json!({"prompt": content.join("\n\n"), "attachments": []});
        let invocation = self.invocation(EventName::BeforeSubmitPrompt, None, fields);
        if invocation.hooks.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            let mut response = self.invoke(&invocation).await;
            let notices = std::mem::take(&mut response.output.notices);
            let decision = response.into_block().map_or(HookDecision::Continue, HookDecision::Block);
            HookOutput { decision, notices, ..HookOutput::default() }
        }))
    }

    fn before_call<'a>(
        &'a self,
        call: &'a ToolCall,
        access: &'a Access,
        is_rewritten: bool,
    ) -> Option<BoxFuture<'a, HookOutput>> {
        let call = ToolCallPayload::new(call, &self.workspace, self.is_sandboxed);
        let fields = self.payloads.tool_call(&call);
        let tool_invocation = self.invocation(EventName::PreToolUse, Some(&call.name), fields);
        let access_invocation = call
            .access_event(access)
            .map(|(event, subject, fields)| self.invocation(event, Some(&subject), fields))
            .filter(|invocation| !invocation.hooks.is_empty());
        if tool_invocation.hooks.is_empty() && access_invocation.is_none() {
            return None;
        }
        Some(Box::pin(async move {
            let mut first = self.invoke(&tool_invocation).await;
            let mut notices = std::mem::take(&mut first.output.notices);
            if first.refusal.is_none()
                && !is_rewritten
                && let Some((hook, input)) = first.input.take()
                && call.input != Value::Object(input.clone())
            {
                let decision = HookDecision::UpdateInput { hook, arguments: call.tool_arguments(input) };
                return HookOutput { decision, notices, ..HookOutput::default() };
            }
            let mut second = CombinedResponse::default();
            if let (None, Some(mut invocation)) = (&first.refusal, access_invocation) {
                add_content(&mut invocation, access).await;
                second = self.invoke(&invocation).await;
                notices.append(&mut second.output.notices);
            }
            // A refusal of either event counts more than a required approval of the other.
            let refusal = first.refusal.take().or(second.refusal.take());
            let block = refusal.or_else(|| first.into_block()).or_else(|| second.into_block());
            let decision = block.map_or(HookDecision::Continue, HookDecision::Block);
            HookOutput { decision, notices, ..HookOutput::default() }
        }))
    }

    fn after_call<'a>(&'a self, finished: &'a FinishedCall) -> Option<BoxFuture<'a, HookOutput>> {
        let call = ToolCallPayload::new(&finished.call, &self.workspace, self.is_sandboxed);
        let (event, fields) = self.payloads.finished_call(&call, finished);
        let tool_invocation = self.invocation(event, Some(&call.name), fields);
        let effect_invocation = post_tool_event(&call, finished)
            .map(|(event, subject, fields)| self.invocation(event, Some(&subject), fields));
        self.notify_all([tool_invocation].into_iter().chain(effect_invocation))
    }

    fn run_end<'a>(&'a self, outcome: &RunOutcome) -> Option<BoxFuture<'a, HookOutput>> {
        let (status, _) = run_status(outcome);
        let stop = self.invocation(EventName::Stop, None, json!({"status": status, "loop_count": 0}));
        self.notify_all(
            [stop].into_iter().chain(self.is_single_run.then(|| self.session_end_invocation(outcome))),
        )
    }

    fn session_end_invocation(&self, outcome: &RunOutcome) -> HookInvocation<'_> {
        let (status, error) = run_status(outcome);
        let fields = self.payloads.session_end(status, error.as_deref(), self.started_at.elapsed());
        self.invocation(EventName::SessionEnd, None, fields)
    }
}

impl Hooks for HookRunner {
    fn wants_tool_results(&self) -> bool {
        let after = [
            EventName::PostToolUse,
            EventName::PostToolUseFailure,
            EventName::AfterShellExecution,
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
                self.notify_all([self.invocation(EventName::SessionStart, None, fields)])
            }
            HookEvent::PromptSubmit(content) => self.before_prompt(content),
            HookEvent::BeforeToolCall { call, access, is_rewritten } => {
                self.before_call(call, access, is_rewritten)
            }
            HookEvent::AfterToolCall(finished) => self.after_call(finished),
            HookEvent::RunEnd(outcome) => self.run_end(outcome),
        }
    }
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
