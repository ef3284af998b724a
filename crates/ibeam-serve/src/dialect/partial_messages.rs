//! `--include-partial-messages` of Claude Code: pieces of a text as they arrive, before the complete message.
//!
//! Each text is streamed as one message with one block. Calls are not streamed.

use ibeam_dialects::Step;
use ibeam_protocol::SessionId;
use serde_json::{Value, json};

use super::control_protocol::value_at;

/// The message that is being streamed.
#[derive(Default)]
pub(super) struct PartialMessages {
    session: String,
    model: String,
    is_open: bool,
}

impl PartialMessages {
    /// Appends the lines that precede the lines of `step`, whose payload is in contract 1.
    pub(super) fn write(&mut self, step: &Step, out: &mut Vec<Value>) {
        match step {
            Step::Init { session, payload } => {
                self.session.clone_from(session);
                let model = value_at(payload, "/system~1init/model").as_str().unwrap_or_default();
                model.clone_into(&mut self.model);
                self.is_open = false;
            }
            Step::Text(text) => {
                if !std::mem::replace(&mut self.is_open, true) {
                    self.start_message(out);
                }
                let delta = json!({ "type": "text_delta", "text": text.text });
                let event = json!({ "type": "content_block_delta", "index": 0, "delta": delta });
                self.push(event, out);
            }
            Step::CallStarted(_) | Step::CallEnded(_) => self.end_message("tool_use", out),
            Step::Prompt(_) | Step::Thought(_) | Step::End(_) => self.end_message("end_turn", out),
        }
    }

    fn start_message(&self, out: &mut Vec<Value>) {
        let message = json!({
            "id": format!("msg_{}", SessionId::random()),
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": { "input_tokens": 0, "output_tokens": 0 },
        });
        self.push(json!({ "type": "message_start", "message": message }), out);
        let block = json!({ "type": "text", "text": "" });
        self.push(json!({ "type": "content_block_start", "index": 0, "content_block": block }), out);
    }

    fn end_message(&mut self, reason: &str, out: &mut Vec<Value>) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        self.push(json!({ "type": "content_block_stop", "index": 0 }), out);
        let delta = json!({ "stop_reason": reason, "stop_sequence": null });
        self.push(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 0 } }), out);
        self.push(json!({ "type": "message_stop" }), out);
    }

    fn push(&self, event: Value, out: &mut Vec<Value>) {
        out.push(json!({
            "type": "stream_event",
            "event": event,
            "session_id": self.session,
            "parent_tool_use_id": null,
            "uuid": SessionId::random().to_string(),
        }));
    }
}
