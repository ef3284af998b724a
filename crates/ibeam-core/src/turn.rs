//! A run: from the prompt to the final answer, as a loop of model requests and tool calls.
//!
//! Everything that happens is recorded through `Journal::record`. The first event is `RunStarted` and the last is
//! `RunFinished`, whatever happens in between.

mod active_model;
mod bound_thinking;
mod changed_files;
mod compaction;
mod hooks;
mod model_request;
mod open_calls;
mod refused_parts;
mod structured_answer;
mod tool_calls;
mod tool_names;
mod unfit_parts;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ibeam_protocol::{
    Answer, BackgroundEnd, Block, EventKind, Failure, ModelCallId, ModelInfo, Notice, PromptPart, Reason,
    RefusalDetails, RunFinished, RunOutcome, RunStarted, StopReason, UserPrompt,
};

use crate::budget::Budget;
use crate::gate::Gate;
use crate::journal::{Journal, JournalClosed};
use crate::json_schema::JsonSchema;
use crate::limits::{LimitTracker, REPETITION_STOP_AT, RepetitionGuard};
use crate::ports::{
    AddedRules, Background, Checkpoints, Clock, Hooks, OutputObserver, Provider, RequestLimits, ScopedRules,
    Steering, ToolSet,
};
use crate::prefix::PrefixChain;
use crate::prices::Prices;
use crate::progress::RunProgress;
use crate::retry::RetryPolicy;
use crate::session_prompt::CurrentPrompt;
use crate::stop::Stop;
use crate::token_estimator::TokenEstimator;
pub use active_model::ReplaceableDefault;
use hooks::AnswerEndHooks;
use model_request::RecordedAnswer;
use structured_answer::{AnswerVerdict, StructuredAnswer};
use tool_calls::AnswerCallsResult;

/// The message to the model when a run continues after its process was killed.
const CONTINUE_MESSAGE: &str = "[The run was interrupted here. Continue with the task.]";
/// The number of consecutive answers cut by the output limit at which the run ends.
const MAX_CONSECUTIVE_CUTS: u32 = 3;
/// The number of consecutive answers paused by the service at which the run ends.
const MAX_CONSECUTIVE_PAUSES: u32 = 10;
/// The number of consecutive answers at which the run ends if none of their calls has valid JSON arguments.
const MAX_CONSECUTIVE_INVALID: u32 = 3;
/// The number of characters of a refusal that the failure retains.
const MAX_REFUSAL_CHARS: usize = 500;

/// The conditions that turn a successful run into a failure: `--fail-on`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailOn {
    /// A call was refused.
    pub denied: bool,
    /// A call failed.
    pub tool_error: bool,
    /// The run produced no text.
    pub empty: bool,
    /// A background command was still running at the end.
    pub background: bool,
}

/// Checks, before each request and at the end, whether the run can continue: returns the failure if the workspace was
/// removed.
pub type RunPrecondition = Arc<dyn Fn() -> Option<Reason> + Send + Sync>;

/// A model that takes over while the models before it are unavailable.
#[derive(Clone)]
pub struct FallbackModel {
    /// The name of the model.
    pub model: ModelInfo,
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// The largest number of tokens of prompt and answer together; `None` where only the provider knows it.
    pub context_window: Option<u64>,
    /// The largest number of tokens of an answer; `None` for the provider's default.
    pub max_output_tokens: Option<u32>,
    /// Whether the service accepts thinking only after what came before it when the model wrote it.
    pub binds_thinking: bool,
    /// The limits of the service for the parts of a request.
    pub request_limits: RequestLimits,
    /// The prices of tokens; `None` where they are unknown.
    pub prices: Option<Prices>,
}

/// Everything that a run needs, resolved once. The loop reads nothing else.
#[derive(Clone)]
pub struct Run {
    /// The first event: session, model, limits.
    pub head: RunStarted,
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// The models that take over, one after another, while those before them are unavailable.
    pub fallbacks: Vec<FallbackModel>,
    /// The default model, if a rule chose the model of the run; `None` for a model that the user named.
    pub default_model: Option<ReplaceableDefault>,
    /// The tools that the model may call.
    pub tools: ToolSet,
    /// Decides which calls may run.
    pub gate: Gate,
    /// The hooks that observe the run and may narrow it.
    pub hooks: Arc<dyn Hooks>,
    /// When a failed request is retried.
    pub retry: RetryPolicy,
    /// The conditions that turn success into a failure.
    pub fail_on: FailOn,
    /// The schema of the final answer, which is the only text of the run; `None` for any text: `--json-schema`.
    pub answer_schema: Option<Arc<JsonSchema>>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The text before the conversation, in the order in which a new session sends it. A session that has another one
    /// keeps that, and the model receives the differences as messages.
    pub prompt: Vec<PromptPart>,
    /// The largest number of tokens of one answer; `None` leaves it to the provider.
    pub max_output_tokens: Option<u32>,
    /// The largest number of tokens of prompt and answer together; `None` where only the provider knows it.
    pub context_window: Option<u64>,
    /// Whether the service accepts thinking only after what came before it when the model wrote it.
    pub binds_thinking: bool,
    /// The limits of the service for the parts of a request.
    pub request_limits: RequestLimits,
    /// The prices of tokens; `None` where they are unknown.
    pub prices: Option<Prices>,
    /// Saves the files of the workspace before a turn changes them.
    pub checkpoints: Arc<dyn Checkpoints>,
    /// The commands that tools left running.
    pub background: Arc<dyn Background>,
    /// Whether a successful run waits for commands in the background instead of stopping them.
    pub await_background: bool,
    /// Checked before each request.
    pub precondition: RunPrecondition,
    /// The longest time that a call may take to read, write or search files.
    pub file_timeout: Duration,
    /// The messages that the user adds while a turn runs.
    pub steering: Arc<dyn Steering>,
    /// Receives the output of commands while they run.
    pub output_observer: Option<Arc<dyn OutputObserver>>,
    /// The rules for parts of the workspace.
    pub scoped_rules: Arc<dyn ScopedRules>,
    /// Ends the run from outside.
    pub stop: Stop,
}

/// The reason why the loop ended early.
enum TurnError {
    /// The run failed.
    Failed(Failure),
    /// The journal has no readers any more.
    JournalClosed,
}

impl From<JournalClosed> for TurnError {
    fn from(JournalClosed: JournalClosed) -> Self {
        Self::JournalClosed
    }
}

impl From<Failure> for TurnError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Reason> for TurnError {
    fn from(reason: Reason) -> Self {
        Self::Failed(reason.into())
    }
}

impl Run {
    /// Runs one prompt to its end and returns the last event.
    ///
    /// Records `notices` after the prompt. When `stop` is requested, the run ends early and in order.
    ///
    /// # Errors
    /// `JournalClosed` when the journal has no readers any more; they have the reason.
    pub async fn run_turn(
        &self,
        journal: &mut Journal,
        prompt: UserPrompt,
        notices: Vec<Notice>,
    ) -> Result<RunFinished, JournalClosed> {
        let mut answer_end_hooks = AnswerEndHooks::default();
        let result = match self.run_loop(journal, prompt, notices, &mut answer_end_hooks).await {
            Ok(()) => Ok(()),
            Err(TurnError::Failed(failure)) => Err(failure),
            Err(TurnError::JournalClosed) => return Err(JournalClosed),
        };
        if let Err(failure) = &result
            && is_parked(failure)
        {
            return self.finish_parked(journal, failure.clone()).await;
        }
        self.finish_background(journal, result.is_ok()).await?;
        self.save_changed_files(journal).await?;
        let mut outcome = match result.and_then(|()| self.apply_fail_on(journal)) {
            Ok(()) => RunOutcome::Completed,
            Err(failure) => RunOutcome::Failed(failure),
        };
        self.run_end_hooks(journal, &outcome, &answer_end_hooks).await?;
        if let (RunOutcome::Completed, Some(reason)) = (&outcome, self.stop.reason()) {
            outcome = RunOutcome::Failed(reason.clone().into());
        }
        let denied = u32::try_from(journal.tally().totals.denials.len()).unwrap_or(u32::MAX);
        if denied > 0 {
            let reasons = journal.tally().denial_reasons.clone();
            journal.record(EventKind::Notice(Notice::CallsDenied { count: denied, reasons })).await?;
        }
        journal.release_all_held_text().await?;
        let failed = matches!(outcome, RunOutcome::Failed(_));
        // From the recorded text, so that text and value are the same document after the redaction too.
        let structured = self.answer_schema.as_ref().filter(|_| !failed);
        let structured = structured.and_then(|_| serde_json::from_str(&journal.tally().text).ok());
        let mut finished = RunFinished {
            session_id: self.head.session_id,
            outcome,
            duration_ms: journal.elapsed_ms(),
            totals: journal.tally().totals.clone(),
            partial: Some(journal.tally().text.clone()).filter(|text| failed && !text.is_empty()),
            structured,
            ephemeral: self.head.ephemeral,
        };
        // The caller reports the outcome as well.
        journal.redactor().redact_value(&mut finished.outcome);
        journal.record(EventKind::RunFinished(Box::new(finished.clone()))).await?;
        Ok(finished)
    }

    /// Runs one prompt of a new session up to its first request, whose provider does not answer.
    pub(crate) async fn rehearse(&self, journal: &mut Journal, prompt: UserPrompt) {
        // The caller has the request, or the loop has ended without one.
        let _ = self.run_loop(journal, prompt, Vec::new(), &mut AnswerEndHooks::default()).await;
    }

    /// Ends the process of a run that waits for an answer. The run itself goes on, so nothing runs that belongs to its
    /// end.
    async fn finish_parked(
        &self,
        journal: &mut Journal,
        failure: Failure,
    ) -> Result<RunFinished, JournalClosed> {
        self.finish_background(journal, true).await?;
        journal.release_all_held_text().await?;
        let finished = RunFinished {
            session_id: self.head.session_id,
            outcome: RunOutcome::Failed(failure),
            duration_ms: journal.elapsed_ms(),
            totals: journal.tally().totals.clone(),
            partial: Some(journal.tally().text.clone()).filter(|text| !text.is_empty()),
            structured: None,
            ephemeral: self.head.ephemeral,
        };
        journal.record(EventKind::RunFinished(Box::new(finished.clone()))).await?;
        Ok(finished)
    }

    async fn run_loop(
        &self,
        journal: &mut Journal,
        prompt: UserPrompt,
        notices: Vec<Notice>,
        answer_end_hooks: &mut AnswerEndHooks,
    ) -> Result<(), TurnError> {
        journal.record(EventKind::RunStarted(Box::new(self.current_head()))).await?;
        let progress = if self.head.continues { journal.take_progress() } else { RunProgress::default() };
        let RunProgress { mut cuts, mut pauses, mut invalid, mut has_answer, mut retried_empty, .. } =
            progress;
        let RunProgress { repairs, unfinished_text, warned, mut repetition, is_complete, .. } = progress;
        let mut limits = LimitTracker::new(self.head.limits, warned);
        // The calls of an answer that was cut are not executed.
        if !self.head.continues || cuts > 0 || !self.run_open_calls(journal, &limits, &mut repetition).await?
        {
            self.record_interrupted_calls(journal).await?;
        }
        let specs = self.tools.values().map(|tool| tool.spec()).collect();
        let mut current = CurrentPrompt::new(self.prompt.clone(), specs, journal.redactor());
        if !self.head.continues {
            if journal.history().prompt().is_some() {
                self.limit_tools(journal, &mut current).await?;
                self.record_prompt_changes(journal, &current).await?;
            }
            self.submit_message(journal, prompt, true).await?;
        } else if !journal.history().awaits_answer() {
            if is_complete && self.answer_schema.is_none() {
                return Ok(());
            }
            journal.record(EventKind::HookMessage { text: CONTINUE_MESSAGE.to_owned() }).await?;
        }
        for notice in notices {
            journal.record(EventKind::Notice(notice)).await?;
        }
        let mut estimator = TokenEstimator::default();
        let mut prefixes = PrefixChain::default();
        let mut structured =
            StructuredAnswer::continuing(self.answer_schema.as_deref(), unfinished_text, repairs);
        loop {
            let outer_limit = || journal.outer_budget().and_then(Budget::exceeded);
            let exceeded = || limits.reached_limit(&journal.tally().totals).or_else(outer_limit);
            if let Some(reason) = (self.precondition)().or_else(exceeded) {
                return Err(reason.into());
            }
            if let Some(near) = limits.next_warning(&journal.tally().totals, journal.elapsed_ms()) {
                journal.record(EventKind::Notice(near)).await?;
            }
            self.record_ended_background(journal).await?;
            self.submit_steering(journal).await?;
            let RecordedAnswer { model_call_id, answer } = tokio::select! {
                biased;
                reason = self.stop.wait() => return Err(reason.into()),
                answer = async {
                    // Held until the answer is recorded, and so counted.
                    let _reservation = match journal.outer_budget().cloned() {
                        Some(budget) => Some(budget.reserve().await?),
                        None => None,
                    };
                    self.request_answer(journal, &mut current, &mut estimator, &mut prefixes, &mut structured)
                        .await
                } => answer?,
            };
            self.run_answer_hooks(journal, &answer).await?;
            // The text of an interrupted answer is not part of the answer that continues it.
            has_answer |= has_content(&answer) || journal.tally().has_text();
            if let StopReason::Unknown(reason) = &answer.stop {
                let notice = Notice::UnknownStopReason { word: reason.clone() };
                journal.record(EventKind::Notice(notice)).await?;
            }
            let is_cut = answer.stop == StopReason::MaxTokens;
            repetition.start_answer();
            let calls =
                self.run_answer_calls(journal, &model_call_id, &answer, &limits, 0, &mut repetition).await?;
            if is_cut {
                cuts += 1;
                if cuts >= MAX_CONSECUTIVE_CUTS {
                    return Err(Reason::OutputLimit.into());
                }
                journal.record(EventKind::Notice(Notice::AnswerCut)).await?;
                continue;
            }
            cuts = 0;
            match tool_of_invalid_calls(&answer) {
                Some(tool) => {
                    invalid += 1;
                    if invalid >= MAX_CONSECUTIVE_INVALID {
                        return Err(Reason::InvalidArguments { tool: tool.to_owned(), count: invalid }.into());
                    }
                }
                None => invalid = 0,
            }
            if calls > 0 {
                pauses = 0;
                continue;
            }
            if answer.stop == StopReason::Paused {
                pauses += 1;
                if pauses >= MAX_CONSECUTIVE_PAUSES {
                    return Err(Reason::AnswerPaused { count: pauses }.into());
                }
                journal.record(EventKind::Notice(Notice::AnswerPaused)).await?;
                continue;
            }
            pauses = 0;
            if answer.stop == StopReason::Refusal {
                return Err(refusal_reason(&answer).into());
            }
            match (has_answer, retried_empty) {
                (true, _) => match structured.take_verdict() {
                    AnswerVerdict::Valid => {
                        let text = visible_text(&answer);
                        if !self.run_answer_end_hooks(journal, &text, answer_end_hooks).await? {
                            return Ok(());
                        }
                    }
                    AnswerVerdict::Repair(notice) => journal.record(EventKind::Notice(notice)).await?,
                    AnswerVerdict::Failed(reason) => return Err(reason.into()),
                },
                (false, true) => return Err(Reason::EmptyAnswer.into()),
                (false, false) => {
                    retried_empty = true;
                    journal.record(EventKind::Notice(Notice::EmptyAnswer)).await?;
                }
            }
        }
    }

    /// Runs the calls of an answer, and what follows from them. `made` of them count already. Returns their
    /// number.
    async fn run_answer_calls(
        &self,
        journal: &mut Journal,
        model_call_id: &ModelCallId,
        answer: &Answer,
        limits: &LimitTracker,
        made: u32,
        repetition: &mut RepetitionGuard,
    ) -> Result<u32, TurnError> {
        let calls_left = limits.calls_left(&journal.tally().totals).zip(self.head.limits.max_tool_calls);
        let outer_calls_left = journal.outer_budget().and_then(Budget::calls_left);
        let call_limit = calls_left.into_iter().chain(outer_calls_left).min();
        let calls_left = call_limit.map(|(left, _)| left.saturating_add(made));
        let is_cut = answer.stop == StopReason::MaxTokens;
        let AnswerCallsResult { calls, repeated, used_paths } =
            self.run_tool_calls(journal, model_call_id, answer, is_cut, calls_left, repetition).await?;
        self.add_scoped_rules(journal, used_paths).await?;
        if let (Some(left), Some((_, limit))) = (calls_left, call_limit)
            && calls > left
        {
            return Err(Reason::ToolCallLimit { limit }.into());
        }
        if let Some((tool, count)) = repeated {
            if count >= REPETITION_STOP_AT {
                return Err(Reason::LoopGuard { tool, count }.into());
            }
            journal.record(EventKind::Notice(Notice::RepeatedCall { tool, count })).await?;
        }
        Ok(calls)
    }

    /// Records the rules for the files that tool calls used.
    async fn add_scoped_rules(&self, journal: &mut Journal, paths: Vec<PathBuf>) -> Result<(), TurnError> {
        if paths.is_empty() {
            return Ok(());
        }
        let rules = tokio::select! {
            biased;
            reason = self.stop.wait() => return Err(reason.into()),
            rules = self.scoped_rules.rules_for(paths, journal.history().added_rules()) => rules,
        };
        if let Some(AddedRules { files, text }) = rules {
            journal.record(EventKind::RulesAdded { files, text }).await?;
        }
        Ok(())
    }

    /// Records what can be found of calls that a killed run had started and not finished.
    async fn record_interrupted_calls(&self, journal: &mut Journal) -> Result<(), TurnError> {
        let evidence: Vec<_> = journal
            .history()
            .interrupted_calls()
            .filter_map(|call| {
                Some((call.id.clone(), self.tools.get(&call.name)?.evidence(&call.arguments)?))
            })
            .collect();
        for (call_id, evidence) in evidence {
            journal.record(EventKind::CallInterrupted { call_id, evidence }).await?;
        }
        Ok(())
    }

    /// Waits for the commands in the background, or stops them: none runs after the last event.
    async fn finish_background(&self, journal: &mut Journal, ended_well: bool) -> Result<(), JournalClosed> {
        let running = self.background.running_count();
        let wait = ended_well && self.await_background && running > 0;
        if wait {
            journal.record(EventKind::Notice(Notice::BackgroundAwaited { count: running })).await?;
        }
        let count = self.background.finish(wait, &self.stop).await;
        self.record_ended_background(journal).await?;
        if count > 0 {
            journal.record(EventKind::Notice(Notice::BackgroundStopped { count })).await?;
        }
        Ok(())
    }

    /// Records the ends of commands in the background. The next request contains them.
    async fn record_ended_background(&self, journal: &mut Journal) -> Result<(), JournalClosed> {
        for BackgroundEnd { call_id, command, exit_code } in self.background.take_ended() {
            let notice = Notice::BackgroundEnded { call_id, command, exit_code };
            journal.record(EventKind::Notice(notice)).await?;
        }
        Ok(())
    }

    /// Fails a run that was successful so far if it was stopped meanwhile, or if a `--fail-on` condition holds.
    fn apply_fail_on(&self, journal: &Journal) -> Result<(), Failure> {
        if let Some(reason) = self.stop.reason().cloned().or_else(|| (self.precondition)()) {
            return Err(reason.into());
        }
        let totals = &journal.tally().totals;
        let denied = u32::try_from(totals.denials.len()).unwrap_or(u32::MAX);
        let reason = if self.fail_on.denied && denied > 0 {
            Reason::Denied { count: denied }
        } else if self.fail_on.tool_error && totals.failed_tool_calls > 0 {
            Reason::ToolErrors { count: totals.failed_tool_calls }
        } else if self.fail_on.background && totals.background_stopped > 0 {
            Reason::BackgroundStopped { count: totals.background_stopped }
        } else if self.fail_on.empty && !journal.tally().has_text() {
            Reason::NoText
        } else {
            return Ok(());
        };
        Err(reason.into())
    }
}

pub(crate) fn has_content(answer: &Answer) -> bool {
    answer.blocks.iter().any(|block| match block {
        Block::Text(text) => !text.trim().is_empty(),
        Block::ToolCall(_) => true,
        Block::Thinking { .. } | Block::Opaque(_) => false,
    })
}

/// Whether the run waits for the answer to a request.
fn is_parked(failure: &Failure) -> bool {
    matches!(failure.reason, Reason::Parked { .. })
}

/// Returns the tool of the first call of an answer if no call has valid JSON arguments.
pub(crate) fn tool_of_invalid_calls(answer: &Answer) -> Option<&str> {
    let first = answer.calls().next()?;
    answer.calls().all(|call| !call.arguments.is_object()).then_some(first.name.as_str())
}

/// Returns the failure of an answer in which the model declined: with what the service says about it, else with the text
/// that the model wrote.
fn refusal_reason(answer: &Answer) -> Reason {
    let RefusalDetails { category, explanation } = answer.refusal.clone().unwrap_or_default();
    let message = Some(in_a_sentence(&explanation.unwrap_or_default())).filter(|text| !text.is_empty());
    let message = message.unwrap_or_else(|| in_a_sentence(&visible_text(answer)));
    let category = in_a_sentence(&category.unwrap_or_default());
    match (category.is_empty(), message.is_empty()) {
        (true, true) => Reason::Refused,
        (true, false) => Reason::RefusedWithMessage { message },
        (false, true) => Reason::RefusedWithMessage { message: category },
        (false, false) => Reason::RefusedInCategory { category, message },
    }
}

/// Returns a text for the sentence of a failure, which has one line and no full stop.
fn in_a_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.trim_end_matches(['.', '。']);
    match text.char_indices().nth(MAX_REFUSAL_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// Returns the visible text of an answer.
pub(crate) fn visible_text(answer: &Answer) -> String {
    let texts = answer.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque(_) => None,
    });
    texts.collect()
}
