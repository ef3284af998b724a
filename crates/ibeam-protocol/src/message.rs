//! What the model sees and says: the conversation apart from any wire.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::CallId;
use crate::tool::ToolCall;
use crate::usage::Usage;

/// One entry of the conversation, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Text for the model, one block per part (prompt, piped context, a reminder of ours).
    User(Vec<String>),
    /// What the model answered, in its order.
    Assistant(Vec<Block>),
    /// The results of all calls of the answer before, in the order of the calls.
    ToolResults(Vec<ToolResult>),
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Visible text.
    Text(String),
    /// Reasoning, never shown in print mode; kept verbatim because wires demand it back unchanged.
    Thinking {
        /// The readable text, possibly empty (redacted).
        text: String,
        /// The block as the wire gave it, sent back only over the wire it came from.
        provenance: Option<Provenance>,
    },
    /// A call to execute; present only when its arguments arrived whole.
    ToolCall(ToolCall),
}

/// A wire's own block, to be returned to it verbatim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The wire that made it, e.g. `anthropic`.
    pub wire: String,
    /// The block as received.
    pub raw: Value,
}

/// What the model is told about a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call answered.
    pub call_id: CallId,
    /// The name of the tool called; some wires want it again.
    pub name: String,
    /// The text for the model.
    pub text: Arc<str>,
    /// True when the call failed or was refused.
    pub is_error: bool,
}

/// A complete answer of the model: exists only after the wire's terminal event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Text, thinking and calls in the order of the wire.
    pub blocks: Vec<Block>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// Tokens, where the provider told sane ones.
    pub usage: Option<Usage>,
    /// The provider's id of the request, for its support.
    pub request_id: Option<String>,
}

impl Answer {
    /// The calls of the answer, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            Block::Text(_) | Block::Thinking { .. } => None,
        })
    }
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It has said what it had to say.
    EndTurn,
    /// It waits for the results of its calls.
    ToolUse,
    /// The output limit cut it: calls of such an answer are not executed.
    MaxTokens,
    /// The service paused a long answer, which is to be sent back so that it is completed.
    Paused,
    /// It, or a filter of the provider, declined.
    Refusal,
    /// A word we do not know; treated as `EndTurn` with a warning.
    Unknown(String),
}
