//! Hooks: commands of the user's that are told what happens in a run, and may narrow it.
//!
//! The files name them by event; see docs/hooks.md. All that match run one after the other, strongest file
//! first, each as a process with bounded time and output and no terminal. The first refusal counts. A hook that
//! fails is told of in a warning and the run goes on, or what it should have judged is refused, as its file says.
//! Nothing a hook says lets anything run.

mod answer;
mod buffer;
mod call;
mod document;
mod event;
mod file;
mod format;
mod joined;
mod payload;
mod process;
mod verdict;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use ibeam_core::{HookDecision, HookEvent, HookOutput, Hooks, Redactor};
use ibeam_protocol::{Notice, RunOutcome, SandboxMode, SessionId, SessionStarted};
use serde_json::{Value, json};

use crate::app::AppContext;
use answer::Answer;
use document::{Documents, status};
use event::Event;
use file::Hook;
pub(crate) use file::{HookConfig, load, project_hooks};
pub(crate) use joined::JoinedHooks;
use process::Launcher;
use verdict::Verdict;

/// The hooks of a run, listening.
pub(crate) struct HookRunner {
    listed: HookConfig,
    documents: Documents,
    launcher: Launcher,
    workspace: PathBuf,
    sandboxed: bool,
    /// The bound of a hook that has none of its own.
    timeout: Duration,
    /// The bound of all hooks at the end of a run that was asked to stop.
    grace: Duration,
    /// The run is all there is of the program: its end is the end of the session here.
    only_run: bool,
    began: Instant,
    begun: AtomicBool,
    /// Failures that people were told of.
    failures: Mutex<BTreeSet<String>>,
}

/// Hooks of one event, and what they are told of it.
struct HookInvocation<'a> {
    event: Event,
    hooks: Vec<&'a Hook>,
    particular: Value,
}

impl HookConfig {
    /// Lets them listen to runs like `head`; `only_run` when there is just one.
    pub(crate) fn into_runner(
        self,
        app: &AppContext,
        head: &SessionStarted,
        only_run: bool,
    ) -> Arc<HookRunner> {
        let mut environment = crate::mcp::inherited_environment(app);
        for name in ["CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "IBEAM_PROJECT_DIR"] {
            environment.push((name.into(), app.workspace.clone().into()));
        }
        environment.push(("CURSOR_VERSION".into(), env!("CARGO_PKG_VERSION").into()));
        let redactor = Redactor::new(crate::model::all_secrets(app));
        Arc::new(HookRunner {
            listed: self,
            documents: Documents::of_run(head, SessionId::random().to_string(), redactor),
            launcher: Launcher::new(app.programs.find("bash"), environment, app.base.config.process_limit()),
            workspace: app.workspace.clone(),
            sandboxed: head.sandbox.mode != SandboxMode::Off,
            timeout: app.base.config.timeout("hook"),
            grace: app.base.config.timeout("shutdown") / 6,
            only_run,
            began: app.started_at,
            begun: AtomicBool::new(false),
            failures: Mutex::default(),
        })
    }
}

impl HookRunner {
    /// The hooks of `event` that want to be told of `subject`; of an event without one, all.
    fn invocation(&self, event: Event, subject: Option<&str>, particular: Value) -> HookInvocation<'_> {
        let hooks = self.listed.hooks.get(&event).map(Vec::as_slice).unwrap_or_default();
        let matches = |hook: &&Hook| match (&hook.matcher, subject) {
            (Some(matcher), Some(subject)) => matcher.is_match(subject),
            (None, _) | (_, None) => true,
        };
        HookInvocation { event, hooks: hooks.iter().filter(matches).collect(), particular }
    }

    /// Runs hooks one after the other and sums up what they say.
    async fn run(&self, invocation: &HookInvocation<'_>) -> Verdict {
        let HookInvocation { event, hooks, particular } = invocation;
        let mut verdict = Verdict::default();
        if hooks.is_empty() {
            return verdict;
        }
        let document = self.documents.bytes(*event, particular);
        for hook in hooks {
            verdict.add(*event, hook, self.run_one(hook, &document).await);
        }
        verdict.heard.notices.retain(|failure| self.is_news(failure));
        verdict
    }

    async fn run_one(&self, hook: &Hook, document: &[u8]) -> Result<Answer, String> {
        let time = hook.timeout.unwrap_or(self.timeout);
        let ended = self.launcher.run(&hook.command, &hook.directory, document, time).await?;
        answer::of(&ended, time)
    }

    /// People are told of each failure once.
    fn is_news(&self, failure: &Notice) -> bool {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.insert(format!("{failure:?}"))
    }

    /// Runs hooks that only hear; `None` when there are none.
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
                let heard = self.run(&invocation).await.heard;
                all.notices.extend(heard.notices);
                all.context.extend(heard.context);
            }
            all
        }))
    }

    fn at_prompt<'a>(&'a self, content: &[String]) -> Option<BoxFuture<'a, HookOutput>> {
        let particular = json!({"prompt": content.join("\n\n"), "attachments": []});
        let invocation = self.invocation(Event::BeforeSubmitPrompt, None, particular);
        if invocation.hooks.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            let mut verdict = self.run(&invocation).await;
            let notices = std::mem::take(&mut verdict.heard.notices);
            let word = verdict.objection().map_or(HookDecision::Continue, HookDecision::Block);
            HookOutput { decision: word, notices, ..HookOutput::default() }
        }))
    }

    fn at_end<'a>(&'a self, outcome: &RunOutcome) -> Option<BoxFuture<'a, HookOutput>> {
        let (status, _) = status(outcome);
        let stop = self.invocation(Event::Stop, None, json!({"status": status, "loop_count": 0}));
        self.notify_all([stop].into_iter().chain(self.only_run.then(|| self.session_end(outcome))))
    }

    fn session_end(&self, outcome: &RunOutcome) -> HookInvocation<'_> {
        let (status, error) = status(outcome);
        let particular = self.documents.session_end(status, error.as_deref(), self.began.elapsed());
        self.invocation(Event::SessionEnd, None, particular)
    }

    /// Tells of the end of a session of several runs; `None` when nobody listens.
    pub(crate) fn end_session<'a>(&'a self, outcome: &RunOutcome) -> Option<BoxFuture<'a, HookOutput>> {
        self.notify_all([self.session_end(outcome)])
    }
}

impl Hooks for HookRunner {
    fn wants_tool_results(&self) -> bool {
        let after =
            [Event::PostToolUse, Event::PostToolUseFailure, Event::AfterShellExecution, Event::AfterFileEdit];
        after.iter().any(|event| self.listed.hooks.contains_key(event))
    }

    fn grace(&self) -> Duration {
        self.grace
    }

    fn run<'a>(&'a self, moment: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>> {
        if self.listed.hooks.is_empty() {
            return None;
        }
        match moment {
            HookEvent::RunStart if self.begun.swap(true, Ordering::Relaxed) => None,
            HookEvent::RunStart => {
                self.notify_all([self.invocation(Event::SessionStart, None, self.documents.session_start())])
            }
            HookEvent::PromptSubmit(content) => self.at_prompt(content),
            HookEvent::BeforeToolCall { call, access, is_rewritten: rewritten } => {
                self.before_call(call, access, rewritten)
            }
            HookEvent::AfterToolCall(ended) => self.after_call(ended),
            HookEvent::RunEnd(outcome) => self.at_end(outcome),
        }
    }
}
