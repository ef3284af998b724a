//! Chat Completions requests.
//!
//! Pure. While the conversation grows, the bytes before the newest message stay the same, as the automatic caches of the
//! services require. Only explicit cache breakpoints may move.

use std::borrow::Cow;
use std::sync::Arc;

use ibeam_core::ModelRequest;
use ibeam_protocol::{Block, Message};
use serde::Serialize;
use serde_json::Value;

use super::super::chat_form::{self, UserContent, WireCall};
use super::super::media_parts::{MediaSupport, result_text, text_and_media};
use super::reasoning_details::REASONING_DETAILS;
use crate::answer_format::AnswerFormat;
use crate::cache_marker::CacheMarker;
use crate::call_id::CallIdForm;
use crate::model_thinking::ThinkingForm;
use crate::model_traits::InstructionRole;
use crate::reasoning::Effort;
use crate::request_rules::RequestRule;
use crate::wire_protocol::{MaxTokensField, ReasoningForm, RequestSettings, StablePrefix, push_element};

/// The name of the protocol in configuration files and in recorded thinking blocks.
pub(super) const NAME: &str = "openai";

/// The ids of calls that the service accepts. Source: its error "string too long. Expected a string with maximum length 40".
const CALL_IDS: CallIdForm = CallIdForm::UpTo(40);

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
    prompt_cache_key: Option<&'a str>,
    #[serde(flatten)]
    reasoning: ReasoningFields,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<chat_form::Tool<'a>>,
    /// Whether the arguments of calls arrive in pieces.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tool_stream: bool,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "json_schema")]
struct ResponseFormat<'a> {
    json_schema: AnswerFormat<'a>,
}

/// The keys that ask for reasoning.
#[derive(Default, Serialize)]
struct ReasoningFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<Effort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingSwitch>,
}

/// One of the keys; the service rejects several together.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum ReasoningObject {
    Effort(Effort),
    MaxTokens(u32),
    Enabled(bool),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ThinkingSwitch {
    Enabled {
        /// Whether the service leaves out the reasoning of earlier answers.
        #[serde(skip_serializing_if = "Option::is_none")]
        clear_thinking: Option<bool>,
    },
    Disabled,
}

impl ReasoningFields {
    /// Returns the keys in the form of the model, else in that of the service.
    fn new(settings: &RequestSettings<'_>) -> Self {
        let thinking = settings.traits.thinking;
        let Some(level) = settings.reasoning.level() else { return Self::default() };
        // A model without levels only switches its reasoning on and off.
        let effort = Some(level).filter(|_| thinking.levels.is_none_or(|levels| !levels.is_empty()));
        let form = thinking.form.unwrap_or(ThinkingForm::Levels);
        match form {
            ThinkingForm::None => Self::default(),
            ThinkingForm::Switch => Self::switch(level, effort, None),
            ThinkingForm::Zai => Self::switch(level, effort, Some(false)),
            ThinkingForm::Together => {
                let is_enabled = level != Effort::None;
                Self {
                    reasoning: Some(ReasoningObject::Enabled(is_enabled)),
                    reasoning_effort: effort.filter(|_| is_enabled),
                    thinking: None,
                }
            }
            ThinkingForm::Adaptive
            | ThinkingForm::Budget
            | ThinkingForm::Levels
            | ThinkingForm::Object
            | ThinkingForm::Nova => match settings.quirks.reasoning_form {
                ReasoningForm::Object => Self::object(settings, level),
                ReasoningForm::Switch if thinking.form.is_none() => Self::switch(level, effort, None),
                ReasoningForm::Effort | ReasoningForm::Switch => {
                    let effort = effort.or((level == Effort::None).then_some(level));
                    Self { reasoning_effort: effort, ..Self::default() }
                }
            },
        }
    }

    /// Returns the keys of a model with a switch, and with levels if `effort` is one. `clear` is whether the service leaves
    /// out the reasoning of earlier answers, if it can do that.
    fn switch(level: Effort, effort: Option<Effort>, clear: Option<bool>) -> Self {
        match level {
            Effort::None => Self { thinking: Some(ThinkingSwitch::Disabled), ..Self::default() },
            Effort::Minimal | Effort::Low | Effort::Medium | Effort::High | Effort::XHigh | Effort::Max => {
                Self {
                    thinking: Some(ThinkingSwitch::Enabled { clear_thinking: clear }),
                    reasoning_effort: effort,
                    reasoning: None,
                }
            }
        }
    }

    fn object(settings: &RequestSettings<'_>, level: Effort) -> Self {
        let object = match settings.reasoning.budget {
            Some(tokens) if level != Effort::None => ReasoningObject::MaxTokens(tokens),
            // Every model of the service has this highest level; some have a higher one.
            Some(_) | None if settings.traits.thinking.levels.is_none() => {
                ReasoningObject::Effort(level.min(Effort::XHigh))
            }
            Some(_) | None => ReasoningObject::Effort(level),
        };
        Self { reasoning: Some(object), ..Self::default() }
    }
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: Text<'a>,
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
        reasoning_details: Vec<&'a Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: Cow<'a, str>,
        content: Text<'a>,
    },
}

/// The text of a system prompt or of a result.
#[derive(Serialize)]
#[serde(untagged)]
enum Text<'a> {
    Plain(Cow<'a, str>),
    /// The form that can have a cache breakpoint.
    Parts([TextPart<'a>; 1]),
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "text")]
struct TextPart<'a> {
    text: Cow<'a, str>,
    #[serde(flatten)]
    marker: Option<CacheMarker>,
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
    let marker = CacheMarker::new(settings);
    let system = (!request.system.is_empty())
        .then(|| WireMessage::System { content: text((&*request.system).into(), marker, true) });
    serde_json::to_vec(&Body {
        model: settings.model,
        stream: true,
        // A service with a header for the key gets it there.
        prompt_cache_key: settings.prompt_cache_key().filter(|_| settings.quirks.cache_key_header.is_none()),
        reasoning: ReasoningFields::new(settings),
        stream_options: settings.quirks.stream_usage.then_some(StreamOptions { include_usage: true }),
        max_tokens,
        max_completion_tokens,
        response_format: AnswerFormat::new(request, settings.quirks)
            .map(|json_schema| ResponseFormat { json_schema }),
        tools: chat_form::tools(request),
        tool_stream: settings.traits.has(RequestRule::ToolStream) && !request.tools.is_empty(),
        messages: system.into_iter().collect(),
    })
}

/// Appends messages to the list that `body` ends in. The stable prefix ends before the first message with a breakpoint
/// that moves.
///
/// # Errors
/// Errors of the serialiser. A conversation cannot cause them.
pub(super) fn write_messages(
    messages: &[Arc<Message>],
    settings: &RequestSettings<'_>,
    body: &mut Vec<u8>,
) -> Result<StablePrefix, serde_json::Error> {
    let support = MediaSupport::new(settings);
    let marker = CacheMarker::new(settings);
    let first_moving = marker.and_then(|marker| marker.first_moving(messages));
    let mut stable = StablePrefix { messages: messages.len(), bytes: 0 };
    for (index, message) in messages.iter().enumerate() {
        if first_moving == Some(index) {
            stable = StablePrefix { messages: index, bytes: body.len() };
        }
        let is_marked = marker.is_some_and(|marker| marker.is_set(message, index, first_moving));
        for wire_message in wire_messages(message, settings, support, (marker, is_marked)) {
            push_element(&wire_message, body)?;
        }
    }
    if first_moving.is_none() {
        stable.bytes = body.len();
    }
    Ok(stable)
}

/// Returns the text of a message. Its form depends on the service only, so that it stays the same when a breakpoint
/// moves. A blank text has no breakpoint: the service rejects it.
fn text(text: Cow<'_, str>, marker: Option<CacheMarker>, is_marked: bool) -> Text<'_> {
    match marker {
        None => Text::Plain(text),
        Some(marker) => {
            let marker = (is_marked && !text.trim().is_empty()).then_some(marker);
            Text::Parts([TextPart { text, marker }])
        }
    }
}

/// Returns the messages for a message of the conversation. The last prompt or result has the breakpoint, if there is one
/// and it is set.
fn wire_messages<'a>(
    message: &'a Message,
    settings: &RequestSettings<'_>,
    support: MediaSupport,
    (marker, is_marked): (Option<CacheMarker>, bool),
) -> Vec<WireMessage<'a>> {
    match message {
        Message::Update(_) => Vec::new(),
        Message::Instructions(parts)
            if settings.traits.instruction_role == Some(InstructionRole::Developer) =>
        {
            let (content, _) = text_and_media(parts, support);
            vec![WireMessage::System { content: text(content.into(), marker, false) }]
        }
        Message::User(parts) | Message::Instructions(parts) => {
            let content = UserContent::new(parts, support);
            let content = match marker {
                Some(marker) => content.with_marker(is_marked.then_some(marker)),
                None => content,
            };
            vec![WireMessage::User { content }]
        }
        Message::Assistant(blocks) => assistant_message(blocks, settings).into_iter().collect(),
        Message::ToolResults(results) => {
            let last = results.len().saturating_sub(1);
            let wire_results = results.iter().enumerate().map(|(index, result)| WireMessage::Tool {
                tool_call_id: settings.call_ids(CALL_IDS).accepted(result.call_id.as_str()),
                content: text(result_text(result, support), marker, is_marked && index == last),
            });
            let media = UserContent::after_results(results, support);
            wire_results.chain(media.map(|content| WireMessage::User { content })).collect()
        }
    }
}

/// Returns an answer as a message; `None` if this API has no field for any of its blocks.
fn assistant_message<'a>(blocks: &'a [Block], settings: &RequestSettings<'_>) -> Option<WireMessage<'a>> {
    let must_echo = settings.traits.has(RequestRule::ReasoningContent);
    let echo_reasoning = must_echo || settings.quirks.echo_reasoning;
    let accepts_details = settings.quirks.reasoning_form == ReasoningForm::Object;
    let mut content = String::new();
    let (mut reasoning, mut foreign) = (String::new(), String::new());
    let (mut tool_calls, mut reasoning_details) = (Vec::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Text(text) => content.push_str(text),
            Block::Thinking { text, original: Some(original) } => {
                let details = original.raw.get(REASONING_DETAILS).and_then(Value::as_array);
                if let Some(details) = details.filter(|_| accepts_details && original.wire == NAME) {
                    reasoning_details.extend(details);
                }
                let of_api = if original.wire == NAME { &mut reasoning } else { &mut foreign };
                of_api.push_str(text);
            }
            Block::Thinking { original: None, .. } | Block::Opaque(_) => {}
            Block::ToolCall(call) => tool_calls.push(WireCall::new(call, settings.call_ids(CALL_IDS))),
        }
    }
    if content.is_empty() && tool_calls.is_empty() {
        return None;
    }
    // A service that requires the reasoning of calls requires that of other models too, and the key where there was none.
    let reasoning = if reasoning.is_empty() { foreign } else { reasoning };
    let has_reasoning = !reasoning.is_empty() || !tool_calls.is_empty();
    Some(WireMessage::Assistant {
        content: (!content.is_empty()).then_some(content),
        reasoning_content: (must_echo || (echo_reasoning && has_reasoning)).then_some(reasoning),
        reasoning_details,
        tool_calls,
    })
}
