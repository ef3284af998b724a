//! Decoder for Chat Completions streams.
//!
//! Pure state machine. Ignores unknown fields, and all choices except the first. An answer is complete at `[DONE]`, or at the
//! end of the stream after a `finish_reason`.

use std::borrow::Cow;

use ibeam_core::ModelEvent;
use ibeam_protocol::{OriginalBlock, StopReason, Usage};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::call_assembly::CallAssembly;
use super::chunk::{CallDelta, Choice, Chunk, Content, Delta};
use super::delta_template::DeltaTemplate;
use super::reasoning_details::{REASONING_DETAILS, add_details};
use super::request::NAME;
use super::usage::parse_usage;
use crate::answer_draft::Part;
use crate::answer_state::AnswerState;
use crate::lenient_json::{self, Text, string_or_empty};
use crate::response_error::{ReportedError, ResponseError, parse_failure};
use crate::text_tool_calls::TextToolCallBuffer;
use crate::wire_protocol::AnswerDecoder;
use ibeam_http::framing::Frame;

/// The finish reasons of an answer that the service could not complete: of OpenRouter and Mistral, of DeepSeek, of GLM, and of
/// local servers.
const FAILED_REASONS: [&str; 5] =
    ["error", "insufficient_system_resource", "network_error", "abort", "aborted"];

/// The state of one answer.
#[derive(Debug)]
pub(super) struct Decoder {
    thinking: String,
    /// The details of the reasoning.
    details: Vec<Value>,
    text: String,
    /// Whether the model, or a filter, refused in the `refusal` field.
    refused: bool,
    text_calls: TextToolCallBuffer,
    calls: CallAssembly,
    finish_reason: Option<String>,
    usage: Value,
    state: AnswerState,
    template: DeltaTemplate,
}

impl AnswerDecoder for Decoder {
    fn state(&self) -> &AnswerState {
        &self.state
    }

    fn add_frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        if frame.data.trim() == "[DONE]" {
            return self.finish(out);
        }
        if frame.event == "error" {
            return Err(ResponseError::Reported(ReportedError::from_error_event(&frame.data)));
        }
        self.decode_chunk(&frame.data, out)
    }

    fn has_stopped(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn reported_usage(&self) -> Option<Usage> {
        parse_usage(&self.usage)
    }

    fn complete(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        self.finish(out)
    }

    fn decode_document(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        self.decode_chunk(body, out)?;
        if self.finish_reason.is_none() && self.text.is_empty() && self.calls.is_empty() {
            return Err(ResponseError::Protocol("the document holds no message".into()));
        }
        self.finish(out)
    }
}

impl Decoder {
    /// Creates a decoder. The model may write calls of `text_tools` as text.
    pub(super) fn new(calls_before: usize, text_tools: Vec<String>) -> Self {
        Self {
            thinking: String::new(),
            details: Vec::new(),
            text: String::new(),
            refused: false,
            text_calls: TextToolCallBuffer::new(text_tools),
            calls: CallAssembly::default(),
            finish_reason: None,
            usage: Value::Null,
            state: AnswerState::new(calls_before),
            template: DeltaTemplate::default(),
        }
    }

    fn decode_chunk(&mut self, text: &str, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        if let Some(content) = self.template.extract(text) {
            self.state.limits.count(&content)?;
            self.add_content(Cow::Owned(content), out);
            return Ok(());
        }
        let mut buffer = String::new();
        let (chunk, repaired) = lenient_json::parse::<Chunk<'_>>(text, &mut buffer)
            .map_err(|error| parse_failure(text, &error))?;
        if !repaired {
            self.template.observe(text, &chunk);
        }
        if chunk.error.is_some() || chunk.object.as_ref().is_some_and(|object| object.as_str() == "error") {
            let value = serde_json::from_str(text).unwrap_or_default();
            if let Some(error) = ReportedError::recognise(&value) {
                return Err(ResponseError::Reported(error));
            }
        }
        if self.state.id.is_none() {
            self.state.id = chunk.id.map(Text::into_string);
        }
        // The older form of Groq's usage is in its extension.
        let extension =
            || parse_value(chunk.x_groq).and_then(|mut groq| groq.get_mut("usage").map(Value::take));
        let usage = if chunk.usage.is_some() { parse_value(chunk.usage) } else { extension() };
        if let Some(usage) = usage.filter(Value::is_object) {
            self.usage = usage;
        }
        for choice in chunk.choices.unwrap_or_default() {
            if choice.index.unwrap_or(0) == 0 {
                self.add_choice(choice, repaired, out)?;
            }
        }
        Ok(())
    }

    fn add_choice(
        &mut self,
        choice: Choice<'_>,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        // Perplexity sends both. In a stream `message` repeats the deltas; in a complete answer the delta is empty.
        let is_complete = choice.finish_reason.is_some() && self.is_blank();
        let delta =
            choice.delta.filter(|delta| choice.message.is_none() || !is_complete || !delta.is_empty());
        if let Some(delta) = delta.or(choice.message) {
            self.add_delta(delta, repaired, out)?;
        }
        let reason = string_or_empty(choice.finish_reason);
        if FAILED_REASONS.contains(&reason.as_str()) {
            return Err(ResponseError::Reported(ReportedError {
                message: format!("the answer ended with finish_reason `{reason}`"),
                ..ReportedError::default()
            }));
        }
        if !reason.is_empty() {
            self.finish_reason = Some(reason);
        }
        Ok(())
    }

    /// Whether no part of the answer has arrived.
    fn is_blank(&self) -> bool {
        self.text.is_empty()
            && self.thinking.is_empty()
            && self.details.is_empty()
            && self.text_calls.is_empty()
            && self.calls.is_empty()
    }

    fn add_delta(
        &mut self,
        delta: Delta<'_>,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        // Some services send the same thinking in both fields.
        let thinking = delta.reasoning_content.filter(|text| !text.as_str().is_empty()).or(delta.reasoning);
        self.state.limits.count_optional(thinking.as_ref().map(Text::as_str))?;
        self.add_thinking(string_or_empty(thinking), out);
        if let Some(pieces) = delta.reasoning_details {
            self.state.limits.count(pieces.get())?;
            add_details(&mut self.details, serde_json::from_str(pieces.get()).unwrap_or_default());
        }
        match delta.content {
            None => {}
            Some(Content::Text(text)) => {
                self.state.limits.count(&text)?;
                self.add_content(text, out);
            }
            Some(Content::Parts { thinking, text }) => {
                self.state.limits.count(&thinking)?;
                self.state.limits.count(&text)?;
                self.add_thinking(thinking, out);
                self.add_content(Cow::Owned(text), out);
            }
        }
        if let Some(refusal) = delta.refusal.filter(|text| !text.as_str().is_empty()) {
            self.refused = true;
            self.state.limits.count(refusal.as_str())?;
            self.add_text(refusal.into_string(), out);
        }
        let calls = delta.tool_calls.unwrap_or_default();
        let has_calls = !calls.is_empty();
        for call in calls {
            self.flush_buffered_text(out);
            if self.calls.is_empty() {
                out.push(ModelEvent::ToolCallAnnounced);
            }
            self.calls.add(call, repaired, &mut self.state.limits)?;
        }
        // Services that send both forms mean the same call.
        if let Some(function) = delta.function_call.filter(|call| !has_calls && !call.is_empty()) {
            self.flush_buffered_text(out);
            let call = CallDelta { function: Some(function), ..CallDelta::default() };
            self.calls.add(call, repaired, &mut self.state.limits)?;
        }
        Ok(())
    }

    fn add_thinking(&mut self, text: String, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.thinking.push_str(&text);
            out.push(ModelEvent::ThinkingDelta(text));
        }
    }

    fn add_content(&mut self, text: Cow<'_, str>, out: &mut Vec<ModelEvent>) {
        let text = self.text_calls.push(text.into_owned());
        self.add_text(text, out);
    }

    fn flush_buffered_text(&mut self, out: &mut Vec<ModelEvent>) {
        let text = self.text_calls.flush();
        self.add_text(text, out);
    }

    fn add_text(&mut self, text: String, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.text.push_str(&text);
            out.push(ModelEvent::TextDelta(text));
        }
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        let text_calls = self.text_calls.take_calls();
        self.flush_buffered_text(out);
        let mut parts = Vec::new();
        if !self.thinking.is_empty() || !self.details.is_empty() {
            let text = std::mem::take(&mut self.thinking);
            let raw = match std::mem::take(&mut self.details) {
                details if details.is_empty() => json!({ "reasoning_content": text }),
                details => json!({ "reasoning_content": text, REASONING_DETAILS: details }),
            };
            let original = Some(OriginalBlock { wire: NAME.to_owned(), raw });
            parts.push(Part::Thinking { text, original });
        }
        parts.push(Part::Text(std::mem::take(&mut self.text)));
        parts.extend(self.calls.take().into_iter().chain(text_calls).map(Part::Call));
        let stop = if self.refused { StopReason::Refusal } else { stop_reason(self.finish_reason.take()) };
        self.state.finish(parts, stop, parse_usage(&self.usage), out)
    }
}

/// Parses the value in `raw`.
fn parse_value(raw: Option<&RawValue>) -> Option<Value> {
    serde_json::from_str(raw?.get()).ok()
}

fn stop_reason(word: Option<String>) -> StopReason {
    let Some(word) = word else {
        return StopReason::EndTurn;
    };
    match word.as_str() {
        // Other services and servers say `stop` in these words.
        "stop" | "eos" | "eos_token" | "stop_sequence" | "stop_token" | "end_turn" | "end" | "complete"
        | "completed" | "COMPLETE" | "STOP" => StopReason::EndTurn,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "length" | "model_length" | "max_tokens" => StopReason::MaxTokens,
        "pause_turn" => StopReason::Paused,
        // Other services report an answer that their filter stopped in these words.
        "content_filter" | "refusal" | "safety" | "recitation" | "sensitive" | "prohibited_content" => {
            StopReason::Refusal
        }
        _ => StopReason::Unknown(word),
    }
}
