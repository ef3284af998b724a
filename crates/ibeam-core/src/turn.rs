//! A run: from the prompt to the final answer, as a loop of *ask the model* and *act on its calls*.
//!
//! Everything that happens goes through `Journal::record`. The first event is `SessionStarted` and the last is
//! `RunFinished`, whatever happens in between.

mod compaction;
mod hooks;
mod model_request;
mod tool_calls;

use std::sync::Arc;
use std::time::Duration;

use ibeam_protocol::{
    Answer, Block, EventKind, Failure, Notice, Reason, RunFinished, RunOutcome, SessionStarted, StopReason,
    ToolSpec,
};

use crate::gate::Gate;
use crate::journal::{Journal, JournalClosed};
use crate::limits::{LimitTracker, REPETITION_STOP_AT, RepetitionGuard};
use crate::ports::{Background, Clock, Hooks, Provider, ToolSet};
use crate::retry::RetryPolicy;
use crate::stop::Stop;
use crate::tally::Prices;
use crate::token_estimator::TokenEstimator;
use model_request::ModelAnswer;
use tool_calls::BatchResult;

/// An answer may be cut by the output limit this often in a row.
const MAX_CONSECUTIVE_CUTS: u32 = 3;
/// An answer may be paused by the service this often in a row.
const MAX_CONSECUTIVE_PAUSES: u32 = 10;
/// So many answers in a row may have nothing but calls whose arguments are not valid JSON.
const MAX_CONSECUTIVE_INVALID: u32 = 3;
/// At most so many characters of a refusal are part of the failure.
const MAX_REFUSAL_CHARS: usize = 500;

/// What turns a run that ended well into a failure: `--fail-on`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailOn {
    /// Any call was refused.
    pub denied: bool,
    /// Any call failed.
    pub tool_error: bool,
    /// The run gave no text.
    pub empty: bool,
    /// A background command was still running at the end.
    pub background: bool,
}

/// What makes going on pointless, looked for before each request and at the end: the workspace is gone.
pub type RunPrecondition = Arc<dyn Fn() -> Option<Reason> + Send + Sync>;

/// Everything a run needs, resolved once; the loop reads nothing else.
pub struct Run {
    /// The first event: session, model, limits.
    pub head: SessionStarted,
    /// The model.
    pub provider: Arc<dyn Provider>,
    /// What it may call.
    pub tools: ToolSet,
    /// What it may do.
    pub gate: Gate,
    /// Who is told, and may narrow it.
    pub hooks: Arc<dyn Hooks>,
    /// When a failed request is repeated.
    pub retry: RetryPolicy,
    /// What makes a good end a failure.
    pub fail_on: FailOn,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// The system prompt.
    pub system: Arc<str>,
    /// What the model reads before the conversation, with no more weight than a user's text; no part of the record.
    pub preface: Option<Arc<str>>,
    /// The most tokens of one answer; `None` leaves it to the provider.
    pub max_output_tokens: Option<u32>,
    /// Tokens of prompt and answer together that the model takes; `None` where only the provider knows.
    pub context_window: Option<u64>,
    /// What tokens cost; `None` where nobody knows.
    pub prices: Option<Prices>,
    /// What tools leave running.
    pub background: Arc<dyn Background>,
    /// A run that ended well waits for what it left running, rather than end it.
    pub await_background: bool,
    /// Looked for before each request.
    pub precondition: RunPrecondition,
    /// The longest that a call may take to read, write or search files.
    pub file_timeout: Duration,
    /// Ends the run from outside.
    pub stop: Stop,
}

/// Why the loop ended early.
enum TurnError {
    /// With a reason of its own.
    Failed(Failure),
    /// The readers have gone.
    Closed,
}

impl From<JournalClosed> for TurnError {
    fn from(JournalClosed: JournalClosed) -> Self {
        Self::Closed
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
    /// Runs one prompt to its end and gives the last event.
    ///
    /// `notices` are said right after `SessionStarted`. Ends early, in order, when `stop` is requested.
    ///
    /// # Errors
    /// `Closed` when the readers of the journal have gone; they know why.
    pub async fn turn(
        &self,
        journal: &mut Journal,
        prompt: Vec<String>,
        notices: Vec<Notice>,
    ) -> Result<RunFinished, JournalClosed> {
        let conversed = match self.run_loop(journal, prompt, notices).await {
            Ok(()) => Ok(()),
            Err(TurnError::Failed(failure)) => Err(failure),
            Err(TurnError::Closed) => return Err(JournalClosed),
        };
        self.finish_background(journal, conversed.is_ok()).await?;
        let mut outcome = match conversed.and_then(|()| self.apply_fail_on(journal)) {
            Ok(()) => RunOutcome::Completed,
            Err(failure) => RunOutcome::Failed(failure),
        };
        self.run_stop_hooks(journal, &outcome).await?;
        if let (RunOutcome::Completed, Some(reason)) = (&outcome, self.stop.requested()) {
            outcome = RunOutcome::Failed(reason.clone().into());
        }
        let denied = u32::try_from(journal.tally().totals.denials.len()).unwrap_or(u32::MAX);
        if denied > 0 {
            let reasons = journal.tally().denial_reasons.clone();
            journal.record(EventKind::Notice(Notice::CallsDenied { count: denied, reasons })).await?;
        }
        journal.release_held().await?;
        let failed = matches!(outcome, RunOutcome::Failed(_));
        let mut finished = RunFinished {
            session_id: self.head.session_id,
            outcome,
            duration_ms: journal.elapsed_ms(),
            totals: journal.tally().totals.clone(),
            partial: Some(journal.tally().text.clone()).filter(|said| failed && !said.is_empty()),
            ephemeral: self.head.ephemeral,
        };
        // Whoever gets it back tells it too.
        journal.redactor().redact_value(&mut finished.outcome);
        journal.record(EventKind::RunFinished(Box::new(finished.clone()))).await?;
        Ok(finished)
    }

    async fn run_loop(
        &self,
        journal: &mut Journal,
        prompt: Vec<String>,
        notices: Vec<Notice>,
    ) -> Result<(), TurnError> {
        journal.record(EventKind::SessionStarted(Box::new(self.head.clone()))).await?;
        self.record_interrupted_calls(journal).await?;
        self.submit_prompt(journal, prompt).await?;
        for notice in notices {
            journal.record(EventKind::Notice(notice)).await?;
        }
        let specs: Arc<[ToolSpec]> = self.tools.values().map(|tool| tool.spec()).collect();
        let mut gauge = TokenEstimator::default();
        let mut watch = LimitTracker::new(self.head.limits);
        let mut repetition = RepetitionGuard::default();
        let (mut cuts, mut pauses, mut invalid) = (0, 0, 0);
        let mut spoke = false;
        let mut asked_again = false;
        loop {
            if let Some(reason) = (self.precondition)().or_else(|| watch.exceeded(&journal.tally().totals)) {
                return Err(reason.into());
            }
            if let Some(near) = watch.approaching(&journal.tally().totals, journal.elapsed_ms()) {
                journal.record(EventKind::Notice(near)).await?;
            }
            let ModelAnswer { model_call_id, answer } = tokio::select! {
                biased;
                reason = self.stop.wait() => return Err(reason.into()),
                asked = self.request_answer(journal, &specs, &mut gauge) => asked?,
            };
            // The text of an interrupted answer is no part of the one that continues it.
            spoke |= has_content(&answer) || journal.tally().has_text();
            if let StopReason::Unknown(word) = &answer.stop {
                let notice = Notice::UnknownStopReason { word: word.clone() };
                journal.record(EventKind::Notice(notice)).await?;
            }
            let cut = answer.stop == StopReason::MaxTokens;
            let calls_left = watch.calls_left(&journal.tally().totals);
            let BatchResult { calls, repeated } = self
                .run_tool_calls(journal, &model_call_id, &answer, cut, calls_left, &mut repetition)
                .await?;
            if let Some(limit) = self.head.limits.max_tool_calls
                && calls_left.is_some_and(|left| calls > left)
            {
                return Err(Reason::ToolCallLimit { limit }.into());
            }
            if let Some((tool, count)) = repeated {
                if count >= REPETITION_STOP_AT {
                    return Err(Reason::LoopGuard { tool, count }.into());
                }
                journal.record(EventKind::Notice(Notice::RepeatedCall { tool, count })).await?;
            }
            if cut {
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
            match (spoke, asked_again) {
                (true, _) => return Ok(()),
                (false, true) => return Err(Reason::EmptyAnswer.into()),
                (false, false) => {
                    asked_again = true;
                    journal.record(EventKind::Notice(Notice::EmptyAnswer)).await?;
                }
            }
        }
    }

    /// Looks at what calls have left behind that a killed run had started and not finished.
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

    /// Waits for what tools left running, or ends it; nothing runs after the last event.
    async fn finish_background(&self, journal: &mut Journal, ended_well: bool) -> Result<(), JournalClosed> {
        let running = self.background.running();
        let wait = ended_well && self.await_background && running > 0;
        if wait {
            journal.record(EventKind::Notice(Notice::BackgroundAwaited { count: running })).await?;
        }
        let count = self.background.finish(wait, &self.stop).await;
        if count > 0 {
            journal.record(EventKind::Notice(Notice::BackgroundStopped { count })).await?;
        }
        Ok(())
    }

    /// Holds a good end against what happened meanwhile and against `--fail-on`.
    fn apply_fail_on(&self, journal: &Journal) -> Result<(), Failure> {
        if let Some(reason) = self.stop.requested().cloned().or_else(|| (self.precondition)()) {
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

fn has_content(answer: &Answer) -> bool {
    answer.blocks.iter().any(|block| match block {
        Block::Text(text) => !text.trim().is_empty(),
        Block::ToolCall(_) => true,
        Block::Thinking { .. } => false,
    })
}

/// The tool of the first call of an answer whose calls all have arguments that are not valid JSON.
fn tool_of_invalid_calls(answer: &Answer) -> Option<&str> {
    let first = answer.calls().next()?;
    answer.calls().all(|call| !call.arguments.is_object()).then_some(first.name.as_str())
}

/// The failure of an answer in which the model declined, with what it wrote.
fn refusal_reason(answer: &Answer) -> Reason {
    let text = visible_text(answer).split_whitespace().collect::<Vec<_>>().join(" ");
    // The sentence of a failure has no full stop.
    let text = text.trim_end_matches(['.', '。']);
    match text.char_indices().nth(MAX_REFUSAL_CHARS) {
        None if text.is_empty() => Reason::Refused,
        None => Reason::RefusedWithMessage { message: text.to_owned() },
        Some((end, _)) => {
            Reason::RefusedWithMessage { message: format!("{}…", text.get(..end).unwrap_or_default()) }
        }
    }
}

/// The visible text of an answer.
fn visible_text(answer: &Answer) -> String {
    let texts = answer.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        Block::Thinking { .. } | Block::ToolCall(_) => None,
    });
    texts.collect()
}
