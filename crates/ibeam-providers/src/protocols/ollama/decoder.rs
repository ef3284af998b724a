//! Decoder for `/api/chat`.
//!
//! Pure state machine. Ignores unknown fields. An answer is complete at the line with `"done": true`, and only there. Calls
//! arrive complete, and the reason of an answer with calls is `stop`.

use ibeam_core::ModelEvent;
use ibeam_protocol::{OriginalBlock, StopReason};
use serde_json::json;

use super::chunk::{Call, Chunk, ChunkMessage};
use super::request::{NAME, THINKING};
use crate::answer_draft::{CallDraft, Part, TokenCounts};
use crate::answer_state::AnswerState;
use crate::lenient_json::{self, Text, string_or_empty};
use crate::response_error::{ReportedError, ResponseError, parse_failure};
use crate::text_tool_calls::TextToolCallBuffer;
use crate::wire_protocol::AnswerDecoder;
use ibeam_http::framing::Frame;

/// The state of one answer.
#[derive(Debug)]
pub(super) struct Decoder {
    thinking: String,
    text: String,
    text_calls: TextToolCallBuffer,
    calls: Vec<CallDraft>,
    state: AnswerState,
}

impl AnswerDecoder for Decoder {
    fn state(&self) -> &AnswerState {
        &self.state
    }

    fn add_frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        self.decode_chunk(&frame.data, out)
    }

    fn decode_document(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        self.decode_chunk(body, out)?;
        if self.state.is_finished() { Ok(()) } else { Err(ResponseError::Truncated) }
    }
}

impl Decoder {
    /// Creates a decoder. The model may write calls of `text_tools` as text.
    pub(super) fn new(calls_before: usize, text_tools: Vec<String>) -> Self {
        Self {
            thinking: String::new(),
            text: String::new(),
            text_calls: TextToolCallBuffer::new(text_tools),
            calls: Vec::new(),
            state: AnswerState::new(calls_before),
        }
    }

    fn decode_chunk(&mut self, text: &str, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        let mut buffer = String::new();
        let (chunk, repaired) = lenient_json::parse::<Chunk<'_>>(text, &mut buffer)
            .map_err(|error| parse_failure(text, &error))?;
        if chunk.error.is_some() {
            let value = serde_json::from_str(text).unwrap_or_default();
            if let Some(error) = ReportedError::recognise(&value) {
                return Err(ResponseError::Reported(error));
            }
        }
        let counts = chunk.counts();
        if let Some(message) = chunk.message {
            self.add_message(message, repaired, out)?;
        }
        if chunk.done == Some(true) {
            let stop = stop_reason(string_or_empty(chunk.done_reason));
            self.finish(stop, &counts, out)?;
        }
        Ok(())
    }

    fn add_message(
        &mut self,
        message: ChunkMessage<'_>,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        let ChunkMessage { content, thinking, tool_calls } = message;
        self.state.limits.count_optional(thinking.as_ref().map(Text::as_str))?;
        self.state.limits.count_optional(content.as_ref().map(Text::as_str))?;
        let thinking = string_or_empty(thinking);
        if !thinking.is_empty() {
            self.thinking.push_str(&thinking);
            out.push(ModelEvent::ThinkingDelta(thinking));
        }
        let text = string_or_empty(content);
        if !text.is_empty() {
            let text = self.text_calls.push(text);
            self.add_text(text, out);
        }
        for call in tool_calls.unwrap_or_default() {
            self.add_call(call, repaired, out)?;
        }
        Ok(())
    }

    fn add_text(&mut self, text: String, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.text.push_str(&text);
            out.push(ModelEvent::TextDelta(text));
        }
    }

    fn add_call(
        &mut self,
        call: Call<'_>,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        let text = self.text_calls.flush();
        self.add_text(text, out);
        if self.calls.is_empty() {
            out.push(ModelEvent::ToolCallAnnounced);
        }
        let function = call.function.unwrap_or_default();
        let (arguments, arguments_repaired) = function.arguments();
        let (id, name) = (string_or_empty(call.id), string_or_empty(function.name));
        self.state.limits.count_part()?;
        for content in [id.as_str(), &name, &arguments] {
            self.state.limits.count(content)?;
        }
        let repaired = repaired || arguments_repaired;
        self.calls.push(CallDraft { id, name, arguments: arguments.into_owned(), repaired });
        Ok(())
    }

    fn finish(
        &mut self,
        stop: StopReason,
        counts: &TokenCounts,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        let text_calls = self.text_calls.take_calls();
        let text = self.text_calls.flush();
        self.add_text(text, out);
        let mut parts = Vec::new();
        if !self.thinking.is_empty() {
            let text = std::mem::take(&mut self.thinking);
            let original = Some(OriginalBlock { wire: NAME.to_owned(), raw: json!({ THINKING: text }) });
            parts.push(Part::Thinking { text, original });
        }
        parts.push(Part::Text(std::mem::take(&mut self.text)));
        parts.extend(std::mem::take(&mut self.calls).into_iter().chain(text_calls).map(Part::Call));
        self.state.finish(parts, stop, counts.usage(), out)
    }
}

/// Returns the stop reason. Older servers give none.
fn stop_reason(word: String) -> StopReason {
    match word.as_str() {
        "" | "stop" => StopReason::EndTurn,
        "length" => StopReason::MaxTokens,
        _ => StopReason::Unknown(word),
    }
}
