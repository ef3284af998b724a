//! Decoder for `streamGenerateContent`.
//!
//! Pure state machine. Ignores unknown fields, and all candidates except the first. The stream has no terminal event: an
//! answer is complete at the end of the stream after a finish reason. More content may follow a finish reason, when the
//! service runs code; then the answer has another one.

use ibeam_core::ModelEvent;
use ibeam_protocol::{OriginalBlock, StopReason, Usage};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::chunk::{Candidate, Chunk, ContentPart, FunctionCall, UsageMetadata};
use super::errors;
use super::partial_arguments::PartialArguments;
use super::request::SIGNATURE;
use crate::answer_draft::{CallDraft, Part, TokenCount, TokenCounts};
use crate::answer_state::AnswerState;
use crate::lenient_json::{self, Text, string_or_empty};
use crate::response_error::{ReportedError, ResponseError, parse_failure};
use crate::wire_protocol::AnswerDecoder;
use ibeam_http::framing::Frame;

/// The finish reasons in the order of their numbers.
const FINISH_REASONS: &[&str] = &[
    "FINISH_REASON_UNSPECIFIED",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
    "MODEL_ARMOR",
];

/// The state of one answer.
#[derive(Debug)]
pub(super) struct Decoder {
    /// The name of the protocol, for the blocks that are sent back.
    wire: &'static str,
    parts: Vec<Part>,
    /// Whether the last part is a text with a signature. A text without a signature does not continue it.
    last_is_signed: bool,
    /// The call whose arguments are streamed: its position, and the arguments.
    open_call: Option<(usize, PartialArguments)>,
    /// Whether the last part requests an execution by the service whose result has not arrived.
    awaits_service: bool,
    /// The finish reason: how the answer ends, or why it is none.
    stop: Option<Result<StopReason, ResponseError>>,
    usage: UsageMetadata,
    state: AnswerState,
}

impl AnswerDecoder for Decoder {
    fn state(&self) -> &AnswerState {
        &self.state
    }

    fn add_frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        // Some gateways end every stream as the Chat Completions API does.
        if frame.data.trim() == "[DONE]" {
            return if self.has_stopped() { self.finish(out) } else { Ok(()) };
        }
        if frame.event == "error" {
            let value = serde_json::from_str(&frame.data).unwrap_or_default();
            return Err(ResponseError::Reported(errors::parse(&value)));
        }
        let mut buffer = String::new();
        let (chunk, repaired) = lenient_json::parse::<Chunk<'_>>(&frame.data, &mut buffer)
            .map_err(|error| parse_failure(&frame.data, &error))?;
        self.add_chunk(chunk, repaired, out)
    }

    fn has_stopped(&self) -> bool {
        self.stop.is_some() && !self.awaits_service
    }

    fn reported_usage(&self) -> Option<Usage> {
        let counts = self.usage.clone();
        TokenCounts {
            input: counts.prompt_token_count,
            output: counts.candidates_token_count.plus(&counts.thoughts_token_count),
            cache_read: counts.cached_content_token_count,
            cache_write: TokenCount::default(),
            reasoning: counts.thoughts_token_count,
        }
        .usage_with_cache_in_input()
    }

    fn complete(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        self.finish(out)
    }

    /// Decodes an answer that is one document: an object, or, for a stream without `alt=sse`, a list of chunks.
    fn decode_document(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        let mut buffer = String::new();
        if body.trim_start().starts_with('[') {
            let (chunks, repaired) = lenient_json::parse::<Vec<Chunk<'_>>>(body, &mut buffer)
                .map_err(|error| parse_failure(body, &error))?;
            for chunk in chunks {
                self.add_chunk(chunk, repaired, out)?;
            }
            return self.finish_stream(None, out);
        }
        let (chunk, repaired) = lenient_json::parse::<Chunk<'_>>(body, &mut buffer)
            .map_err(|error| parse_failure(body, &error))?;
        self.add_chunk(chunk, repaired, out)?;
        if self.stop.is_none() && self.parts.is_empty() {
            return Err(ResponseError::Protocol("the document holds no answer".into()));
        }
        self.finish(out)
    }
}

impl Decoder {
    pub(super) fn new(wire: &'static str, calls_before: usize) -> Self {
        Self {
            wire,
            parts: Vec::new(),
            last_is_signed: false,
            open_call: None,
            awaits_service: false,
            stop: None,
            usage: UsageMetadata::default(),
            state: AnswerState::new(calls_before),
        }
    }

    fn add_chunk(
        &mut self,
        chunk: Chunk<'_>,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        if let Some(error) = chunk.error.and_then(|error| errors::recognise(error.get())) {
            return Err(ResponseError::Reported(error));
        }
        if self.state.id.is_none() {
            self.state.id = chunk.response_id.map(Text::into_string);
        }
        if let Some(usage) = chunk.usage_metadata {
            self.usage.update(usage);
        }
        for candidate in chunk.candidates.unwrap_or_default() {
            if candidate.index.unwrap_or(0) == 0 {
                self.add_candidate(candidate, repaired, out)?;
            }
        }
        if chunk.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            self.stop = Some(Ok(StopReason::Refusal));
        }
        Ok(())
    }

    fn add_candidate(
        &mut self,
        candidate: Candidate<'_>,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        for part in candidate.content.and_then(|content| content.parts).unwrap_or_default() {
            if self.add_part(part, repaired, out)? {
                self.stop = None;
            }
        }
        if let Some(stop) = candidate.finish_reason.and_then(stop_reason) {
            self.stop = Some(stop);
        }
        Ok(())
    }

    /// Adds a part. Returns whether another finish reason must follow it. After a part that is only a signature, the
    /// earlier finish reason remains valid.
    fn add_part(
        &mut self,
        part: ContentPart<'_>,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<bool, ResponseError> {
        let ContentPart { text, thought, signature, call, other } = part;
        self.state.limits.count_optional(text.as_ref().map(Text::as_str))?;
        self.state.limits.count_optional(signature.as_ref().map(Text::as_str))?;
        let has_text = text.as_ref().is_some_and(|text| !text.as_str().is_empty());
        let is_readable = has_text || (thought && other.is_empty());
        if call.is_none() && other.is_empty() && !has_text && signature.is_none() {
            return Ok(false);
        }
        let continues = call.is_some() || has_text || !other.is_empty();
        self.awaits_service = false;
        match call {
            Some(call) => self.add_call(call, signature, repaired, out)?,
            None if !is_readable => {
                self.awaits_service = other.contains_key("executableCode") || other.contains_key("toolCall");
                let raw = raw_part(other, text, thought, signature);
                self.state.limits.count(&raw.to_string())?;
                self.push(Part::Opaque(self.original_block(raw)))?;
            }
            None if thought => self.add_thought(text, signature, out)?,
            None => self.add_text(text.unwrap_or_default(), signature, out)?,
        }
        Ok(continues)
    }

    fn add_text(
        &mut self,
        text: Text<'_>,
        signature: Option<Text<'_>>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        match (signature, self.parts.last_mut()) {
            (None, Some(Part::Text(known))) if !self.last_is_signed => known.push_str(text.as_str()),
            (None, _) => self.push(Part::Text(text.as_str().to_owned()))?,
            (Some(signature), _) => {
                self.push_signature(signature)?;
                self.push(Part::Text(text.as_str().to_owned()))?;
                self.last_is_signed = true;
            }
        }
        out.push(ModelEvent::TextDelta(text.into_string()));
        Ok(())
    }

    /// Adds a summary of reasoning. Only one with a signature is sent back.
    fn add_thought(
        &mut self,
        text: Option<Text<'_>>,
        signature: Option<Text<'_>>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        let thought = text.as_ref().map_or("", Text::as_str).to_owned();
        match (&signature, self.parts.last_mut()) {
            (None, Some(Part::Thinking { text: known, original: None })) => known.push_str(&thought),
            _ => {
                let is_signed = signature.is_some();
                let original =
                    is_signed.then(|| self.original_block(raw_part(Map::new(), text, true, signature)));
                self.push(Part::Thinking { text: thought.clone(), original })?;
            }
        }
        if !thought.is_empty() {
            out.push(ModelEvent::ThinkingDelta(thought));
        }
        Ok(())
    }

    /// Adds a call, or a piece of the open one. A piece has no name.
    fn add_call(
        &mut self,
        call: FunctionCall<'_>,
        signature: Option<Text<'_>>,
        repaired: bool,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ResponseError> {
        let name = string_or_empty(call.name);
        if !name.is_empty() {
            self.close_call();
        }
        let given = call.args.map_or("", RawValue::get);
        let pieces = call.partial_args.unwrap_or_default();
        let will_continue = call.will_continue.unwrap_or(false);
        let is_start = self.open_call.is_none();
        // This piece is the end of a call that is already complete.
        if is_start && name.is_empty() && given.is_empty() && pieces.is_empty() {
            return Ok(());
        }
        if let Some(signature) = signature {
            self.push_signature(signature)?;
        }
        if is_start {
            out.push(ModelEvent::ToolCallAnnounced);
            let id = string_or_empty(call.id);
            for content in [&id, &name] {
                self.state.limits.count(content)?;
            }
            self.push(Part::Call(CallDraft { id, name, ..CallDraft::default() }))?;
        }
        self.state.limits.count(given)?;
        let start = self.parts.len().saturating_sub(1);
        let (position, mut arguments) = match self.open_call.take() {
            Some((position, arguments)) => (position, Some(arguments)),
            None => (start, None),
        };
        if will_continue || !pieces.is_empty() {
            let arguments = arguments.get_or_insert_with(PartialArguments::new);
            for piece in pieces {
                arguments.add(piece, &mut self.state.limits)?;
            }
        }
        if let Some(Part::Call(draft)) = self.parts.get_mut(position) {
            draft.arguments.push_str(given);
            draft.repaired |= repaired;
        }
        self.open_call = arguments.map(|arguments| (position, arguments));
        if !will_continue {
            self.close_call();
        }
        Ok(())
    }

    /// Completes the open call with the arguments that have arrived.
    fn close_call(&mut self) {
        let Some((position, arguments)) = self.open_call.take() else { return };
        if let Some(Part::Call(draft)) = self.parts.get_mut(position) {
            if draft.arguments.is_empty() {
                draft.arguments = arguments.to_json();
            }
            draft.repaired |= !arguments.is_valid();
        }
    }

    /// Adds the signature of the part that follows.
    fn push_signature(&mut self, signature: Text<'_>) -> Result<(), ResponseError> {
        let raw = raw_part(Map::new(), None, false, Some(signature));
        self.push(Part::Opaque(self.original_block(raw)))
    }

    fn push(&mut self, part: Part) -> Result<(), ResponseError> {
        self.state.limits.count_part()?;
        self.last_is_signed = false;
        self.parts.push(part);
        Ok(())
    }

    fn original_block(&self, raw: Value) -> OriginalBlock {
        OriginalBlock { wire: self.wire.to_owned(), raw }
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ResponseError> {
        if let Some((position, _)) = self.open_call {
            self.close_call();
            // The rest of the arguments is missing.
            if let Some(Part::Call(draft)) = self.parts.get_mut(position) {
                draft.repaired = true;
            }
        }
        let usage = self.reported_usage();
        let stop = self.stop.take().unwrap_or(Ok(StopReason::EndTurn))?;
        let parts = std::mem::take(&mut self.parts);
        self.state.finish(parts, stop, usage, out)
    }
}

/// Returns a part as the service sent it.
fn raw_part(
    mut fields: Map<String, Value>,
    text: Option<Text<'_>>,
    thought: bool,
    signature: Option<Text<'_>>,
) -> Value {
    if let Some(text) = text {
        fields.insert("text".to_owned(), Value::String(text.into_string()));
    }
    if thought {
        fields.insert("thought".to_owned(), Value::Bool(true));
    }
    if let Some(signature) = signature {
        fields.insert(SIGNATURE.to_owned(), Value::String(signature.into_string()));
    }
    Value::Object(fields)
}

/// Returns the stop reason, or the failure, for a finish reason, which is a name or a number; `None` for an unspecified
/// reason.
fn stop_reason(reason: &RawValue) -> Option<Result<StopReason, ResponseError>> {
    let value: Value = serde_json::from_str(reason.get()).ok()?;
    let name = match &value {
        Value::String(name) => name.as_str(),
        _ => FINISH_REASONS.get(usize::try_from(value.as_u64()?).ok()?).copied().unwrap_or(reason.get()),
    };
    let stop = match name {
        "" | "FINISH_REASON_UNSPECIFIED" => return None,
        "STOP" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "ESCALATION" => StopReason::Refusal,
        name => match failure(name) {
            Some(failure) => return Some(Err(failure)),
            None => StopReason::Unknown(name.to_owned()),
        },
    };
    Some(Ok(stop))
}

/// Returns the failure that a finish reason means. An answer that the model wrote wrongly may be right at the next attempt;
/// the others would fail again.
fn failure(name: &str) -> Option<ResponseError> {
    let rejected = |message: &str| {
        let message = format!("{message} ({name})");
        ResponseError::Reported(ReportedError { status: Some(400), kind: name.to_owned(), message })
    };
    Some(match name {
        "MALFORMED_FUNCTION_CALL" | "MALFORMED_RESPONSE" => {
            ResponseError::Protocol(format!("the model wrote an unreadable answer: {name}"))
        }
        "TOO_MANY_TOOL_CALLS" => ResponseError::TooLarge(format!(
            "the model called the tools of the service more often than the service allows: {name}"
        )),
        "MISSING_THOUGHT_SIGNATURE" => rejected("a thought signature of the conversation is missing"),
        "LANGUAGE" => rejected("the service does not support the language of the answer"),
        _ => return None,
    })
}
