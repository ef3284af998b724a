//! Record and replay of a model without a transport, as the events of its answers.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use ibeam_core::{ModelEvent, ModelRequest, ModelStream, Provider, ProviderError, Retry};
use ibeam_protocol::{Reason, ToolSpec};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::exchange::{ExchangeOutcome, RecordedEvent, TimedEvent};
use super::player::{Player, ReplaySpeed};
use super::recorder::{ExchangeContext, Recorder};

#[derive(Clone)]
pub enum AnswerSource {
    Live(Arc<dyn Provider>, Arc<Recorder>),
    /// Recordings.
    Replay(Arc<Player>),
}

/// A provider whose answers are recorded, or come from recordings.
#[derive(Clone)]
pub struct RecordedProvider {
    source: AnswerSource,
    provider: String,
    model: String,
}

impl RecordedProvider {
    /// `provider` and `model` are the names for the recordings; `provider` also stands for the API.
    pub fn new(source: AnswerSource, provider: &str, model: &str) -> Self {
        Self { source, provider: provider.to_owned(), model: model.to_owned() }
    }
}

impl Provider for RecordedProvider {
    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream {
        let value = request_value(&self.model, &request);
        match &self.source {
            AnswerSource::Live(provider, recorder) => {
                let context = recorder.start(&self.provider, &self.model, &self.provider, &value);
                record(
                    provider.stream(request),
                    EventRecording { context, events: Vec::new(), is_stored: false },
                )
            }
            AnswerSource::Replay(player) => {
                let outcome = player.find(&self.provider, &value);
                replay(outcome.cloned(), &self.provider, player.speed())
            }
        }
    }
}

/// Returns the request as JSON.
fn request_value(model: &str, request: &ModelRequest) -> Value {
    let tool = |tool: &ToolSpec| json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters });
    json!({
        "model": model,
        "system": request.system,
        "tools": request.tools.iter().map(tool).collect::<Vec<_>>(),
        "messages": request.messages.iter().map(AsRef::as_ref).collect::<Vec<_>>(),
        "max_output_tokens": request.max_output_tokens,
    })
}

/// The events of an answer that is being recorded. An answer that is not read to its end is stored up to the last event
/// that was read.
struct EventRecording {
    context: ExchangeContext,
    events: Vec<TimedEvent>,
    is_stored: bool,
}

impl EventRecording {
    fn add(&mut self, event: &Result<ModelEvent, ProviderError>) {
        let timed = |event| TimedEvent { at_ms: self.context.elapsed_ms(), event };
        self.events.extend(RecordedEvent::new(event).map(timed));
    }

    fn store(&mut self) -> Result<(), ProviderError> {
        if std::mem::replace(&mut self.is_stored, true) {
            return Ok(());
        }
        let mut events = std::mem::take(&mut self.events);
        let text: String = events.iter().filter_map(delta).collect();
        if self.context.has_secret(&text) {
            // A secret may lie across deltas. The complete answer, whose secrets are replaced, remains.
            events.retain(|event| delta(event).is_none());
        }
        self.context.store(ExchangeOutcome::Events(events))
    }
}

fn delta(event: &TimedEvent) -> Option<&str> {
    match &event.event {
        RecordedEvent::TextDelta(text) | RecordedEvent::ThinkingDelta(text) => Some(text),
        RecordedEvent::ToolCallStarted {} | RecordedEvent::Finished(_) | RecordedEvent::Failed(_) => None,
    }
}

impl Drop for EventRecording {
    fn drop(&mut self) {
        // The run has already ended, so an error cannot be reported.
        let _unreported = self.store();
    }
}

fn record(stream: ModelStream, recording: EventRecording) -> ModelStream {
    let state = (stream, recording);
    stream::unfold(state, |(mut stream, mut recording)| async move {
        let mut event = stream.next().await?;
        recording.add(&event);
        if matches!(event, Ok(ModelEvent::Finished(_)) | Err(_))
            && let Err(error) = recording.store()
        {
            event = Err(error);
        }
        Some((event, (stream, recording)))
    })
    .boxed()
}

fn replay(
    outcome: Result<ExchangeOutcome, ProviderError>,
    provider: &str,
    speed: ReplaySpeed,
) -> ModelStream {
    let truncated = || {
        let reason = Reason::AnswerTruncated { provider: provider.to_owned() };
        Err(ProviderError::new(reason, Retry::Fast))
    };
    let mut events: Vec<(u64, Result<ModelEvent, ProviderError>)> = match outcome {
        Ok(ExchangeOutcome::Events(events)) => {
            events.into_iter().map(|timed| (timed.at_ms, timed.event.into())).collect()
        }
        Ok(ExchangeOutcome::Failure(failure)) => vec![(0, Err(failure.into()))],
        Ok(ExchangeOutcome::Response(_)) => vec![],
        Err(error) => vec![(0, Err(error))],
    };
    if !matches!(events.last(), Some((_, Ok(ModelEvent::Finished(_)) | Err(_)))) {
        events.push((0, truncated()));
    }
    let since = Instant::now();
    let at_time = move |(at_ms, event)| async move {
        match speed {
            ReplaySpeed::Full => {}
            ReplaySpeed::Recorded => {
                tokio::time::sleep_until(since + Duration::from_millis(at_ms)).await;
            }
        }
        event
    };
    stream::iter(events).then(at_time).boxed()
}
