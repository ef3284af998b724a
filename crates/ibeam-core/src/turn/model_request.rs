//! One answer of the model, asked for until it begins to speak.
//!
//! Nothing is unsaid: once a text delta is recorded, a failing request is not repeated. An answer that breaks off in its
//! text is continued instead: the text stays, and the model is asked once to go on from there.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use ibeam_protocol::{Answer, EventKind, Failure, Message, ModelCallId, Notice, Reason, ToolSpec};

use super::{Run, TurnError};
use crate::journal::{Journal, millis};
use crate::ports::{ModelEvent, ModelRequest, ProviderError, Retry};
use crate::token_estimator::TokenEstimator;

/// For one request the conversation is made shorter this often at most.
const MAX_COMPACTIONS_PER_REQUEST: u32 = 4;

/// A complete answer and the request it belongs to.
pub(super) struct ModelAnswer {
    pub(super) model_call_id: ModelCallId,
    pub(super) answer: Answer,
}

/// Whether what the model says is for the user.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Deltas {
    /// Every delta is recorded.
    Record,
    /// Only the complete answer counts.
    Discard,
}

/// A complete answer and what it took.
pub(super) struct Response {
    pub(super) answer: Box<Answer>,
    pub(super) api_ms: u64,
    pub(super) cost_micros: Option<u64>,
}

/// What became of a request, retries included.
pub(super) enum RequestOutcome {
    /// The model answered.
    Complete(Response),
    /// The answer broke off after text that is recorded, before any call began.
    Interrupted(ProviderError),
}

/// How one attempt went.
enum Attempt {
    Answered(Box<Answer>),
    Failed { error: ProviderError, progress: Progress },
}

/// How far an answer had come when it broke off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// No text of it is recorded: the request can be repeated.
    NoText,
    /// Text is recorded and no call had begun: the answer can be continued.
    Text,
    /// Text is recorded and a call had begun.
    TextAndCall,
}

impl Run {
    /// The request that the conversation so far makes.
    pub(super) fn build_request(&self, journal: &Journal, tools: &Arc<[ToolSpec]>) -> ModelRequest {
        ModelRequest {
            system: Arc::clone(&self.system),
            tools: Arc::clone(tools),
            messages: self.messages_with_preface(journal.history().messages()),
            max_output_tokens: self.max_output_tokens,
        }
    }

    /// The conversation, its first text behind the preface: some services insist that the roles alternate.
    fn messages_with_preface(&self, conversation: &[Arc<Message>]) -> Vec<Arc<Message>> {
        let mut messages = conversation.to_vec();
        if let (Some(preface), Some(first)) = (&self.preface, messages.first_mut())
            && let Message::User(texts) = first.as_ref()
        {
            let texts = std::iter::once(preface.to_string()).chain(texts.iter().cloned()).collect();
            *first = Arc::new(Message::User(texts));
        }
        messages
    }

    /// Asks until there is a whole answer. One that breaks off in its text is continued once: its text is part of the
    /// conversation then.
    pub(super) async fn request_answer(
        &self,
        journal: &mut Journal,
        tools: &Arc<[ToolSpec]>,
        gauge: &mut TokenEstimator,
    ) -> Result<ModelAnswer, TurnError> {
        let (mut request, mut reply) = self.request_within_window(journal, tools, gauge).await?;
        if let RequestOutcome::Interrupted(error) = &reply
            && let Some(pause) = self.retry.delay(error, 1, fastrand::f64())
        {
            let reason = Box::new(error.failure.reason.clone());
            journal.record(EventKind::Notice(Notice::AnswerInterrupted { reason })).await?;
            self.clock.sleep(pause).await;
            (request, reply) = self.request_within_window(journal, tools, gauge).await?;
        }
        let answered = match reply {
            RequestOutcome::Complete(answered) => answered,
            RequestOutcome::Interrupted(error) => return Err(error.failure.into()),
        };
        if let Some(usage) = answered.answer.usage {
            gauge.calibrate(&request, usage);
        }
        let Response { answer, api_ms, cost_micros } = answered;
        let model_call_id = ModelCallId(format!("{}-{}", self.head.session_id, journal.next_seq()));
        let finished = EventKind::ModelRequestFinished {
            model_call_id: model_call_id.clone(),
            answer: answer.clone(),
            api_ms,
            cost_micros,
        };
        journal.record(finished).await?;
        Ok(ModelAnswer { model_call_id, answer: *answer })
    }

    /// Asks, and asks again with a shorter conversation where it was too long.
    async fn request_within_window(
        &self,
        journal: &mut Journal,
        tools: &Arc<[ToolSpec]>,
        gauge: &TokenEstimator,
    ) -> Result<(Arc<ModelRequest>, RequestOutcome), TurnError> {
        let mut request = Arc::new(self.build_request(journal, tools));
        let made_room = self.compact_if_needed(journal, &request, gauge).await?;
        if made_room {
            request = Arc::new(self.build_request(journal, tools));
        }
        let mut shortened = u32::from(made_room);
        loop {
            let failure = match self.send_with_retries(journal, &request, Deltas::Record).await {
                Err(TurnError::Failed(failure)) if is_context_too_long(&failure) => failure,
                reply => return Ok((request, reply?)),
            };
            if shortened == 0 {
                self.compact(journal, &request, gauge, Some(failure)).await?;
            } else if shortened == MAX_COMPACTIONS_PER_REQUEST
                || !self.shorten_results(journal, &request, gauge).await?
            {
                return Err(failure.into());
            }
            shortened += 1;
            request = Arc::new(self.build_request(journal, tools));
        }
    }

    /// Sends a request until it is answered, its answer breaks off in its text, or its failure stands.
    pub(super) async fn send_with_retries(
        &self,
        journal: &mut Journal,
        request: &Arc<ModelRequest>,
        deltas: Deltas,
    ) -> Result<RequestOutcome, TurnError> {
        let began = self.clock.monotonic();
        let mut attempt = 1;
        loop {
            let started = self.clock.monotonic();
            match self.send_once(journal, request, deltas).await? {
                Attempt::Answered(answer) => {
                    let api_ms = millis(self.clock.monotonic().saturating_sub(started));
                    let cost = |prices: crate::Prices| answer.usage.map(|usage| prices.cost_micros(usage));
                    let cost_micros = self.prices.and_then(cost);
                    return Ok(RequestOutcome::Complete(Response { answer, api_ms, cost_micros }));
                }
                Attempt::Failed { error, progress: Progress::Text } => {
                    return Ok(RequestOutcome::Interrupted(error));
                }
                Attempt::Failed { error, progress } => {
                    let pause = self.retry.delay(&error, attempt, fastrand::f64());
                    let spent = self.clock.monotonic().saturating_sub(began);
                    let in_time = |pause: &Duration| self.retry.has_time(spent, *pause);
                    let Some(pause) = pause.filter(in_time).filter(|_| progress == Progress::NoText) else {
                        return Err(error.failure.into());
                    };
                    let reason = error.failure.reason;
                    journal.record(EventKind::Retrying { attempt, delay_ms: millis(pause), reason }).await?;
                    self.clock.sleep(pause).await;
                    attempt += 1;
                }
            }
        }
    }

    async fn send_once(
        &self,
        journal: &mut Journal,
        request: &Arc<ModelRequest>,
        deltas: Deltas,
    ) -> Result<Attempt, TurnError> {
        let mut stream = self.provider.stream(Arc::clone(request));
        let (mut has_text, mut has_call) = (false, false);
        let error = loop {
            match stream.next().await {
                Some(Ok(ModelEvent::TextDelta(text))) if text.is_empty() => {}
                Some(Ok(ModelEvent::TextDelta(_) | ModelEvent::ThinkingDelta(_)))
                    if deltas == Deltas::Discard => {}
                Some(Ok(ModelEvent::TextDelta(text))) => {
                    has_text = true;
                    journal.record(EventKind::TextDelta { text }).await?;
                }
                Some(Ok(ModelEvent::ThinkingDelta(text))) => {
                    journal.record(EventKind::ThinkingDelta { text }).await?;
                }
                Some(Ok(ModelEvent::ToolCallStarted)) => has_call = true,
                Some(Ok(ModelEvent::Finished(answer))) => return Ok(Attempt::Answered(answer)),
                Some(Err(error)) => break error,
                None => {
                    let detail = "a provider's stream ended without an end".to_owned();
                    let failure = Reason::Internal { detail }.into();
                    break ProviderError { failure, retry: Retry::Never };
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

pub(super) fn is_context_too_long(failure: &Failure) -> bool {
    matches!(failure.reason, Reason::ContextTooLong { .. })
}
