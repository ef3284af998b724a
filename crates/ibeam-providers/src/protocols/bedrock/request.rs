//! Converse requests.
//!
//! Pure. While the conversation grows, the bytes before the newest message stay the same, so that the cache of the service
//! is used. Only two cache breakpoints move: they are at the ends of the last two user messages, as in the Messages API.

use std::borrow::Cow;
use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Media, MediaType, Message, ToolResult};
use serde::Serialize;
use serde_json::Value;

use super::super::anthropic::MOVING_BREAKPOINTS;
use super::super::media_parts::{MediaSupport, ShownPart, file_name, result_media, result_text, shown_parts};
use super::reasoning;
use crate::answer_format::{SCHEMA_NAME, messages_schema};
use crate::call_id::CallIdForm;
use crate::lenient_json;
use crate::model_traits::{CacheForm, ModelTraits};
use crate::request_rules::RequestRule;
use crate::wire_protocol::{RequestSettings, StablePrefix, push_element};

/// The name of the protocol in configuration files and in recorded thinking blocks.
pub(super) const NAME: &str = "bedrock";

/// The ids of calls that the service accepts. Source: `toolUseId` of its API reference.
const CALL_IDS: CallIdForm = CallIdForm::Word;

/// The length to which the name of a document is cut.
const MAX_DOCUMENT_NAME: usize = 60;

/// The answer between results and a text of the user, for models that reject both in one message.
const AFTER_RESULTS: &str = "I have the results.";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    inference_config: Option<InferenceConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_model_request_fields: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InferenceConfig {
    max_tokens: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OutputConfig {
    text_format: TextFormat,
}

/// The form of the answer.
#[derive(Serialize)]
#[serde(tag = "type", rename = "json_schema")]
struct TextFormat {
    structure: Structure,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Structure {
    json_schema: JsonSchemaText,
}

#[derive(Serialize)]
struct JsonSchemaText {
    name: &'static str,
    schema: String,
}

#[derive(Serialize)]
struct ToolConfig<'a> {
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Tool<'a> {
    #[serde(rename_all = "camelCase")]
    ToolSpec {
        name: &'a str,
        /// The service rejects an empty one.
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
        input_schema: InputSchema<'a>,
    },
    CachePoint(CachePoint),
}

#[derive(Serialize)]
struct InputSchema<'a> {
    json: &'a Value,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    /// The index of the first message of the conversation that is part of this one.
    #[serde(skip)]
    first_index: usize,
    role: Role,
    content: Vec<Content<'a>>,
}

/// Marks the end of a part that the service may serve from its cache.
#[derive(Serialize)]
#[serde(tag = "type", rename = "default")]
struct CachePoint {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Content<'a> {
    Text(Cow<'a, str>),
    #[serde(rename_all = "camelCase")]
    ToolUse {
        tool_use_id: Cow<'a, str>,
        name: &'a str,
        input: Cow<'a, Value>,
    },
    #[serde(rename_all = "camelCase")]
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: Vec<Content<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'static str>,
    },
    Image(ImageBlock<'a>),
    Document(DocumentBlock<'a>),
    CachePoint(CachePoint),
    #[serde(untagged)]
    Verbatim(&'a Value),
}

#[derive(Serialize)]
struct ImageBlock<'a> {
    format: &'static str,
    source: Source<'a>,
}

#[derive(Serialize)]
struct DocumentBlock<'a> {
    format: &'static str,
    name: String,
    source: Source<'a>,
}

#[derive(Serialize)]
struct Source<'a> {
    bytes: &'a str,
}

/// Returns the request as JSON, without messages.
///
/// # Errors
/// Errors of the serialiser. A conversation cannot cause them.
pub(super) fn write_request(
    request: &ModelRequest,
    settings: &RequestSettings<'_>,
) -> Result<Vec<u8>, serde_json::Error> {
    let mut system: Vec<_> = text_block(&request.system).into_iter().collect();
    // Other models reject a request with a breakpoint.
    let caches_system = matches!(settings.traits.cache, Some(CacheForm::Points | CacheForm::SystemPoints));
    if caches_system && !system.is_empty() {
        system.push(Content::CachePoint(CachePoint {}));
    }
    let mut tools: Vec<_> = request
        .tools
        .iter()
        .map(|spec| Tool::ToolSpec {
            name: &spec.name,
            description: spec.description.trim(),
            input_schema: InputSchema { json: &spec.parameters },
        })
        .collect();
    if caches_messages(settings) && !tools.is_empty() {
        tools.push(Tool::CachePoint(CachePoint {}));
    }
    let max_tokens = request.max_output_tokens.or(settings.max_output_tokens);
    let reasoning = reasoning::fields(settings, max_tokens);
    let schema = request.answer_schema.as_deref().and_then(|schema| messages_schema(schema, settings));
    serde_json::to_vec(&Body {
        inference_config: max_tokens
            .filter(|_| !reasoning.as_ref().is_some_and(reasoning::replaces_limit))
            .map(|max_tokens| InferenceConfig { max_tokens }),
        additional_model_request_fields: reasoning,
        output_config: schema.map(output_config),
        system,
        tool_config: (!tools.is_empty()).then_some(ToolConfig { tools }),
        messages: Vec::new(),
    })
}

fn output_config(schema: &Value) -> OutputConfig {
    let json_schema = JsonSchemaText { name: SCHEMA_NAME, schema: schema.to_string() };
    OutputConfig { text_format: TextFormat { structure: Structure { json_schema } } }
}

/// Appends messages to the list that `body` ends in. The stable prefix ends before the first message with a breakpoint
/// that moves. Later messages may be merged into the last user message.
///
/// # Errors
/// Errors of the serialiser. A conversation cannot cause them.
pub(super) fn write_messages(
    conversation: &[Arc<Message>],
    settings: &RequestSettings<'_>,
    body: &mut Vec<u8>,
) -> Result<StablePrefix, serde_json::Error> {
    let caches_messages = caches_messages(settings);
    let mut messages = wire_messages(conversation, &settings.traits, MediaSupport::new(settings));
    let mut first_marked = None;
    let users = messages.iter_mut().enumerate().rev().filter(|(_, message)| message.role == Role::User);
    for (index, user) in users.take(if caches_messages { MOVING_BREAKPOINTS } else { 1 }) {
        first_marked = Some(index);
        if caches_messages {
            user.content.push(Content::CachePoint(CachePoint {}));
        }
    }
    let mut stable = StablePrefix { messages: 0, bytes: body.len() };
    for (index, message) in messages.iter().enumerate() {
        if Some(index) == first_marked {
            stable = StablePrefix { messages: message.first_index, bytes: body.len() };
        }
        push_element(message, body)?;
    }
    Ok(stable)
}

/// Whether breakpoints after tools and tool results are accepted.
fn caches_messages(settings: &RequestSettings<'_>) -> bool {
    settings.traits.cache == Some(CacheForm::Points)
}

/// Converts the conversation. Roles must alternate in this API, so consecutive messages of one role are merged.
fn wire_messages<'a>(
    conversation: &'a [Arc<Message>],
    traits: &ModelTraits,
    support: MediaSupport,
) -> Vec<WireMessage<'a>> {
    let mut messages: Vec<WireMessage<'_>> = Vec::new();
    for (first_index, message) in conversation.iter().enumerate() {
        let (role, content) = match message.as_ref() {
            Message::Update(_) => continue,
            Message::User(parts) | Message::Instructions(parts) => {
                (Role::User, shown_parts(parts, support).map(user_block).collect())
            }
            Message::Assistant(blocks) => (Role::Assistant, assistant_content(blocks, traits)),
            Message::ToolResults(results) => (
                Role::User,
                results.iter().map(|result| tool_result(result, traits, support)).collect::<Vec<_>>(),
            ),
        };
        if traits.has(RequestRule::SeparateText)
            && let (Some(last), Some(Content::Text(_))) = (messages.last(), content.first())
            && last.content.iter().any(|block| matches!(block, Content::ToolResult { .. }))
        {
            let content = vec![Content::Text(Cow::Borrowed(AFTER_RESULTS))];
            messages.push(WireMessage { first_index, role: Role::Assistant, content });
        }
        match messages.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(content),
            Some(_) | None => messages.push(WireMessage { first_index, role, content }),
        }
    }
    messages
}

/// Returns the blocks of an answer. If the model rejects text next to calls, the text is left out.
fn assistant_content<'a>(blocks: &'a [Block], traits: &ModelTraits) -> Vec<Content<'a>> {
    let has_calls = blocks.iter().any(|block| matches!(block, Block::ToolCall(_)));
    let is_separate = traits.has(RequestRule::SeparateText);
    let is_accepted = |block: &&Block| !(has_calls && is_separate && matches!(block, Block::Text(_)));
    blocks.iter().filter(is_accepted).filter_map(block).collect()
}

/// Returns a text block; `None` for a blank text, which the service rejects.
fn text_block(text: &str) -> Option<Content<'_>> {
    (!text.trim().is_empty()).then_some(Content::Text(Cow::Borrowed(text)))
}

fn user_block(part: ShownPart<'_>) -> Content<'_> {
    match part {
        ShownPart::Text(text) => Content::Text(text),
        ShownPart::Media(media) => media_block(media),
    }
}

fn media_block(media: &Media) -> Content<'_> {
    let source = Source { bytes: &media.data };
    let format = match media.media_type {
        MediaType::Png => "png",
        MediaType::Jpeg => "jpeg",
        MediaType::Gif => "gif",
        MediaType::Webp => "webp",
        MediaType::Pdf => {
            return Content::Document(DocumentBlock { format: "pdf", name: document_name(media), source });
        }
    };
    Content::Image(ImageBlock { format, source })
}

/// Returns a name in the characters that the service accepts. A checksum of the content is added, because the names in a
/// conversation must differ.
fn document_name(media: &Media) -> String {
    let stem = file_name(media).trim_end_matches(".pdf");
    let name: String = stem
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(MAX_DOCUMENT_NAME)
        .collect();
    format!("{name}-{:08x}", crc32fast::hash(media.data.as_bytes()))
}

fn block(block: &Block) -> Option<Content<'_>> {
    match block {
        Block::Text(text) => text_block(text),
        Block::Thinking { original: Some(original), .. } | Block::Opaque(original)
            if original.wire == NAME =>
        {
            Some(Content::Verbatim(&original.raw))
        }
        // The thinking of other APIs has no signature that this one accepts.
        Block::Thinking { .. } | Block::Opaque(_) => None,
        Block::ToolCall(call) => Some(Content::ToolUse {
            tool_use_id: CALL_IDS.accepted(call.id.as_str()),
            name: &call.name,
            input: lenient_json::arguments_to_echo(&call.arguments),
        }),
    }
}

fn tool_result<'a>(result: &'a ToolResult, traits: &ModelTraits, support: MediaSupport) -> Content<'a> {
    let has_status = traits.has(RequestRule::ResultStatus);
    let text = result_text(result, support);
    let text = if result.is_error && !has_status {
        Cow::Owned(format!("Error: {text}"))
    } else if text.trim().is_empty() {
        // The service rejects a blank text.
        Cow::Borrowed("(no output)")
    } else {
        text
    };
    let media = result_media(result, support).map(media_block);
    Content::ToolResult {
        tool_use_id: CALL_IDS.accepted(result.call_id.as_str()),
        content: std::iter::once(Content::Text(text)).chain(media).collect(),
        status: (result.is_error && has_status).then_some("error"),
    }
}
