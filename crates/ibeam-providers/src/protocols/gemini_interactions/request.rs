//! Interactions requests.
//!
//! Pure. While the conversation grows, the bytes before the newest message stay the same, as the implicit cache of the
//! service requires.

use std::borrow::Cow;
use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Message, ToolResult, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use super::super::gemini::Level;
use super::super::media_parts::{MediaSupport, ShownPart, result_media, result_text, shown_parts};
use crate::lenient_json;
use crate::request_rules::RequestRule;
use crate::wire_protocol::{RequestSettings, StablePrefix, push_element};

/// The name of the protocol in configuration files and in recorded thinking blocks.
pub(super) const NAME: &str = "gemini-interactions";

/// The field of a call with the encrypted reasoning that led to it. A block that has only this field belongs to the next
/// call.
pub(super) const SIGNATURE: &str = "signature";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    /// Whether the service keeps the conversation.
    store: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    system_instruction: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<GenerationConfig>,
    input: Vec<Step<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_summaries: Option<&'static str>,
    /// Source: the guide "Gemini thinking" of this API, which has levels for all models.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "text")]
struct Text<'a> {
    text: &'a str,
}

/// A part of a message of the user, or of a result.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    Text { text: Cow<'a, str> },
    Image { mime_type: &'static str, data: &'a str },
    Document { mime_type: &'static str, data: &'a str },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Step<'a> {
    Known(KnownStep<'a>),
    Verbatim(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum KnownStep<'a> {
    UserInput {
        content: Vec<Content<'a>>,
    },
    ModelOutput {
        content: [Text<'a>; 1],
    },
    FunctionCall {
        id: &'a str,
        name: &'a str,
        arguments: Cow<'a, Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
    },
    FunctionResult {
        call_id: &'a str,
        name: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        result: Vec<Content<'a>>,
    },
}

/// Returns the request as JSON, without messages.
///
/// # Errors
/// Errors of the serialiser. A conversation cannot cause them.
pub(super) fn write_request(
    request: &ModelRequest,
    settings: &RequestSettings<'_>,
) -> Result<Vec<u8>, serde_json::Error> {
    let max_output_tokens = request.max_output_tokens.or(settings.max_output_tokens);
    let thinking_summaries = settings.traits.has(RequestRule::Summaries).then_some("auto");
    let thinking_level = settings.reasoning.level().map(|effort| Level::new(effort).lower_case());
    let config = GenerationConfig { max_output_tokens, thinking_summaries, thinking_level };
    let has_config = max_output_tokens.is_some() || thinking_summaries.is_some() || thinking_level.is_some();
    serde_json::to_vec(&Body {
        model: settings.model,
        stream: true,
        store: false,
        system_instruction: &request.system,
        tools: request.tools.iter().map(tool).collect(),
        generation_config: has_config.then_some(config),
        input: Vec::new(),
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
    let support = MediaSupport::new(settings);
    for message in messages {
        let steps = match message.as_ref() {
            Message::Update(_) => Vec::new(),
            Message::User(parts) | Message::Instructions(parts) => {
                let content: Vec<_> = shown_parts(parts, support).map(user_content).collect();
                match content.is_empty() {
                    true => Vec::new(),
                    false => vec![Step::Known(KnownStep::UserInput { content })],
                }
            }
            Message::Assistant(blocks) => answer_steps(blocks),
            Message::ToolResults(results) => result_steps(results, support),
        };
        for step in steps {
            push_element(&step, body)?;
        }
    }
    Ok(StablePrefix { messages: messages.len(), bytes: body.len() })
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool { name: &spec.name, description: &spec.description, parameters: &spec.parameters }
}

/// Returns a text; `None` for a blank one, which the service rejects.
fn text_content(text: &str) -> Option<Text<'_>> {
    (!text.trim().is_empty()).then_some(Text { text })
}

fn answer_steps(blocks: &[Block]) -> Vec<Step<'_>> {
    let mut steps = Vec::with_capacity(blocks.len());
    let mut signature: Option<&str> = None;
    for block in blocks {
        let step = match block {
            Block::Opaque(original) if original.wire == NAME => match signature_of_next(&original.raw) {
                Some(next) => {
                    signature = Some(next);
                    continue;
                }
                None => Step::Verbatim(&original.raw),
            },
            Block::Thinking { original: Some(original), .. } if original.wire == NAME => {
                Step::Verbatim(&original.raw)
            }
            Block::Thinking { .. } | Block::Opaque(_) => continue,
            Block::Text(text) => match text_content(text) {
                Some(text) => Step::Known(KnownStep::ModelOutput { content: [text] }),
                None => continue,
            },
            Block::ToolCall(call) => Step::Known(KnownStep::FunctionCall {
                id: call.id.as_str(),
                name: &call.name,
                arguments: lenient_json::arguments_to_echo(&call.arguments),
                signature: signature.take(),
            }),
        };
        steps.push(step);
    }
    steps
}

/// Returns the signature in a block that has nothing else.
fn signature_of_next(raw: &Value) -> Option<&str> {
    let fields = raw.as_object().filter(|fields| fields.len() == 1)?;
    fields.get(SIGNATURE)?.as_str()
}

fn user_content(part: ShownPart<'_>) -> Content<'_> {
    match part {
        ShownPart::Text(text) => Content::Text { text },
        ShownPart::Media(media) => {
            let (mime_type, data) = (media.media_type.name(), &*media.data);
            match media.media_type.is_image() {
                true => Content::Image { mime_type, data },
                false => Content::Document { mime_type, data },
            }
        }
    }
}

/// Returns the results. The API reference names texts and images as their parts, so documents follow as input of the user.
fn result_steps<'a>(results: &'a [ToolResult], support: MediaSupport) -> Vec<Step<'a>> {
    let mut steps = Vec::with_capacity(results.len());
    let mut documents = Vec::new();
    for result in results {
        let mut parts = vec![Content::Text { text: result_text(result, support) }];
        for media in result_media(result, support) {
            let list = if media.media_type.is_image() { &mut parts } else { &mut documents };
            list.push(user_content(ShownPart::Media(media)));
        }
        steps.push(Step::Known(KnownStep::FunctionResult {
            call_id: result.call_id.as_str(),
            name: &result.name,
            is_error: result.is_error,
            result: parts,
        }));
    }
    if !documents.is_empty() {
        steps.push(Step::Known(KnownStep::UserInput { content: documents }));
    }
    steps
}
