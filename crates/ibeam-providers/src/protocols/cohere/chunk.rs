//! The JSON of an answer: an event of a stream, or a complete document.
//!
//! Texts borrow from the event: nearly every event carries one short piece of text.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer_draft::{TokenCount, TokenCounts};
use crate::lenient_json::Text;

/// An event. The fields depend on its type, but no type gives a field another meaning.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    /// The number of the content block, or of the call.
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<EventDelta<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EventDelta<'a> {
    /// Parsed by the type of the event: the start of a message has lists where deltas have objects.
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    pub(super) usage: Option<UsageReport>,
}

/// A part of the message in a delta.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageDelta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<ContentBlock<'a>>,
    #[serde(borrow)]
    pub(super) tool_plan: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Call<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Document<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Text<'a>>,
    pub(super) usage: Option<UsageReport>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CompleteMessage<'a> {
    #[serde(borrow)]
    pub(super) tool_plan: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<Vec<ContentBlock<'a>>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<Call<'a>>>,
}

/// A content block, or a piece of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ContentBlock<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Text<'a>>,
}

/// A call, or a piece of its arguments.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Call<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) function: Option<Function<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) arguments: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UsageReport {
    /// The tokens of the model. The instructions that the service adds to a prompt are among them.
    tokens: Option<Tokens>,
    /// The tokens that cost money.
    billed_units: Option<Tokens>,
    cached_tokens: TokenCount,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input_tokens: TokenCount,
    output_tokens: TokenCount,
    reasoning_tokens: TokenCount,
}

impl UsageReport {
    /// Returns the token counts. The input count includes cached tokens.
    pub(super) fn counts(self) -> TokenCounts {
        let tokens = self.tokens.or(self.billed_units).unwrap_or_default();
        TokenCounts {
            input: tokens.input_tokens,
            output: tokens.output_tokens,
            cache_read: self.cached_tokens,
            reasoning: tokens.reasoning_tokens,
            ..TokenCounts::default()
        }
    }
}
