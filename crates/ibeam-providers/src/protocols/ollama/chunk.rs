//! The JSON of an answer: a line of a stream, or a complete document.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer_draft::{TokenCount, TokenCounts};
use crate::lenient_json::{self, Text};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) message: Option<ChunkMessage<'a>>,
    pub(super) done: Option<bool>,
    #[serde(borrow)]
    pub(super) done_reason: Option<Text<'a>>,
    /// A server that finds the whole prompt in its cache may leave it out.
    pub(super) prompt_eval_count: TokenCount,
    pub(super) eval_count: TokenCount,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

impl Chunk<'_> {
    /// Returns the token counts. The server does not report what it found in its cache.
    pub(super) fn counts(&self) -> TokenCounts {
        TokenCounts {
            input: self.prompt_eval_count.clone(),
            output: self.eval_count.clone(),
            ..TokenCounts::default()
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChunkMessage<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<Call<'a>>>,
}

/// A complete call. Older servers give it no id.
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
    arguments: Option<&'a RawValue>,
}

impl<'a> Function<'a> {
    /// Returns the arguments as JSON text, and whether the text was repaired. Some gateways send the text of the object
    /// in a string.
    pub(super) fn arguments(&self) -> (Cow<'a, str>, bool) {
        let raw = self.arguments.map_or("", RawValue::get);
        if !raw.starts_with('"') {
            return (Cow::Borrowed(raw), false);
        }
        match lenient_json::parse::<String>(raw, &mut String::new()) {
            Ok((text, repaired)) => (Cow::Owned(text), repaired),
            Err(_) => (Cow::Borrowed(raw), false),
        }
    }
}
