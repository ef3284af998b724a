//! A conversation as a Messages request.
//!
//! Pure. As the conversation grows the bytes before the newest message stay the same but for the cache
//! breakpoint, which moves to the last user block; so the provider's cache is hit.

use std::borrow::Cow;
use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Message, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use crate::body::Settled;
use crate::lenient;
use crate::wire::{RequestSettings, Wire, push};

/// The wire demands a limit; this one every model accepts.
const FALLBACK_MAX_TOKENS: u32 = 8192;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<WireMessage<'a>>,
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
}

#[derive(Serialize)]
struct WireMessage<'a> {
    /// The first of the messages that it was made of.
    #[serde(skip)]
    begins: usize,
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
    Known(Known<'a>),
    Verbatim(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Known<'a> {
    Text {
        text: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Cow<'a, Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// The request as JSON bytes, without messages.
///
/// # Errors
/// The serializer's; none that a conversation can cause.
pub(crate) fn body(
    request: &ModelRequest,
    settings: &RequestSettings<'_>,
) -> Result<Vec<u8>, serde_json::Error> {
    let mut system: Vec<_> = text(&request.system).into_iter().collect();
    mark(system.last_mut().map(|content| &mut content.cache_control));
    let mut tools: Vec<_> = request.tools.iter().map(tool).collect();
    mark(tools.last_mut().map(|tool| &mut tool.cache_control));
    serde_json::to_vec(&Body {
        model: settings.model,
        max_tokens: request.max_output_tokens.or(settings.max_output_tokens).unwrap_or(FALLBACK_MAX_TOKENS),
        stream: true,
        system,
        tools,
        messages: Vec::new(),
    })
}

/// Appends messages to the list that `body` ends in. Those from the last of the user on may change, for its breakpoint
/// moves and others may join it.
///
/// # Errors
/// As [`body`].
pub(crate) fn write(said: &[Arc<Message>], body: &mut Vec<u8>) -> Result<Settled, serde_json::Error> {
    let mut messages = messages(said);
    let last_user = messages.iter().rposition(|message| message.role == Role::User);
    let last = last_user.and_then(|index| messages.get_mut(index)).and_then(|user| user.content.last_mut());
    mark(last.map(|content| &mut content.cache_control));
    let mut settled = Settled { messages: 0, bytes: body.len() };
    for (index, message) in messages.iter().enumerate() {
        if Some(index) == last_user {
            settled = Settled { messages: message.begins, bytes: body.len() };
        }
        push(message, body)?;
    }
    Ok(settled)
}

/// Puts a cache breakpoint: everything up to there may be served from the provider's cache.
fn mark(place: Option<&mut Option<CacheControl>>) {
    if let Some(place) = place {
        *place = Some(CacheControl {});
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

/// Roles must alternate on this wire, so neighbours of one role become one message.
fn messages(said: &[Arc<Message>]) -> Vec<WireMessage<'_>> {
    let mut messages: Vec<WireMessage<'_>> = Vec::new();
    for (begins, message) in said.iter().enumerate() {
        let (role, content) = match message.as_ref() {
            Message::User(parts) => (Role::User, parts.iter().filter_map(|part| text(part)).collect()),
            Message::Assistant(blocks) => (Role::Assistant, blocks.iter().filter_map(block).collect()),
            Message::ToolResults(results) => {
                let results = results.iter().map(|result| Known::ToolResult {
                    tool_use_id: accepted_id(result.call_id.as_str()),
                    content: &result.text,
                    is_error: result.is_error,
                });
                (Role::User, results.map(known).collect::<Vec<_>>())
            }
        };
        match messages.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(content),
            Some(_) | None => messages.push(WireMessage { begins, role, content }),
        }
    }
    messages
}

fn known(kind: Known<'_>) -> Content<'_> {
    Content { kind: ContentKind::Known(kind), cache_control: None }
}

/// A text block; the service rejects blank ones.
fn text(text: &str) -> Option<Content<'_>> {
    (!text.trim().is_empty()).then(|| known(Known::Text { text }))
}

fn block(block: &Block) -> Option<Content<'_>> {
    match block {
        Block::Text(said) => text(said),
        Block::Thinking { provenance: Some(provenance), .. } if provenance.wire == Wire::Anthropic.name() => {
            Some(Content { kind: ContentKind::Verbatim(&provenance.raw), cache_control: None })
        }
        // Another wire's thinking has no signature this one would accept.
        Block::Thinking { .. } => None,
        Block::ToolCall(call) => Some(known(Known::ToolUse {
            id: accepted_id(call.id.as_str()),
            name: &call.name,
            input: lenient::arguments_to_echo(&call.arguments),
        })),
    }
}

/// The service accepts letters, digits, `_` and `-` in ids; those of other services may hold more.
fn accepted_id(id: &str) -> Cow<'_, str> {
    let accepted = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.chars().all(accepted) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("call_{}", id.replace(|c| !accepted(c), "_")))
}
