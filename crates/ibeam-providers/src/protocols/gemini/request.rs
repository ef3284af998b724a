//! `streamGenerateContent` requests.
//!
//! Pure. While the conversation grows, the bytes before the newest message stay the same, as the implicit cache of the
//! service requires.

use std::borrow::Cow;
use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Media, Message, ToolCall, ToolResult, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use super::super::media_parts::{MediaSupport, ShownPart, result_media, result_text, shown_parts};
use super::thinking::ThinkingConfig;
use crate::answer_draft::is_generated_id;
use crate::answer_format::has_only_keywords;
use crate::lenient_json;
use crate::model_traits::{ModelTraits, SchemaForm};
use crate::request_rules::RequestRule;
use crate::wire_protocol::{RequestSettings, StablePrefix, push_element};

/// The field of a part with the encrypted reasoning that led to it. A block that has only this field belongs to the next
/// block.
pub(super) const SIGNATURE: &str = "thoughtSignature";

/// The signature that the service accepts for calls of other models. The models from Gemini 3 on reject a call without a
/// signature. Source: the guide "Thought signatures".
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// The keywords that the service supports in the schema of an answer.
const SCHEMA_KEYWORDS: [&str; 18] = [
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "anyOf",
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "prefixItems",
    "properties",
    "required",
    "title",
    "type",
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<SystemInstruction<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<GenerationConfig<'a>>,
    contents: Vec<Content<'a>>,
}

#[derive(Serialize)]
struct SystemInstruction<'a> {
    parts: [Part<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tool<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclaration<'a> {
    name: &'a str,
    description: &'a str,
    /// The older field `parameters` accepts a dialect of OpenAPI instead of JSON Schema.
    parameters_json_schema: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a Value>,
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    #[serde(rename_all = "camelCase")]
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: FunctionCall<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    #[serde(rename_all = "camelCase")]
    Result {
        function_response: FunctionResponse<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Media {
        inline_data: InlineData<'a>,
    },
    Verbatim(&'a Value),
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: Cow<'a, Value>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: CallOutcome<'a>,
    /// The images and documents of the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'static str,
    data: &'a str,
}

/// The two keys that the API reference names for results.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum CallOutcome<'a> {
    Output(Cow<'a, str>),
    Error(Cow<'a, str>),
}

/// Returns the request as JSON, without messages.
///
/// # Errors
/// Errors of the serialiser. A conversation cannot cause them.
pub(super) fn write_request(
    request: &ModelRequest,
    settings: &RequestSettings<'_>,
) -> Result<Vec<u8>, serde_json::Error> {
    let function_declarations: Vec<_> = request.tools.iter().map(declaration).collect();
    let max_output_tokens = request.max_output_tokens.or(settings.max_output_tokens);
    let thinking_config = ThinkingConfig::new(settings);
    let response_json_schema = answer_schema(request, &settings.traits);
    let response_mime_type = response_json_schema.map(|_| "application/json");
    let config =
        GenerationConfig { max_output_tokens, thinking_config, response_mime_type, response_json_schema };
    let is_empty = max_output_tokens.is_none() && thinking_config.is_none() && response_json_schema.is_none();
    serde_json::to_vec(&Body {
        system_instruction: text_part(&request.system).map(|part| SystemInstruction { parts: [part] }),
        tools: match function_declarations.is_empty() {
            true => Vec::new(),
            false => vec![Tool { function_declarations }],
        },
        generation_config: (!is_empty).then_some(config),
        contents: Vec::new(),
    })
}

/// Appends messages to the list that `body` ends in. All of them belong to the stable prefix.
///
/// # Errors
/// Errors of the serialiser. A conversation cannot cause them.
pub(super) fn write_messages(
    messages: &[Arc<Message>],
    wire: &str,
    settings: &RequestSettings<'_>,
    body: &mut Vec<u8>,
) -> Result<StablePrefix, serde_json::Error> {
    let support = MediaSupport::new(settings);
    for message in messages {
        let (role, parts) = match message.as_ref() {
            Message::Update(_) => continue,
            Message::User(parts) | Message::Instructions(parts) => {
                ("user", shown_parts(parts, support).map(user_part).collect())
            }
            Message::Assistant(blocks) => ("model", answer_parts(blocks, wire, settings.traits)),
            Message::ToolResults(results) => ("user", result_parts(results, settings)),
        };
        if !parts.is_empty() {
            push_element(&Content { role, parts }, body)?;
        }
    }
    Ok(StablePrefix { messages: messages.len(), bytes: body.len() })
}

fn declaration(spec: &ToolSpec) -> FunctionDeclaration<'_> {
    FunctionDeclaration {
        name: &spec.name,
        description: &spec.description,
        parameters_json_schema: &spec.parameters,
    }
}

/// Returns a part with text; `None` for a blank text, which Vertex AI rejects.
fn text_part(text: &str) -> Option<Part<'_>> {
    (!text.trim().is_empty()).then_some(Part::Text { text: Cow::Borrowed(text), thought_signature: None })
}

/// Returns the parts of an answer, each signature at the part with which it came.
fn answer_parts<'a>(blocks: &'a [Block], wire: &str, traits: ModelTraits) -> Vec<Part<'a>> {
    let mut parts = Vec::with_capacity(blocks.len());
    let mut signature: Option<&str> = None;
    // The service signs the first call of an answer.
    let mut unsigned = traits.has(RequestRule::SignedCalls).then_some(FOREIGN_SIGNATURE);
    for block in blocks {
        let part = match block {
            Block::Opaque(original) if original.wire == wire => match signature_of_next(&original.raw) {
                Some(next) => {
                    parts.extend(signature_part(signature.replace(next)));
                    continue;
                }
                None => Part::Verbatim(&original.raw),
            },
            Block::Thinking { original: Some(original), .. } if original.wire == wire => {
                Part::Verbatim(&original.raw)
            }
            Block::Thinking { .. } | Block::Opaque(_) => continue,
            Block::Text(text) => match (text_part(text), signature.take()) {
                (Some(Part::Text { text, .. }), thought_signature) => Part::Text { text, thought_signature },
                (_, Some(signature)) => {
                    Part::Text { text: Cow::Borrowed(text), thought_signature: Some(signature) }
                }
                _ => continue,
            },
            Block::ToolCall(call) => {
                let foreign = unsigned.take();
                call_part(call, signature.take().or(foreign))
            }
        };
        parts.extend(signature_part(signature.take()));
        parts.push(part);
    }
    parts.extend(signature_part(signature));
    parts
}

/// Returns the signature in a block that has nothing else.
fn signature_of_next(raw: &Value) -> Option<&str> {
    let fields = raw.as_object().filter(|fields| fields.len() == 1)?;
    fields.get(SIGNATURE)?.as_str()
}

/// Returns a signature whose part is not in the conversation, as the service sends one: with an empty text.
fn signature_part(signature: Option<&str>) -> Option<Part<'_>> {
    signature.map(|signature| Part::Text { text: Cow::Borrowed(""), thought_signature: Some(signature) })
}

fn call_part<'a>(call: &'a ToolCall, thought_signature: Option<&'a str>) -> Part<'a> {
    let args = lenient_json::arguments_to_echo(&call.arguments);
    let function_call = FunctionCall { id: id_of_service(call.id.as_str()), name: &call.name, args };
    Part::Call { function_call, thought_signature }
}

/// Returns the results with their images and documents: inside the result for models that accept them there, else after the
/// results. Source: the guide "Function calling", "Multimodal function responses".
fn result_parts<'a>(results: &'a [ToolResult], settings: &RequestSettings<'_>) -> Vec<Part<'a>> {
    let support = MediaSupport::new(settings);
    let (mut parts, mut after) = (Vec::with_capacity(results.len()), Vec::new());
    for result in results {
        let mut media: Vec<_> = result_media(result, support).map(media_part).collect();
        if !settings.traits.has(RequestRule::MediaInResults) {
            after.append(&mut media);
        }
        let ToolResult { call_id, name, is_error, .. } = result;
        let text = result_text(result, support);
        let response = if *is_error { CallOutcome::Error(text) } else { CallOutcome::Output(text) };
        let id = id_of_service(call_id.as_str());
        parts.push(Part::Result { function_response: FunctionResponse { id, name, response, parts: media } });
    }
    parts.append(&mut after);
    parts
}

fn user_part(part: ShownPart<'_>) -> Part<'_> {
    match part {
        ShownPart::Text(text) => Part::Text { text, thought_signature: None },
        ShownPart::Media(media) => media_part(media),
    }
}

fn media_part(media: &Media) -> Part<'_> {
    Part::Media { inline_data: InlineData { mime_type: media.media_type.name(), data: &media.data } }
}

/// Returns the id of a call if a service gave it. Without ids the service pairs calls and results by name and order.
fn id_of_service(id: &str) -> Option<&str> {
    (!is_generated_id(id)).then_some(id)
}

/// Returns the schema that the service is to enforce. It supports a part of JSON Schema. The models before Gemini 3
/// reject a schema together with tools. Source: the guide "Structured outputs".
fn answer_schema<'a>(request: &'a ModelRequest, traits: &ModelTraits) -> Option<&'a Value> {
    let allows_tools = traits.schema == Some(SchemaForm::JsonSchema);
    let is_allowed = traits.schema != Some(SchemaForm::Prompt);
    let schema = request.answer_schema.as_ref()?.document();
    let is_supported = is_allowed
        && (allows_tools || request.tools.is_empty())
        && has_only_keywords(schema, &SCHEMA_KEYWORDS);
    is_supported.then_some(schema)
}
