//! A Chat Completions stream as model events.
//!
//! Pure state machine. Ignores unknown fields and all choices but the first. An answer is complete at `[DONE]`,
//! or at the end of the stream once a `finish_reason` was given.

use ibeam_core::ModelEvent;
use ibeam_protocol::{Provenance, StopReason};
use serde_json::{Value, json};

use super::calls::CallAssembly;
use super::chunk::{CallDelta, Choice, Chunk, Content, Delta};
use super::pattern::Pattern;
use super::text_call::HeldText;
use crate::bounds::Bounds;
use crate::draft::{self, Ending, Part};
use crate::lenient;
use crate::sse::SseEvent;
use crate::tokens;
use crate::wire::{ReportedError, Wire, WireFault, not_of_this_wire};

/// The words for an answer that the service could not complete: of OpenRouter and Mistral, of DeepSeek, of GLM, and of
/// local servers.
const FAILED: [&str; 5] = ["error", "insufficient_system_resource", "network_error", "abort", "aborted"];

/// The state of one answer.
#[derive(Debug)]
pub struct Decoder {
    finished: bool,
    id: Option<String>,
    thinking: String,
    text: String,
    /// The model, or a filter, spoke through the `refusal` field.
    refused: bool,
    held: HeldText,
    calls: CallAssembly,
    finish_reason: Option<String>,
    usage: Value,
    calls_before: usize,
    bounds: Bounds,
    pattern: Pattern,
}

impl Decoder {
    pub(crate) fn has_stopped(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// `text_tools` are the tools that may be called by text; empty turns that off.
    pub(crate) fn new(calls_before: usize, text_tools: Vec<String>) -> Self {
        Self {
            finished: false,
            id: None,
            thinking: String::new(),
            text: String::new(),
            refused: false,
            held: HeldText::new(text_tools),
            calls: CallAssembly::default(),
            finish_reason: None,
            usage: Value::Null,
            calls_before,
            bounds: Bounds::default(),
            pattern: Pattern::default(),
        }
    }

    pub(crate) fn event(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        if self.finished {
            return Ok(());
        }
        if event.data.trim() == "[DONE]" {
            return self.finish(out);
        }
        if event.event == "error" {
            let value: Value = serde_json::from_str(&event.data).unwrap_or_default();
            let error = ReportedError::recognise(&value);
            return Err(WireFault::Reported(error.unwrap_or_else(|| ReportedError::from_object(&value))));
        }
        self.chunk(&event.data, out)
    }

    pub(crate) fn end(
        &mut self,
        last: Option<&SseEvent>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), WireFault> {
        if let Some(last) = last {
            match self.event(last, out) {
                Err(fault @ (WireFault::Reported(_) | WireFault::TooLarge(_))) => return Err(fault),
                // A torn frame is part of the truncation, not a fault of its own.
                Ok(()) | Err(WireFault::Protocol(_) | WireFault::Truncated) => {}
            }
        }
        if self.finished {
            return Ok(());
        }
        if self.finish_reason.is_some() { self.finish(out) } else { Err(WireFault::Truncated) }
    }

    pub(crate) fn whole(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        self.chunk(body, out)?;
        if self.finish_reason.is_none() && self.text.is_empty() && self.calls.is_empty() {
            return Err(WireFault::Protocol("the document holds no message".into()));
        }
        self.finish(out)
    }

    fn chunk(&mut self, text: &str, out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        if let Some(piece) = self.pattern.piece(text) {
            return self.content(piece, out);
        }
        let (chunk, repaired) =
            lenient::parse::<Chunk>(text).map_err(|error| not_of_this_wire(text, &error))?;
        if !repaired {
            self.pattern.learn(text, &chunk);
        }
        if chunk.error.is_some() || chunk.object.as_deref() == Some("error") {
            let value = serde_json::from_str(text).unwrap_or_default();
            if let Some(error) = ReportedError::recognise(&value) {
                return Err(WireFault::Reported(error));
            }
        }
        if self.id.is_none() {
            self.id = chunk.id;
        }
        // Groq's first form of usage lies in an extension of its own.
        let extension = chunk.x_groq.and_then(|mut groq| groq.get_mut("usage").map(Value::take));
        if let Some(usage) = chunk.usage.or(extension).filter(Value::is_object) {
            self.usage = usage;
        }
        for choice in chunk.choices.unwrap_or_default() {
            if choice.index.unwrap_or(0) == 0 {
                self.choice(choice, repaired, out)?;
            }
        }
        Ok(())
    }

    fn choice(&mut self, choice: Choice, repaired: bool, out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        // Perplexity gives both. In a stream its `message` repeats the deltas before it; in a whole answer the delta
        // is empty.
        let is_whole = choice.finish_reason.is_some() && self.is_blank();
        let delta = choice.delta.filter(|delta| choice.message.is_none() || !is_whole || !delta.is_empty());
        if let Some(delta) = delta.or(choice.message) {
            self.delta(delta, repaired, out)?;
        }
        match choice.finish_reason {
            Some(reason) if FAILED.contains(&reason.as_str()) => Err(WireFault::Reported(ReportedError {
                message: format!("the answer ended with finish_reason `{reason}`"),
                ..ReportedError::default()
            })),
            Some(reason) if !reason.is_empty() => {
                self.finish_reason = Some(reason);
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether nothing of the answer has come yet.
    fn is_blank(&self) -> bool {
        self.text.is_empty() && self.thinking.is_empty() && self.held.is_empty() && self.calls.is_empty()
    }

    fn delta(&mut self, delta: Delta, repaired: bool, out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        // Some services send the same thought under both names.
        let reasoning = delta.reasoning_content.filter(|text| !text.is_empty()).or(delta.reasoning);
        self.bounds.take_any(reasoning.as_deref())?;
        self.think(reasoning.unwrap_or_default(), out);
        match delta.content {
            None => {}
            Some(Content::Text(text)) => self.content(text, out)?,
            Some(Content::Parts { thinking, text }) => {
                self.bounds.take(&thinking)?;
                self.bounds.take(&text)?;
                self.think(thinking, out);
                self.hold(text, out);
            }
        }
        if let Some(refusal) = delta.refusal.filter(|text| !text.is_empty()) {
            self.refused = true;
            self.bounds.take(&refusal)?;
            self.say(refusal, out);
        }
        let calls = delta.tool_calls.unwrap_or_default();
        let has_calls = !calls.is_empty();
        for call in calls {
            self.release_held(out);
            if self.calls.is_empty() {
                out.push(ModelEvent::ToolCallStarted);
            }
            self.calls.add(call, repaired, &mut self.bounds)?;
        }
        // Services that give both forms of a call mean the same call.
        if let Some(function) = delta.function_call.filter(|call| !has_calls && !call.is_empty()) {
            self.release_held(out);
            let call = CallDelta { function: Some(function), ..CallDelta::default() };
            self.calls.add(call, repaired, &mut self.bounds)?;
        }
        Ok(())
    }

    fn think(&mut self, text: String, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.thinking.push_str(&text);
            out.push(ModelEvent::ThinkingDelta(text));
        }
    }

    fn content(&mut self, text: String, out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        self.bounds.take(&text)?;
        self.hold(text, out);
        Ok(())
    }

    fn hold(&mut self, text: String, out: &mut Vec<ModelEvent>) {
        let text = self.held.push(text);
        self.say(text, out);
    }

    fn release_held(&mut self, out: &mut Vec<ModelEvent>) {
        let text = self.held.release();
        self.say(text, out);
    }

    fn say(&mut self, text: String, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.text.push_str(&text);
            out.push(ModelEvent::TextDelta(text));
        }
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), WireFault> {
        self.finished = true;
        let text_calls = self.held.take_calls();
        self.release_held(out);
        let mut parts = Vec::new();
        if !self.thinking.is_empty() {
            let text = std::mem::take(&mut self.thinking);
            let raw = json!({ "reasoning_content": text });
            let provenance = Some(Provenance { wire: Wire::OpenAi.name().to_owned(), raw });
            parts.push(Part::Thinking { text, provenance });
        }
        parts.push(Part::Text(std::mem::take(&mut self.text)));
        parts.extend(self.calls.take().into_iter().chain(text_calls).map(Part::Call));
        let stop = if self.refused { StopReason::Refusal } else { stop_reason(self.finish_reason.take()) };
        let ending = Ending {
            stop,
            usage: tokens::chat_usage(&self.usage),
            request_id: self.id.take(),
            calls_before: self.calls_before,
        };
        out.push(ModelEvent::Finished(Box::new(draft::finish(parts, ending)?)));
        Ok(())
    }
}

fn stop_reason(word: Option<String>) -> StopReason {
    let Some(word) = word else {
        return StopReason::EndTurn;
    };
    match word.as_str() {
        "stop" | "eos" | "stop_sequence" | "end_turn" => StopReason::EndTurn,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "length" | "model_length" | "max_tokens" => StopReason::MaxTokens,
        "pause_turn" => StopReason::Paused,
        // The words of other services for what a filter of theirs has stopped.
        "content_filter" | "refusal" | "safety" | "recitation" | "sensitive" | "prohibited_content" => {
            StopReason::Refusal
        }
        _ => StopReason::Unknown(word),
    }
}
