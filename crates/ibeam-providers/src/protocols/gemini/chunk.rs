//! The JSON of an answer: a chunk of a stream, or a complete document.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use crate::answer_draft::TokenCount;
use crate::lenient_json::Text;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow)]
    pub(super) prompt_feedback: Option<PromptFeedback<'a>>,
    pub(super) usage_metadata: Option<UsageMetadata>,
    #[serde(borrow)]
    pub(super) response_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    /// A name, or a number if the request asked for numbers.
    #[serde(borrow)]
    pub(super) finish_reason: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Content<'a> {
    #[serde(borrow)]
    pub(super) parts: Option<Vec<ContentPart<'a>>>,
}

/// The reason why the service did not show the prompt to the model.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PromptFeedback<'a> {
    #[serde(borrow)]
    pub(super) block_reason: Option<&'a RawValue>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct UsageMetadata {
    pub(super) prompt_token_count: TokenCount,
    pub(super) candidates_token_count: TokenCount,
    pub(super) thoughts_token_count: TokenCount,
    pub(super) cached_content_token_count: TokenCount,
}

impl UsageMetadata {
    /// Replaces the counts that `newer` has.
    pub(super) fn update(&mut self, newer: Self) {
        self.prompt_token_count.update(newer.prompt_token_count);
        self.candidates_token_count.update(newer.candidates_token_count);
        self.thoughts_token_count.update(newer.thoughts_token_count);
        self.cached_content_token_count.update(newer.cached_content_token_count);
    }
}

/// A part of the content. Its kind is the name of its data field.
#[derive(Debug, Default)]
pub(super) struct ContentPart<'a> {
    pub(super) text: Option<Text<'a>>,
    /// Whether the text is a summary of reasoning.
    pub(super) thought: bool,
    pub(super) signature: Option<Text<'a>>,
    pub(super) call: Option<FunctionCall<'a>>,
    /// All other fields: files, and the tools that the service runs.
    pub(super) other: Map<String, Value>,
}

impl<'de: 'a, 'a> Deserialize<'de> for ContentPart<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PartVisitor)
    }
}

struct PartVisitor;

impl<'de> Visitor<'de> for PartVisitor {
    type Value = ContentPart<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part of the content")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<ContentPart<'de>, A::Error> {
        let mut part = ContentPart::default();
        while let Some(name) = fields.next_key::<Text<'de>>()? {
            match name.as_str() {
                "text" => part.text = fields.next_value()?,
                "thought" => part.thought = fields.next_value::<Option<bool>>()?.unwrap_or_default(),
                "thoughtSignature" => part.signature = fields.next_value()?,
                "functionCall" => part.call = fields.next_value()?,
                _ => drop(part.other.insert(name.into_string(), fields.next_value()?)),
            }
        }
        Ok(part)
    }
}

/// A call, or a piece of one whose arguments are streamed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FunctionCall<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) partial_args: Option<Vec<PartialArgument<'a>>>,
    /// Further pieces of this call follow.
    pub(super) will_continue: Option<bool>,
}

/// A value, or a piece of a string, at a place in the arguments.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PartialArgument<'a> {
    #[serde(borrow)]
    pub(super) json_path: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) string_value: Option<Text<'a>>,
    pub(super) number_value: Option<Number>,
    pub(super) bool_value: Option<bool>,
}
