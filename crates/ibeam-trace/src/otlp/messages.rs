//! The messages of a conversation in the form of the semantic conventions: `gen_ai.input.messages` and
//! `gen_ai.output.messages`.

use ibeam_protocol::{Answer, Block, ToolCall, ToolOutcome};
use serde_json::{Value, json};

/// The messages since the last model request.
#[derive(Default)]
pub(super) struct Messages(Vec<Value>);

impl Messages {
    pub(super) fn push_prompt(&mut self, content: &[String]) {
        let parts: Vec<_> = content.iter().map(|text| text_part(text)).collect();
        self.0.push(json!({ "role": "user", "parts": parts }));
    }

    pub(super) fn push_result(&mut self, call: &ToolCall, outcome: &ToolOutcome) {
        let part = json!({ "type": "tool_call_response", "id": call.id.as_str(), "response": &*outcome.for_model() });
        self.0.push(json!({ "role": "tool", "parts": [part] }));
    }

    /// Returns the messages and forgets them.
    pub(super) fn take(&mut self) -> Value {
        Value::Array(std::mem::take(&mut self.0))
    }
}

/// Returns the message of an answer, without its thinking.
pub(super) fn answer(answer: &Answer, finish_reason: &str) -> Value {
    let part = |block: &Block| match block {
        Block::Text(text) => Some(text_part(text)),
        Block::ToolCall(call) => Some(json!({
            "type": "tool_call", "id": call.id.as_str(), "name": call.name, "arguments": call.arguments,
        })),
        Block::Thinking { .. } | Block::Opaque(_) => None,
    };
    let parts: Vec<_> = answer.blocks.iter().filter_map(part).collect();
    json!({ "role": "assistant", "parts": parts, "finish_reason": finish_reason })
}

fn text_part(text: &str) -> Value {
    json!({ "type": "text", "content": text })
}
