//! Anthropic Messages, streaming. Source: the API reference, "Streaming messages".

use ibeam_protocol::StopReason;
use serde_json::{Value, json};

use super::{Chunk, Head, is_only_faults, pieces};
use crate::script::Step;

const SIGNATURE: &str = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds";

/// The kinds of block that deltas add to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Text,
    Thinking,
}

struct Encoder {
    chunks: Vec<Chunk>,
    index: u32,
    open: Option<Open>,
}

pub(super) fn encode(head: &Head, steps: &[Step]) -> Vec<Chunk> {
    let mut encoder = Encoder { chunks: Vec::new(), index: 0, open: None };
    let silent = is_only_faults(steps);
    if !silent {
        encoder.start(head);
    }
    let mut stop = None;
    let mut called = false;
    for step in steps {
        match step {
            Step::Text(text) => encoder.delta(Open::Text, json!({"type": "text_delta", "text": text})),
            Step::Thinking(text) => {
                encoder.delta(Open::Thinking, json!({"type": "thinking_delta", "thinking": text}));
            }
            Step::Call { id, name, arguments } => {
                called = true;
                encoder.call(id, name, arguments);
            }
            Step::Stop(reason) => stop = Some(reason.clone()),
            Step::Usage(_) | Step::Status { .. } => {}
            Step::Delay(time) => encoder.chunks.push(Chunk::Delay(*time)),
            Step::Raw(bytes) => encoder.chunks.push(Chunk::Bytes(bytes.clone())),
            Step::Cut => encoder.chunks.push(Chunk::Cut),
            Step::Stall => encoder.chunks.push(Chunk::Stall),
        }
    }
    if !silent {
        encoder.close();
        let reason = match stop.unwrap_or(if called { StopReason::ToolUse } else { StopReason::EndTurn }) {
            StopReason::EndTurn => "end_turn".to_owned(),
            StopReason::ToolUse => "tool_use".to_owned(),
            StopReason::MaxTokens => "max_tokens".to_owned(),
            StopReason::Refusal => "refusal".to_owned(),
            StopReason::Unknown(word) => word,
        };
        encoder.event(&json!({
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": head.usage.output},
        }));
        encoder.event(&json!({"type": "message_stop"}));
    }
    encoder.chunks
}

impl Encoder {
    fn event(&mut self, data: &Value) {
        let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
        self.chunks.push(Chunk::Bytes(format!("event: {name}\ndata: {data}\n\n").into_bytes()));
    }

    fn start(&mut self, head: &Head) {
        self.event(&json!({
            "type": "message_start",
            "message": {
                "id": format!("msg_{:04}", head.number),
                "type": "message",
                "role": "assistant",
                "model": head.model,
                "content": [],
                "stop_reason": null,
                "stop_sequence": null,
                "usage": {
                    "input_tokens": head.usage.input,
                    "cache_creation_input_tokens": head.usage.cache_write,
                    "cache_read_input_tokens": head.usage.cache_read,
                    "output_tokens": 1,
                },
            },
        }));
        self.event(&json!({"type": "ping"}));
    }

    fn begin(&mut self, block: &Value) {
        self.event(&json!({"type": "content_block_start", "index": self.index, "content_block": block}));
    }

    fn add(&mut self, delta: &Value) {
        self.event(&json!({"type": "content_block_delta", "index": self.index, "delta": delta}));
    }

    fn end(&mut self) {
        self.event(&json!({"type": "content_block_stop", "index": self.index}));
        self.index += 1;
    }

    /// Adds to the open block of this kind, or begins one.
    fn delta(&mut self, kind: Open, delta: Value) {
        if self.open != Some(kind) {
            self.close();
            self.open = Some(kind);
            self.begin(&match kind {
                Open::Text => json!({"type": "text", "text": ""}),
                Open::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
            });
        }
        self.add(&delta);
    }

    fn close(&mut self) {
        match self.open.take() {
            Some(Open::Thinking) => {
                self.add(&json!({"type": "signature_delta", "signature": SIGNATURE}));
                self.end();
            }
            Some(Open::Text) => self.end(),
            None => {}
        }
    }

    fn call(&mut self, id: &str, name: &str, arguments: &str) {
        self.close();
        self.begin(&json!({"type": "tool_use", "id": id, "name": name, "input": {}}));
        self.add(&json!({"type": "input_json_delta", "partial_json": ""}));
        for piece in pieces(arguments) {
            self.add(&json!({"type": "input_json_delta", "partial_json": piece}));
        }
        self.end();
    }
}
