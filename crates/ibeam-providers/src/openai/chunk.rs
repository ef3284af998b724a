//! The shape of a chunk: the fields we read, in every form in which services write them.
//!
//! A document that is not streamed has the same shape but for `message` in place of `delta`.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::lenient;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Chunk {
    pub(crate) id: Option<String>,
    pub(crate) object: Option<String>,
    pub(crate) choices: Option<Vec<Choice>>,
    pub(crate) usage: Option<Value>,
    pub(crate) x_groq: Option<Value>,
    pub(crate) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Choice {
    pub(crate) index: Option<u64>,
    pub(crate) delta: Option<Delta>,
    pub(crate) message: Option<Delta>,
    pub(crate) finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Delta {
    pub(crate) content: Option<Content>,
    pub(crate) refusal: Option<String>,
    pub(crate) reasoning_content: Option<String>,
    pub(crate) reasoning: Option<String>,
    pub(crate) tool_calls: Option<Vec<CallDelta>>,
    /// The one call of an answer, in the older form.
    pub(crate) function_call: Option<FunctionDelta>,
}

impl Delta {
    /// Whether nothing of an answer is in it.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { content, refusal, reasoning_content, reasoning, tool_calls, function_call } = self;
        let has_content = match content {
            None => false,
            Some(Content::Text(text)) => !text.is_empty(),
            Some(Content::Parts { thinking, text }) => !thinking.is_empty() || !text.is_empty(),
        };
        let has_text = [refusal, reasoning_content, reasoning]
            .into_iter()
            .any(|text| text.as_deref().is_some_and(|text| !text.is_empty()));
        let has_calls = tool_calls.as_deref().is_some_and(|calls| !calls.is_empty());
        let has_call = function_call.as_ref().is_some_and(|call| !call.is_empty());
        !has_content && !has_text && !has_calls && !has_call
    }
}

/// A piece of a call; which of the fields come with which piece differs from service to service.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CallDelta {
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<String>,
    pub(crate) function: Option<FunctionDelta>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FunctionDelta {
    pub(crate) name: Option<String>,
    arguments: Option<Box<RawValue>>,
}

impl FunctionDelta {
    /// Whether neither a name nor arguments are in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.name.as_deref().unwrap_or_default().is_empty() && self.arguments_text().0.is_empty()
    }

    /// The piece of JSON text, and whether it had to be repaired; some services send the object itself instead
    /// of its text.
    pub(crate) fn arguments_text(&self) -> (String, bool) {
        let raw = self.arguments.as_deref().map_or("", RawValue::get);
        match raw {
            "" | "null" => (String::new(), false),
            _ => lenient::parse::<String>(raw).unwrap_or_else(|_| (raw.to_owned(), false)),
        }
    }
}

/// The visible text of a delta.
#[derive(Debug)]
pub(crate) enum Content {
    /// As OpenAI defines it.
    Text(String),
    /// Mistral's reasoning models send a list of typed parts.
    Parts { thinking: String, text: String },
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ContentPart {
    text: Option<String>,
    thinking: Option<Vec<ContentPart>>,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of parts")
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
        let (mut thinking, mut text) = (String::new(), String::new());
        while let Some(part) = parts.next_element::<ContentPart>()? {
            text.push_str(&part.text.unwrap_or_default());
            for thought in part.thinking.unwrap_or_default() {
                thinking.push_str(&thought.text.unwrap_or_default());
            }
        }
        Ok(Content::Parts { thinking, text })
    }
}
