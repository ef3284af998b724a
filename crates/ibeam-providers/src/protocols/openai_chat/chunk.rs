//! The fields of a chunk that the decoder reads, in every form in which services write them.
//!
//! Texts borrow from the chunk: nearly every chunk carries one short piece of text, and copying the other fields would take
//! as long as parsing them. A document that is not streamed has the same shape, with `message` in place of `delta`.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::lenient_json::{self, Text};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) object: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    /// An extension of Groq, with the usage in it.
    #[serde(borrow)]
    pub(super) x_groq: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) reasoning: Option<Text<'a>>,
    /// The reasoning in the form of OpenRouter, which wants it back unchanged.
    #[serde(borrow)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
    /// The only call of an answer, in the older form.
    #[serde(borrow)]
    pub(super) function_call: Option<FunctionDelta<'a>>,
}

impl Delta<'_> {
    /// Whether the delta has no part of an answer.
    pub(super) fn is_empty(&self) -> bool {
        let Self {
            content,
            refusal,
            reasoning_content,
            reasoning,
            reasoning_details: _,
            tool_calls,
            function_call,
        } = self;
        let has_content = match content {
            None => false,
            Some(Content::Text(text)) => !text.is_empty(),
            Some(Content::Parts { thinking, text }) => !thinking.is_empty() || !text.is_empty(),
        };
        let has_text = [refusal, reasoning_content, reasoning]
            .into_iter()
            .any(|text| text.as_ref().is_some_and(|text| !text.as_str().is_empty()));
        let has_calls = tool_calls.as_deref().is_some_and(|calls| !calls.is_empty());
        let has_call = function_call.as_ref().is_some_and(|call| !call.is_empty());
        !has_content && !has_text && !has_calls && !has_call && !self.has_reasoning_details()
    }

    /// Whether the delta has details of the reasoning. Some chunks have an empty list of them.
    pub(super) fn has_reasoning_details(&self) -> bool {
        self.reasoning_details.is_some_and(|details| details.get() != "[]")
    }
}

/// A part of a call. Services differ in the fields that each part has.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallDelta<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    #[serde(borrow)]
    pub(super) function: Option<FunctionDelta<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionDelta<'a> {
    pub(super) name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl FunctionDelta<'_> {
    /// Whether the part has neither a name nor arguments.
    pub(super) fn is_empty(&self) -> bool {
        self.name.as_deref().unwrap_or_default().is_empty() && self.arguments_text().0.is_empty()
    }

    /// Returns the part of the arguments as JSON text, and whether it was repaired. Some services send the object itself
    /// instead of its text.
    pub(super) fn arguments_text(&self) -> (String, bool) {
        let raw = self.arguments.map_or("", RawValue::get);
        match raw {
            "" | "null" => (String::new(), false),
            _ => lenient_json::parse::<String>(raw, &mut String::new())
                .unwrap_or_else(|_| (raw.to_owned(), false)),
        }
    }
}

/// The visible text of a delta.
#[derive(Debug)]
pub(super) enum Content<'a> {
    /// A string, as OpenAI defines it.
    Text(Cow<'a, str>),
    /// A list of typed parts, from Mistral's reasoning models.
    Parts { thinking: String, text: String },
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ContentPart {
    text: Option<String>,
    thinking: Option<Vec<ContentPart>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of parts")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Content<'de>, E> {
        Ok(Content::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Content<'de>, E> {
        Ok(Content::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content<'de>, A::Error> {
        let (mut thinking, mut text) = (String::new(), String::new());
        while let Some(part) = parts.next_element::<ContentPart>()? {
            text.push_str(&part.text.unwrap_or_default());
            for part in part.thinking.unwrap_or_default() {
                thinking.push_str(&part.text.unwrap_or_default());
            }
        }
        Ok(Content::Parts { thinking, text })
    }
}
