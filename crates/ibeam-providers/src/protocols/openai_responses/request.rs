//! Responses requests.
//!
//! Pure. While the conversation grows, the bytes before the newest message stay the same, as the automatic caches of the
//! services require.

use std::borrow::Cow;
use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Message, RequestUpdate, ToolCall, ToolResult, ToolSpec};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::super::chat_form::result_or_error_text;
use super::super::media_parts::{DataUrl, MediaSupport, ShownPart, file_name, result_media, shown_parts};
use crate::answer_format::AnswerFormat;
use crate::cache_marker::CacheMarker;
use crate::call_id::CallIdForm;
use crate::lenient_json;
use crate::model_traits::InstructionRole;
use crate::reasoning::Effort;
use crate::request_rules::RequestRule;
use crate::wire_protocol::{RequestSettings, StablePrefix, push_element};

/// The name of the protocol in configuration files and in recorded items.
pub(super) const NAME: &str = "openai-responses";

/// The ids of calls that the service accepts. Source: its error "string too long. Expected a string with maximum length 64".
const CALL_IDS: CallIdForm = CallIdForm::UpTo(64);

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    /// Whether the service stores the conversation. It does not have to: every request has the whole conversation.
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'a [&'a str],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextOptions<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    /// The system prompt, for models that accept it here: `instructions` cannot have a cache breakpoint.
    input: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct ReasoningOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<Effort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

impl ReasoningOptions {
    /// Returns the options; `None` if there is nothing to ask for.
    fn new(request: &ModelRequest, settings: &RequestSettings<'_>) -> Option<Self> {
        // Later levels are in the input, so that the request begins as before.
        let effort = match request.effort.as_deref() {
            Some(first) => Effort::from_name(first).map(|level| settings.traits.thinking.nearest(level)),
            None => settings.reasoning.level(),
        };
        let is_read = settings.traits.has(RequestRule::OmittedThinking) && effort != Some(Effort::None);
        let summary = is_read.then_some("auto");
        (effort.is_some() || summary.is_some()).then_some(Self { effort, summary })
    }
}

#[derive(Serialize)]
struct TextOptions<'a> {
    format: TextFormat<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "json_schema")]
struct TextFormat<'a> {
    #[serde(flatten)]
    format: AnswerFormat<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    /// Whether the service enforces the schema. If it does, it rejects schemas with optional properties.
    strict: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: Role,
        content: Content<'a>,
        #[serde(flatten)]
        attributes: Attributes<'a>,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: &'a str,
        arguments: String,
        #[serde(flatten)]
        attributes: Attributes<'a>,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Output<'a>,
    },
    AdditionalTools {
        role: Role,
        tools: Vec<Tool<'a>>,
    },
    ConfigurationUpdate {
        reasoning: EffortUpdate,
    },
}

#[derive(Serialize)]
struct EffortUpdate {
    effort: Effort,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    Developer,
    User,
    Assistant,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Parts(Vec<InputPart<'a>>),
    /// The only form of an earlier answer that every service accepts without the ids of its items.
    Text(&'a str),
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum InputPart<'a> {
    #[serde(rename = "input_text")]
    Text {
        text: Cow<'a, str>,
        #[serde(flatten)]
        marker: Option<CacheMarker>,
    },
    #[serde(rename = "input_image")]
    Image {
        image_url: DataUrl<'a>,
        /// Some services require the key.
        detail: &'static str,
    },
    #[serde(rename = "input_file")]
    File { filename: &'a str, file_data: DataUrl<'a> },
}

/// The fields that an opaque block adds to the item that follows it.
#[derive(Clone, Copy, Default)]
struct Attributes<'a>(Option<&'a Map<String, Value>>);

impl Serialize for Attributes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.0.into_iter().flatten();
        serializer.collect_map(fields.filter(|(name, _)| *name != "type"))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<InputPart<'a>>),
}

/// Returns the request as JSON, without input.
///
/// # Errors
/// Errors of the serialiser. A conversation cannot cause them.
pub(super) fn write_request(
    request: &ModelRequest,
    settings: &RequestSettings<'_>,
) -> Result<Vec<u8>, serde_json::Error> {
    // A model without reasoning rejects a request for it.
    let may_reason = settings.traits.reasons != Some(false);
    let include: &[&str] = if may_reason { &["reasoning.encrypted_content"] } else { &[] };
    let marker = CacheMarker::fixed(settings);
    // Newer models append `instructions` to the input, so that they are not in the part that is cached.
    let is_accepted = marker.is_some() || settings.traits.has(RequestRule::DeveloperPrompt);
    let is_message = is_accepted && !request.system.is_empty();
    let system: Vec<_> = is_message.then(|| system_message(&request.system, marker)).into_iter().collect();
    serde_json::to_vec(&Body {
        model: settings.model,
        stream: true,
        store: false,
        include,
        max_output_tokens: request.max_output_tokens.or(settings.max_output_tokens),
        text: AnswerFormat::new(request, settings.quirks)
            .map(|format| TextOptions { format: TextFormat { format } }),
        prompt_cache_key: settings.prompt_cache_key(),
        reasoning: ReasoningOptions::new(request, settings),
        instructions: if system.is_empty() { &request.system } else { "" },
        tools: request.tools.iter().map(tool).collect(),
        input: system,
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
    let (support, ids) = (MediaSupport::new(settings), settings.call_ids(CALL_IDS));
    // Breakpoints stay where they are: the service considers the latest 80 of them.
    let user_marker = CacheMarker::fixed(settings);
    let has_developer_role = settings.traits.instruction_role == Some(InstructionRole::Developer);
    for message in messages {
        match message.as_ref() {
            Message::Instructions(parts) if has_developer_role => {
                let parts: Vec<_> = shown_parts(parts, support).map(input_part).collect();
                if !parts.is_empty() {
                    push_element(&developer_message(parts), body)?;
                }
            }
            Message::User(parts) | Message::Instructions(parts) => {
                let mut parts: Vec<_> = shown_parts(parts, support).map(input_part).collect();
                if let Some(InputPart::Text { marker, .. }) = parts.last_mut() {
                    *marker = user_marker;
                }
                if !parts.is_empty() {
                    let (content, attributes) = (Content::Parts(parts), Attributes::default());
                    push_element(&Item::Message { role: Role::User, content, attributes }, body)?;
                }
            }
            Message::Update(RequestUpdate { tools, effort }) => {
                if !tools.is_empty() {
                    let tools = tools.iter().map(tool).collect();
                    push_element(&Item::AdditionalTools { role: Role::Developer, tools }, body)?;
                }
                let effort = effort.as_deref().and_then(|level| later_effort(level, settings));
                if let Some(effort) = effort {
                    push_element(&Item::ConfigurationUpdate { reasoning: EffortUpdate { effort } }, body)?;
                }
            }
            Message::Assistant(blocks) => write_answer(blocks, ids, body)?,
            Message::ToolResults(results) => {
                for result in results {
                    let output = output(result, support);
                    let call_id = ids.accepted(result.call_id.as_str());
                    push_element(&Item::FunctionCallOutput { call_id, output }, body)?;
                }
            }
        }
    }
    Ok(StablePrefix { messages: messages.len(), bytes: body.len() })
}

/// Returns the level of reasoning that a message sets; `None` if the default of the model is meant and not known.
fn later_effort(level: &str, settings: &RequestSettings<'_>) -> Option<Effort> {
    let thinking = &settings.traits.thinking;
    Effort::from_name(level).map(|level| thinking.nearest(level)).or(thinking.default)
}

/// Returns the system prompt as a message, with a breakpoint at its end if the service accepts one.
fn system_message(text: &str, marker: Option<CacheMarker>) -> Item<'_> {
    developer_message(vec![InputPart::Text { text: text.into(), marker }])
}

fn developer_message(parts: Vec<InputPart<'_>>) -> Item<'_> {
    Item::Message { role: Role::Developer, content: Content::Parts(parts), attributes: Attributes::default() }
}

/// Appends the items of an answer.
fn write_answer(blocks: &[Block], ids: CallIdForm, body: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    // The service rejects reasoning without the item to which it led.
    let last = blocks.iter().rposition(|block| !matches!(block, Block::Thinking { .. }));
    let mut attributes = Attributes::default();
    for block in blocks.iter().take(last.map_or(0, |last| last + 1)) {
        match block {
            Block::Text(text) if text.is_empty() => {}
            Block::Text(text) => {
                let (role, content) = (Role::Assistant, Content::Text(text));
                let attributes = std::mem::take(&mut attributes).for_type("message");
                push_element(&Item::Message { role, content, attributes }, body)?;
            }
            Block::ToolCall(call) => {
                let attributes = std::mem::take(&mut attributes).for_type("function_call");
                push_element(&function_call(call, ids, attributes), body)?;
            }
            Block::Thinking { original: Some(original), .. } | Block::Opaque(original)
                if original.wire == NAME =>
            {
                match original.raw.as_object().filter(|raw| is_attributes(raw)) {
                    Some(fields) => attributes = Attributes(Some(fields)),
                    None => push_element(&original.raw, body)?,
                }
            }
            // The reasoning of other APIs is not accepted by this one.
            Block::Thinking { .. } | Block::Opaque(_) => {}
        }
    }
    Ok(())
}

impl Attributes<'_> {
    /// Returns the attributes if they belong to an item of this type, else none.
    fn for_type(self, r#type: &str) -> Self {
        Self(self.0.filter(|fields| fields.get("type").and_then(Value::as_str) == Some(r#type)))
    }
}

/// Whether an opaque block has only attributes of the item that follows it.
fn is_attributes(fields: &Map<String, Value>) -> bool {
    matches!(fields.get("type").and_then(Value::as_str), Some("message" | "function_call"))
}

fn input_part(part: ShownPart<'_>) -> InputPart<'_> {
    match part {
        ShownPart::Text(text) => InputPart::Text { text, marker: None },
        ShownPart::Media(media) if media.media_type.is_image() => {
            InputPart::Image { image_url: DataUrl(media), detail: "auto" }
        }
        ShownPart::Media(media) => InputPart::File { filename: file_name(media), file_data: DataUrl(media) },
    }
}

/// Returns the result of a call: a text, or parts if there are images or documents.
fn output<'a>(result: &'a ToolResult, support: MediaSupport) -> Output<'a> {
    let text = result_or_error_text(result, support);
    let mut media = result_media(result, support).map(ShownPart::Media).peekable();
    if media.peek().is_none() {
        return Output::Text(text);
    }
    Output::Parts(std::iter::once(ShownPart::Text(text)).chain(media).map(input_part).collect())
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool { name: &spec.name, description: &spec.description, parameters: &spec.parameters, strict: false }
}

fn function_call<'a>(call: &'a ToolCall, ids: CallIdForm, attributes: Attributes<'a>) -> Item<'a> {
    let arguments = lenient_json::arguments_to_echo(&call.arguments).to_string();
    let call_id = ids.accepted(call.id.as_str());
    Item::FunctionCall { call_id, name: &call.name, arguments, attributes }
}
