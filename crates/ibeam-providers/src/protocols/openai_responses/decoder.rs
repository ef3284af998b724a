//! Decoder for Responses streams.
//!
//! Pure state machine. Ignores unknown events and fields, and keeps unknown items. An answer is complete only at
//! `response.completed` or `response.incomplete`. The items of that event are not authoritative: some services leave them
//! out. They supply what the stream lacks. Where they repeat a text, it must be the one that was streamed.
//!
//! Events name their item by `output_index`, because some services change the ids of items within a stream. If an
//! event has no index, its item is found by its id, or by the kind of the event.

use ibeam_core::ModelEvent;
use ibeam_protocol::{OriginalBlock, StopReason, Usage};
use serde_json::Value;
use serde_json::value::RawValue;

use super::event::{EventName, ResponseId, StreamEvent, WireResponse};
use super::item::{ItemKind, WireItem, kind_of};
use crate::answer_draft::{CallDraft, Part, TokenCount, TokenCounts};
use crate::answer_limits::AnswerLimits;
use crate::answer_state::AnswerState;
use crate::lenient_json::{self, Text, string_or_empty};
use crate::response_error::{ReportedError, ResponseError, parse_failure};
use crate::wire_protocol::AnswerDecoder;
use ibeam_http::framing::Frame;

#[derive(Debug)]
struct ItemState {
    index: Option<u64>,
    id: String,
    kind: ItemKind,
    /// Whether the complete item has arrived.
    is_done: bool,
    /// The text of a message or of reasoning.
    text: String,
    call: CallDraft,
    /// Whether the output limit cut the call.
    is_cut: bool,
    /// The attributes of a message or a call; any other item itself.
    original: Option<OriginalBlock>,
}

impl ItemState {
    fn new(index: Option<u64>, id: String, kind: ItemKind) -> Self {
        let (text, call) = (String::new(), CallDraft::default());
        Self { index, id, kind, is_done: false, text, call, is_cut: false, original: None }
    }
}

/// The state of one answer.
#[derive(Debug)]
pub(super) struct Decoder {
    items: Vec<ItemState>,
    refused: bool,
    /// The tokens of an answer that failed.
    failed_usage: Option<Usage>,
    state: AnswerState,
}

impl AnswerDecoder for Decoder {
    fn state(&self) -> &AnswerState {
        &self.state
    }

    fn add_frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        if frame.data.trim() == "[DONE]" {
            return Ok(());
        }
        let mut buffer = String::new();
        let (event, repaired) = StreamEvent::parse(&frame.data, &mut buffer)?;
        match event.r#type {
            EventName::TextDelta => self.add_text(ItemKind::Message, event, out),
            EventName::ReasoningDelta => self.add_text(ItemKind::Reasoning, event, out),
            EventName::RefusalDelta => {
                self.refused = true;
                self.add_text(ItemKind::Message, event, out)
            }
            EventName::ArgumentsDelta => {
                let delta = string_or_empty(event.delta);
                self.state.limits.count(&delta)?;
                let item =
                    self.open_item(ItemKind::FunctionCall, event.output_index, event.item_id.as_ref(), out)?;
                item.call.arguments.push_str(&delta);
                item.call.repaired |= repaired;
                Ok(())
            }
            EventName::ArgumentsDone => {
                let arguments = string_or_empty(event.arguments);
                self.state.limits.count(&arguments)?;
                let item =
                    self.open_item(ItemKind::FunctionCall, event.output_index, event.item_id.as_ref(), out)?;
                if item.call.arguments.is_empty() {
                    item.call.arguments = arguments;
                    item.call.repaired = repaired;
                }
                Ok(())
            }
            EventName::ItemAdded => match event.item {
                Some(raw) => self.start_item(event.output_index, raw, out).map(|_| ()),
                None => Ok(()),
            },
            EventName::ItemDone => match event.item {
                Some(raw) => self.complete_item(event.output_index, raw, repaired, out),
                None => Ok(()),
            },
            EventName::Created => {
                let id = event.response.and_then(|raw| serde_json::from_str::<ResponseId>(raw.get()).ok());
                self.state.id = id.and_then(|response| response.id);
                Ok(())
            }
            EventName::Completed | EventName::Incomplete | EventName::Failed => {
                let raw = event.response.map_or("{}", RawValue::get);
                let mut buffer = String::new();
                let (response, _) = lenient_json::parse::<WireResponse<'_>>(raw, &mut buffer)
                    .map_err(|error| parse_failure(raw, &error))?;
                self.finish(event.r#type, response, repaired, out)
            }
            EventName::Error => Err(ResponseError::Reported(ReportedError::from_error_event(&frame.data))),
            EventName::Missing | EventName::Unknown if frame.event == "error" => {
                Err(ResponseError::Reported(ReportedError::from_error_event(&frame.data)))
            }
            // Some services send an error object without `type`.
            EventName::Missing => match recognise_error(&frame.data) {
                Some(error) => Err(ResponseError::Reported(error)),
                None => Ok(()),
            },
            EventName::Unknown => Ok(()),
        }
    }

    fn has_stopped(&self) -> bool {
        // No event before the terminal event reports the stop.
        false
    }

    fn reported_usage(&self) -> Option<Usage> {
        self.failed_usage
    }

    fn decode_document(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        if let Some(error) = recognise_error(body) {
            return Err(ResponseError::Reported(error));
        }
        let mut buffer = String::new();
        let (response, repaired) = lenient_json::parse::<WireResponse<'_>>(body, &mut buffer)
            .map_err(|error| parse_failure(body, &error))?;
        match (response.status.as_deref(), &response.output) {
            (Some(status @ ("queued" | "in_progress")), _) => {
                let detail = format!("the service answers in the background: status `{status}`");
                Err(ResponseError::Protocol(detail))
            }
            (_, None) => Err(ResponseError::Protocol("the document holds no output".into())),
            (_, Some(_)) => self.finish(EventName::Completed, response, repaired, out),
        }
    }
}

impl Decoder {
    pub(super) fn new(calls_before: usize) -> Self {
        Self { items: Vec::new(), refused: false, failed_usage: None, state: AnswerState::new(calls_before) }
    }

    fn add_text(
        &mut self,
        kind: ItemKind,
        event: StreamEvent<'_>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        let Some(delta) = event.delta.filter(|delta| !delta.as_str().is_empty()) else { return Ok(()) };
        self.state.limits.count(delta.as_str())?;
        let item = self.open_item(kind, event.output_index, event.item_id.as_ref(), out)?;
        item.text.push_str(delta.as_str());
        push_text(kind, delta.into_string(), out);
        Ok(())
    }

    /// Returns the item to which an event belongs. Starts the item if the service left its start event out. Deltas
    /// belong to the newest item, so the search starts at the end.
    fn open_item(
        &mut self,
        kind: ItemKind,
        index: Option<u64>,
        id: Option<&Text<'_>>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<&mut ItemState, ResponseError> {
        let id = id.map(Text::as_str).unwrap_or_default();
        let position = match self.position(kind, index, id) {
            Some(position) => position,
            None => self.push_item(ItemState::new(index, id.to_owned(), kind), out)?,
        };
        self.items.get_mut(position).ok_or_else(|| ResponseError::Protocol("an item is missing".into()))
    }

    /// Returns the position of the newest item that is not complete and has this index. Without an index it is the item
    /// with this id, or else the newest one.
    fn position(&self, kind: ItemKind, index: Option<u64>, id: &str) -> Option<usize> {
        let is_open = |item: &ItemState| item.kind == kind && !item.is_done;
        let newest = |matches: &dyn Fn(&ItemState) -> bool| {
            self.items.iter().rposition(|item| is_open(item) && matches(item))
        };
        match index {
            Some(_) => newest(&|item| item.index == index),
            None => newest(&|item| !id.is_empty() && item.id == id).or_else(|| newest(&|_| true)),
        }
    }

    /// Whether a complete item has arrived before.
    fn is_repeated(&self, wire: &WireItem, index: Option<u64>) -> bool {
        let id = wire.text("id");
        let is_same = |item: &ItemState| item.kind == wire.kind && item.index == index && item.id == id;
        !id.is_empty() && self.items.iter().any(|item| item.is_done && is_same(item))
    }

    fn push_item(&mut self, item: ItemState, out: &mut Vec<ModelEvent>) -> Result<usize, ResponseError> {
        self.state.limits.count_part()?;
        if item.kind == ItemKind::FunctionCall {
            out.push(ModelEvent::ToolCallAnnounced);
        }
        self.items.push(item);
        Ok(self.items.len() - 1)
    }

    fn start_item(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        out: &mut Vec<ModelEvent>,
    ) -> Result<usize, ResponseError> {
        let wire = WireItem::parse(raw)?;
        let mut item = ItemState::new(index, wire.text("id").to_owned(), wire.kind);
        if wire.kind == ItemKind::FunctionCall {
            item.call.id = wire.text("call_id").to_owned();
            item.call.name = wire.text("name").to_owned();
        }
        for stored in [&item.id, &item.call.id, &item.call.name] {
            self.state.limits.count(stored)?;
        }
        self.push_item(item, out)
    }

    /// Replaces what the stream sent of an item by the complete item. Text that was streamed stays.
    fn complete_item(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        let wire = WireItem::parse(raw)?;
        let position = match self.position(wire.kind, index, wire.text("id")) {
            Some(position) => position,
            None if self.is_repeated(&wire, index) => return Ok(()),
            None => self.start_item(index, raw, out)?,
        };
        let Some(item) = self.items.get_mut(position) else { return Ok(()) };
        item.is_done = true;
        item.id = wire.text("id").to_owned();
        match wire.kind {
            ItemKind::Message => {
                let (text, is_refusal) = wire.message_text();
                self.refused |= is_refusal;
                add_rest(item, &text, &mut self.state.limits, out)?;
                item.original = count_attributes(wire.attributes(), &mut self.state.limits)?;
            }
            ItemKind::Reasoning => {
                self.state.limits.count(raw.get())?;
                add_rest(item, &wire.reasoning_text(), &mut self.state.limits, out)?;
                item.original = wire.into_original_block();
            }
            ItemKind::FunctionCall => {
                let arguments = wire.arguments();
                if arguments != item.call.arguments {
                    self.state.limits.count(&arguments)?;
                }
                // The ids and names of the start may be preliminary.
                item.call = CallDraft {
                    id: wire.text("call_id").to_owned(),
                    name: wire.text("name").to_owned(),
                    arguments,
                    // Free text is never an object, even if it looks like one.
                    repaired: repaired || wire.repaired || wire.is_custom_call(),
                };
                item.is_cut = wire.text("status") == "incomplete";
                item.original = count_attributes(wire.attributes(), &mut self.state.limits)?;
            }
            ItemKind::Other => {
                self.state.limits.count(raw.get())?;
                item.original = wire.into_original_block();
            }
        }
        Ok(())
    }

    /// Completes items from the list in the final event: those that the stream left out, or did not complete.
    fn complete_missing_items(
        &mut self,
        output: &[&RawValue],
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        // The items of one kind have the same order in both.
        let streamed: Vec<(ItemKind, Option<u64>, bool)> =
            self.items.iter().map(|item| (item.kind, item.index, item.is_done)).collect();
        let mut counts = [0; 4];
        for (index, raw) in (0..).zip(output) {
            let kind = kind_of(raw);
            let Some(count) = counts.get_mut(kind as usize) else { continue };
            let same = streamed.iter().filter(|(other, ..)| *other == kind).nth(*count);
            let item = self.items.iter().filter(|item| item.kind == kind).nth(*count);
            *count += 1;
            match same {
                Some((.., true)) if kind == ItemKind::Message => {
                    let (text, _) = WireItem::parse(raw)?.message_text();
                    item.map_or(Ok(()), |item| check_text(&item.text, &text))?;
                }
                Some((.., true)) => {}
                Some((_, index, false)) => self.complete_item(*index, raw, repaired, out)?,
                None => self.complete_item(Some(index), raw, repaired, out)?,
            }
        }
        Ok(())
    }

    fn finish(
        &mut self,
        event: EventName,
        response: WireResponse<'_>,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        let status = response.status.as_deref().unwrap_or_default();
        let usage = token_counts(&response.usage).usage_with_cache_in_input();
        if event == EventName::Failed || matches!(status, "failed" | "cancelled") {
            self.failed_usage = usage;
            return Err(ResponseError::Reported(failure(status, response.error)));
        }
        self.complete_missing_items(response.output.as_deref().unwrap_or_default(), repaired, out)?;
        if let Some(id) = response.id {
            self.state.id = Some(id);
        }
        let reason = response.incomplete_details.and_then(|details| details.reason);
        let stop = match reason {
            Some(reason) if reason == "max_output_tokens" || reason == "max_tokens" => StopReason::MaxTokens,
            Some(reason) if reason == "content_filter" => StopReason::Refusal,
            _ if self.refused => StopReason::Refusal,
            Some(reason) => StopReason::Unknown(reason),
            None if event == EventName::Incomplete || status == "incomplete" => {
                StopReason::Unknown("incomplete".to_owned())
            }
            None => StopReason::EndTurn,
        };
        let mut items = std::mem::take(&mut self.items);
        items.sort_by_key(|item| item.index);
        let mut parts = Vec::with_capacity(items.len());
        for item in items {
            push_parts(item, &mut parts)?;
        }
        self.state.finish(parts, stop, usage, out)
    }
}

/// Checks the text of a message that was streamed against the complete one, which may lack the white space around it. Some
/// services leave the complete text out.
///
/// # Errors
/// `Garbled`: what was shown cannot be withdrawn.
fn check_text(streamed: &str, complete: &str) -> Result<(), ResponseError> {
    let [streamed, complete] = [streamed, complete].map(str::trim);
    match complete.is_empty() || streamed == complete {
        true => Ok(()),
        false => Err(ResponseError::Garbled("its text is not the one that it streamed".to_owned())),
    }
}

/// Adds the part of a complete text that was not streamed.
///
/// # Errors
/// `Garbled` for a message with another text. Services state reasoning in several forms.
fn add_rest(
    item: &mut ItemState,
    complete: &str,
    limits: &mut AnswerLimits,
    out: &mut Vec<ModelEvent>,
) -> Result<(), ResponseError> {
    let Some(rest) = complete.strip_prefix(item.text.as_str()).filter(|rest| !rest.is_empty()) else {
        return match item.kind {
            ItemKind::Message => check_text(&item.text, complete),
            ItemKind::Reasoning | ItemKind::FunctionCall | ItemKind::Other => Ok(()),
        };
    };
    limits.count(rest)?;
    item.text.push_str(rest);
    push_text(item.kind, rest.to_owned(), out);
    Ok(())
}

/// Counts attributes before they are stored. Most items have none.
fn count_attributes(
    attributes: Option<OriginalBlock>,
    limits: &mut AnswerLimits,
) -> Result<Option<OriginalBlock>, ResponseError> {
    if let Some(OriginalBlock { raw, .. }) = &attributes {
        limits.count(&raw.to_string())?;
    }
    Ok(attributes)
}

fn push_text(kind: ItemKind, text: String, out: &mut Vec<ModelEvent>) {
    match kind {
        ItemKind::Message => out.push(ModelEvent::TextDelta(text)),
        ItemKind::Reasoning => out.push(ModelEvent::ThinkingDelta(text)),
        ItemKind::FunctionCall | ItemKind::Other => {}
    }
}

/// Appends the parts of a finished item.
///
/// # Errors
/// `Protocol` for a call whose arguments are not known to be complete: to execute it would be a guess.
fn push_parts(item: ItemState, parts: &mut Vec<Part>) -> Result<(), ResponseError> {
    let ItemState { kind, is_done, text, call, is_cut, original, index: _, id: _ } = item;
    match kind {
        ItemKind::Message if text.is_empty() => {}
        ItemKind::Message => {
            parts.extend(original.map(Part::Opaque));
            parts.push(Part::Text(text));
        }
        ItemKind::Reasoning if text.is_empty() && original.is_none() => {}
        ItemKind::Reasoning => parts.push(Part::Thinking { text, original }),
        ItemKind::FunctionCall if is_cut => {}
        ItemKind::FunctionCall => {
            if !is_done && serde_json::from_str::<Value>(&call.arguments).is_err() {
                return Err(ResponseError::Protocol(
                    "the answer is complete, but one of its calls is not".into(),
                ));
            }
            parts.extend(original.map(Part::Opaque));
            parts.push(Part::Call(call));
        }
        ItemKind::Other => parts.extend(original.map(Part::Opaque)),
    }
    Ok(())
}

/// Returns the error of an answer that failed.
fn failure(status: &str, error: Option<Value>) -> ReportedError {
    match error.filter(|error| !error.is_null()) {
        Some(Value::String(message)) => ReportedError { message, ..ReportedError::default() },
        Some(error) => ReportedError::from_object(&error),
        None => {
            let status = if status.is_empty() { "failed" } else { status };
            let message = format!("the answer ended with status `{status}`");
            ReportedError { message, ..ReportedError::default() }
        }
    }
}

fn token_counts(usage: &Value) -> TokenCounts {
    let count = |pointer: &str| TokenCount::at(usage, pointer);
    TokenCounts {
        input: count("/input_tokens"),
        output: count("/output_tokens"),
        cache_read: count("/input_tokens_details/cached_tokens"),
        cache_write: count("/input_tokens_details/cache_write_tokens"),
        reasoning: count("/output_tokens_details/reasoning_tokens"),
    }
}

fn recognise_error(text: &str) -> Option<ReportedError> {
    ReportedError::recognise(&serde_json::from_str(text).ok()?)
}
