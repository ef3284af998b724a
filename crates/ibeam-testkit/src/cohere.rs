//! Answers as server-sent events of the Cohere API.
//!
//! Source: the API reference, "Chat with streaming", version 2. The API has no signatures.

use ibeam_protocol::StopReason;
use serde_json::{Value, json};

use crate::api::{AnswerScript, Api};
use crate::openai;
use crate::request;
use crate::script::{Frame, Step, pieces, stop_reason};

pub(crate) const API: Api = Api {
    model_name: "cohere/claude-sonnet-4-6",
    base_url_variable: "COHERE_BASE_URL",
    key_variable: "CO_API_KEY",
    key_header: ("authorization", "Bearer "),
    has_path: |path| path == "/v2/chat",
    id_header: None,
    stream,
    error: |_status, _kind, message| json!({ "id": "8a2a5b6c", "message": message }),
    violation: |request| request.missing_field().or_else(|| openai::call_violation(request)),
    transcript,
};

fn stream(script: &AnswerScript<'_>) -> Vec<Frame> {
    let mut blocks = Blocks { frames: Vec::new(), next: 0, open: None };
    let message =
        json!({ "role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": [] });
    let id = format!("req_{:04}", script.number);
    blocks.push_event(json!({ "type": "message-start", "id": id, "delta": { "message": message } }));
    let mut calls = 0;
    for step in script.steps {
        match step {
            Step::Text(text) => blocks.push_content("text", text),
            Step::Thinking { text, signature: _ } => {
                pieces(text, 2).iter().for_each(|piece| blocks.push_content("thinking", piece));
            }
            Step::Call { id, name, arguments } => {
                blocks.end_open_block();
                let function = json!({ "name": name, "arguments": "" });
                let call = json!({ "id": id, "type": "function", "function": function });
                blocks.push_call("tool-call-start", calls, &call);
                for piece in pieces(arguments, 3) {
                    let call = json!({ "function": { "arguments": piece } });
                    blocks.push_call("tool-call-delta", calls, &call);
                }
                blocks.push_event(json!({ "type": "tool-call-end", "index": calls }));
                calls += 1;
            }
            Step::Pause(pause) => blocks.frames.push(Frame::Pause(*pause)),
            Step::Raw(bytes) => blocks.frames.push(Frame::Bytes(bytes.clone())),
            Step::Cut => {
                blocks.frames.push(Frame::Cut);
                return blocks.frames;
            }
            Step::Stall => {
                blocks.frames.push(Frame::Stall);
                return blocks.frames;
            }
        }
    }
    blocks.end_open_block();
    let finish_reason = match stop_reason(script.steps, script.stop) {
        StopReason::EndTurn => "COMPLETE".to_owned(),
        StopReason::ToolUse => "TOOL_CALL".to_owned(),
        StopReason::MaxTokens => "MAX_TOKENS".to_owned(),
        StopReason::Refusal => "ERROR_TOXIC".to_owned(),
        StopReason::Paused => "PAUSE".to_owned(),
        StopReason::Unknown(word) => word,
    };
    // This API counts cached tokens as input tokens, and has no count of tokens written to the cache.
    let input = script.usage.input + script.usage.cache_read;
    let tokens = json!({ "input_tokens": input, "output_tokens": script.usage.output });
    let usage = json!({ "billed_units": tokens, "tokens": tokens, "cached_tokens": script.usage.cache_read });
    let delta = json!({ "finish_reason": finish_reason, "usage": usage });
    blocks.push_event(json!({ "type": "message-end", "delta": delta }));
    blocks.frames.push(Frame::unnamed_event("[DONE]"));
    blocks.frames
}

/// The frames of a stream, built block by block.
struct Blocks {
    frames: Vec<Frame>,
    /// The number of the next content block.
    next: usize,
    /// The kind of the open content block.
    open: Option<&'static str>,
}

impl Blocks {
    fn push_event(&mut self, event: Value) {
        let name = event["type"].as_str().unwrap_or_default();
        self.frames.push(Frame::named_event(name, &event));
    }

    fn push_content(&mut self, kind: &'static str, text: &str) {
        if self.open != Some(kind) {
            self.end_open_block();
            self.open = Some(kind);
            let content = json!({ "type": kind, kind: "" });
            let delta = json!({ "message": { "content": content } });
            self.push_event(json!({ "type": "content-start", "index": self.next, "delta": delta }));
        }
        let delta = json!({ "message": { "content": { kind: text } } });
        self.push_event(json!({ "type": "content-delta", "index": self.next, "delta": delta }));
    }

    fn push_call(&mut self, kind: &str, index: usize, call: &Value) {
        let delta = json!({ "message": { "tool_calls": call } });
        self.push_event(json!({ "type": kind, "index": index, "delta": delta }));
    }

    /// Ends the open content block.
    fn end_open_block(&mut self) {
        if self.open.take().is_some() {
            self.push_event(json!({ "type": "content-end", "index": self.next }));
            self.next += 1;
        }
    }
}

/// Returns the lines for a message. A message with calls has its text in the field `tool_plan`.
fn transcript(message: &Value) -> Vec<String> {
    let mut message = message.clone();
    if let Some(text) = message["content"].as_str().and_then(|text| text.strip_prefix("Error: ")) {
        message["content"] = text.to_owned().into();
    }
    if let Some(plan) = message.get("tool_plan").and_then(Value::as_str) {
        message["content"] = plan.to_owned().into();
    }
    request::transcript_of(&message)
}
