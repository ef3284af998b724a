//! One answer of the model, asked for until it begins to speak.
//!
//! Nothing is unsaid: once a text delta is recorded, a failing request is not repeated.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use ibeam_protocol::{Answer, EventKind, ModelCallId, Reason, ToolSpec};

use super::{Ended, Run};
use crate::journal::{Journal, millis};
use crate::provider::{ModelEvent, ModelRequest, ProviderError, Repeat};

/// A complete answer and the request it belongs to.
pub(super) struct Asked {
    pub(super) model_call_id: ModelCallId,
    pub(super) answer: Answer,
}

/// How one attempt went.
enum Attempt {
    Answered(Box<Answer>),
    Failed { error: ProviderError, spoke: bool },
}

impl Run {
    pub(super) async fn ask(&self, journal: &mut Journal, tools: &Arc<[ToolSpec]>) -> Result<Asked, Ended> {
        let request = Arc::new(ModelRequest {
            system: Arc::clone(&self.system),
            tools: Arc::clone(tools),
            messages: journal.history().messages().to_vec(),
            max_output_tokens: self.max_output_tokens,
        });
        let began = self.clock.monotonic();
        let mut attempt = 1;
        loop {
            let started = self.clock.monotonic();
            match self.attempt(journal, &request).await? {
                Attempt::Answered(answer) => {
                    let model_call_id =
                        ModelCallId(format!("{}-{}", self.head.session_id, journal.next_seq()));
                    let api_ms = millis(self.clock.monotonic().saturating_sub(started));
                    journal
                        .record(EventKind::ModelRequestFinished {
                            model_call_id: model_call_id.clone(),
                            answer: answer.clone(),
                            api_ms,
                        })
                        .await?;
                    return Ok(Asked { model_call_id, answer: *answer });
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

    async fn attempt(&self, journal: &mut Journal, request: &Arc<ModelRequest>) -> Result<Attempt, Ended> {
        let mut stream = self.provider.stream(Arc::clone(request));
        let mut spoke = false;
        while let Some(event) = stream.next().await {
            match event {
                Ok(ModelEvent::TextDelta(text)) if text.is_empty() => {}
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
