//! Decoder for Messages streams.
//!
//! Pure state machine. Ignores unknown events, fields and block types. Keeps the blocks of tools that the service runs, for
//! later requests. Rejects events out of order, because it would have to guess the block to which they belong.

use ibeam_core::ModelEvent;
use ibeam_protocol::{OriginalBlock, RefusalDetails, StopReason, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::content_block::{BlockType, ContentBlock, ServerBlock};
use super::request::NAME;
use crate::answer_draft::{CallDraft, Part, TokenCount, TokenCounts, check_blocks_ended};
use crate::answer_state::AnswerState;
use crate::lenient_json::{self, Text, string_or_empty};
use crate::response_error::{ReportedError, ResponseError, ignore_incomplete_frame, parse_failure};
use crate::wire_protocol::AnswerDecoder;
use ibeam_http::framing::Frame;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EventName {
    MessageStart,
    ContentBlockStart,
    ContentBlockDelta,
    ContentBlockStop,
    MessageDelta,
    MessageStop,
    Error,
    #[default]
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StreamEvent<'a> {
    r#type: EventName,
    index: u64,
    message: Option<WireMessage>,
    content_block: Option<Box<RawValue>>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    usage: Option<WireUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireMessage {
    id: Option<String>,
    content: Option<Vec<Box<RawValue>>>,
    stop_reason: Option<String>,
    stop_details: Option<Value>,
    usage: Option<WireUsage>,
}

/// A delta of any kind. Each kind has a field of its own, and unknown kinds have none of these.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    signature: Option<Text<'a>>,
    #[serde(borrow)]
    partial_json: Option<Text<'a>>,
    /// The summary in a compaction block.
    #[serde(borrow)]
    content: Option<Text<'a>>,
    citation: Option<Box<RawValue>>,
    stop_reason: Option<String>,
    stop_details: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    input_tokens: TokenCount,
    output_tokens: TokenCount,
    cache_read_input_tokens: TokenCount,
    cache_creation_input_tokens: TokenCount,
    output_tokens_details: OutputDetails,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    thinking_tokens: TokenCount,
}

/// The stop reason of a complete answer.
const END_TURN: &str = "end_turn";

/// A content block that is arriving.
#[derive(Debug)]
struct BlockState {
    index: u64,
    stopped: bool,
    /// Whether it arrived as a whole, so that no event ends it.
    is_whole: bool,
    content: BlockContent,
}

#[derive(Debug)]
enum BlockContent {
    Text { text: String, citations: Vec<Value> },
    Thinking { text: String, signature: String },
    Redacted(String),
    Call { draft: CallDraft, caller: Option<Value> },
    Server(ServerBlock),
    Unknown,
}

/// The content of `message_start`. It is empty, except for calls by programs that the service runs: those are complete there
/// and have no events of their own.
#[derive(Debug, Default)]
struct InitialContent {
    blocks: Vec<Box<RawValue>>,
    repaired: bool,
    stop_reason: Option<String>,
}

/// The state of one answer.
#[derive(Debug)]
pub(in crate::protocols) struct Decoder {
    started: bool,
    blocks: Vec<BlockState>,
    initial: InitialContent,
    stop_reason: Option<String>,
    usage: WireUsage,
    state: AnswerState,
}

impl AnswerDecoder for Decoder {
    fn state(&self) -> &AnswerState {
        &self.state
    }

    fn add_frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        let mut buffer = String::new();
        let (event, repaired) = lenient_json::parse::<StreamEvent<'_>>(&frame.data, &mut buffer)
            .map_err(|error| parse_failure(&frame.data, &error))?;
        match event.r#type {
            EventName::Error => Err(error_event(&frame.data)),
            EventName::Unknown if frame.event == "error" => Err(error_event(&frame.data)),
            // Some services send an error object without `type`.
            EventName::Unknown => match recognise_error(&frame.data) {
                Some(error) => Err(ResponseError::Reported(error)),
                None => Ok(()),
            },
            EventName::MessageStart if self.started => Err(out_of_order("a second `message_start`")),
            EventName::MessageStart => {
                self.started = true;
                let message = event.message.unwrap_or_default();
                self.state.id = message.id;
                let blocks = message.content.unwrap_or_default();
                self.initial = InitialContent { blocks, repaired, stop_reason: message.stop_reason };
                self.update_usage(message.usage);
                Ok(())
            }
            _ if !self.started => Err(out_of_order("an event before `message_start`")),
            EventName::ContentBlockStart => {
                self.start_initial_blocks(Some(event.index), out)?;
                self.start_block(event.index, event.content_block.as_deref(), repaired, out)
            }
            EventName::ContentBlockDelta => {
                self.add_delta(event.index, event.delta.unwrap_or_default(), repaired, out)
            }
            EventName::ContentBlockStop => {
                self.open_block(event.index)?.stopped = true;
                Ok(())
            }
            EventName::MessageDelta => {
                let Delta { stop_reason, stop_details, .. } = event.delta.unwrap_or_default();
                self.stop_reason = stop_reason.or(self.stop_reason.take());
                self.state.refusal =
                    stop_details.as_ref().and_then(refusal_details).or(self.state.refusal.take());
                self.update_usage(event.usage);
                Ok(())
            }
            EventName::MessageStop => self.finish(out),
        }
    }

    fn has_stopped(&self) -> bool {
        self.stop_reason.is_some()
    }

    fn reported_usage(&self) -> Option<Usage> {
        let counts = self.usage.clone();
        TokenCounts {
            input: counts.input_tokens,
            output: counts.output_tokens,
            cache_read: counts.cache_read_input_tokens,
            cache_write: counts.cache_creation_input_tokens,
            reasoning: counts.output_tokens_details.thinking_tokens,
        }
        .usage()
    }

    fn finish_stream(
        &mut self,
        last: Option<&Frame>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        match last {
            // The frame was cut within its data, but its name is sufficient.
            Some(last) if last.event == "message_stop" && self.started && !self.state.is_finished() => {
                return self.finish(out);
            }
            Some(last) => ignore_incomplete_frame(self.decode_frame(last, out))?,
            None => {}
        }
        if self.state.is_finished() { Ok(()) } else { Err(ResponseError::Truncated) }
    }

    fn decode_document(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        if let Some(error) = recognise_error(body) {
            return Err(ResponseError::Reported(error));
        }
        let mut buffer = String::new();
        let (message, repaired) = lenient_json::parse::<WireMessage>(body, &mut buffer)
            .map_err(|error| parse_failure(body, &error))?;
        if message.content.as_ref().is_none_or(Vec::is_empty) && message.stop_reason.is_none() {
            return Err(ResponseError::Protocol("the document holds no message".into()));
        }
        self.started = true;
        self.state.id = message.id;
        for (index, block) in (0..).zip(message.content.unwrap_or_default()) {
            self.start_block(index, Some(&block), repaired, out)?;
            self.complete_last_block();
        }
        self.stop_reason = message.stop_reason.or_else(|| Some(END_TURN.to_owned()));
        self.state.refusal = message.stop_details.as_ref().and_then(refusal_details);
        self.update_usage(message.usage);
        self.finish(out)
    }
}

impl Decoder {
    pub(in crate::protocols) fn new(calls_before: usize) -> Self {
        Self {
            started: false,
            blocks: Vec::new(),
            initial: InitialContent::default(),
            stop_reason: None,
            usage: WireUsage::default(),
            state: AnswerState::new(calls_before),
        }
    }

    /// Starts the blocks of `message_start` whose index is below `next`; all of them if `next` is `None`. The service
    /// starts the others again with events.
    fn start_initial_blocks(
        &mut self,
        next: Option<u64>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        let blocks = std::mem::take(&mut self.initial.blocks);
        for (index, block) in (0..).zip(blocks) {
            if next.is_none_or(|next| index < next) {
                self.start_block(index, Some(&block), self.initial.repaired, out)?;
                self.complete_last_block();
            }
        }
        Ok(())
    }

    /// Marks the newest block as complete: it has no events of its own.
    fn complete_last_block(&mut self) {
        if let Some(block) = self.blocks.last_mut() {
            block.is_whole = true;
        }
    }

    fn start_block(
        &mut self,
        index: u64,
        raw: Option<&RawValue>,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        if self.blocks.iter().any(|block| block.index == index) {
            return Err(out_of_order("a second `content_block_start` of one index"));
        }
        self.state.limits.count_part()?;
        let raw = raw.map_or("{}", RawValue::get);
        self.state.limits.count(raw)?;
        let mut buffer = String::new();
        let (block, block_repaired) = lenient_json::parse::<ContentBlock>(raw, &mut buffer)
            .map_err(|error| parse_failure(raw, &error))?;
        let repaired = repaired || block_repaired;
        let content = match block.r#type {
            BlockType::Text => {
                let text = block.text.unwrap_or_default();
                push_event(text.clone(), ModelEvent::TextDelta, out);
                BlockContent::Text { text, citations: block.citations.unwrap_or_default() }
            }
            BlockType::Thinking => {
                let text = block.thinking.unwrap_or_default();
                push_event(text.clone(), ModelEvent::ThinkingDelta, out);
                BlockContent::Thinking { text, signature: block.signature.unwrap_or_default() }
            }
            BlockType::RedactedThinking => BlockContent::Redacted(block.data.unwrap_or_default()),
            BlockType::ToolUse => {
                out.push(ModelEvent::ToolCallAnnounced);
                let caller =
                    block.caller.filter(|caller| caller.get("type").is_some_and(|kind| kind != "direct"));
                let draft = CallDraft {
                    id: block.id.unwrap_or_default(),
                    name: block.name.unwrap_or_default(),
                    arguments: initial_arguments(block.input),
                    repaired,
                };
                BlockContent::Call { draft, caller }
            }
            BlockType::Unknown => ServerBlock::parse(raw).map_or(BlockContent::Unknown, BlockContent::Server),
        };
        self.blocks.push(BlockState { index, stopped: false, is_whole: false, content });
        Ok(())
    }

    fn add_delta(
        &mut self,
        index: u64,
        delta: Delta<'_>,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        let Delta {
            text,
            thinking,
            signature,
            partial_json,
            content,
            citation,
            stop_reason: _,
            stop_details: _,
        } = &delta;
        for content in [text, thinking, signature, partial_json, content] {
            self.state.limits.count_optional(content.as_ref().map(Text::as_str))?;
        }
        self.state.limits.count_optional(citation.as_deref().map(RawValue::get))?;
        match &mut self.open_block(index)?.content {
            BlockContent::Text { text, citations } => {
                if let Some(delta) = delta.text {
                    text.push_str(delta.as_str());
                    push_event(delta.into_string(), ModelEvent::TextDelta, out);
                }
                citations.extend(delta.citation.and_then(|raw| serde_json::from_str(raw.get()).ok()));
            }
            BlockContent::Thinking { text, signature } => {
                if let Some(delta) = delta.thinking {
                    text.push_str(delta.as_str());
                    push_event(delta.into_string(), ModelEvent::ThinkingDelta, out);
                }
                signature.push_str(&string_or_empty(delta.signature));
            }
            BlockContent::Call { draft, .. } => {
                draft.arguments.push_str(&string_or_empty(delta.partial_json));
                draft.repaired |= repaired;
            }
            BlockContent::Server(block) => {
                block.add_input(delta.partial_json.as_ref().map_or("", Text::as_str));
                block.add_content(delta.content.as_ref().map_or("", Text::as_str));
            }
            BlockContent::Redacted(_) | BlockContent::Unknown => {}
        }
        Ok(())
    }

    /// Returns the open block with this index. Deltas belong to the newest block, so the search starts at the end.
    fn open_block(&mut self, index: u64) -> Result<&mut BlockState, ResponseError> {
        self.blocks
            .iter_mut()
            .rev()
            .find(|block| block.index == index && !block.stopped)
            .ok_or_else(|| out_of_order("an event for a content block that is not open"))
    }

    fn update_usage(&mut self, newer: Option<WireUsage>) {
        let newer = newer.unwrap_or_default();
        self.usage.input_tokens.update(newer.input_tokens);
        self.usage.output_tokens.update(newer.output_tokens);
        self.usage.cache_read_input_tokens.update(newer.cache_read_input_tokens);
        self.usage.cache_creation_input_tokens.update(newer.cache_creation_input_tokens);
        self.usage.output_tokens_details.thinking_tokens.update(newer.output_tokens_details.thinking_tokens);
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        self.start_initial_blocks(None, out)?;
        let blocks = std::mem::take(&mut self.blocks);
        let is_open = blocks.iter().any(|block| !block.stopped && !block.is_whole);
        let parts: Vec<Part> = blocks.into_iter().flat_map(|block| parts(block.content)).flatten().collect();
        let usage = self.reported_usage();
        let stop = match self.stop_reason.take().or_else(|| self.initial.stop_reason.take()) {
            Some(word) => stop_reason(word),
            // The calls are complete.
            None if parts.iter().any(|part| matches!(part, Part::Call(_))) => StopReason::ToolUse,
            None => return Err(ResponseError::Protocol("the answer ended without a stop reason".into())),
        };
        check_blocks_ended(&stop, is_open)?;
        self.state.finish(parts, stop, usage, out)
    }
}

/// Returns the part of a block. Fields of the block that only later requests need come before it, in a part of their own.
fn parts(content: BlockContent) -> [Option<Part>; 2] {
    match content {
        BlockContent::Text { text, citations } => {
            let raw = json!({ "type": "text", "citations": citations });
            let has_citations = !citations.is_empty() && !text.is_empty();
            [has_citations.then(|| opaque(raw)), Some(Part::Text(text))]
        }
        BlockContent::Thinking { text, signature } => {
            // The service rejects the block without its signature, so it is not sent in later requests.
            let raw = json!({ "type": "thinking", "thinking": text, "signature": signature });
            let original = (!signature.is_empty()).then(|| original_block(raw));
            [None, Some(Part::Thinking { text, original })]
        }
        BlockContent::Redacted(data) => {
            let raw = json!({ "type": "redacted_thinking", "data": data });
            [None, Some(Part::Thinking { text: String::new(), original: Some(original_block(raw)) })]
        }
        BlockContent::Call { draft, caller } => {
            let raw = caller.map(|caller| json!({ "type": "tool_use", "caller": caller }));
            [raw.map(opaque), Some(Part::Call(draft))]
        }
        BlockContent::Server(block) => [None, block.into_raw().map(opaque)],
        BlockContent::Unknown => [None, None],
    }
}

fn opaque(raw: Value) -> Part {
    Part::Opaque(original_block(raw))
}

fn original_block(raw: Value) -> OriginalBlock {
    OriginalBlock { wire: NAME.to_owned(), raw }
}

/// Returns the arguments in the start of a block. The API sends `{}` there and the arguments in deltas; compatible services
/// send all of them at once.
fn initial_arguments(input: Option<Value>) -> String {
    match input {
        Some(Value::Object(map)) if map.is_empty() => String::new(),
        None | Some(Value::Null) => String::new(),
        Some(input) => input.to_string(),
    }
}

fn stop_reason(word: String) -> StopReason {
    match word.as_str() {
        END_TURN | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "pause_turn" => StopReason::Paused,
        "refusal" => StopReason::Refusal,
        _ => StopReason::Unknown(word),
    }
}

/// Reads `stop_details`; `None` if it says nothing.
fn refusal_details(details: &Value) -> Option<RefusalDetails> {
    let text = |key: &str| details.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let details = RefusalDetails { category: text("category"), explanation: text("explanation") };
    (details != RefusalDetails::default()).then_some(details)
}

fn push_event(text: String, event: fn(String) -> ModelEvent, out: &mut Vec<ModelEvent>) {
    if !text.is_empty() {
        out.push(event(text));
    }
}

fn recognise_error(text: &str) -> Option<ReportedError> {
    ReportedError::recognise(&serde_json::from_str(text).ok()?)
}

fn error_event(text: &str) -> ResponseError {
    ResponseError::Reported(ReportedError::from_error_event(text))
}

fn out_of_order(what: &str) -> ResponseError {
    ResponseError::Protocol(format!("events out of order: {what}"))
}
