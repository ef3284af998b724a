//! Decoder for Converse streams.
//!
//! Pure state machine. Ignores unknown events, fields and block types. Text and reasoning have no start event: their first
//! delta starts the block. An answer is complete at `metadata`, or at the end of the stream after `messageStop`.

use ibeam_core::ModelEvent;
use ibeam_protocol::{OriginalBlock, StopReason, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::document::{self, Document};
use super::errors::recognise_error;
use super::request::NAME;
use crate::answer_draft::{CallDraft, Part, TokenCount, TokenCounts, check_blocks_ended};
use crate::answer_state::AnswerState;
use crate::lenient_json::{self, Text, parse_arguments};
use crate::response_error::{ReportedError, ResponseError, parse_failure};
use crate::wire_protocol::AnswerDecoder;
use ibeam_http::framing::Frame;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BlockStart {
    content_block_index: u64,
    start: StartedBlock,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct StartedBlock {
    tool_use: Option<Value>,
    tool_result: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BlockDelta<'a> {
    content_block_index: u64,
    #[serde(borrow)]
    delta: Delta<'a>,
}

/// A delta of any kind. Each kind has a field of its own, and unknown kinds have none of these.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    tool_use: Option<ToolUseDelta<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<ReasoningDelta<'a>>,
    tool_result: Option<Vec<Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolUseDelta<'a> {
    #[serde(borrow)]
    input: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ReasoningDelta<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    signature: Option<Text<'a>>,
    #[serde(borrow)]
    redacted_content: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BlockStop {
    content_block_index: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct MessageStop {
    stop_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    usage: WireUsage,
}

/// The token counts. The input excludes cached tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WireUsage {
    input_tokens: TokenCount,
    output_tokens: TokenCount,
    cache_read_input_tokens: TokenCount,
    cache_write_input_tokens: TokenCount,
}

/// A content block that is arriving.
#[derive(Debug)]
struct BlockState {
    index: u64,
    stopped: bool,
    content: BlockContent,
}

/// The content of a block. Its raw forms are those of a request.
#[derive(Debug)]
pub(super) enum BlockContent {
    Text(String),
    Reasoning {
        text: String,
        signature: String,
    },
    Redacted(String),
    Call(CallDraft),
    /// A call of a tool that the service runs, without its input; and the input as JSON text.
    ServerCall {
        raw: Value,
        input: String,
    },
    /// The result of such a call, without its content; and the content.
    ServerResult {
        raw: Value,
        content: Vec<Value>,
    },
    /// A block of an unknown kind.
    Unknown,
}

/// The state of one answer.
#[derive(Debug)]
pub(in crate::protocols) struct Decoder {
    started: bool,
    blocks: Vec<BlockState>,
    stop_reason: Option<String>,
    usage: Option<Usage>,
    state: AnswerState,
}

impl AnswerDecoder for Decoder {
    fn state(&self) -> &AnswerState {
        &self.state
    }

    fn add_frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        let mut buffer = String::new();
        match frame.event.as_str() {
            "error" => Err(ResponseError::Reported(ReportedError::from_error_event(&frame.data))),
            "messageStart" if self.started => Err(out_of_order("a second `messageStart`")),
            "messageStart" => {
                self.started = true;
                Ok(())
            }
            "contentBlockStart" | "contentBlockDelta" | "contentBlockStop" | "messageStop" | "metadata"
                if !self.started =>
            {
                Err(out_of_order("an event before `messageStart`"))
            }
            "contentBlockDelta" => {
                let (event, repaired) = parse::<BlockDelta<'_>>(&frame.data, &mut buffer)?;
                self.add_delta(event.content_block_index, event.delta, repaired, out)
            }
            "contentBlockStart" => {
                let (event, repaired) = parse::<BlockStart>(&frame.data, &mut buffer)?;
                let StartedBlock { tool_use, tool_result } = event.start;
                let content = match (tool_use, tool_result) {
                    (Some(call), _) => document::call(call, repaired),
                    (None, Some(result)) => document::server_result(result),
                    // The first delta decides the kind of the block.
                    (None, None) => return Ok(()),
                };
                self.start_block(event.content_block_index, content, out)
            }
            "contentBlockStop" => {
                let (event, _) = parse::<BlockStop>(&frame.data, &mut buffer)?;
                let index = event.content_block_index;
                // A block whose deltas are all unknown has not started here.
                if let Some(block) = self.blocks.iter_mut().rev().find(|block| block.index == index) {
                    block.stopped = true;
                }
                Ok(())
            }
            "messageStop" => {
                let (event, _) = parse::<MessageStop>(&frame.data, &mut buffer)?;
                self.stop_reason = Some(event.stop_reason.unwrap_or_default());
                Ok(())
            }
            "metadata" => {
                let (event, _) = parse::<Metadata>(&frame.data, &mut buffer)?;
                self.usage = event.usage.counts().usage();
                if self.stop_reason.is_some() { self.finish(out) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    fn has_stopped(&self) -> bool {
        self.stop_reason.is_some()
    }

    fn reported_usage(&self) -> Option<Usage> {
        self.usage
    }

    fn complete(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        self.finish(out)
    }

    fn decode_document(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        let mut buffer = String::new();
        let (mut document, repaired) = parse::<Document>(body, &mut buffer)?;
        let Some(blocks) = document.take_blocks(repaired) else {
            return Err(match recognise_error(body) {
                Some(error) => ResponseError::Reported(error),
                None => ResponseError::Protocol("the document holds no message".into()),
            });
        };
        for (index, content) in (0..).zip(blocks) {
            self.start_block(index, content, out)?;
        }
        self.blocks.iter_mut().for_each(|block| block.stopped = true);
        self.stop_reason = document.stop_reason;
        self.usage = document.usage.counts().usage();
        self.finish(out)
    }
}

impl Decoder {
    pub(in crate::protocols) fn new(calls_before: usize) -> Self {
        Self {
            started: false,
            blocks: Vec::new(),
            stop_reason: None,
            usage: None,
            state: AnswerState::new(calls_before),
        }
    }

    fn start_block(
        &mut self,
        index: u64,
        content: BlockContent,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        if self.blocks.iter().any(|block| block.index == index) {
            return Err(out_of_order("a second `contentBlockStart` of one index"));
        }
        self.state.limits.count_part()?;
        match &content {
            BlockContent::Text(text) => {
                self.state.limits.count(text)?;
                push_event(text, ModelEvent::TextDelta, out);
            }
            BlockContent::Reasoning { text, signature } => {
                self.state.limits.count(text)?;
                self.state.limits.count(signature)?;
                push_event(text, ModelEvent::ThinkingDelta, out);
            }
            BlockContent::Redacted(data) => self.state.limits.count(data)?,
            BlockContent::Call(call) => {
                self.state.limits.count(&call.arguments)?;
                out.push(ModelEvent::ToolCallAnnounced);
            }
            BlockContent::ServerCall { raw, input } => {
                self.state.limits.count(input)?;
                self.state.limits.count(&raw.to_string())?;
            }
            BlockContent::ServerResult { raw, content } => {
                self.state.limits.count(&raw.to_string())?;
                for item in content {
                    self.state.limits.count(&item.to_string())?;
                }
            }
            BlockContent::Unknown => {}
        }
        self.blocks.push(BlockState { index, stopped: false, content });
        Ok(())
    }

    fn add_delta(
        &mut self,
        index: u64,
        delta: Delta<'_>,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        let Delta { text, tool_use, reasoning_content, tool_result } = delta;
        if let Some(delta) = text {
            self.state.limits.count(delta.as_str())?;
            if let BlockContent::Text(text) = self.open_block(index, || BlockContent::Text(String::new()))? {
                text.push_str(delta.as_str());
                push_event(delta.as_str(), ModelEvent::TextDelta, out);
            }
        }
        if let Some(delta) = tool_use {
            self.state.limits.count(delta.input.as_str())?;
            match self.open_block(index, || BlockContent::Unknown)? {
                BlockContent::Call(call) => {
                    call.arguments.push_str(delta.input.as_str());
                    call.repaired |= repaired;
                }
                BlockContent::ServerCall { input, .. } => input.push_str(delta.input.as_str()),
                BlockContent::Unknown => {
                    return Err(out_of_order("the input of a tool that has not started"));
                }
                BlockContent::Text(_)
                | BlockContent::Reasoning { .. }
                | BlockContent::Redacted(_)
                | BlockContent::ServerResult { .. } => {}
            }
        }
        if let Some(delta) = reasoning_content {
            self.add_reasoning(index, &delta, out)?;
        }
        for item in tool_result.unwrap_or_default() {
            self.state.limits.count(&item.to_string())?;
            if let BlockContent::ServerResult { content, .. } =
                self.open_block(index, || BlockContent::Unknown)?
            {
                content.push(item);
            }
        }
        Ok(())
    }

    fn add_reasoning(
        &mut self,
        index: u64,
        delta: &ReasoningDelta<'_>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        for content in [&delta.text, &delta.signature, &delta.redacted_content] {
            self.state.limits.count_optional(content.as_ref().map(Text::as_str))?;
        }
        let start = || match delta.redacted_content {
            Some(_) => BlockContent::Redacted(String::new()),
            None => BlockContent::Reasoning { text: String::new(), signature: String::new() },
        };
        match self.open_block(index, start)? {
            BlockContent::Reasoning { text, signature } => {
                if let Some(delta) = &delta.text {
                    text.push_str(delta.as_str());
                    push_event(delta.as_str(), ModelEvent::ThinkingDelta, out);
                }
                signature.push_str(delta.signature.as_ref().map_or("", Text::as_str));
            }
            BlockContent::Redacted(data) => {
                data.push_str(delta.redacted_content.as_ref().map_or("", Text::as_str));
            }
            BlockContent::Text(_)
            | BlockContent::Call(_)
            | BlockContent::ServerCall { .. }
            | BlockContent::ServerResult { .. }
            | BlockContent::Unknown => {}
        }
        Ok(())
    }

    /// Returns the content of the open block with this index, or starts it. Deltas belong to the newest block, so the
    /// search starts at the end.
    fn open_block(
        &mut self,
        index: u64,
        start: impl FnOnce() -> BlockContent,
    ) -> Result<&mut BlockContent, ResponseError> {
        let position = match self.blocks.iter().rposition(|block| block.index == index) {
            Some(position) => position,
            None => {
                self.state.limits.count_part()?;
                self.blocks.push(BlockState { index, stopped: false, content: start() });
                self.blocks.len() - 1
            }
        };
        match self.blocks.get_mut(position) {
            Some(BlockState { stopped: false, content, .. }) => Ok(content),
            Some(_) | None => Err(out_of_order("a delta for a content block that is not open")),
        }
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        let is_open = self.blocks.iter().any(|block| !block.stopped);
        let stop = stop_reason(self.stop_reason.take().unwrap_or_default())?;
        check_blocks_ended(&stop, is_open)?;
        let parts =
            std::mem::take(&mut self.blocks).into_iter().filter_map(|block| part(block.content)).collect();
        // The head of the response has the id of the request.
        self.state.finish(parts, stop, self.usage, out)
    }
}

impl WireUsage {
    fn counts(self) -> TokenCounts {
        TokenCounts {
            input: self.input_tokens,
            output: self.output_tokens,
            cache_read: self.cache_read_input_tokens,
            cache_write: self.cache_write_input_tokens,
            reasoning: TokenCount::default(),
        }
    }
}

fn part(content: BlockContent) -> Option<Part> {
    match content {
        BlockContent::Text(text) => Some(Part::Text(text)),
        BlockContent::Reasoning { text, signature } => {
            // The service rejects the block without its signature, so it is not sent in later requests.
            let raw =
                json!({ "reasoningContent": { "reasoningText": { "text": text, "signature": signature } } });
            let original = (!signature.is_empty()).then(|| original_block(raw));
            Some(Part::Thinking { text, original })
        }
        BlockContent::Redacted(data) => {
            let raw = json!({ "reasoningContent": { "redactedContent": data } });
            Some(Part::Thinking { text: String::new(), original: Some(original_block(raw)) })
        }
        BlockContent::Call(call) => Some(Part::Call(call)),
        BlockContent::ServerCall { mut raw, input } => {
            // An input that the output limit cut is not JSON, and the service has not run it.
            let input @ Value::Object(_) = parse_arguments(&input) else { return None };
            raw.as_object_mut()?.insert("input".to_owned(), input);
            Some(Part::Opaque(original_block(json!({ "toolUse": raw }))))
        }
        BlockContent::ServerResult { mut raw, content } => {
            raw.as_object_mut()?.insert("content".to_owned(), Value::Array(content));
            Some(Part::Opaque(original_block(json!({ "toolResult": raw }))))
        }
        BlockContent::Unknown => None,
    }
}

fn original_block(raw: Value) -> OriginalBlock {
    OriginalBlock { wire: NAME.to_owned(), raw }
}

/// Returns the stop reason for a word.
///
/// # Errors
/// `Protocol` if the model wrote what the service cannot read.
fn stop_reason(word: String) -> Result<StopReason, ResponseError> {
    let stop = match word.as_str() {
        "" | "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "guardrail_intervened" | "content_filtered" => StopReason::Refusal,
        "malformed_tool_use" | "malformed_model_output" => {
            return Err(ResponseError::Protocol(format!("the model wrote an unreadable answer: {word}")));
        }
        _ => StopReason::Unknown(word),
    };
    Ok(stop)
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str, buffer: &'a mut String) -> Result<(T, bool), ResponseError> {
    lenient_json::parse(text, buffer).map_err(|error| parse_failure(text, &error))
}

fn push_event(text: &str, event: fn(String) -> ModelEvent, out: &mut Vec<ModelEvent>) {
    if !text.is_empty() {
        out.push(event(text.to_owned()));
    }
}

fn out_of_order(what: &str) -> ResponseError {
    ResponseError::Protocol(format!("events out of order: {what}"))
}
