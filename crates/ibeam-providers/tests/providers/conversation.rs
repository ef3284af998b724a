//! Conversations for the tests.

use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, CallId, Message, OriginalBlock, ToolCall, ToolResult, ToolSpec};
use serde_json::{Value, json};

pub(crate) fn request(messages: Vec<Message>) -> ModelRequest {
    let tool = |name: &'static str| ToolSpec {
        name: name.into(),
        description: format!("The tool {name}.").into(),
        parameters: json!({ "type": "object", "properties": { "path": { "type": "string" } } }).into(),
    };
    ModelRequest {
        system: "Be brief.".into(),
        tools: Arc::new([tool("read"), tool("ls")]),
        messages: messages.into_iter().map(Arc::new).collect(),
        max_output_tokens: None,
        answer_schema: None,
        effort: None,
    }
}

pub(crate) fn user(text: &str) -> Message {
    Message::User(vec![text.into()])
}

pub(crate) fn call(id: &str, arguments: Value) -> Block {
    Block::ToolCall(ToolCall { id: CallId::from(id), name: "read".into(), arguments })
}

pub(crate) fn results(ids: &[&str], is_error: bool) -> Message {
    let result = |id: &&str| ToolResult {
        media: Vec::new(),
        call_id: CallId::from(*id),
        name: "read".into(),
        text: "content".into(),
        is_error,
    };
    Message::ToolResults(ids.iter().map(result).collect())
}

pub(crate) fn thinking(wire: &str, raw: Value) -> Block {
    Block::Thinking { text: "Hmm.".into(), original: Some(OriginalBlock { wire: wire.into(), raw }) }
}
