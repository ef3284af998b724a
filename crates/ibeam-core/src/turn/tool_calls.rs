//! The calls of one answer: gate, run, result.
//!
//! Calls that change nothing run together; the first other call waits for them and bars the rest. Every started
//! call is finished exactly once, on refusal, failure and stop too.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use ibeam_policy::Access;
use ibeam_protocol::{Answer, EventKind, ModelCallId, PermissionDecided, ToolCall, ToolFailure, ToolOutcome};

use super::{Run, TurnError};
use crate::gate::Decision;
use crate::journal::Journal;
use crate::limits::RepetitionGuard;
use crate::ports::{FinishedCall, HookBlock, PreparedCall, RunCall, Tool, ToolContext, ToolInputError};

/// Calls that run at the same time, at the most.
const MAX_CONCURRENT_CALLS: usize = 8;
/// How long a call may take to end once the run is to stop; tools promise two seconds.
const STOP_GRACE: Duration = Duration::from_millis(2500);

/// What acting came to.
pub(super) struct BatchResult {
    /// Calls of the answer.
    pub(super) calls: u32,
    /// A call worth a word, and how often it came.
    pub(super) repeated: Option<(String, u32)>,
}

/// A call before it starts.
pub(super) enum PlannedCall {
    /// To be put to the gate, with what a hook has against it.
    Ready { call: ToolCall, tool: Arc<dyn Tool>, access: Access, run: RunCall, block: Option<HookBlock> },
    /// Cannot run; the outcome is known.
    Resolved { call: ToolCall, outcome: ToolOutcome },
}

impl PlannedCall {
    fn is_exclusive(&self) -> bool {
        match self {
            Self::Ready { access, .. } => !access.is_read_only(),
            Self::Resolved { .. } => false,
        }
    }
}

impl Run {
    pub(super) async fn run_tool_calls(
        &self,
        journal: &mut Journal,
        model_call_id: &ModelCallId,
        answer: &Answer,
        cut: bool,
        calls_left: Option<u32>,
        repetition: &mut RepetitionGuard,
    ) -> Result<BatchResult, TurnError> {
        let mut acted = BatchResult { calls: 0, repeated: None };
        let mut together = Vec::new();
        let mut finished = Vec::new();
        for call in answer.calls() {
            let mut planned = match calls_left {
                Some(left) if acted.calls >= left => {
                    not_executed(call, "the run has reached its limit of tool calls")
                }
                _ if cut => not_executed(call, "the answer was cut off by the output limit"),
                Some(_) | None => self.plan_call(call.clone()),
            };
            acted.calls += 1;
            // Hooks see what the calls before have left; and what they make of a call may bar others too.
            if planned.is_exclusive() {
                self.run_batch(journal, model_call_id, &mut together, &mut finished).await?;
            }
            self.run_pre_tool_hooks(journal, &mut planned).await?;
            if planned.is_exclusive() {
                self.run_batch(journal, model_call_id, &mut together, &mut finished).await?;
                together.push(planned);
                self.run_batch(journal, model_call_id, &mut together, &mut finished).await?;
            } else {
                together.push(planned);
            }
        }
        self.run_batch(journal, model_call_id, &mut together, &mut finished).await?;
        repetition.start_answer();
        for (call, result) in finished {
            if let Some(count) = repetition.record_call(&call, &result) {
                acted.repeated = Some((call.name, count));
            }
        }
        Ok(acted)
    }

    /// Looks the tool up and prepares the call.
    fn plan_call(&self, mut call: ToolCall) -> PlannedCall {
        let Some(tool) = self.tools.get(&call.name) else {
            let outcome = ToolOutcome::error(format!("there is no tool `{}`", call.name));
            return PlannedCall::Resolved { call, outcome };
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

    /// Runs the planned calls at the same time and empties `planned`.
    async fn run_batch(
        &self,
        journal: &mut Journal,
        model_call_id: &ModelCallId,
        planned: &mut Vec<PlannedCall>,
        finished: &mut Vec<(ToolCall, Arc<str>)>,
    ) -> Result<(), TurnError> {
        let context = ToolContext::new(self.stop.clone(), self.file_timeout);
        let mut waiting = std::mem::take(planned).into_iter();
        let mut running = FuturesUnordered::new();
        let mut open: Vec<ToolCall> = Vec::new();
        let mut ended: Vec<FinishedCall> = Vec::new();
        let wants_results = self.hooks.wants_tool_results();
        let mut finish = async |journal: &mut Journal, call: ToolCall, outcome: ToolOutcome, duration| {
            finished.push((call.clone(), outcome.for_model()));
            if wants_results {
                ended.push(FinishedCall { call: call.clone(), outcome: outcome.clone(), duration });
            }
            let model_call_id = model_call_id.clone();
            journal.record(EventKind::ToolCallFinished { model_call_id, call, outcome }).await
        };
        loop {
            while running.len() < MAX_CONCURRENT_CALLS {
                if let Some(reason) = self.stop.requested() {
                    self.drain_running(journal, model_call_id, &mut running, &mut open).await?;
                    return Err(reason.clone().into());
                }
                let Some(next) = waiting.next() else { break };
                let next = without_secrets(journal, next);
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
                    PlannedCall::Ready { access, run, block: objection, .. } => {
                        // A person may take long to answer, or never do.
                        let decision = tokio::select! {
                            biased;
                            reason = self.stop.wait() => {
                                finish(journal, call, stopped_before_decision(), Duration::ZERO).await?;
                                self.drain_running(journal, model_call_id, &mut running, &mut open).await?;
                                return Err(reason.into());
                            }
                            decision = self.gate.decide(&call, &access, objection.as_ref()) => decision,
                        };
                        match self.record_decision(journal, &call, decision).await? {
                            Some(reason) => {
                                let rejected = ToolOutcome::Rejected { reason };
                                finish(journal, call, rejected, Duration::ZERO).await?;
                            }
                            None => {
                                open.push(call.clone());
                                let context = context.clone();
                                running.push(async move {
                                    let began = self.clock.monotonic();
                                    let outcome = run(context).await;
                                    (call, outcome, self.clock.monotonic().saturating_sub(began))
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
                    self.drain_running(journal, model_call_id, &mut running, &mut open).await?;
                    return Err(reason.into());
                }
            };
            match next {
                Some((call, outcome, duration)) => {
                    open.retain(|other| other.id != call.id);
                    finish(journal, call, outcome, duration).await?;
                    for notice in context.notices.take() {
                        journal.record(EventKind::Notice(notice)).await?;
                    }
                }
                None => return self.run_post_tool_hooks(journal, ended).await,
            }
        }
    }

    /// Records what the gate said; gives the sentence of a refusal.
    async fn record_decision(
        &self,
        journal: &mut Journal,
        call: &ToolCall,
        decision: Decision,
    ) -> Result<Option<String>, TurnError> {
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

    /// Waits a bounded time for calls that were asked to stop, then drops them.
    async fn drain_running<F>(
        &self,
        journal: &mut Journal,
        model_call_id: &ModelCallId,
        running: &mut FuturesUnordered<F>,
        open: &mut Vec<ToolCall>,
    ) -> Result<(), TurnError>
    where
        F: Future<Output = (ToolCall, ToolOutcome, Duration)>,
    {
        let mut grace = self.clock.sleep(STOP_GRACE);
        loop {
            let ended = tokio::select! {
                biased;
                ended = running.next() => ended,
                () = &mut grace => None,
            };
            let Some((call, outcome, _)) = ended else { break };
            open.retain(|other| other.id != call.id);
            let model_call_id = model_call_id.clone();
            journal.record(EventKind::ToolCallFinished { model_call_id, call, outcome }).await?;
        }
        running.clear();
        for call in open.drain(..) {
            let outcome = ToolOutcome::Failure {
                failure: ToolFailure::Interrupted,
                for_model: "interrupted: the run was stopped before this call ended; its effect is unknown"
                    .into(),
            };
            let model_call_id = model_call_id.clone();
            journal.record(EventKind::ToolCallFinished { model_call_id, call, outcome }).await?;
        }
        Ok(())
    }
}

/// The call, unless its arguments hold a secret: the record may not have it, and a call is not executed with other
/// arguments than those on record.
fn without_secrets(journal: &Journal, planned: PlannedCall) -> PlannedCall {
    match &planned {
        PlannedCall::Ready { call, .. } if journal.redactor().own_words().are_in(&call.arguments) => {
            not_executed(
                call,
                "its arguments hold a key that this program uses itself, which is kept out of calls and of the record; \
             have it read from a file or variable where it is needed",
            )
        }
        PlannedCall::Ready { .. } | PlannedCall::Resolved { .. } => planned,
    }
}

/// A call that is not executed.
fn not_executed(call: &ToolCall, why: &str) -> PlannedCall {
    PlannedCall::Resolved { call: call.clone(), outcome: ToolOutcome::error(format!("not executed: {why}")) }
}

/// The outcome of a call that was stopped before anybody let it run.
fn stopped_before_decision() -> ToolOutcome {
    let reason = "not executed: the run was stopped before this call was allowed".to_owned();
    ToolOutcome::Rejected { reason }
}
