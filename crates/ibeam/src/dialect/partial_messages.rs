//! `--include-partial-messages` of Claude Code: pieces of a text as they come, before the message that has it whole.
//!
//! A text is one streamed message with one block. Calls come whole.

use ibeam_protocol::SessionId;
use serde_json::{Value, json};

use super::control_protocol::at;

/// What was streamed so far.
#[derive(Default)]
pub(super) struct PartialMessages {
    session: String,
    model: String,
    open: bool,
}

impl PartialMessages {
    /// Appends the events for a line of contract 1, which stand before what the line becomes.
    pub(super) fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        if !self.open && !is(line, "assistant") && !is(line, "system") {
            return;
        }
        let event: Value = serde_json::from_slice(line).unwrap_or_default();
        let text = |pointer: &str| at(&event, pointer).as_str().unwrap_or_default().to_owned();
        if is(line, "system") {
            (self.session, self.model, self.open) = (text("/session_id"), text("/model"), false);
        } else if is(line, "assistant") {
            if !std::mem::replace(&mut self.open, true) {
                let usage = json!({ "input_tokens": 0, "output_tokens": 0 });
                let message = json!({
                    "id": format!("msg_{}", SessionId::random()),
                    "type": "message",
                    "role": "assistant",
                    "model": self.model,
                    "content": [],
                    "stop_reason": null,
                    "stop_sequence": null,
                    "usage": usage,
                });
                self.event(json!({ "type": "message_start", "message": message }), out);
                let block = json!({ "type": "text", "text": "" });
                self.event(json!({ "type": "content_block_start", "index": 0, "content_block": block }), out);
            }
            let delta = json!({ "type": "text_delta", "text": text("/message/content/0/text") });
            self.event(json!({ "type": "content_block_delta", "index": 0, "delta": delta }), out);
        } else {
            self.open = false;
            let reason = if is(line, "tool_call") { "tool_use" } else { "end_turn" };
            self.event(json!({ "type": "content_block_stop", "index": 0 }), out);
            let delta = json!({ "stop_reason": reason, "stop_sequence": null });
            self.event(
                json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 0 } }),
                out,
            );
            self.event(json!({ "type": "message_stop" }), out);
        }
    }

    fn event(&self, event: Value, out: &mut Vec<u8>) {
        let line = json!({
            "type": "stream_event",
            "event": event,
            "session_id": self.session,
            "parent_tool_use_id": null,
            "uuid": SessionId::random().to_string(),
        });
        out.extend_from_slice(format!("{line}\n").as_bytes());
    }
}

/// Whether the line is of that type; ours begin with it.
fn is(line: &[u8], kind: &str) -> bool {
    line.strip_prefix(br#"{"type":""#)
        .is_some_and(|rest| rest.strip_prefix(kind.as_bytes()).is_some_and(|rest| rest.starts_with(b"\"")))
}
