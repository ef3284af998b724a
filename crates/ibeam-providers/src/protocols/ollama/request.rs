//! `/api/chat` requests.
//!
//! Pure. While the conversation grows, the bytes before the newest message stay the same, so that the server can reuse the
//! state of the model. The server chooses the size of the context, and whether the model thinks unless the user chose.

use std::borrow::Cow;
use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Media, Message, ToolCall, ToolResult};
use serde::Serialize;
use serde_json::Value;

use super::super::chat_form::{self, result_or_error_text};
use super::super::media_parts::{MediaSupport, result_media, text_and_media};
use crate::answer_draft::is_generated_id;
use crate::lenient_json;
use crate::model_thinking::ThinkingForm;
use crate::reasoning::Effort;
use crate::wire_protocol::{RequestSettings, StablePrefix};

/// The name of the protocol in configuration files and in recorded thinking blocks.
pub(super) const NAME: &str = "ollama";

/// The field of a message with its thinking.
pub(super) const THINKING: &str = "thinking";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<Think>,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<Options>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<chat_form::Tool<'a>>,
    messages: Vec<WireMessage<'a>>,
}

/// Whether the model thinks, or how much. Source: "Thinking" of the documentation.
#[derive(Serialize)]
#[serde(untagged)]
enum Think {
    Switch(bool),
    /// Only for models with levels, which cannot be switched off.
    Level(&'static str),
}

impl Think {
    fn new(settings: &RequestSettings<'_>) -> Option<Self> {
        let level = settings.reasoning.level()?;
        if settings.traits.thinking.form != Some(ThinkingForm::Levels) {
            return Some(Self::Switch(level != Effort::None));
        }
        Some(Self::Level(match level {
            Effort::None | Effort::Minimal | Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High | Effort::XHigh | Effort::Max => "high",
        }))
    }
}

#[derive(Serialize)]
struct Options {
    num_predict: u32,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        images: Vec<&'a str>,
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
        think: Think::new(settings),
        options: limit.map(|num_predict| Options { num_predict }),
        tools: chat_form::tools(request),
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
    chat_form::write_messages(messages, body, |message| {
        wire_messages(message, MediaSupport::images_only(settings))
    })
}

fn wire_messages<'a>(message: &'a Message, support: MediaSupport) -> Vec<WireMessage<'a>> {
    match message {
        Message::Update(_) => Vec::new(),
        Message::User(parts) | Message::Instructions(parts) => {
            let (content, media) = text_and_media(parts, support);
            vec![user_message(content, &media)]
        }
        Message::Assistant(blocks) => assistant_message(blocks).into_iter().collect(),
        Message::ToolResults(results) => {
            let mut messages: Vec<_> = results.iter().map(|result| result_message(result, support)).collect();
            for result in results {
                let media: Vec<_> = result_media(result, support).collect();
                if !media.is_empty() {
                    messages.push(user_message(format!("From the result of `{}`:", result.name), &media));
                }
            }
            messages
        }
    }
}

/// Returns a message with images. The API has no place for them inside the text.
fn user_message<'a>(content: String, media: &[&'a Media]) -> WireMessage<'a> {
    WireMessage::User { content, images: media.iter().map(|media| &*media.data).collect() }
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

fn result_message<'a>(result: &'a ToolResult, support: MediaSupport) -> WireMessage<'a> {
    WireMessage::Tool {
        content: result_or_error_text(result, support),
        tool_name: &result.name,
        tool_call_id: id_of_service(result.call_id.as_str()),
    }
}

/// Returns the id of a call if the server gave it. Without ids the server pairs calls and results by name and order.
fn id_of_service(id: &str) -> Option<&str> {
    (!is_generated_id(id)).then_some(id)
}
