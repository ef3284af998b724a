//! Requests of `chat`.
//!
//! Pure. While the conversation grows, the bytes before the newest message stay the same, as the automatic cache of the
//! service requires.

use std::borrow::Cow;
use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Message, ToolCall, ToolResult, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use crate::lenient_json;
use crate::wire_protocol::{RequestSettings, StablePrefix, push_element, texts};

/// The name of the protocol in configuration files and in recorded thinking blocks.
pub(super) const NAME: &str = "cohere";

/// The field of a message with the plan for its calls.
pub(super) const TOOL_PLAN: &str = "tool_plan";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct Tool<'a> {
    function: FunctionSpec<'a>,
}

#[derive(Serialize)]
struct FunctionSpec<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: String,
    },
    Assistant {
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Content<'a>>,
        #[serde(skip_serializing_if = "String::is_empty")]
        tool_plan: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text { r#type: &'static str, text: &'a str },
    Verbatim(&'a Value),
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: String,
}

/// Returns the request as JSON, with the system prompt as its only message.
///
/// # Errors
/// Errors of the serialiser. A conversation cannot cause them.
pub(super) fn write_request(
    request: &ModelRequest,
    settings: &RequestSettings<'_>,
) -> Result<Vec<u8>, serde_json::Error> {
    let system = (!request.system.is_empty()).then_some(WireMessage::System { content: &request.system });
    serde_json::to_vec(&Body {
        model: settings.model,
        stream: true,
        max_tokens: request.max_output_tokens.or(settings.max_output_tokens),
        tools: request.tools.iter().map(tool).collect(),
        messages: system.into_iter().collect(),
    })
}

/// Appends messages to the list that `body` ends in. All of them belong to the stable prefix.
///
/// # Errors
/// Errors of the serialiser. A conversation cannot cause them.
pub(super) fn write_messages(
    messages: &[Arc<Message>],
    body: &mut Vec<u8>,
) -> Result<StablePrefix, serde_json::Error> {
    for message in messages {
        match message.as_ref() {
            Message::User(parts) => {
                let content = texts(parts).collect::<Vec<_>>().join("\n\n");
                push_element(&WireMessage::User { content }, body)?;
            }
            Message::Assistant(blocks) => {
                if let Some(message) = assistant_message(blocks) {
                    push_element(&message, body)?;
                }
            }
            Message::ToolResults(results) => {
                for result in results {
                    push_element(&result_message(result), body)?;
                }
            }
        }
    }
    Ok(StablePrefix { messages: messages.len(), bytes: body.len() })
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let function =
        FunctionSpec { name: &spec.name, description: &spec.description, parameters: &spec.parameters };
    Tool { function }
}

/// Returns an answer as a message; `None` if it has neither text nor calls.
///
/// A message with calls has a plan in place of text. So the text before the calls of another model becomes the plan.
fn assistant_message(blocks: &[Block]) -> Option<WireMessage<'_>> {
    let has_calls = blocks.iter().any(|block| matches!(block, Block::ToolCall(_)));
    let (mut content, mut tool_plan, mut tool_calls) = (Vec::new(), String::new(), Vec::new());
    let mut has_text = false;
    for block in blocks {
        match block {
            Block::Text(text) if text.trim().is_empty() => {}
            Block::Text(text) if has_calls => tool_plan.push_str(text),
            Block::Text(text) => {
                has_text = true;
                content.push(Content::Text { r#type: "text", text });
            }
            Block::Thinking { original: Some(original), .. } if original.wire == NAME => {
                match original.raw.get(TOOL_PLAN).and_then(Value::as_str) {
                    Some(plan) => tool_plan.push_str(plan),
                    None => content.push(Content::Verbatim(&original.raw)),
                }
            }
            Block::Thinking { .. } | Block::Opaque(_) => {}
            Block::ToolCall(call) => tool_calls.push(wire_call(call)),
        }
    }
    // A plan without calls belongs to an answer whose calls were cut.
    if !has_calls {
        tool_plan.clear();
    }
    (has_text || has_calls).then_some(WireMessage::Assistant { content, tool_plan, tool_calls })
}

fn wire_call(call: &ToolCall) -> WireCall<'_> {
    let arguments = lenient_json::arguments_to_echo(&call.arguments).to_string();
    WireCall { id: call.id.as_str(), r#type: "function", function: Function { name: &call.name, arguments } }
}

/// Returns the result of a call. The API has no field for a failure, so the text of a failure begins with `Error:`.
fn result_message(result: &ToolResult) -> WireMessage<'_> {
    let ToolResult { call_id, text, is_error, .. } = result;
    let content = if *is_error { Cow::Owned(format!("Error: {text}")) } else { Cow::Borrowed(text.as_ref()) };
    WireMessage::Tool { tool_call_id: call_id.as_str(), content }
}
