//! `/api/chat` requests.
//!
//! Pure. While the conversation grows, the bytes before the newest message stay the same, so that the server can reuse the
//! state of the model. The server chooses the size of the context and whether the model thinks.

use std::borrow::Cow;
use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Message, ToolCall, ToolResult, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use crate::answer_draft::is_generated_id;
use crate::lenient_json;
use crate::wire_protocol::{RequestSettings, StablePrefix, push_element, texts};

/// The name of the protocol in configuration files and in recorded thinking blocks.
pub(super) const NAME: &str = "ollama";

/// The field of a message with its thinking.
pub(super) const THINKING: &str = "thinking";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<Options>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct Options {
    num_predict: u32,
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
        content: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        thinking: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        content: Cow<'a, str>,
        tool_name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<&'a str>,
    },
}

#[derive(Serialize)]
struct WireCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    /// An object. The server rejects anything else.
    arguments: Cow<'a, Value>,
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
    let system = (!request.system.is_empty()).then_some(WireMessage::System { content: &request.system });
    serde_json::to_vec(&Body {
        model: settings.model,
        stream: true,
        options: limit.map(|num_predict| Options { num_predict }),
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
fn assistant_message(blocks: &[Block]) -> Option<WireMessage<'_>> {
    let (mut content, mut thinking, mut tool_calls) = (String::new(), String::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Text(text) => content.push_str(text),
            Block::Thinking { original: Some(original), .. } if original.wire == NAME => {
                thinking.push_str(original.raw.get(THINKING).and_then(Value::as_str).unwrap_or_default());
            }
            Block::Thinking { .. } | Block::Opaque(_) => {}
            Block::ToolCall(call) => tool_calls.push(wire_call(call)),
        }
    }
    let is_empty = content.is_empty() && tool_calls.is_empty();
    (!is_empty).then_some(WireMessage::Assistant { content, thinking, tool_calls })
}

fn wire_call(call: &ToolCall) -> WireCall<'_> {
    let arguments = lenient_json::arguments_to_echo(&call.arguments);
    WireCall { id: id_of_service(call.id.as_str()), function: Function { name: &call.name, arguments } }
}

/// Returns the result of a call. The API has no field for a failure, so the text of a failure begins with `Error:`.
fn result_message(result: &ToolResult) -> WireMessage<'_> {
    let ToolResult { call_id, name, text, is_error, .. } = result;
    let content = if *is_error { Cow::Owned(format!("Error: {text}")) } else { Cow::Borrowed(text.as_ref()) };
    WireMessage::Tool { content, tool_name: name, tool_call_id: id_of_service(call_id.as_str()) }
}

/// Returns the id of a call if the server gave it. Without ids the server pairs calls and results by name and order.
fn id_of_service(id: &str) -> Option<&str> {
    (!is_generated_id(id)).then_some(id)
}
