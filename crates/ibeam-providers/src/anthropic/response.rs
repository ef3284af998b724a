//! A Messages stream as model events.
//!
//! Pure state machine. Ignores unknown events, fields and block types; refuses events out of order, because what
//! they would be glued to is a guess.

use ibeam_core::ModelEvent;
use ibeam_protocol::{Provenance, StopReason};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bounds::Bounds;
use crate::draft::{self, CallDraft, Ending, Part};
use crate::lenient;
use crate::sse::SseEvent;
use crate::tokens::{self, Count};
use crate::wire::{ReportedError, Wire, WireFault, not_of_this_wire};

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
struct WireEvent {
    r#type: EventName,
    index: u64,
    message: Option<WireMessage>,
    content_block: Option<ContentBlock>,
    delta: Option<Delta>,
    usage: Option<WireUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireMessage {
    id: Option<String>,
    content: Option<Vec<ContentBlock>>,
    stop_reason: Option<String>,
    usage: Option<WireUsage>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BlockName {
    Text,
    Thinking,
    RedactedThinking,
    ToolUse,
    #[default]
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ContentBlock {
    r#type: BlockName,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    data: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Value>,
}

/// Each kind of delta has a field of its own, so the fields tell the kind; unknown kinds have none of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Delta {
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
}

#[derive(Debug)]
struct Slot {
    index: u64,
    stopped: bool,
    content: SlotContent,
}

#[derive(Debug)]
enum SlotContent {
    Text(String),
    Thinking { text: String, signature: String },
    Redacted(String),
    Call(CallDraft),
    Unknown,
}

/// The content of `message_start`: empty, but for the calls of programs that the service runs, which come whole there
/// and have no events of their own.
#[derive(Debug, Default)]
struct Opening {
    content: Vec<ContentBlock>,
    repaired: bool,
    stop_reason: Option<String>,
}

/// The state of one answer.
#[derive(Debug)]
pub struct Decoder {
    started: bool,
    finished: bool,
    id: Option<String>,
    slots: Vec<Slot>,
    /// What stood inside `message_start`.
    opening: Opening,
    stop_reason: Option<String>,
    usage: WireUsage,
    calls_before: usize,
    bounds: Bounds,
}

impl Decoder {
    pub(crate) fn has_stopped(&self) -> bool {
        self.stop_reason.is_some()
    }

    pub(crate) fn new(calls_before: usize) -> Self {
        Self {
            started: false,
            finished: false,
            id: None,
            slots: Vec::new(),
            opening: Opening::default(),
            stop_reason: None,
            usage: WireUsage::default(),
            calls_before,
            bounds: Bounds::default(),
        }
    }

    pub(crate) fn event(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        if self.finished {
            return Ok(());
        }
        let (parsed, repaired) = lenient::parse::<WireEvent>(&event.data)
            .map_err(|error| not_of_this_wire(&event.data, &error))?;
        match parsed.r#type {
            EventName::Error => Err(reported(&event.data)),
            EventName::Unknown if event.event == "error" => Err(reported(&event.data)),
            // Some services send an error object without a type.
            EventName::Unknown => match recognised(&event.data) {
                Some(error) => Err(WireFault::Reported(error)),
                None => Ok(()),
            },
            EventName::MessageStart if self.started => Err(out_of_order("a second `message_start`")),
            EventName::MessageStart => {
                self.started = true;
                let message = parsed.message.unwrap_or_default();
                self.id = message.id;
                let content = message.content.unwrap_or_default();
                self.opening = Opening { content, repaired, stop_reason: message.stop_reason };
                self.update_usage(message.usage);
                Ok(())
            }
            _ if !self.started => Err(out_of_order("an event before `message_start`")),
            EventName::ContentBlockStart => {
                self.settle_opening(Some(parsed.index), out)?;
                self.start_block(parsed.index, parsed.content_block.unwrap_or_default(), repaired, out)
            }
            EventName::ContentBlockDelta => {
                self.add_delta(parsed.index, parsed.delta.unwrap_or_default(), repaired, out)
            }
            EventName::ContentBlockStop => {
                self.open_slot(parsed.index)?.stopped = true;
                Ok(())
            }
            EventName::MessageDelta => {
                if let Some(reason) = parsed.delta.and_then(|delta| delta.stop_reason) {
                    self.stop_reason = Some(reason);
                }
                self.update_usage(parsed.usage);
                Ok(())
            }
            EventName::MessageStop => self.finish(out),
        }
    }

    pub(crate) fn end(
        &mut self,
        last: Option<&SseEvent>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), WireFault> {
        if self.finished {
            return Ok(());
        }
        match last {
            // The frame was cut within its data, but its name says all there is to say.
            Some(last) if last.event == "message_stop" && self.started => return self.finish(out),
            Some(last) => match self.event(last, out) {
                Err(fault @ (WireFault::Reported(_) | WireFault::TooLarge(_))) => return Err(fault),
                // A torn frame is part of the truncation, not a fault of its own.
                Ok(()) | Err(WireFault::Protocol(_) | WireFault::Truncated) => {}
            },
            None => {}
        }
        if self.finished { Ok(()) } else { Err(WireFault::Truncated) }
    }

    pub(crate) fn whole(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        if let Some(error) = recognised(body) {
            return Err(WireFault::Reported(error));
        }
        let (message, repaired) =
            lenient::parse::<WireMessage>(body).map_err(|error| not_of_this_wire(body, &error))?;
        self.started = true;
        self.id = message.id;
        for (index, block) in (0..).zip(message.content.unwrap_or_default()) {
            self.start_block(index, block, repaired, out)?;
        }
        self.stop_reason = message.stop_reason;
        self.update_usage(message.usage);
        if self.slots.is_empty() && self.stop_reason.is_none() {
            return Err(WireFault::Protocol("the document holds no message".into()));
        }
        self.finish(out)
    }

    /// Takes the blocks of `message_start` as blocks of the answer, unless the events begin them again.
    fn settle_opening(&mut self, next: Option<u64>, out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        let blocks = std::mem::take(&mut self.opening.content);
        for (index, block) in (0..).zip(blocks) {
            if next.is_none_or(|next| index < next) {
                self.start_block(index, block, self.opening.repaired, out)?;
            }
        }
        Ok(())
    }

    fn start_block(
        &mut self,
        index: u64,
        block: ContentBlock,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), WireFault> {
        if self.slots.iter().any(|slot| slot.index == index) {
            return Err(out_of_order("a second `content_block_start` of one index"));
        }
        self.bounds.take_part()?;
        for content in [&block.text, &block.thinking, &block.signature, &block.data] {
            self.bounds.take_any(content.as_deref())?;
        }
        let content = match block.r#type {
            BlockName::Text => {
                let text = block.text.unwrap_or_default();
                push_text(&text, ModelEvent::TextDelta, out);
                SlotContent::Text(text)
            }
            BlockName::Thinking => {
                let text = block.thinking.unwrap_or_default();
                push_text(&text, ModelEvent::ThinkingDelta, out);
                SlotContent::Thinking { text, signature: block.signature.unwrap_or_default() }
            }
            BlockName::RedactedThinking => SlotContent::Redacted(block.data.unwrap_or_default()),
            BlockName::ToolUse => {
                out.push(ModelEvent::ToolCallStarted);
                let arguments = whole_arguments(block.input);
                self.bounds.take(&arguments)?;
                SlotContent::Call(CallDraft {
                    id: block.id.unwrap_or_default(),
                    name: block.name.unwrap_or_default(),
                    arguments,
                    repaired,
                })
            }
            BlockName::Unknown => SlotContent::Unknown,
        };
        self.slots.push(Slot { index, stopped: false, content });
        Ok(())
    }

    fn add_delta(
        &mut self,
        index: u64,
        delta: Delta,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), WireFault> {
        for content in [&delta.text, &delta.thinking, &delta.signature, &delta.partial_json] {
            self.bounds.take_any(content.as_deref())?;
        }
        match &mut self.open_slot(index)?.content {
            SlotContent::Text(text) => {
                if let Some(more) = delta.text {
                    text.push_str(&more);
                    push_owned(more, ModelEvent::TextDelta, out);
                }
            }
            SlotContent::Thinking { text, signature } => {
                if let Some(more) = delta.thinking {
                    text.push_str(&more);
                    push_owned(more, ModelEvent::ThinkingDelta, out);
                }
                signature.push_str(&delta.signature.unwrap_or_default());
            }
            SlotContent::Call(call) => {
                call.arguments.push_str(&delta.partial_json.unwrap_or_default());
                call.repaired |= repaired;
            }
            SlotContent::Redacted(_) | SlotContent::Unknown => {}
        }
        Ok(())
    }

    /// The block that is being written; deltas come for the newest, so the search from the end is short.
    fn open_slot(&mut self, index: u64) -> Result<&mut Slot, WireFault> {
        self.slots
            .iter_mut()
            .rev()
            .find(|slot| slot.index == index && !slot.stopped)
            .ok_or_else(|| out_of_order("an event for a content block that is not open"))
    }

    fn update_usage(&mut self, newer: Option<WireUsage>) {
        let newer = newer.unwrap_or_default();
        self.usage.input_tokens.update(newer.input_tokens);
        self.usage.output_tokens.update(newer.output_tokens);
        self.usage.cache_read_input_tokens.update(newer.cache_read_input_tokens);
        self.usage.cache_creation_input_tokens.update(newer.cache_creation_input_tokens);
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        self.settle_opening(None, out)?;
        self.finished = true;
        let parts =
            std::mem::take(&mut self.slots).into_iter().filter_map(|slot| part(slot.content)).collect();
        let usage = tokens::usage(
            &self.usage.input_tokens,
            &self.usage.output_tokens,
            &self.usage.cache_read_input_tokens,
            &self.usage.cache_creation_input_tokens,
        );
        let stop = stop_reason(self.stop_reason.take().or_else(|| self.opening.stop_reason.take()));
        let ending = Ending { stop, usage, request_id: self.id.take(), calls_before: self.calls_before };
        out.push(ModelEvent::Finished(Box::new(draft::finish(parts, ending)?)));
        Ok(())
    }
}

fn part(content: SlotContent) -> Option<Part> {
    match content {
        SlotContent::Text(text) => Some(Part::Text(text)),
        SlotContent::Thinking { text, signature } => {
            // Without its signature the service refuses the block, so there is nothing to send back.
            let raw = json!({ "type": "thinking", "thinking": text, "signature": signature });
            let provenance = (!signature.is_empty()).then(|| provenance(raw));
            Some(Part::Thinking { text, provenance })
        }
        SlotContent::Redacted(data) => {
            let raw = json!({ "type": "redacted_thinking", "data": data });
            Some(Part::Thinking { text: String::new(), provenance: Some(provenance(raw)) })
        }
        SlotContent::Call(call) => Some(Part::Call(call)),
        SlotContent::Unknown => None,
    }
}

fn provenance(raw: Value) -> Provenance {
    Provenance { wire: Wire::Anthropic.name().to_owned(), raw }
}

/// The arguments that came with the block's start. The wire sends `{}` there and the text in deltas; services
/// that speak it after others send all at once.
fn whole_arguments(input: Option<Value>) -> String {
    match input {
        Some(Value::Object(map)) if map.is_empty() => String::new(),
        None | Some(Value::Null) => String::new(),
        Some(input) => input.to_string(),
    }
}

fn stop_reason(word: Option<String>) -> StopReason {
    let Some(word) = word else {
        return StopReason::EndTurn;
    };
    match word.as_str() {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "pause_turn" => StopReason::Paused,
        "refusal" => StopReason::Refusal,
        _ => StopReason::Unknown(word),
    }
}

fn push_text(text: &str, event: fn(String) -> ModelEvent, out: &mut Vec<ModelEvent>) {
    push_owned(text.to_owned(), event, out);
}

fn push_owned(text: String, event: fn(String) -> ModelEvent, out: &mut Vec<ModelEvent>) {
    if !text.is_empty() {
        out.push(event(text));
    }
}

fn recognised(text: &str) -> Option<ReportedError> {
    ReportedError::recognise(&serde_json::from_str(text).ok()?)
}

fn reported(text: &str) -> WireFault {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    WireFault::Reported(
        ReportedError::recognise(&value).unwrap_or_else(|| ReportedError::from_object(&value)),
    )
}

fn out_of_order(what: &str) -> WireFault {
    WireFault::Protocol(format!("events out of order: {what}"))
}
