//! Decoder for streams of `chat`.
//!
//! Pure state machine. Ignores unknown events and fields, and citations. An answer is complete at `message-end`.

use ibeam_core::ModelEvent;
use ibeam_protocol::{OriginalBlock, StopReason};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::chunk::{
    Call, CompleteMessage, ContentBlock, Document, Event, EventDelta, MessageDelta, UsageReport,
};
use super::request::{NAME, TOOL_PLAN};
use crate::answer_draft::{CallDraft, Part};
use crate::answer_state::AnswerState;
use crate::lenient_json::{self, Text, string_or_empty};
use crate::response_error::{ReportedError, ResponseError, parse_failure};
use crate::wire_protocol::AnswerDecoder;
use ibeam_http::framing::Frame;

/// A piece of the answer, in the order of the stream.
#[derive(Debug)]
enum Piece {
    Text(String),
    Thinking(String),
    /// The model's reason for the calls that follow.
    ToolPlan(String),
    Call(CallDraft),
}

/// The state of one answer.
#[derive(Debug)]
pub(super) struct Decoder {
    pieces: Vec<Piece>,
    /// The number of the content block that the last piece belongs to; `None` for a plan or a call.
    open_content: Option<u64>,
    /// The number of each call, and its position among the pieces.
    calls: Vec<(u64, usize)>,
    state: AnswerState,
}

impl AnswerDecoder for Decoder {
    fn state(&self) -> &AnswerState {
        &self.state
    }

    fn add_frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        // As in Chat Completions, a last line follows the terminal event.
        if frame.data.trim() == "[DONE]" {
            return Ok(());
        }
        let mut buffer = String::new();
        let (event, repaired) = lenient_json::parse::<Event<'_>>(&frame.data, &mut buffer)
            .map_err(|error| parse_failure(&frame.data, &error))?;
        let kind = event.kind.as_ref().map_or(frame.event.as_str(), Text::as_str);
        let delta = event.delta.unwrap_or_default();
        match kind {
            "message-start" => self.state.id = event.id.map(Text::into_string),
            "content-start" | "content-delta" | "tool-plan-delta" | "tool-call-start" | "tool-call-delta" => {
                let Some(message) = delta.message else { return Ok(()) };
                let message: MessageDelta<'_> = parse_part(message)?;
                let index = event.index.unwrap_or(0);
                self.add_content(message.content.unwrap_or_default(), index, out)?;
                self.add_plan(string_or_empty(message.tool_plan), out)?;
                if let Some(call) = message.tool_calls {
                    self.add_call(call, index, repaired, out)?;
                }
            }
            "message-end" => return self.end_message(delta, out),
            _ => return error_without_type(&frame.data, kind),
        }
        Ok(())
    }

    fn decode_document(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        let mut buffer = String::new();
        let (document, repaired) = lenient_json::parse::<Document<'_>>(body, &mut buffer)
            .map_err(|error| parse_failure(body, &error))?;
        let message = document.message.map(RawValue::get).unwrap_or_default();
        // An error has a text in place of the message.
        if !message.starts_with('{') {
            error_without_type(body, "")?;
            return Err(ResponseError::Protocol("the document holds no message".into()));
        }
        let message: CompleteMessage<'_> =
            serde_json::from_str(message).map_err(|error| parse_failure(message, &error))?;
        self.state.id = document.id.map(Text::into_string);
        self.add_plan(string_or_empty(message.tool_plan), out)?;
        for (index, block) in (0..).zip(message.content.unwrap_or_default()) {
            self.add_content(block, index, out)?;
        }
        for (index, call) in (0..).zip(message.tool_calls.unwrap_or_default()) {
            self.add_call(call, index, repaired, out)?;
        }
        let finish_reason = document.finish_reason;
        self.end_message(EventDelta { finish_reason, usage: document.usage, ..EventDelta::default() }, out)
    }
}

impl Decoder {
    pub(super) fn new(calls_before: usize) -> Self {
        Self {
            pieces: Vec::new(),
            open_content: None,
            calls: Vec::new(),
            state: AnswerState::new(calls_before),
        }
    }

    /// Adds a content block, or a piece of one.
    fn add_content(
        &mut self,
        block: ContentBlock<'_>,
        index: u64,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        let (thinking, text) = (string_or_empty(block.thinking), string_or_empty(block.text));
        self.state.limits.count(&thinking)?;
        self.state.limits.count(&text)?;
        let is_open = self.open_content == Some(index);
        if !thinking.is_empty() {
            match self.pieces.last_mut() {
                Some(Piece::Thinking(known)) if is_open => known.push_str(&thinking),
                _ => self.push(Piece::Thinking(thinking.clone()), Some(index))?,
            }
            out.push(ModelEvent::ThinkingDelta(thinking));
        }
        if !text.is_empty() {
            match self.pieces.last_mut() {
                Some(Piece::Text(known)) if is_open => known.push_str(&text),
                _ => self.push(Piece::Text(text.clone()), Some(index))?,
            }
            out.push(ModelEvent::TextDelta(text));
        }
        Ok(())
    }

    /// Adds a piece of the plan. It is shown like thinking.
    fn add_plan(&mut self, plan: String, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        if plan.is_empty() {
            return Ok(());
        }
        self.state.limits.count(&plan)?;
        match self.pieces.last_mut() {
            Some(Piece::ToolPlan(known)) => known.push_str(&plan),
            _ => self.push(Piece::ToolPlan(plan.clone()), None)?,
        }
        out.push(ModelEvent::ThinkingDelta(plan));
        Ok(())
    }

    /// Adds a call, or a piece of its arguments.
    fn add_call(
        &mut self,
        call: Call<'_>,
        index: u64,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        let function = call.function.unwrap_or_default();
        self.state.limits.count_optional(function.arguments.as_ref().map(Text::as_str))?;
        let open =
            self.calls.iter().rev().find(|(number, _)| *number == index).map(|(_, position)| *position);
        // A piece has neither an id nor a name.
        if let (Some(position), None, None) = (open, &call.id, &function.name) {
            if let Some(Piece::Call(draft)) = self.pieces.get_mut(position) {
                draft.arguments.push_str(function.arguments.as_ref().map_or("", Text::as_str));
                draft.repaired |= repaired;
            }
            return Ok(());
        }
        if self.calls.is_empty() {
            out.push(ModelEvent::ToolCallAnnounced);
        }
        let (id, name) = (string_or_empty(call.id), string_or_empty(function.name));
        self.state.limits.count(&id)?;
        self.state.limits.count(&name)?;
        self.calls.push((index, self.pieces.len()));
        let arguments = string_or_empty(function.arguments);
        self.push(Piece::Call(CallDraft { id, name, arguments, repaired }), None)
    }

    fn push(&mut self, piece: Piece, content_index: Option<u64>) -> Result<(), ResponseError> {
        self.state.limits.count_part()?;
        self.open_content = content_index;
        self.pieces.push(piece);
        Ok(())
    }

    fn end_message(&mut self, delta: EventDelta<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        let reason = string_or_empty(delta.finish_reason);
        if let Some(error) = delta.error.and_then(reported_error).or_else(|| failure(&reason)) {
            return Err(ResponseError::Reported(error));
        }
        let usage =
            delta.usage.map(UsageReport::counts).and_then(|counts| counts.usage_with_cache_in_input());
        let parts = std::mem::take(&mut self.pieces).into_iter().map(part).collect();
        self.state.finish(parts, stop_reason(reason), usage, out)
    }
}

fn part(piece: Piece) -> Part {
    let thinking = |text: String, raw: Value| Part::Thinking {
        text,
        original: Some(OriginalBlock { wire: NAME.to_owned(), raw }),
    };
    match piece {
        Piece::Text(text) => Part::Text(text),
        Piece::Thinking(text) => {
            let raw = json!({ "type": "thinking", "thinking": text });
            thinking(text, raw)
        }
        Piece::ToolPlan(text) => {
            let raw = json!({ TOOL_PLAN: text });
            thinking(text, raw)
        }
        Piece::Call(draft) => Part::Call(draft),
    }
}

/// Parses a part of an event whose other parts were parsed before.
fn parse_part<'a, T: Deserialize<'a>>(part: &'a RawValue) -> Result<T, ResponseError> {
    serde_json::from_str(part.get()).map_err(|error| parse_failure(part.get(), &error))
}

/// Returns the error in a text that has a message but no type, the form in which the service sends errors.
fn error_without_type(text: &str, kind: &str) -> Result<(), ResponseError> {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let has_message = value.get("message").is_some_and(Value::is_string);
    match ReportedError::recognise(&value) {
        Some(error) => Err(ResponseError::Reported(error)),
        None if has_message && matches!(kind, "" | "error") => {
            Err(ResponseError::Reported(ReportedError::from_object(&value)))
        }
        None => Ok(()),
    }
}

/// Returns the error of an answer that the service could not complete, from the text or the object that describes it.
fn reported_error(error: &RawValue) -> Option<ReportedError> {
    let value = json!({ "error": serde_json::from_str::<Value>(error.get()).ok()? });
    ReportedError::recognise(&value)
}

fn failure(finish_reason: &str) -> Option<ReportedError> {
    matches!(finish_reason, "ERROR" | "TIMEOUT").then(|| ReportedError {
        message: format!("the answer ended with finish_reason `{finish_reason}`"),
        ..ReportedError::default()
    })
}

fn stop_reason(word: String) -> StopReason {
    match word.as_str() {
        "" | "COMPLETE" | "STOP_SEQUENCE" => StopReason::EndTurn,
        "TOOL_CALL" => StopReason::ToolUse,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "ERROR_TOXIC" => StopReason::Refusal,
        _ => StopReason::Unknown(word),
    }
}
