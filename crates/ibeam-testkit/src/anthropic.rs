//! Answers as server-sent events of the Anthropic Messages API.
//!
//! Source: the API reference, "Streaming messages", version 2023-06-01.

use ibeam_protocol::StopReason;
use serde_json::{Value, json};

use crate::api::{AnswerScript, Api};
use crate::request::{self, Request};
use crate::script::{Frame, Step, pieces, stop_reason};

pub(crate) const API: Api = Api {
    model_name: "anthropic/claude-sonnet-4-6",
    base_url_variable: "ANTHROPIC_BASE_URL",
    key_variable: "ANTHROPIC_API_KEY",
    key_header: ("x-api-key", ""),
    has_path: |path| path == "/v1/messages",
    id_header: Some("request-id"),
    stream,
    error,
    violation,
    transcript: request::transcript_of,
};

/// Returns the complete stream of an answer.
pub(crate) fn stream(script: &AnswerScript<'_>) -> Vec<Frame> {
    let AnswerScript { steps, usage, stop, model, number } = *script;
    let message = json!({
        "id": format!("msg_{number:04}"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {
            "input_tokens": usage.input,
            "cache_creation_input_tokens": usage.cache_write,
            "cache_read_input_tokens": usage.cache_read,
            "output_tokens": 1,
        },
    });
    let mut blocks = Blocks { frames: Vec::new(), open: None, next: 0 };
    blocks.push_event(json!({ "type": "message_start", "message": message }));
    blocks.push_event(json!({ "type": "ping" }));
    for step in steps {
        if !blocks.push_step(step) {
            return blocks.frames;
        }
    }
    blocks.end_open_text();
    let stop_reason = match stop_reason(steps, stop) {
        StopReason::EndTurn => "end_turn".to_owned(),
        StopReason::ToolUse => "tool_use".to_owned(),
        StopReason::MaxTokens => "max_tokens".to_owned(),
        StopReason::Paused => "pause_turn".to_owned(),
        StopReason::Refusal => "refusal".to_owned(),
        StopReason::Unknown(word) => word,
    };
    blocks.push_event(json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop_reason, "stop_sequence": null },
        "usage": { "output_tokens": usage.output },
    }));
    blocks.push_event(json!({ "type": "message_stop" }));
    blocks.frames
}

/// Returns the body of an error.
pub(crate) fn error(_status: u16, kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

/// Checks the required header and fields, and that calls and results match.
fn violation(request: &Request) -> Option<String> {
    let missing = |what: &str| Some(format!("{what} is missing"));
    if let Some(violation) = request.missing_field() {
        return Some(violation);
    }
    if request.header("anthropic-version").is_none() {
        return missing("header anthropic-version");
    }
    if !request.body["max_tokens"].is_u64() {
        return missing("max_tokens");
    }
    call_violation(request)
}

/// Checks that each call has its result in the next message, and each result its call in the previous one.
pub(crate) fn call_violation(request: &Request) -> Option<String> {
    let ids = |message: Option<&Value>, kind: &str, key: &str| -> Vec<String> {
        let blocks = message.and_then(|message| message["content"].as_array()).into_iter().flatten();
        let of_kind = blocks.filter(|block| block["type"] == kind);
        of_kind.filter_map(|block| block[key].as_str().map(str::to_owned)).collect()
    };
    let messages = request.messages();
    if messages.first().is_some_and(|first| first["role"] != "user") {
        return Some("messages: the first message must have the role user".to_owned());
    }
    for (at, message) in messages.iter().enumerate() {
        let mut calls = ids(Some(message), "tool_use", "id");
        let mut results = ids(messages.get(at + 1), "tool_result", "tool_use_id");
        calls.sort();
        results.sort();
        if calls != results {
            return Some(format!("messages.{at}: calls {calls:?} are answered by {results:?}"));
        }
    }
    ids(messages.first(), "tool_result", "tool_use_id").pop().map(|id| format!("messages.0: no call `{id}`"))
}

/// The frames of a stream, built block by block.
struct Blocks {
    frames: Vec<Frame>,
    /// The index of the open text block.
    open: Option<usize>,
    /// The index of the next block.
    next: usize,
}

impl Blocks {
    /// Adds an event, whose name is the `type` of its data.
    fn push_event(&mut self, data: Value) {
        let name = data["type"].as_str().unwrap_or_default().to_owned();
        self.frames.push(Frame::named_event(&name, &data));
    }

    fn start_block(&mut self, block: Value) -> usize {
        self.end_open_text();
        let index = self.next;
        self.next += 1;
        self.push_event(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        index
    }

    fn push_delta(&mut self, index: usize, delta: Value) {
        self.push_event(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
    }

    fn end_block(&mut self, index: usize) {
        self.push_event(json!({ "type": "content_block_stop", "index": index }));
    }

    /// Ends the open text block.
    fn end_open_text(&mut self) {
        if let Some(index) = self.open.take() {
            self.end_block(index);
        }
    }

    /// Adds a step. Returns `false` if no step can follow it.
    fn push_step(&mut self, step: &Step) -> bool {
        match step {
            Step::Text(text) => {
                let index = match self.open {
                    Some(index) => index,
                    None => self.start_block(json!({ "type": "text", "text": "" })),
                };
                self.open = Some(index);
                self.push_delta(index, json!({ "type": "text_delta", "text": text }));
            }
            Step::Thinking { text, signature } => {
                let index = self.start_block(json!({ "type": "thinking", "thinking": "", "signature": "" }));
                for piece in pieces(text, 2) {
                    self.push_delta(index, json!({ "type": "thinking_delta", "thinking": piece }));
                }
                self.push_delta(index, json!({ "type": "signature_delta", "signature": signature }));
                self.end_block(index);
            }
            Step::Call { id, name, arguments } => {
                let index =
                    self.start_block(json!({ "type": "tool_use", "id": id, "name": name, "input": {} }));
                self.push_delta(index, json!({ "type": "input_json_delta", "partial_json": "" }));
                for piece in pieces(arguments, 3) {
                    self.push_delta(index, json!({ "type": "input_json_delta", "partial_json": piece }));
                }
                self.end_block(index);
            }
            Step::Pause(pause) => self.frames.push(Frame::Pause(*pause)),
            Step::Raw(bytes) => self.frames.push(Frame::Bytes(bytes.clone())),
            Step::Cut => self.frames.push(Frame::Cut),
            Step::Stall => self.frames.push(Frame::Stall),
        }
        !matches!(step, Step::Cut | Step::Stall)
    }
}
