//! Decodes lines of Claude Code into steps.
//!
//! With partial messages each text occurs twice: in pieces, as `stream_event`s, and complete. The complete text is skipped.

use std::collections::HashMap;

use ibeam_wire::digest::TextDigest;
use serde_json::{Value, json};

use crate::iso_time;
use crate::json::{Object, take, take_list, take_object, take_text, text};
use crate::step::{CallStep, Payload, Step, StepDecoder, StepSink, TextStep};

/// The maximum number of calls that may wait for a result.
const MAX_OPEN_CALLS: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Decoder {
    has_started: bool,
    session: String,
    model: String,
    /// The answer id and the payload of each call without a result, by the id of the call.
    open: HashMap<String, (Option<String>, Payload)>,
    /// The text whose pieces were received, but not yet the complete text.
    pieces: TextDigest,
    /// The text of the last complete message.
    last: TextDigest,
}

impl StepDecoder for Decoder {
    fn decode_event(&mut self, mut event: Object, sink: &mut StepSink<'_>) -> bool {
        let kind = take_text(&mut event, "type").unwrap_or_default();
        let known = match kind.as_str() {
            "assistant" | "user" | "result" => true,
            "system" => text(&event, "subtype") == Some("init"),
            "stream_event" => true,
            _ => false,
        };
        if !known {
            return false;
        }
        let session = take_text(&mut event, "session_id").unwrap_or_default();
        if !self.has_started && kind != "system" && !session.is_empty() {
            self.has_started = true;
            self.session.clone_from(&session);
            sink.push(Step::Init { session: session.clone(), payload: json!({ "system/init": {} }) });
        }
        if self.has_started && session != self.session && !session.is_empty() {
            sink.record_loss("session_id");
        }
        match kind.as_str() {
            "system" => {
                event.shift_remove("subtype");
                drop_uuid("system/init", &mut event, sink);
                if self.has_started {
                    sink.record_loss("system/init");
                    return true;
                }
                self.has_started = true;
                self.session.clone_from(&session);
                text(&event, "model").unwrap_or_default().clone_into(&mut self.model);
                sink.push(Step::Init { session, payload: json!({ "system/init": event }) });
            }
            "assistant" => self.decode_assistant(event, sink),
            "user" => self.decode_user(event, sink),
            "stream_event" => self.decode_stream_event(event, sink),
            _ => {
                drop_uuid("result", &mut event, sink);
                // The end repeats the last text, which was already added.
                if text(&event, "subtype") == Some("success")
                    && !event.get("is_error").and_then(Value::as_bool).unwrap_or_default()
                    && text(&event, "result").is_some_and(|result| self.last.matches(result))
                {
                    event.shift_remove("result");
                }
                sink.push(Step::End(json!({ "result": event })));
            }
        }
        true
    }

    fn finish(&mut self, _: &mut StepSink<'_>) {}
}

impl Decoder {
    fn decode_assistant(&mut self, mut event: Object, sink: &mut StepSink<'_>) {
        let Some(mut message) = take_object(&mut event, "message") else {
            return sink.record_loss("assistant");
        };
        let answer = take_text(&mut message, "id");
        let blocks = take_list(&mut message, "content").unwrap_or_default();
        for (key, known) in [("type", "message"), ("role", "assistant"), ("model", &self.model)] {
            if text(&message, key) == Some(known) {
                message.shift_remove(key);
            }
        }
        sink.record_rest_as_lost("assistant.message", &message);
        drop_uuid("assistant", &mut event, sink);
        // Texts of sub-agents are not part of the answer, but their calls are executed.
        let own = is_own(&event);
        sink.record_rest_as_lost("assistant", &event);
        for block in blocks {
            let Value::Object(mut block) = block else {
                sink.record_loss("assistant.message.content[]");
                continue;
            };
            match take_text(&mut block, "type").as_deref() {
                Some(kind @ ("text" | "thinking")) if !own => sink.record_loss(&format!("assistant/{kind}")),
                Some("text") => {
                    let text = take_text(&mut block, "text").unwrap_or_default();
                    sink.record_rest_as_lost("assistant/text", &block);
                    let pieces = std::mem::take(&mut self.pieces);
                    self.last = TextDigest::from_text(&text);
                    if pieces.len_bytes == 0 || !pieces.matches(&text) {
                        sink.push(Step::Text(TextStep { text, at_ms: None, answer_id: answer.clone() }));
                    }
                }
                Some("thinking") => {
                    let thought = take_text(&mut block, "thinking").unwrap_or_default();
                    sink.record_rest_as_lost("assistant/thinking", &block);
                    sink.push(Step::Thought(thought));
                }
                Some("tool_use") => {
                    let id = take_text(&mut block, "id").unwrap_or_default();
                    let payload = json!({ "assistant/tool_use": block });
                    if self.open.len() < MAX_OPEN_CALLS {
                        self.open.insert(id.clone(), (answer.clone(), payload.clone()));
                    }
                    sink.push(Step::CallStarted(CallStep {
                        id,
                        answer_id: answer.clone(),
                        at_ms: None,
                        payload,
                    }));
                }
                other => sink.record_loss(&format!("assistant/{}", other.unwrap_or_default())),
            }
        }
    }

    fn decode_user(&mut self, mut event: Object, sink: &mut StepSink<'_>) {
        let Some(mut message) = take_object(&mut event, "message") else { return sink.record_loss("user") };
        let structured = take(&mut event, "tool_use_result");
        drop_uuid("user", &mut event, sink);
        // The flag of a repeated prompt has no meaning here.
        event.shift_remove("isReplay");
        let blocks = match take(&mut message, "content") {
            Value::String(text) => vec![json!({ "type": "text", "text": text })],
            Value::Array(blocks) => blocks,
            _ => Vec::new(),
        };
        if text(&message, "role") == Some("user") {
            message.shift_remove("role");
        }
        sink.record_rest_as_lost("user.message", &message);
        let own = is_own(&event);
        let mut prompt = Vec::new();
        let mut results = Vec::new();
        for block in blocks {
            let Value::Object(mut block) = block else {
                sink.record_loss("user.message.content[]");
                continue;
            };
            match take_text(&mut block, "type").as_deref() {
                Some("text") if !own => sink.record_loss("user/text"),
                Some("text") => {
                    prompt.extend(take_text(&mut block, "text"));
                    sink.record_rest_as_lost("user/text", &block);
                }
                Some("tool_result") => results.push(block),
                other => sink.record_loss(&format!("user/{}", other.unwrap_or_default())),
            }
        }
        let at =
            if results.is_empty() { None } else { text(&event, "timestamp").and_then(iso_time::from_iso) };
        if at.is_some() {
            event.shift_remove("timestamp");
        }
        sink.record_rest_as_lost("user", &event);
        if !prompt.is_empty() {
            sink.push(Step::Prompt(prompt));
        }
        let alone = results.len() == 1;
        if !alone && !structured.is_null() {
            sink.record_loss("user.tool_use_result");
        }
        for mut result in results {
            let id = take_text(&mut result, "tool_use_id").unwrap_or_default();
            if alone && !structured.is_null() {
                result.insert("tool_use_result".to_owned(), structured.clone());
            }
            let Some((answer, mut payload)) = self.open.remove(&id) else {
                sink.record_loss("user/tool_result");
                continue;
            };
            if let Some(payload) = payload.as_object_mut() {
                payload.insert("user/tool_result".to_owned(), result.into());
            }
            sink.push(Step::CallEnded(CallStep { id, answer_id: answer, at_ms: at, payload }));
        }
    }

    fn decode_stream_event(&mut self, mut event: Object, sink: &mut StepSink<'_>) {
        let own = is_own(&event);
        let inner = take_object(&mut event, "event").unwrap_or_default();
        let kind = text(&inner, "type").unwrap_or_default();
        if own && kind == "content_block_start" {
            // A text that was not completed is abandoned.
            self.pieces = TextDigest::default();
        }
        let delta =
            inner.get("delta").filter(|delta| delta.get("type").is_some_and(|kind| kind == "text_delta"));
        let piece = delta
            .and_then(|delta| delta.get("text")?.as_str())
            .filter(|_| own && kind == "content_block_delta");
        match piece {
            Some(piece) => {
                self.pieces.push(piece);
                sink.record_joined("stream_event/content_block_delta");
                sink.push(Step::Text(TextStep { text: piece.to_owned(), at_ms: None, answer_id: None }));
            }
            None => sink.record_loss(&format!("stream_event/{kind}")),
        }
    }
}

/// Whether the event belongs to the run itself, not to a sub-agent.
fn is_own(event: &Object) -> bool {
    event.get("parent_tool_use_id").is_none_or(Value::is_null)
}

/// Removes the id of a line, which no other dialect has.
fn drop_uuid(name: &str, event: &mut Object, sink: &mut StepSink<'_>) {
    if event.shift_remove("uuid").is_some() {
        sink.record_loss(&format!("{name}.uuid"));
    }
}
