//! The ports of the model: a request, and its answer as it arrives.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use ibeam_protocol::{Answer, Failure, Message, Notice, ToolSpec, Usage};
use serde::{Deserialize, Serialize};

use crate::json_schema::JsonSchema;
use crate::token_estimator::{overhead_bytes, size_bytes};
use crate::turn::FallbackModel;

/// One request to a model, in the order that keeps provider caches warm.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// Instructions, the same for the whole session.
    pub system: Arc<str>,
    /// The tools offered from the beginning, the same for the whole run. For a provider that does not append tools, it has
    /// those that were added later too.
    pub tools: Arc<[ToolSpec]>,
    /// The conversation so far, oldest first; it only grows.
    pub messages: Vec<Arc<Message>>,
    /// The largest number of tokens to generate; `None` leaves it to the provider.
    pub max_output_tokens: Option<u32>,
    /// The schema of the final answer, for services that can enforce one.
    pub answer_schema: Option<Arc<JsonSchema>>,
    /// The level of reasoning at the beginning, for a provider that takes a change of it as a message; `default` for that of
    /// the model.
    pub effort: Option<String>,
}

impl ModelRequest {
    /// Returns the bytes of the request in the form that a model reads.
    pub fn size_bytes(&self) -> usize {
        overhead_bytes(self) + size_bytes(&self.messages)
    }

    /// Whether a service receives the same text for both requests.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let Self { system, tools, messages, max_output_tokens, answer_schema, effort } = other;
        let is_same_schema = match (&self.answer_schema, answer_schema) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        is_same_schema
            && self.system == *system
            && self.tools == *tools
            && self.messages == *messages
            && self.max_output_tokens == *max_output_tokens
            && self.effort == *effort
    }

    /// Returns all tools that the model may call, in the order in which they are offered.
    pub fn offered_tools(&self) -> impl Iterator<Item = &ToolSpec> {
        let added = self.messages.iter().flat_map(|message| match message.as_ref() {
            Message::Update(update) => update.tools.as_slice(),
            Message::User(_) | Message::Instructions(_) | Message::Assistant(_) | Message::ToolResults(_) => {
                &[]
            }
        });
        self.tools.iter().chain(added)
    }
}

/// A part of an answer as it arrives.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// Visible text.
    TextDelta(String),
    /// Reasoning.
    ThinkingDelta(String),
    /// The model began to write a tool call; its arguments may still be arriving.
    ToolCallAnnounced,
    /// A notice for people about the connection.
    Notice(Notice),
    /// The answer is complete; the last item of a stream.
    Finished(Box<Answer>),
}

/// The events of one answer: deltas and started calls, then one `Finished` or one error, and nothing after either.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ProviderError>>;

/// A model behind an API, or in this process.
pub trait Provider: Send + Sync {
    /// Sends the request and streams the answer.
    ///
    /// Makes one attempt; the loop retries. Dropping the stream ends the request. A stream that ends without `Finished`
    /// or an error is a bug of the provider.
    fn stream(&self, request: Arc<ModelRequest>) -> ModelStream;

    /// Whether the service makes each answer match a schema, so that the model needs no instruction about it. The answer is
    /// validated in any case.
    fn enforces_schema(&self, _schema: &JsonSchema) -> bool {
        false
    }

    /// Whether a message can add tools. Otherwise a request has all tools before its messages, and a new tool changes the
    /// beginning of the conversation.
    fn appends_tools(&self) -> bool {
        false
    }

    /// Returns the level of reasoning to ask for, `default` for that of the model, if a message can change it; `None` if it
    /// is only a field of the request.
    fn appended_effort(&self) -> Option<&'static str> {
        None
    }
}

/// Finds another model in place of a default model that the service does not know.
///
/// A model that the user named is never replaced.
pub trait DefaultModels: Send + Sync {
    /// Returns the default model after a look at the list of the service; `None` if there is no other one.
    fn find_current(&self) -> BoxFuture<'_, Option<FallbackModel>>;
}

/// A failed request, classified.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderError {
    /// The failure with which the run would end.
    pub failure: Failure,
    /// Whether and how the loop may retry.
    pub retry: Retry,
    /// The tokens that the service reported for the request before it failed.
    pub usage: Option<Box<Usage>>,
    /// Whether the model cannot answer now for a reason that another model may not have: it is overloaded, or a quota of
    /// the account is exhausted.
    pub is_unavailable: bool,
}

impl ProviderError {
    /// Returns an error without token counts.
    pub fn new(failure: impl Into<Failure>, retry: Retry) -> Self {
        Self { failure: failure.into(), retry, usage: None, is_unavailable: false }
    }

    /// Returns the shortest delay that the provider asks for.
    pub fn retry_after(&self) -> Option<Duration> {
        self.failure.retry_after_ms.map(Duration::from_millis)
    }
}

/// Whether and how to retry a failed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Retry {
    /// A retry would fail in the same way.
    Never,
    /// One immediate retry may succeed: a stale key, a stream that violates its own protocol.
    Once,
    /// The provider may be restarting: a few attempts with short delays.
    Fast,
    /// The provider is overloaded: exponential backoff.
    Backoff,
    /// The service refuses a part of the request: the same request without it may succeed.
    WithoutPart(Box<RefusedPart>),
}

impl Retry {
    /// Returns how to repeat a request whose service refuses this part of it.
    pub fn without(part: RefusedPart) -> Self {
        Self::WithoutPart(Box::new(part))
    }

    /// Whether the same request would fail in the same way.
    pub fn needs_another_request(&self) -> bool {
        match self {
            Self::Never | Self::WithoutPart(_) => true,
            Self::Once | Self::Fast | Self::Backoff => false,
        }
    }
}

/// A part of a request that its service refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedPart {
    /// The thinking of earlier answers.
    Thinking,
    /// Tools, by their names; empty if the service does not say which.
    Tools(Vec<String>),
    /// Messages that change fields of the request. The provider does not append such changes any more.
    Update,
    /// The tools beyond this number.
    ToolsBeyond(usize),
    /// Images and documents, by their fingerprints; empty if the service does not say which.
    Media(Vec<u64>),
    /// The size of all images and documents together.
    MediaSize,
    /// A part that the service does not name.
    Unknown,
}

/// The limits of a service for the parts of a request. `None` means that there is none, or that it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestLimits {
    /// The number of tools.
    pub tools: Option<usize>,
    /// The number of images.
    pub images: Option<usize>,
    /// The number of documents.
    pub documents: Option<usize>,
    /// The pixels of a side of an image.
    pub image_side: Option<u32>,
    /// The pixels of a side of an image in a request with more images than this.
    pub image_side_of_many: Option<(usize, u32)>,
}
