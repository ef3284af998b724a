//! The tool calls of one answer: hooks, gate, execution, result.
//!
//! Calls that only read run at the same time. Any other call waits for those before it and runs alone. Every started
//! call finishes exactly once, on refusal, failure and stop too.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use ibeam_policy::Access;
use ibeam_protocol::{
    Answer, EventKind, ModelCallId, PermissionDecided, Sentence, ToolCall, ToolFailure, ToolOutcome, sentence,
};

use super::tool_names::near_tool_name;
use super::{Run, TurnError};
use crate::budget::Budget;
use crate::gate::Decision;
use crate::history::History;
use crate::journal::Journal;
use crate::limits::RepetitionGuard;
use crate::ports::{
    CallPreview, CallRunner, FinishedCall, HookBlock, PreparedCall, Tool, ToolContext, ToolInputError,
};
use crate::session_prompt::SessionPrompt;

/// The largest number of calls that run at the same time.
const MAX_CONCURRENT_CALLS: usize = 8;
/// The time that a call may take to end after a stop was requested; tools promise two seconds.
const STOP_GRACE: Duration = Duration::from_millis(2500);

/// The result of all calls of an answer.
pub(super) struct AnswerCallsResult {
    /// The number of calls.
    pub(super) calls: u32,
    /// The tool of a repeated call, and how often it was called.
    pub(super) repeated: Option<(String, u32)>,
    /// The files and directories that successful calls read or changed.
    pub(super) used_paths: Vec<PathBuf>,
}

/// The calls of an answer that have ended.
#[derive(Default)]
struct FinishedCalls {
    /// The results for the model.
    results: Vec<(ToolCall, Arc<str>)>,
    /// The files and directories that successful calls read or changed.
    used_paths: Vec<PathBuf>,
}

/// A call that ran.
struct FinishedRun {
    call: ToolCall,
    outcome: ToolOutcome,
    duration: Duration,
    /// The file or directory that the call was allowed to read or change.
    used_path: Option<PathBuf>,
}

/// A call before it starts.
pub(super) enum PlannedCall {
    /// The gate decides on the call. `block` is the objection of a hook.
    Ready { call: ToolCall, tool: Arc<dyn Tool>, access: Access, run: CallRunner, block: Option<HookBlock> },
    /// Cannot run; the outcome is known already.
    Resolved { call: ToolCall, outcome: ToolOutcome },
}

impl PlannedCall {
    /// Whether no other call may run at the same time.
    fn is_exclusive(&self) -> bool {
        match self {
            Self::Ready { access, .. } => !access.is_read_only(),
            Self::Resolved { .. } => false,
        }
    }
}

impl Run {
    /// Runs all calls of an answer and records their results. None is executed if the answer `is_cut`.
    pub(super) async fn run_tool_calls(
        &self,
        journal: &mut Journal,
        model_call_id: &ModelCallId,
        answer: &Answer,
        is_cut: bool,
        calls_left: Option<u32>,
        repetition: &mut RepetitionGuard,
    ) -> Result<AnswerCallsResult, TurnError> {
        let mut calls_result = AnswerCallsResult { calls: 0, repeated: None, used_paths: Vec::new() };
        let mut batch = Vec::new();
        let mut finished = FinishedCalls::default();
        for call in answer.calls() {
            let mut planned = match calls_left {
                Some(left) if calls_result.calls >= left => {
                    skipped_call(call, "the run has reached its limit of tool calls")
                }
                _ if is_cut => skipped_call(call, "the answer was cut off by the output limit"),
                Some(_) | None => self.plan_call(call.clone(), journal.history()),
            };
            calls_result.calls += 1;
            // Hooks must see the effects of earlier calls, and they may turn a call into an exclusive one.
            if planned.is_exclusive() {
                self.run_batch(journal, model_call_id, &mut batch, &mut finished).await?;
            }
            self.run_pre_tool_hooks(journal, &mut planned).await?;
            if planned.is_exclusive() {
                self.run_batch(journal, model_call_id, &mut batch, &mut finished).await?;
                batch.push(planned);
                self.run_batch(journal, model_call_id, &mut batch, &mut finished).await?;
            } else {
                batch.push(planned);
            }
        }
        self.run_batch(journal, model_call_id, &mut batch, &mut finished).await?;
        calls_result.used_paths = finished.used_paths;
        for (call, result) in finished.results {
            if let Some(count) = repetition.record_call(&call, &result) {
                calls_result.repeated = Some((call.name, count));
            }
        }
        Ok(calls_result)
    }

    /// Finds the tool and prepares the call.
    fn plan_call(&self, mut call: ToolCall, history: &History) -> PlannedCall {
        let Some(tool) = self.tools.get(&call.name) else {
            let mut sent = history.prompt().into_iter().flat_map(SessionPrompt::sent_tools);
            // An earlier run of the session had the tool, so every request offers it.
            let text = match sent.any(|tool| *tool.name == *call.name) {
                true => {
                    format!("the tool `{}` cannot be used now: this run does not have it", call.name).into()
                }
                false => match near_tool_name(&call.name, self.tools.keys().map(String::as_str)) {
                    None => sentence!("there is no tool `{name}`", name = call.name),
                    Some(near) => format!("there is no tool `{}`; use `{near}`", call.name).into(),
                },
            };
            return PlannedCall::Resolved { call, outcome: ToolOutcome::error(text) };
        };
        match tool.prepare(&call.arguments) {
            Ok(PreparedCall { arguments, access, run }) => {
                call.arguments = arguments;
                PlannedCall::Ready { call, tool: Arc::clone(tool), access, run, block: None }
            }
            Err(ToolInputError(message)) => {
                PlannedCall::Resolved { call, outcome: ToolOutcome::error(message) }
            }
        }
    }

    /// Runs the calls of `batch` at the same time and leaves it empty.
    async fn run_batch(
        &self,
        journal: &mut Journal,
        model_call_id: &ModelCallId,
        batch: &mut Vec<PlannedCall>,
        finished: &mut FinishedCalls,
    ) -> Result<(), TurnError> {
        let context = ToolContext {
            budget: self.batch_budget(journal, batch.len()),
            output_observer: self.output_observer.clone(),
            ..ToolContext::new(self.stop.clone(), self.file_timeout)
        };
        let mut waiting = std::mem::take(batch).into_iter();
        let mut running = FuturesUnordered::new();
        let mut unfinished: Vec<ToolCall> = Vec::new();
        let mut finished_calls: Vec<FinishedCall> = Vec::new();
        let wants_results = self.hooks.wants_tool_results();
        let is_pinned = self.clock.is_pinned();
        // The order in which calls end at the same time depends on the machine.
        let max_concurrent = if is_pinned { 1 } else { MAX_CONCURRENT_CALLS };
        let FinishedCalls { results, used_paths } = finished;
        let mut finish = async |journal: &mut Journal, call: ToolCall, outcome: ToolOutcome, duration| {
            results.push((call.clone(), outcome.for_model()));
            if wants_results {
                finished_calls.push(FinishedCall { call: call.clone(), outcome: outcome.clone(), duration });
            }
            let model_call_id = model_call_id.clone();
            journal
                .record(EventKind::ToolCallFinished { model_call_id, call, outcome: Box::new(outcome) })
                .await
        };
        loop {
            while running.len() < max_concurrent {
                if let Some(reason) = self.stop.reason() {
                    self.drain_running_calls(journal, model_call_id, &mut running, &mut unfinished).await?;
                    return Err(reason.clone().into());
                }
                let Some(next) = waiting.next() else { break };
                let next = reject_secrets(journal, next);
                let call = match &next {
                    PlannedCall::Ready { call, .. } | PlannedCall::Resolved { call, .. } => call.clone(),
                };
                let started =
                    EventKind::ToolCallStarted { model_call_id: model_call_id.clone(), call: call.clone() };
                journal.record(started).await?;
                match next {
                    PlannedCall::Resolved { outcome, .. } => {
                        finish(journal, call, outcome, Duration::ZERO).await?;
                    }
                    PlannedCall::Ready { tool, access, run, block, .. } => {
                        // A person may take long to answer, or never do.
                        let decision = tokio::select! {
                            biased;
                            reason = self.stop.wait() => {
                                finish(journal, call, stopped_call_outcome(), Duration::ZERO).await?;
                                self.drain_running_calls(journal, model_call_id, &mut running, &mut unfinished).await?;
                                return Err(reason.into());
                            }
                            decision = self.decide(&call, &*tool, &access, block.as_ref(), &context) => decision,
                        };
                        let decision = match decision {
                            Ok(decision) => decision,
                            Err(outcome) => {
                                finish(journal, call, *outcome, Duration::ZERO).await?;
                                continue;
                            }
                        };
                        match self.record_decision(journal, &call, decision).await? {
                            Some(reason) => {
                                let rejected = ToolOutcome::Rejected { reason };
                                finish(journal, call, rejected, Duration::ZERO).await?;
                            }
                            None => {
                                if !access.is_read_only()
                                    && let Err(reason) = self.save_unchanged_files(journal).await?
                                {
                                    finish(journal, call, stopped_call_outcome(), Duration::ZERO).await?;
                                    self.drain_running_calls(
                                        journal,
                                        model_call_id,
                                        &mut running,
                                        &mut unfinished,
                                    )
                                    .await?;
                                    return Err(reason.into());
                                }
                                unfinished.push(call.clone());
                                let used_path = match access {
                                    Access::Read(path) | Access::Write(path) => Some(path),
                                    Access::Command { .. }
                                    | Access::Fetch { .. }
                                    | Access::Mcp { .. }
                                    | Access::Task { .. }
                                    | Access::Nothing => None,
                                };
                                let context = ToolContext { call_id: call.id.clone(), ..context.clone() };
                                running.push(async move {
                                    let began = self.clock.monotonic();
                                    let mut outcome = run(context).await;
                                    if is_pinned {
                                        outcome.zero_times();
                                    }
                                    let duration = self.clock.monotonic().saturating_sub(began);
                                    FinishedRun { call, outcome, duration, used_path }
                                });
                            }
                        }
                    }
                }
            }
            let next = tokio::select! {
                biased;
                next = running.next() => next,
                reason = self.stop.wait() => {
                    self.drain_running_calls(journal, model_call_id, &mut running, &mut unfinished).await?;
                    return Err(reason.into());
                }
            };
            match next {
                Some(FinishedRun { call, outcome, duration, used_path }) => {
                    unfinished.retain(|other| other.id != call.id);
                    used_paths.extend(used_path.filter(|_| matches!(outcome, ToolOutcome::Success { .. })));
                    finish(journal, call, outcome, duration).await?;
                    for notice in context.notices.take() {
                        journal.record(EventKind::Notice(notice)).await?;
                    }
                }
                None => return self.run_post_tool_hooks(journal, finished_calls).await,
            }
        }
    }

    /// Returns the budget that the sub-agents of a batch share. The calls of the batch count as made.
    fn batch_budget(&self, journal: &Journal, calls: usize) -> Budget {
        let calls = u32::try_from(calls).unwrap_or(u32::MAX);
        Budget::new(self.head.limits, &journal.tally().totals, calls, journal.outer_budget().cloned())
    }

    /// Decides on a call.
    ///
    /// # Errors
    /// The failure of a call that somebody would be asked about and that cannot be executed. It is not executed.
    async fn decide(
        &self,
        call: &ToolCall,
        tool: &dyn Tool,
        access: &Access,
        block: Option<&HookBlock>,
        context: &ToolContext,
    ) -> Result<Decision, Box<ToolOutcome>> {
        let preview = match self.gate.wants_preview(access, block) {
            true => tool.preview(&call.arguments, access, context.clone()).await,
            false => CallPreview::Unknown,
        };
        let diff = match preview {
            CallPreview::Unknown => None,
            CallPreview::Change { diff } => Some(diff),
            CallPreview::Failure(outcome) => return Err(Box::new(outcome)),
        };
        Ok(self.gate.decide(call, access, block, diff.as_deref()).await)
    }

    /// Records the gate's decision. Returns the sentence for the model if the call is refused.
    async fn record_decision(
        &self,
        journal: &mut Journal,
        call: &ToolCall,
        decision: Decision,
    ) -> Result<Option<Sentence>, TurnError> {
        let decided = PermissionDecided {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            allowed: decision.refusal.is_none(),
            rule: decision.rule,
            reason: decision.refusal.as_ref().map(|refusal| refusal.for_people.clone()),
        };
        journal.record(EventKind::PermissionDecided(decided)).await?;
        Ok(decision.refusal.map(|refusal| refusal.for_model))
    }

    /// Waits a limited time for the running calls to stop, then drops them.
    async fn drain_running_calls<F>(
        &self,
        journal: &mut Journal,
        model_call_id: &ModelCallId,
        running: &mut FuturesUnordered<F>,
        unfinished: &mut Vec<ToolCall>,
    ) -> Result<(), TurnError>
    where
        F: Future<Output = FinishedRun>,
    {
        let mut grace = self.clock.sleep(STOP_GRACE);
        loop {
            let next = tokio::select! {
                biased;
                next = running.next() => next,
                () = &mut grace => None,
            };
            let Some(FinishedRun { call, outcome, .. }) = next else { break };
            unfinished.retain(|other| other.id != call.id);
            let model_call_id = model_call_id.clone();
            journal
                .record(EventKind::ToolCallFinished { model_call_id, call, outcome: Box::new(outcome) })
                .await?;
        }
        running.clear();
        for call in unfinished.drain(..) {
            let outcome = ToolOutcome::Failure {
                failure: ToolFailure::Interrupted,
                for_model: sentence!(
                    "interrupted: the run was stopped before this call ended; its effect is unknown"
                ),
            };
            let model_call_id = model_call_id.clone();
            journal
                .record(EventKind::ToolCallFinished { model_call_id, call, outcome: Box::new(outcome) })
                .await?;
        }
        Ok(())
    }
}

/// Rejects a call whose arguments contain a secret: the journal must not contain the secret, and a call is not executed
/// with arguments other than the recorded ones.
fn reject_secrets(journal: &Journal, planned: PlannedCall) -> PlannedCall {
    match &planned {
        PlannedCall::Ready { call, .. }
            if journal.redactor().model_text().finds_secret_in(&call.arguments) =>
        {
            skipped_call(
                call,
                "its arguments hold a key that this program uses itself, which is kept out of calls and of the record; \
             have it read from a file or variable where it is needed",
            )
        }
        PlannedCall::Ready { .. } | PlannedCall::Resolved { .. } => planned,
    }
}

/// Returns a call that is not executed.
fn skipped_call(call: &ToolCall, why: &str) -> PlannedCall {
    PlannedCall::Resolved { call: call.clone(), outcome: ToolOutcome::error(format!("not executed: {why}")) }
}

/// Returns the outcome of a call that was stopped before it was allowed.
fn stopped_call_outcome() -> ToolOutcome {
    ToolOutcome::Rejected {
        reason: sentence!("not executed: the run was stopped before this call was allowed"),
    }
}
