//! The port to a model.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use ibeam_protocol::{Answer, Failure, Message, ToolSpec};

/// One request: everything the model is to know, in the order that keeps provider caches warm.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// Instructions, the same for the whole session.
    pub system: Arc<str>,
    /// The tools offered, the same for the whole run.
    pub tools: Arc<[ToolSpec]>,
    /// The conversation so far, oldest first; it only grows.
    pub messages: Vec<Arc<Message>>,
    /// The most tokens to generate; `None` leaves it to the provider.
    pub max_output_tokens: Option<u32>,
}

/// A piece of an answer as it arrives.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// Visible text.
    TextDelta(String),
    /// Reasoning.
    ThinkingDelta(String),
    /// The model began to write a tool call; its arguments may still be arriving.
    ToolCallStarted,
    /// The answer is complete; the last item of a stream.
    Finished(Box<Answer>),
}

/// Answers as they arrive: deltas and begun calls, then one `Finished`, or one error. Nothing follows either.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ProviderError>>;

/// A model behind some wire, or in our own process.
pub trait Provider: Send + Sync {
    /// Sends the request and streams the answer.
    ///
    /// One attempt: retrying is the loop's. Dropping the stream ends the request. A stream that ends without
    /// `Finished` or an error is a bug of the provider.
    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream;
}

/// A failed request, classified.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderError {
    /// What went wrong, as the run would end with it.
    pub failure: Failure,
    /// Whether the loop may ask again.
    pub retry: Retry,
}

impl ProviderError {
    /// The least the provider asks us to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.failure.retry_after_ms.map(Duration::from_millis)
    }
}

/// Whether and how a failed request is worth repeating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The same request will fail the same way.
    Never,
    /// A slip that asking again at once may pass over: a stale key, a stream that breaks its own rules.
    Once,
    /// The other side may be restarting: a few attempts, shortly after another.
    Fast,
    /// The other side is overloaded: exponential backoff.
    Backoff,
}
