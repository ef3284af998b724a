//! Requests of `chat`.
//!
//! Pure. While the conversation grows, the bytes before the newest message stay the same, as the automatic cache of the
//! service requires.

use std::borrow::Cow;
use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Message};
use serde::Serialize;
use serde_json::Value;

use super::super::chat_form::{self, UserContent, WireCall, result_or_error_text};
use super::super::media_parts::MediaSupport;
use crate::call_id::CallIdForm;
use crate::reasoning::{Effort, Reasoning};
use crate::wire_protocol::{RequestSettings, StablePrefix};

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
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<chat_form::Tool<'a>>,
    messages: Vec<WireMessage<'a>>,
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
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Content<'a>>,
        #[serde(skip_serializing_if = "String::is_empty")]
        tool_plan: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: Cow<'a, str>,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text { r#type: &'static str, text: &'a str },
    Verbatim(&'a Value),
}

/// Whether the model thinks, and for how many tokens. Source: "Reasoning capabilities" of the documentation.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Thinking {
    Enabled {
        #[serde(skip_serializing_if = "Option::is_none")]
        token_budget: Option<u32>,
    },
    Disabled,
}

impl Thinking {
    fn new(reasoning: Reasoning) -> Option<Self> {
        let level = reasoning.level()?;
        if level == Effort::None {
            return Some(Self::Disabled);
        }
        // Without a number the model thinks as long as it needs.
        let is_unlimited = reasoning.budget.is_none() && level >= Effort::High;
        Some(Self::Enabled { token_budget: reasoning.tokens().filter(|_| !is_unlimited) })
    }
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
        thinking: Thinking::new(settings.reasoning),
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
        wire_messages(message, MediaSupport::images_only(settings), settings.call_ids(CallIdForm::ANY))
    })
}

fn wire_messages(message: &Message, support: MediaSupport, ids: CallIdForm) -> Vec<WireMessage<'_>> {
    match message {
        Message::Update(_) => Vec::new(),
        Message::User(parts) | Message::Instructions(parts) => {
            vec![WireMessage::User { content: UserContent::new(parts, support) }]
        }
        Message::Assistant(blocks) => assistant_message(blocks, ids).into_iter().collect(),
        Message::ToolResults(results) => {
            let wire_results = results.iter().map(|result| WireMessage::Tool {
                tool_call_id: ids.accepted(result.call_id.as_str()),
                content: result_or_error_text(result, support),
            });
            let media = UserContent::after_results(results, support);
            wire_results.chain(media.map(|content| WireMessage::User { content })).collect()
        }
    }
}

/// Returns an answer as a message; `None` if it has neither text nor calls.
///
/// A message with calls has a plan in place of text. So the text before the calls of another model becomes the plan.
fn assistant_message(blocks: &[Block], ids: CallIdForm) -> Option<WireMessage<'_>> {
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
            Block::ToolCall(call) => tool_calls.push(WireCall::new(call, ids)),
        }
    }
    // A plan without calls belongs to an answer whose calls were cut.
    if !has_calls {
        tool_plan.clear();
    }
    (has_text || has_calls).then_some(WireMessage::Assistant { content, tool_plan, tool_calls })
}
