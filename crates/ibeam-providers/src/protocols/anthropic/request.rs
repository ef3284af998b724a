//! Messages requests.
//!
//! Pure. While the conversation grows, the bytes before the newest message stay the same, so that the cache of the service
//! is used. Only two cache breakpoints move: they are at the ends of the last two user messages. A service looks only at
//! about 20 blocks before a breakpoint for an earlier one, and a turn with many parallel calls has more blocks, so the
//! breakpoint of the previous request stays for one more request.

use std::borrow::Cow;
use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Message, RequestUpdate, ToolResult, ToolSpec, UserPart};
use serde::Serialize;
use serde_json::Value;

use super::super::media_parts::{MediaSupport, ShownPart, file_name, result_media, result_text, shown_parts};
use super::super::messages_thinking::MessagesThinking;
use crate::answer_format::messages_schema;
use crate::call_id::CallIdForm;
use crate::lenient_json;
use crate::model_traits::InstructionRole;
use crate::reasoning::Effort;
use crate::wire_protocol::{RequestSettings, StablePrefix, push_element};

/// The name of the protocol in configuration files and in recorded thinking blocks.
///
/// The services that offer Claude share it, because a signature of one is valid at all of them.
pub(super) const NAME: &str = "anthropic";

/// The ids of calls that the service accepts. Source: its error "String should match pattern '^[a-zA-Z0-9_-]+$'"; the clouds that
/// offer Claude limit the length too.
const CALL_IDS: CallIdForm = CallIdForm::Word;

/// The API requires a limit. Every model accepts this one.
const FALLBACK_MAX_TOKENS: u32 = 8192;

/// The beta version in which a message can define a tool. Source: `BetaRequestToolAdditionBlockParam` of the package anthropic
/// 2.14.0 (2026-11-29).
const ADDED_TOOLS_BETA: &str = "inline-tools-2026-09-15";

/// The number of breakpoints that move. The API accepts four: those of the system prompt and the tools are fixed.
pub(in crate::protocols) const MOVING_BREAKPOINTS: usize = 2;

/// The parts of a request in which the services that offer Claude differ.
#[derive(Clone, Copy, Debug)]
pub(in crate::protocols) struct Envelope {
    /// The version of the API, for services that expect it in the body and the model in the URL.
    pub(in crate::protocols) anthropic_version: Option<&'static str>,
    /// Whether the service accepts the key `stream`.
    pub(in crate::protocols) accepts_stream: bool,
    /// Whether the service accepts cache breakpoints.
    pub(in crate::protocols) accepts_breakpoints: bool,
    /// Whether beta versions are in the body instead of a header.
    pub(in crate::protocols) has_beta_in_body: bool,
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    anthropic_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    max_tokens: u32,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    anthropic_beta: &'a [&'a str],
    #[serde(flatten)]
    thinking: MessagesThinking,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<Effort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<OutputFormat<'a>>,
}

/// The form of the answer.
#[derive(Serialize)]
#[serde(tag = "type", rename = "json_schema")]
struct OutputFormat<'a> {
    schema: &'a Value,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
    System,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    /// The index of the first message of the conversation that is part of this one, or that follows it in the request but
    /// not in the conversation.
    #[serde(skip)]
    first_index: usize,
    role: Role,
    content: Vec<Content<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "ephemeral")]
struct CacheControl {}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(flatten)]
    kind: ContentKind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ContentKind<'a> {
    Known(KnownContent<'a>),
    Verbatim(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum KnownContent<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        citations: Option<&'a Value>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Cow<'a, Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        caller: Option<&'a Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
        title: &'a str,
    },
    ToolAddition {
        tool: ToolDefinition<'a>,
    },
}

/// A tool that a message defines.
#[derive(Serialize)]
#[serde(tag = "type", rename = "tool_definition")]
struct ToolDefinition<'a> {
    definition: Tool<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "base64")]
struct Source<'a> {
    media_type: &'static str,
    data: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<KnownContent<'a>>),
}

/// Returns the request as JSON, without messages.
///
/// # Errors
/// Errors of the serialiser. A conversation cannot cause them.
pub(in crate::protocols) fn write_request(
    request: &ModelRequest,
    settings: &RequestSettings<'_>,
    envelope: Envelope,
) -> Result<Vec<u8>, serde_json::Error> {
    let mut system: Vec<_> = text_block(&request.system, None).into_iter().collect();
    let mut tools: Vec<_> = request.tools.iter().map(tool).collect();
    if envelope.accepts_breakpoints {
        set_breakpoint(system.last_mut().map(|content| &mut content.cache_control));
        set_breakpoint(tools.last_mut().map(|tool| &mut tool.cache_control));
    }
    let max_tokens = request.max_output_tokens.or(settings.max_output_tokens).unwrap_or(FALLBACK_MAX_TOKENS);
    let thinking = MessagesThinking::new(settings.reasoning, &settings.traits, max_tokens);
    let beta = thinking.beta(&settings.traits).filter(|_| envelope.has_beta_in_body);
    let format = request.answer_schema.as_deref().and_then(|schema| messages_schema(schema, settings));
    let effort = thinking.effort;
    serde_json::to_vec(&Body {
        anthropic_version: envelope.anthropic_version,
        model: envelope.anthropic_version.is_none().then_some(settings.model),
        max_tokens,
        stream: envelope.accepts_stream,
        anthropic_beta: beta.as_slice(),
        thinking,
        output_config: (effort.is_some() || format.is_some())
            .then_some(OutputConfig { effort, format: format.map(|schema| OutputFormat { schema }) }),
        system,
        tools,
        messages: Vec::new(),
    })
}

/// Returns the header with the beta versions that a request needs.
pub(in crate::protocols) fn beta_header(
    request: Option<&ModelRequest>,
    settings: &RequestSettings<'_>,
) -> Option<(&'static str, String)> {
    let max_tokens = settings.max_output_tokens.unwrap_or(FALLBACK_MAX_TOKENS);
    let thinking = MessagesThinking::new(settings.reasoning, &settings.traits, max_tokens);
    let adds_tools = |request: &ModelRequest| {
        request
            .messages
            .iter()
            .any(|message| matches!(message.as_ref(), Message::Update(update) if !update.tools.is_empty()))
    };
    let added_tools = request.is_some_and(adds_tools).then_some(ADDED_TOOLS_BETA);
    let versions: Vec<_> = thinking.beta(&settings.traits).into_iter().chain(added_tools).collect();
    (!versions.is_empty()).then(|| ("anthropic-beta", versions.join(",")))
}

/// Appends messages to the list that `body` ends in. The stable prefix ends before the first message with a breakpoint
/// that moves. Later messages may be merged into the last user message.
///
/// # Errors
/// Errors of the serialiser. A conversation cannot cause them.
pub(in crate::protocols) fn write_messages(
    conversation: &[Arc<Message>],
    envelope: Envelope,
    settings: &RequestSettings<'_>,
    body: &mut Vec<u8>,
) -> Result<StablePrefix, serde_json::Error> {
    let has_system_role = settings.traits.instruction_role == Some(InstructionRole::System);
    let mut messages = wire_messages(conversation, MediaSupport::new(settings), has_system_role);
    let mut first_marked = None;
    let users = messages.iter_mut().enumerate().rev().filter(|(_, message)| message.role == Role::User);
    for (index, user) in users.take(if envelope.accepts_breakpoints { MOVING_BREAKPOINTS } else { 1 }) {
        first_marked = Some(index);
        if envelope.accepts_breakpoints {
            set_breakpoint(user.content.last_mut().map(|content| &mut content.cache_control));
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

/// Sets a cache breakpoint: the service may serve everything up to there from its cache.
fn set_breakpoint(field: Option<&mut Option<CacheControl>>) {
    if let Some(field) = field {
        *field = Some(CacheControl {});
    }
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        name: &spec.name,
        description: &spec.description,
        input_schema: &spec.parameters,
        cache_control: None,
    }
}

/// Converts the conversation. Roles must alternate in this API, so consecutive messages of one role are merged.
///
/// Instructions come after the message of the user next to them: a message with the role `system` is accepted only
/// between a message of the user and an answer. Without such a message, and for models without the role, they are a text
/// of the user.
fn wire_messages<'a>(
    conversation: &'a [Arc<Message>],
    support: MediaSupport,
    has_system_role: bool,
) -> Vec<WireMessage<'a>> {
    let mut messages: Vec<WireMessage<'_>> = Vec::new();
    let mut waiting: Option<WireMessage<'_>> = None;
    for (first_index, message) in conversation.iter().enumerate() {
        let (role, content) = match message.as_ref() {
            Message::User(parts) => (Role::User, user_content(parts, support)),
            Message::Instructions(parts) if has_system_role => {
                add_to_waiting(&mut waiting, first_index, user_content(parts, support));
                continue;
            }
            Message::Update(RequestUpdate { tools, effort: _ }) => {
                let added =
                    |spec| KnownContent::ToolAddition { tool: ToolDefinition { definition: tool(spec) } };
                add_to_waiting(
                    &mut waiting,
                    first_index,
                    tools.iter().map(added).map(known_content).collect(),
                );
                continue;
            }
            Message::Instructions(parts) => (Role::User, user_content(parts, support)),
            Message::Assistant(blocks) => (Role::Assistant, assistant_content(blocks)),
            Message::ToolResults(results) => {
                let results = results.iter().map(|result| KnownContent::ToolResult {
                    tool_use_id: CALL_IDS.accepted(result.call_id.as_str()),
                    content: result_content(result, support),
                    is_error: result.is_error,
                });
                (Role::User, results.map(known_content).collect::<Vec<_>>())
            }
        };
        if content.is_empty() {
            continue;
        }
        if role == Role::Assistant {
            push_instructions(&mut messages, waiting.take());
        }
        match messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            Some(_) | None => {
                let first_index = waiting.as_ref().map_or(first_index, |waiting| waiting.first_index);
                messages.push(WireMessage { first_index, role, content });
            }
        }
    }
    push_instructions(&mut messages, waiting);
    messages
}

/// Adds content to the message with the role `system` that waits for its place.
fn add_to_waiting<'a>(waiting: &mut Option<WireMessage<'a>>, first_index: usize, content: Vec<Content<'a>>) {
    match waiting {
        _ if content.is_empty() => {}
        Some(waiting) => waiting.content.extend(content),
        None => *waiting = Some(WireMessage { first_index, role: Role::System, content }),
    }
}

/// Adds a message with the role `system`, or a message of the user where the service would refuse that role.
fn push_instructions<'a>(messages: &mut Vec<WireMessage<'a>>, instructions: Option<WireMessage<'a>>) {
    let Some(instructions) = instructions else { return };
    let follows_user = messages.last().is_some_and(|last| last.role == Role::User);
    let adds_tools = instructions
        .content
        .iter()
        .any(|content| matches!(content.kind, ContentKind::Known(KnownContent::ToolAddition { .. })));
    let role = if follows_user || adds_tools { Role::System } else { Role::User };
    messages.push(WireMessage { role, ..instructions });
}

fn user_content(parts: &[UserPart], support: MediaSupport) -> Vec<Content<'_>> {
    shown_parts(parts, support).map(|part| known_content(user_block(part))).collect()
}

fn known_content(kind: KnownContent<'_>) -> Content<'_> {
    Content { kind: ContentKind::Known(kind), cache_control: None }
}

/// Returns a text block; `None` for a blank text, which the service rejects.
fn text_block<'a>(text: &'a str, citations: Option<&'a Value>) -> Option<Content<'a>> {
    (!text.trim().is_empty())
        .then(|| known_content(KnownContent::Text { text: Cow::Borrowed(text), citations }))
}

fn user_block(part: ShownPart<'_>) -> KnownContent<'_> {
    match part {
        ShownPart::Text(text) => KnownContent::Text { text, citations: None },
        ShownPart::Media(media) => {
            let source = Source { media_type: media.media_type.name(), data: &media.data };
            match media.media_type.is_image() {
                true => KnownContent::Image { source },
                false => KnownContent::Document { source, title: file_name(media) },
            }
        }
    }
}

/// Returns the content of a result: a text, or blocks if there are images or documents.
fn result_content<'a>(result: &'a ToolResult, support: MediaSupport) -> ResultContent<'a> {
    let text = result_text(result, support);
    let mut media = result_media(result, support).map(ShownPart::Media).peekable();
    if media.peek().is_none() {
        return ResultContent::Text(text);
    }
    let text = (!text.trim().is_empty()).then_some(ShownPart::Text(text));
    ResultContent::Blocks(text.into_iter().chain(media).map(user_block).collect())
}

fn assistant_content(blocks: &[Block]) -> Vec<Content<'_>> {
    let mut content = Vec::with_capacity(blocks.len());
    let mut fields = None;
    for block in blocks {
        let fields_before = fields.take();
        match block {
            Block::Opaque(original) if original.wire == NAME && belongs_to_next_block(&original.raw) => {
                fields = Some(&original.raw);
            }
            block => content.extend(block_content(block, fields_before)),
        }
    }
    content
}

/// Whether `raw` is not a block, but holds fields of the block that follows.
fn belongs_to_next_block(raw: &Value) -> bool {
    raw.get("type").is_some_and(|kind| kind == "text" || kind == "tool_use")
}

/// `fields` holds further fields, if they belong to a block of the same type.
fn block_content<'a>(block: &'a Block, fields: Option<&'a Value>) -> Option<Content<'a>> {
    match block {
        Block::Text(text) => text_block(text, fields.and_then(|fields| fields.get("citations"))),
        Block::Thinking { original: Some(original), .. } | Block::Opaque(original)
            if original.wire == NAME =>
        {
            Some(Content { kind: ContentKind::Verbatim(&original.raw), cache_control: None })
        }
        // The thinking of other APIs has no signature that this one accepts.
        Block::Thinking { .. } | Block::Opaque(_) => None,
        Block::ToolCall(call) => Some(known_content(KnownContent::ToolUse {
            id: CALL_IDS.accepted(call.id.as_str()),
            name: &call.name,
            input: lenient_json::arguments_to_echo(&call.arguments),
            caller: fields.and_then(|fields| fields.get("caller")),
        })),
    }
}
