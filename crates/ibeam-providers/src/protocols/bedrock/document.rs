//! Converse answers that are one document.
//!
//! Pure. The content blocks of a document have the form of a request, so that server tools are kept verbatim.

use serde::Deserialize;
use serde_json::Value;

use super::decoder::{BlockContent, WireUsage};
use crate::answer_draft::CallDraft;

/// An answer of Converse without streaming, and of Amazon Nova through InvokeModel.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Document {
    output: Output,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: WireUsage,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Output {
    message: Option<WireMessage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireMessage {
    content: Vec<ContentBlock>,
}

/// A content block of any kind. Each kind has a field of its own, and unknown kinds have none of these.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ContentBlock {
    text: Option<String>,
    tool_use: Option<Value>,
    tool_result: Option<Value>,
    reasoning_content: Option<ReasoningContent>,
    citations_content: Option<CitationsContent>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ReasoningContent {
    reasoning_text: Option<ReasoningText>,
    redacted_content: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ReasoningText {
    text: String,
    signature: Option<String>,
}

/// Text with its sources. The service does not need the sources in later requests.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CitationsContent {
    content: Vec<CitedText>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CitedText {
    text: String,
}

impl Document {
    /// Takes the blocks; `None` if the document has no message. `repaired` is whether the JSON of the document had to
    /// be repaired.
    pub(super) fn take_blocks(&mut self, repaired: bool) -> Option<Vec<BlockContent>> {
        let message = self.output.message.take()?;
        Some(message.content.into_iter().map(|block| block.into_content(repaired)).collect())
    }
}

impl ContentBlock {
    fn into_content(self, repaired: bool) -> BlockContent {
        if let Some(text) = self.text {
            BlockContent::Text(text)
        } else if let Some(cited) = self.citations_content {
            BlockContent::Text(cited.content.into_iter().map(|item| item.text).collect())
        } else if let Some(tool_use) = self.tool_use {
            call(tool_use, repaired)
        } else if let Some(result) = self.tool_result {
            server_result(result)
        } else if let Some(reasoning) = self.reasoning_content {
            match (reasoning.reasoning_text, reasoning.redacted_content) {
                (Some(ReasoningText { text, signature }), _) => {
                    BlockContent::Reasoning { text, signature: signature.unwrap_or_default() }
                }
                (None, Some(data)) => BlockContent::Redacted(data),
                (None, None) => BlockContent::Unknown,
            }
        } else {
            BlockContent::Unknown
        }
    }
}

/// Whether a document is an answer in the form of Converse.
pub(in crate::protocols) fn is_answer(body: &str) -> bool {
    serde_json::from_str::<Document>(body).is_ok_and(|document| document.output.message.is_some())
}

/// Returns the content of a `toolUse` object. In a stream its input follows.
pub(super) fn call(mut tool_use: Value, repaired: bool) -> BlockContent {
    let input = tool_use.as_object_mut().and_then(|object| object.shift_remove("input"));
    let input = input.filter(|input| !input.is_null()).map(|input| input.to_string()).unwrap_or_default();
    let text = |key: &str| tool_use.get(key).and_then(Value::as_str);
    match text("type") {
        None | Some("tool_use") => BlockContent::Call(CallDraft {
            id: text("toolUseId").unwrap_or_default().to_owned(),
            name: text("name").unwrap_or_default().to_owned(),
            arguments: input,
            repaired,
        }),
        Some(_) => BlockContent::ServerCall { raw: tool_use, input },
    }
}

/// Returns the content of a `toolResult` object. In a stream its content follows.
pub(super) fn server_result(mut result: Value) -> BlockContent {
    let content = result.as_object_mut().and_then(|object| object.shift_remove("content"));
    let content = match content {
        Some(Value::Array(content)) => content,
        Some(_) | None => Vec::new(),
    };
    BlockContent::ServerResult { raw: result, content }
}
