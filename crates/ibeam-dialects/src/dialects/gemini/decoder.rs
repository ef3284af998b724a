//! Decodes lines of Gemini CLI into steps.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::iso_time;
use crate::json::{Object, take_text, text};
use crate::step::{CallStep, Payload, Step, StepDecoder, StepSink, TextStep};

/// The maximum number of calls that may wait for a result.
const MAX_OPEN_CALLS: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The payloads of the calls without a result, by the id of the call.
    open: HashMap<String, Payload>,
    /// The message of the last error, which the end does not always repeat.
    error: Option<String>,
}

impl StepDecoder for Decoder {
    fn decode_event(&mut self, mut event: Object, sink: &mut StepSink<'_>) -> bool {
        let kind = take_text(&mut event, "type").unwrap_or_default();
        match kind.as_str() {
            "init" => {
                let session = take_text(&mut event, "session_id").unwrap_or_default();
                drop_time("init", &mut event, sink);
                sink.push(Step::Init { session, payload: json!({ "init": event }) });
            }
            "message" => decode_message(event, sink),
            "tool_use" => {
                let at = take_time(&mut event);
                let id = take_text(&mut event, "tool_id").unwrap_or_default();
                let payload = json!({ "tool_use": event });
                if self.open.len() < MAX_OPEN_CALLS {
                    self.open.insert(id.clone(), payload.clone());
                }
                sink.push(Step::CallStarted(CallStep { id, answer_id: None, at_ms: at, payload }));
            }
            "tool_result" => {
                let at = take_time(&mut event);
                let id = take_text(&mut event, "tool_id").unwrap_or_default();
                let Some(mut payload) = self.open.remove(&id) else {
                    sink.record_loss("tool_result");
                    return true;
                };
                if let Some(payload) = payload.as_object_mut() {
                    payload.insert("tool_result".to_owned(), Value::Object(event));
                }
                sink.push(Step::CallEnded(CallStep { id, answer_id: None, at_ms: at, payload }));
            }
            "error" => {
                if text(&event, "severity") == Some("error") {
                    self.error = take_text(&mut event, "message");
                }
                sink.record_loss("error");
            }
            "result" => {
                drop_time("result", &mut event, sink);
                if text(&event, "status") == Some("error")
                    && !event.contains_key("error")
                    && let Some(message) = self.error.take()
                {
                    event.insert("error".to_owned(), json!({ "message": message }));
                }
                sink.push(Step::End(json!({ "result": event })));
            }
            _ => return false,
        }
        true
    }

    fn finish(&mut self, _: &mut StepSink<'_>) {}
}

fn decode_message(mut event: Object, sink: &mut StepSink<'_>) {
    let content = take_text(&mut event, "content").unwrap_or_default();
    match take_text(&mut event, "role").as_deref() {
        Some("user") => {
            drop_time("message/user", &mut event, sink);
            sink.record_rest_as_lost("message/user", &event);
            sink.push(Step::Prompt(vec![content]));
        }
        Some("assistant") => {
            let at = take_time(&mut event);
            event.shift_remove("delta");
            sink.record_rest_as_lost("message/assistant", &event);
            sink.push(Step::Text(TextStep { text: content, at_ms: at, answer_id: None }));
        }
        role => sink.record_loss(&format!("message/{}", role.unwrap_or_default())),
    }
}

/// Removes the time of an event and returns it. The first millisecond of 1970 means an unknown time.
fn take_time(event: &mut Object) -> Option<u64> {
    let at = text(event, "timestamp").and_then(iso_time::from_iso)?;
    event.shift_remove("timestamp");
    Some(at).filter(|at| *at > 0)
}

/// Removes the time of an event whose step has no time, and records the loss.
fn drop_time(name: &str, event: &mut Object, sink: &mut StepSink<'_>) {
    if event.shift_remove("timestamp").is_some() {
        sink.record_loss(&format!("{name}.timestamp"));
    }
}
