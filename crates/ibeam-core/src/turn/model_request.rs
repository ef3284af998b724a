//! One answer of the model, with retries until its first text.
//!
//! Recorded text is never withdrawn: once a text delta is recorded, a failed request is not retried. If an answer breaks
//! off in its text, the text remains, and one more request asks the model to continue it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use ibeam_protocol::{
    Answer, ClassCosts, EventKind, FailedUsage, Failure, Message, ModelCallId, Notice, PromptRecord, Reason,
    RequestUpdate, Usage, UserPart,
};

use super::structured_answer::StructuredAnswer;
use super::{Run, TurnError, is_parked};
use crate::history::History;
use crate::journal::{Journal, JournalClosed, millis};
use crate::ports::{ModelEvent, ModelRequest, ProviderError, Retry};
use crate::prefix::PrefixChain;
use crate::session_prompt::CurrentPrompt;
use crate::token_estimator::TokenEstimator;

/// The number of times that the conversation may be shortened for one request.
const MAX_COMPACTIONS_PER_REQUEST: u32 = 4;
/// The number of times that one request may be built again, after each refusal without what was refused.
const MAX_REPEATS_PER_REQUEST: u32 = 8;

/// A complete answer with the id of its request.
pub(super) struct RecordedAnswer {
    pub(super) model_call_id: ModelCallId,
    pub(super) answer: Answer,
}

/// The handling of the deltas of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Deltas {
    /// The answer is for the user.
    Record,
    /// The answer is for the user once it is complete and valid. Until then only its reasoning is recorded.
    HoldText,
    /// Only the complete answer matters.
    Discard,
}

/// A complete answer with its time and cost.
pub(super) struct Response {
    pub(super) answer: Box<Answer>,
    pub(super) api_ms: u64,
    pub(super) costs: Option<ClassCosts>,
}

/// The outcome of a request after all retries.
pub(super) enum RequestOutcome {
    /// The answer is complete.
    Complete(Response),
    /// The answer broke off after text that is recorded, before any call began.
    Interrupted(ProviderError),
}

/// The outcome of one attempt.
enum Attempt {
    Complete(Box<Answer>),
    Failed { error: ProviderError, progress: Progress },
}

/// The part of an answer that was recorded when it broke off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// No text is recorded: the request can be retried.
    NoText,
    /// Text is recorded, and no call had begun: the answer can be continued.
    Text,
    /// Text is recorded, and a call had begun: the answer is lost.
    TextAndCall,
}

impl Run {
    /// Returns a random share of a delay, from 0 to 1; always 0 with a pinned clock.
    fn jitter(&self) -> f64 {
        if self.clock.is_pinned() { 0.0 } else { fastrand::f64() }
    }

    /// Records how the prompt of this run differs from what the model has received, if an answer depends on that.
    pub(super) async fn record_prompt_changes(
        &self,
        journal: &mut Journal,
        current: &CurrentPrompt,
    ) -> Result<(), JournalClosed> {
        match self.prompt_record(journal, current) {
            Some(change @ PromptRecord::Change { .. }) => {
                journal.record(EventKind::PromptRecorded(Box::new(change))).await
            }
            // A complete prompt is recorded with the request that contains it.
            Some(PromptRecord::Complete { .. }) | None => Ok(()),
        }
    }

    fn prompt_record(&self, journal: &Journal, current: &CurrentPrompt) -> Option<PromptRecord> {
        current.record(journal.history(), self.active_model(journal).provider.appended_effort())
    }

    /// Records the prompt where that is due, and builds the request for the conversation so far.
    async fn next_request(
        &self,
        journal: &mut Journal,
        current: &CurrentPrompt,
    ) -> Result<Arc<ModelRequest>, JournalClosed> {
        // The service continues an answer only if nothing follows it, and a parked answer is found only by the request that
        // was sent: a change waits for the next request, or the next run.
        let may_append = !self.head.continues && !journal.history().ends_with_answer();
        let record = self.prompt_record(journal, current);
        if let Some(record) =
            record.filter(|record| may_append || matches!(record, PromptRecord::Complete { .. }))
        {
            journal.record(EventKind::PromptRecorded(Box::new(record))).await?;
        }
        Ok(Arc::new(self.build_request(journal)))
    }

    /// Builds the request for the conversation so far, whose prompt is recorded.
    pub(super) fn build_request(&self, journal: &Journal) -> ModelRequest {
        let prompt = journal.history().prompt();
        let provider = &self.active_model(journal).provider;
        let (appends_tools, appends_effort) =
            (provider.appends_tools(), provider.appended_effort().is_some());
        ModelRequest {
            system: prompt.map(|prompt| Arc::clone(&prompt.system)).unwrap_or_default(),
            tools: prompt.map(|prompt| prompt.tool_list(appends_tools)).unwrap_or_default(),
            messages: messages_to_send(journal.history(), appends_tools, appends_effort),
            max_output_tokens: self.active_model(journal).max_output_tokens,
            answer_schema: self.answer_schema.clone(),
            effort: prompt
                .filter(|_| appends_effort)
                .and_then(|prompt| prompt.first_effort().map(str::to_owned)),
        }
    }

    /// Requests a complete answer and records it.
    ///
    /// An answer that breaks off in its text is continued once, with its text as part of the conversation.
    pub(super) async fn request_answer(
        &self,
        journal: &mut Journal,
        current: &mut CurrentPrompt,
        estimator: &mut TokenEstimator,
        prefixes: &mut PrefixChain,
        structured: &mut StructuredAnswer<'_>,
    ) -> Result<RecordedAnswer, TurnError> {
        let (mut request, mut outcome) =
            self.request_within_window(journal, current, estimator, prefixes).await?;
        if let RequestOutcome::Interrupted(error) = &outcome
            && let Some(pause) = self.retry.delay(error, 1, self.jitter())
        {
            let reason = Box::new(error.failure.reason.clone());
            journal.record(EventKind::Notice(Notice::AnswerInterrupted { reason })).await?;
            self.clock.sleep(pause).await;
            (request, outcome) = self.request_within_window(journal, current, estimator, prefixes).await?;
        }
        let response = match outcome {
            RequestOutcome::Complete(response) => response,
            RequestOutcome::Interrupted(error) => return Err(error.failure.into()),
        };
        if let Some(usage) = response.answer.usage {
            estimator.calibrate(&request, usage);
        }
        let Response { answer, api_ms, costs } = response;
        if let Some(text) = structured.receive(&answer) {
            journal.record(EventKind::TextDelta { text }).await?;
        }
        let model_call_id = ModelCallId(format!("{}-{}", self.head.session_id, journal.next_seq()));
        let finished = EventKind::ModelRequestFinished {
            model_call_id: model_call_id.clone(),
            answer: answer.clone(),
            api_ms,
            cost_micros: costs.map(ClassCosts::micros),
            costs,
            prefix: self.bound_prefix(journal, prefixes, &request, &answer),
        };
        journal.record(finished).await?;
        Ok(RecordedAnswer { model_call_id, answer: *answer })
    }

    /// Sends the request, and again with a shorter conversation if it was too long.
    async fn request_within_window(
        &self,
        journal: &mut Journal,
        current: &mut CurrentPrompt,
        estimator: &TokenEstimator,
        prefixes: &mut PrefixChain,
    ) -> Result<(Arc<ModelRequest>, RequestOutcome), TurnError> {
        self.omit_unfit_parts(journal, current).await?;
        let mut request = self.next_request(journal, current).await?;
        let compacted = match self.steering.take_compaction() {
            true => {
                let has_compacted = self.compact_as_requested(journal, &request, estimator).await?;
                if !has_compacted {
                    self.steering.on_nothing_to_compact();
                }
                has_compacted
            }
            false => self.compact_if_needed(journal, &request, estimator).await?,
        };
        if compacted {
            request = self.next_request(journal, current).await?;
        }
        let deltas = if self.answer_schema.is_some() { Deltas::HoldText } else { Deltas::Record };
        let (mut shortened, mut repeats) = (u32::from(compacted), 0);
        loop {
            self.omit_changed_thinking(journal, prefixes, &mut request).await?;
            let may_omit = repeats < MAX_REPEATS_PER_REQUEST;
            let failure = match self.send_with_retries(journal, &request, deltas, may_omit).await {
                Err(TurnError::Failed(failure)) if is_context_too_long(&failure) => failure,
                Ok(None) => {
                    repeats += 1;
                    self.omit_unfit_parts(journal, current).await?;
                    // The context window of the next model may be smaller.
                    shortened += u32::from(self.compact_if_needed(journal, &request, estimator).await?);
                    request = self.next_request(journal, current).await?;
                    continue;
                }
                Ok(Some(outcome)) => return Ok((request, outcome)),
                Err(error) => return Err(error),
            };
            if shortened == 0 {
                self.compact(journal, &request, estimator, Some(failure)).await?;
            } else if shortened >= MAX_COMPACTIONS_PER_REQUEST
                || !self.shorten_results(journal, &request, estimator).await?
            {
                return Err(failure.into());
            }
            shortened += 1;
            request = self.next_request(journal, current).await?;
        }
    }

    /// Sends a request until it is answered, its answer breaks off in its text, or it must not be retried.
    ///
    /// Returns `None` if the request is to be built again: the model is unavailable and the next one takes over, or the
    /// service refuses a part of the request, which `may_omit` allows to leave out. Both only if no text is recorded.
    pub(super) async fn send_with_retries(
        &self,
        journal: &mut Journal,
        request: &Arc<ModelRequest>,
        deltas: Deltas,
        may_omit: bool,
    ) -> Result<Option<RequestOutcome>, TurnError> {
        let began = self.clock.monotonic();
        let mut attempt = 1;
        loop {
            let started = self.clock.monotonic();
            match self.send_once(journal, request, deltas).await? {
                Attempt::Complete(answer) => {
                    let api_ms = millis(self.clock.monotonic().saturating_sub(started));
                    let costs = answer.usage.and_then(|usage| self.active_model(journal).costs(usage));
                    return Ok(Some(RequestOutcome::Complete(Response { answer, api_ms, costs })));
                }
                Attempt::Failed { error, .. } if is_parked(&error.failure) => {
                    return Err(error.failure.into());
                }
                Attempt::Failed { error, progress: Progress::Text } => {
                    self.record_failed_request(journal, &error.failure.reason, error.usage.as_deref())
                        .await?;
                    return Ok(Some(RequestOutcome::Interrupted(error)));
                }
                Attempt::Failed { error, progress } => {
                    let pause = self.retry.delay(&error, attempt, self.jitter());
                    let spent = self.clock.monotonic().saturating_sub(began);
                    let in_time = |pause: &Duration| self.retry.has_time(spent, *pause);
                    let Some(pause) = pause.filter(in_time).filter(|_| progress == Progress::NoText) else {
                        let reason = &error.failure.reason;
                        self.record_failed_request(journal, reason, error.usage.as_deref()).await?;
                        let is_unknown = matches!(reason, Reason::UnknownModel { .. });
                        if is_unknown && progress == Progress::NoText && self.replace_default(journal).await?
                        {
                            return Ok(None);
                        }
                        let may_fall_back = error.is_unavailable && progress == Progress::NoText;
                        if may_fall_back && self.fall_back(journal, reason).await? {
                            return Ok(None);
                        }
                        if let (Retry::WithoutPart(part), Progress::NoText, true) =
                            (&error.retry, progress, may_omit)
                            && self.omit_refused_part(journal, request, part).await?
                        {
                            return Ok(None);
                        }
                        return Err(error.failure.into());
                    };
                    let usage = self.failed_usage(journal, error.usage.as_deref());
                    let reason = error.failure.reason;
                    let delay_ms = millis(pause);
                    journal.record(EventKind::Retrying { attempt, delay_ms, reason, usage }).await?;
                    self.clock.sleep(pause).await;
                    attempt += 1;
                }
            }
        }
    }

    /// Records a request that failed and is not retried.
    pub(super) async fn record_failed_request(
        &self,
        journal: &mut Journal,
        reason: &Reason,
        usage: Option<&Usage>,
    ) -> Result<(), JournalClosed> {
        let (reason, usage) = (Box::new(reason.clone()), self.failed_usage(journal, usage));
        journal.record(EventKind::ModelRequestFailed { reason, usage }).await
    }

    /// Returns the tokens of a failed request with their cost.
    fn failed_usage(&self, journal: &Journal, usage: Option<&Usage>) -> Option<Box<FailedUsage>> {
        let costs = |usage| self.active_model(journal).costs(usage);
        usage.map(|usage| Box::new(FailedUsage { usage: *usage, costs: costs(*usage) }))
    }

    async fn send_once(
        &self,
        journal: &mut Journal,
        request: &Arc<ModelRequest>,
        deltas: Deltas,
    ) -> Result<Attempt, TurnError> {
        let mut stream = self.active_model(journal).provider.stream(Arc::clone(request));
        let (mut has_text, mut has_call) = (false, false);
        let error = loop {
            match stream.next().await {
                Some(Ok(ModelEvent::TextDelta(text))) if text.is_empty() => {}
                Some(Ok(ModelEvent::TextDelta(_) | ModelEvent::ThinkingDelta(_)))
                    if deltas == Deltas::Discard => {}
                Some(Ok(ModelEvent::TextDelta(_))) if deltas == Deltas::HoldText => {}
                Some(Ok(ModelEvent::TextDelta(text))) => {
                    has_text = true;
                    journal.record(EventKind::TextDelta { text }).await?;
                }
                Some(Ok(ModelEvent::ThinkingDelta(text))) => {
                    journal.record(EventKind::ThinkingDelta { text }).await?;
                }
                Some(Ok(ModelEvent::ToolCallAnnounced)) => has_call = true,
                Some(Ok(ModelEvent::Notice(notice))) => {
                    journal.record(EventKind::Notice(notice)).await?;
                }
                Some(Ok(ModelEvent::Finished(answer))) => return Ok(Attempt::Complete(answer)),
                Some(Err(error)) => break error,
                None => {
                    let detail = "a provider's stream ended without an end".to_owned();
                    let failure = Reason::Internal { detail };
                    break ProviderError::new(failure, Retry::Never);
                }
            }
        };
        let progress = match (has_text, has_call) {
            (false, _) => Progress::NoText,
            (true, false) => Progress::Text,
            (true, true) => Progress::TextAndCall,
        };
        Ok(Attempt::Failed { error, progress })
    }
}

/// Returns the conversation with the preface in its first message: some services require alternating roles. Changes that the
/// provider does not append are only in the fields of the request.
fn messages_to_send(history: &History, appends_tools: bool, appends_effort: bool) -> Vec<Arc<Message>> {
    let mut messages = history.messages().to_vec();
    for message in &mut messages {
        let Message::Update(update) = message.as_ref() else { continue };
        let sent = RequestUpdate {
            tools: if appends_tools { update.tools.clone() } else { Vec::new() },
            effort: update.effort.clone().filter(|_| appends_effort),
        };
        if sent != *update {
            *message = Arc::new(Message::Update(sent));
        }
    }
    let preface = history.prompt().and_then(|prompt| prompt.preface.as_deref());
    if let (Some(preface), Some(first)) = (preface, messages.first_mut())
        && let Message::User(parts) = first.as_ref()
    {
        let preface = UserPart::from(preface);
        *first = Arc::new(Message::User(std::iter::once(preface).chain(parts.iter().cloned()).collect()));
    }
    messages
}

pub(super) fn is_context_too_long(failure: &Failure) -> bool {
    matches!(failure.reason, Reason::ContextTooLong { .. })
}
