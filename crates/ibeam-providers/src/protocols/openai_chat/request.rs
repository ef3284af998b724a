//! Chat Completions requests.
//!
//! Pure. While the conversation grows, the bytes before the newest message stay the same, as the automatic caches of the
//! services require.

use std::borrow::Cow;
use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Message};
use serde::Serialize;

use super::super::chat_form::{self, UserContent, WireCall};
use super::super::media_parts::{MediaSupport, result_text};
use crate::answer_format::AnswerFormat;
use crate::wire_protocol::{MaxTokensField, RequestSettings, StablePrefix};

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
    tools: Vec<chat_form::Tool<'a>>,
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
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: UserContent<'a>,
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
        content: Cow<'a, str>,
    },
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
    let support = MediaSupport::new(settings.model);
    chat_form::write_messages(messages, body, |message| wire_messages(message, settings, support))
}

fn wire_messages<'a>(
    message: &'a Message,
    settings: &RequestSettings<'_>,
    support: MediaSupport<'_>,
) -> Vec<WireMessage<'a>> {
    match message {
        Message::User(parts) => vec![WireMessage::User { content: UserContent::new(parts, support) }],
        Message::Assistant(blocks) => {
            assistant_message(blocks, settings.quirks.echo_reasoning).into_iter().collect()
        }
        Message::ToolResults(results) => {
            let wire_results = results.iter().map(|result| WireMessage::Tool {
                tool_call_id: result.call_id.as_str(),
                content: result_text(result, support),
            });
            let media = UserContent::after_results(results, support);
            wire_results.chain(media.map(|content| WireMessage::User { content })).collect()
        }
    }
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
            Block::ToolCall(call) => tool_calls.push(WireCall::new(call)),
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
