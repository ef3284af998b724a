//! One answer of the model, asked for until it begins to speak.
//!
//! Nothing is unsaid: once a text delta is recorded, a failing request is not repeated.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use ibeam_protocol::{Answer, EventKind, Failure, Message, ModelCallId, Reason, ToolSpec};

use super::{Ended, Run};
use crate::gauge::Gauge;
use crate::journal::{Journal, millis};
use crate::provider::{ModelEvent, ModelRequest, ProviderError, Repeat};

/// A complete answer and the request it belongs to.
pub(super) struct Asked {
    pub(super) model_call_id: ModelCallId,
    pub(super) answer: Answer,
}

/// Whether what the model says is for the user.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Aloud {
    /// Every delta is recorded.
    Yes,
    /// Only the complete answer counts.
    No,
}

/// A complete answer and what it took.
pub(super) struct Answered {
    pub(super) answer: Box<Answer>,
    pub(super) api_ms: u64,
    pub(super) cost_micros: Option<u64>,
}

/// How one attempt went.
enum Attempt {
    Answered(Box<Answer>),
    Failed { error: ProviderError, spoke: bool },
}

impl Run {
    /// The request that the conversation so far makes.
    pub(super) fn request(&self, journal: &Journal, tools: &Arc<[ToolSpec]>) -> ModelRequest {
        ModelRequest {
            system: Arc::clone(&self.system),
            tools: Arc::clone(tools),
            messages: self.messages(journal.history().messages()),
            max_output_tokens: self.max_output_tokens,
        }
    }

    /// The conversation, its first text behind the preface: some services insist that the roles alternate.
    fn messages(&self, conversation: &[Arc<Message>]) -> Vec<Arc<Message>> {
        let mut messages = conversation.to_vec();
        if let (Some(preface), Some(first)) = (&self.preface, messages.first_mut())
            && let Message::User(texts) = first.as_ref()
        {
            let texts = std::iter::once(preface.to_string()).chain(texts.iter().cloned()).collect();
            *first = Arc::new(Message::User(texts));
        }
        messages
    }

    /// Asks, and asks once more with a shorter conversation where it was too long.
    pub(super) async fn ask(
        &self,
        journal: &mut Journal,
        tools: &Arc<[ToolSpec]>,
        gauge: &mut Gauge,
    ) -> Result<Asked, Ended> {
        let mut request = Arc::new(self.request(journal, tools));
        let made_room = self.make_room(journal, &request, gauge).await?;
        if made_room {
            request = Arc::new(self.request(journal, tools));
        }
        let answered = match self.answer_to(journal, &request, Aloud::Yes).await {
            Err(Ended::Failed(failure)) if !made_room && is_too_long(&failure) => {
                self.compact(journal, &request, gauge, Some(failure)).await?;
                request = Arc::new(self.request(journal, tools));
                self.answer_to(journal, &request, Aloud::Yes).await?
            }
            answered => answered?,
        };
        if let Some(usage) = answered.answer.usage {
            gauge.calibrate(&request, usage);
        }
        let Answered { answer, api_ms, cost_micros } = answered;
        let model_call_id = ModelCallId(format!("{}-{}", self.head.session_id, journal.next_seq()));
        let finished = EventKind::ModelRequestFinished {
            model_call_id: model_call_id.clone(),
            answer: answer.clone(),
            api_ms,
            cost_micros,
        };
        journal.record(finished).await?;
        Ok(Asked { model_call_id, answer: *answer })
    }

    /// Sends a request until it is answered or its failure stands.
    pub(super) async fn answer_to(
        &self,
        journal: &mut Journal,
        request: &Arc<ModelRequest>,
        aloud: Aloud,
    ) -> Result<Answered, Ended> {
        let began = self.clock.monotonic();
        let mut attempt = 1;
        loop {
            let started = self.clock.monotonic();
            match self.attempt(journal, request, aloud).await? {
                Attempt::Answered(answer) => {
                    let api_ms = millis(self.clock.monotonic().saturating_sub(started));
                    let cost = |prices: crate::Prices| answer.usage.map(|usage| prices.cost_micros(usage));
                    return Ok(Answered { api_ms, cost_micros: self.prices.and_then(cost), answer });
                }
                Attempt::Failed { error, spoke } => {
                    let pause = self.retry.pause(&error, attempt, fastrand::f64());
                    let spent = self.clock.monotonic().saturating_sub(began);
                    let in_time = |pause: &Duration| self.retry.has_time(spent, *pause);
                    let Some(pause) = pause.filter(in_time).filter(|_| !spoke) else {
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

    async fn attempt(
        &self,
        journal: &mut Journal,
        request: &Arc<ModelRequest>,
        aloud: Aloud,
    ) -> Result<Attempt, Ended> {
        let mut stream = self.provider.stream(Arc::clone(request));
        let mut spoke = false;
        while let Some(event) = stream.next().await {
            match event {
                Ok(ModelEvent::TextDelta(text)) if text.is_empty() => {}
                Ok(ModelEvent::TextDelta(_) | ModelEvent::ThinkingDelta(_)) if aloud == Aloud::No => {}
                Ok(ModelEvent::TextDelta(text)) => {
                    spoke = true;
                    journal.record(EventKind::TextDelta { text }).await?;
                }
                Ok(ModelEvent::ThinkingDelta(text)) => {
                    journal.record(EventKind::ThinkingDelta { text }).await?;
                }
                Ok(ModelEvent::Finished(answer)) => return Ok(Attempt::Answered(answer)),
                Err(error) => return Ok(Attempt::Failed { error, spoke }),
            }
        }
        let reason = Reason::Internal { said: "a provider's stream ended without an end".to_owned() };
        Ok(Attempt::Failed { error: ProviderError { failure: reason.into(), repeat: Repeat::Never }, spoke })
    }
}

fn is_too_long(failure: &Failure) -> bool {
    matches!(failure.reason, Reason::ContextTooLong { .. })
}
