//! The conversation with the model, independent of any model API.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::CallId;
use crate::media::{Attachment, Media};
use crate::run::Usage;
use crate::tool::{ToolCall, ToolSpec};

/// One entry of the conversation, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Parts for the model: prompt, piped context, attached files, a notice for the model.
    User(Vec<UserPart>),
    /// Instructions that were added after the beginning, with the authority of the system prompt if the model has a form
    /// for that. They hold from here on.
    Instructions(Vec<UserPart>),
    /// A change of fields of the request: added tools, another level of reasoning. It is empty in requests to services that
    /// accept no such message.
    Update(RequestUpdate),
    /// The blocks of an answer, in order.
    Assistant(Vec<Block>),
    /// The results of all calls of the previous answer, in the order of the calls.
    ToolResults(Vec<ToolResult>),
}

/// A change of fields of a request, which applies to the conversation after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestUpdate {
    /// The tools that were added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// The new level of reasoning; `default` for that of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
}

impl RequestUpdate {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.effort.is_none()
    }
}

/// A part of a message of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum UserPart {
    /// A text.
    Text(String),
    /// An image or a document.
    Media(Media),
}

impl UserPart {
    /// Returns the text, or a line in place of an image or document.
    pub fn as_text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Media(media) => Cow::Owned(media.placeholder()),
        }
    }

    /// Returns the parts of an attached file. Its name comes before its content.
    pub fn from_attachment(attachment: &Attachment) -> Vec<Self> {
        match attachment {
            Attachment::Text { name, text } => {
                vec![Self::Text(format!("Attached file `{name}`:\n\n{text}"))]
            }
            Attachment::Media(media) => {
                vec![Self::Text(format!("Attached file `{}`:", media.name)), Self::Media(media.clone())]
            }
        }
    }
}

impl From<String> for UserPart {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for UserPart {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Visible text.
    Text(String),
    /// Reasoning, never shown in print mode; stored verbatim, since some APIs require it back unchanged.
    Thinking {
        /// The readable text, possibly empty (redacted).
        text: String,
        /// The block as received, sent back only over the same model API.
        #[serde(rename = "provenance")]
        original: Option<OriginalBlock>,
    },
    /// A call to execute; present only if its arguments arrived completely.
    ToolCall(ToolCall),
    /// A block that only its model API interprets: a signature of the block that follows, a tool that the service ran,
    /// a compaction item.
    Opaque(OriginalBlock),
}

/// The original block of a model API, to be sent back verbatim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OriginalBlock {
    /// The name of the model API, e.g. `anthropic`.
    pub wire: String,
    /// The block as received.
    pub raw: Value,
}

/// The result of a call, for the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: CallId,
    /// The name of the tool, which some APIs require.
    pub name: String,
    /// The text for the model.
    pub text: Arc<str>,
    /// Whether the call failed or was refused.
    pub is_error: bool,
    /// Images and documents that belong to the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
}

/// A complete answer of the model: exists only after the terminal event of the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Text, thinking and calls, in the order of the stream.
    pub blocks: Vec<Block>,
    /// The reason why the model stopped.
    pub stop: StopReason,
    /// The details of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RefusalDetails>,
    /// The tokens, if the provider reported plausible numbers.
    pub usage: Option<Usage>,
    /// The provider's id of the request, for support questions.
    pub request_id: Option<String>,
}

impl Answer {
    /// Returns the calls of the answer, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            Block::Text(_) | Block::Thinking { .. } | Block::Opaque(_) => None,
        })
    }
}

/// The details of a refusal, as the service gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RefusalDetails {
    /// The class of what was refused, such as `cyber`, in the words of the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The reason, for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
}

/// The reason why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The answer is complete.
    EndTurn,
    /// The model waits for the results of its calls.
    ToolUse,
    /// The output limit cut the answer; its calls are not executed.
    MaxTokens,
    /// The service paused a long answer, which must be sent back for completion.
    Paused,
    /// The model or a filter of the provider declined.
    Refusal,
    /// An unknown reason of an answer with calls, which are complete; treated as `ToolUse` with a warning.
    Unknown(String),
}
