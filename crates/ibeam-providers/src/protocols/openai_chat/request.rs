//! Chat Completions requests.
//!
//! Pure. While the conversation grows, the bytes before the newest message stay the same, as the automatic caches of the
//! services require.

use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Message, ToolCall, ToolResult, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use crate::answer_format::AnswerFormat;
use crate::lenient_json;
use crate::wire_protocol::{MaxTokensField, RequestSettings, StablePrefix, push_element, texts};

/// The name of the protocol in configuration files and in recorded thinking blocks.
pub(super) const NAME: &str = "openai";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "json_schema")]
struct ResponseFormat<'a> {
    json_schema: AnswerFormat<'a>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
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
        /// `null` if there are only calls: some services require the key.
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
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
    let limit = request.max_output_tokens.or(settings.max_output_tokens);
    let (max_tokens, max_completion_tokens) = match settings.quirks.max_tokens_field {
        MaxTokensField::MaxTokens => (limit, None),
        MaxTokensField::MaxCompletionTokens => (None, limit),
    };
    let system = (!request.system.is_empty()).then_some(WireMessage::System { content: &request.system });
    serde_json::to_vec(&Body {
        model: settings.model,
        stream: true,
        stream_options: settings.quirks.stream_usage.then_some(StreamOptions { include_usage: true }),
        max_tokens,
        max_completion_tokens,
        response_format: AnswerFormat::new(request, settings.quirks)
            .map(|json_schema| ResponseFormat { json_schema }),
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
    settings: &RequestSettings<'_>,
    body: &mut Vec<u8>,
) -> Result<StablePrefix, serde_json::Error> {
    for message in messages {
        match message.as_ref() {
            // One string, because some local servers reject lists of parts.
            Message::User(parts) => {
                let content = texts(parts).collect::<Vec<_>>().join("\n\n");
                push_element(&WireMessage::User { content }, body)?;
            }
            Message::Assistant(blocks) => {
                if let Some(message) = assistant_message(blocks, settings.quirks.echo_reasoning) {
                    push_element(&message, body)?;
                }
            }
            Message::ToolResults(results) => {
                for ToolResult { call_id, text, .. } in results {
                    push_element(&WireMessage::Tool { tool_call_id: call_id.as_str(), content: text }, body)?;
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

/// Returns an answer as a message; `None` if this API has no field for any of its blocks.
fn assistant_message(blocks: &[Block], echo_reasoning: bool) -> Option<WireMessage<'_>> {
    let mut content = String::new();
    let mut reasoning = String::new();
    let mut tool_calls = Vec::new();
    for block in blocks {
        match block {
            Block::Text(text) => content.push_str(text),
            Block::Thinking { text, original: Some(original) } if echo_reasoning && original.wire == NAME => {
                reasoning.push_str(text);
            }
            Block::Thinking { .. } | Block::Opaque(_) => {}
            Block::ToolCall(call) => tool_calls.push(wire_call(call)),
        }
    }
    if content.is_empty() && tool_calls.is_empty() {
        return None;
    }
    Some(WireMessage::Assistant {
        content: (!content.is_empty()).then_some(content),
        reasoning_content: (!reasoning.is_empty()).then_some(reasoning),
        tool_calls,
    })
}

fn wire_call(call: &ToolCall) -> WireCall<'_> {
    let arguments = lenient_json::arguments_to_echo(&call.arguments).to_string();
    WireCall { id: call.id.as_str(), r#type: "function", function: Function { name: &call.name, arguments } }
}
