//! Encodes steps as lines of Claude Code, with one block in each message.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::json::{Object, into_object, object, take, take_object, text};
use crate::step::{CallStep, Payload, Step, StepEncoder, TextStep};
use crate::{ids, iso_time};

/// The maximum size of the inputs that are stored for the end, in bytes.
const MAX_STORED_BYTES: usize = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct Encoder {
    session: String,
    /// The source of derived ids: the run, if it is in progress, and the session.
    seed: String,
    model: String,
    /// The number of lines so far, from which their ids derive.
    lines: u64,
    /// The number of answers without an id, from which their ids derive.
    answers: u64,
    /// The text of the last segment, which the end repeats.
    last: String,
    /// The inputs of failed calls, by the id of the call. The end repeats the inputs of refused calls.
    failed: HashMap<String, Value>,
    /// The size of these inputs in bytes.
    stored_bytes: usize,
}

impl StepEncoder for Encoder {
    fn start_live(&mut self, run: &str, _started_ms: u64) {
        run.clone_into(&mut self.seed);
    }

    fn start_turn(&mut self, init: Payload, out: &mut Vec<Value>) {
        self.write_init(init, out);
    }

    fn encode_step(&mut self, step: Step, out: &mut Vec<Value>) {
        match step {
            Step::Init { session, payload } => {
                self.seed.push_str(&session);
                self.session = session;
                self.write_init(payload, out);
            }
            Step::Prompt(blocks) => {
                let content: Vec<Value> =
                    blocks.into_iter().map(|text| json!({ "type": "text", "text": text })).collect();
                let mut event = self.new_event("user");
                event.insert("message".to_owned(), json!({ "role": "user", "content": content }));
                event.insert("parent_tool_use_id".to_owned(), Value::Null);
                event.insert("isReplay".to_owned(), true.into());
                self.write(event, out);
            }
            Step::Text(TextStep { text, answer_id, .. }) => {
                self.write_message(answer_id, json!({ "type": "text", "text": text }), out);
                self.last = text;
            }
            Step::Thought(thought) => {
                self.write_message(
                    None,
                    json!({ "type": "thinking", "thinking": thought, "signature": "" }),
                    out,
                );
            }
            Step::CallStarted(CallStep { id, answer_id, mut payload, .. }) => {
                let mut block = into_object(json!({ "type": "tool_use", "id": id }));
                let used =
                    payload.as_object_mut().and_then(|payload| take_object(payload, "assistant/tool_use"));
                block.extend(used.unwrap_or_default());
                self.write_message(answer_id, Value::Object(block), out);
            }
            Step::CallEnded(CallStep { id, at_ms, mut payload, .. }) => {
                let result =
                    payload.as_object_mut().and_then(|payload| take_object(payload, "user/tool_result"));
                let mut result = result.unwrap_or_default();
                let structured = take(&mut result, "tool_use_result");
                if result.get("is_error").is_some_and(|failed| *failed == true) {
                    self.store_input(&id, payload.pointer("/assistant~1tool_use/input"));
                }
                let mut block = into_object(json!({ "type": "tool_result", "tool_use_id": id }));
                block.extend(result);
                let mut event = self.new_event("user");
                event.insert("message".to_owned(), json!({ "role": "user", "content": [block] }));
                event.insert("parent_tool_use_id".to_owned(), Value::Null);
                let optional = object([
                    ("timestamp", at_ms.and_then(iso_time::to_iso).into()),
                    ("tool_use_result", structured),
                ]);
                event.extend(into_object(optional));
                self.write(event, out);
            }
            Step::End(mut payload) => {
                let mut end = payload
                    .as_object_mut()
                    .and_then(|payload| take_object(payload, "result"))
                    .unwrap_or_default();
                let mut event = self.new_event("result");
                if text(&end, "subtype") == Some("success") {
                    end.insert("result".to_owned(), std::mem::take(&mut self.last).into());
                }
                let denials = end.get_mut("permission_denials").and_then(Value::as_array_mut);
                for denial in denials.into_iter().flatten().filter_map(Value::as_object_mut) {
                    let input = text(denial, "tool_use_id").and_then(|id| self.failed.remove(id));
                    if let Some(input) = input {
                        denial.insert("tool_input".to_owned(), input);
                    }
                }
                event.extend(end);
                self.write(event, out);
            }
        }
    }
}

impl Encoder {
    fn write_init(&mut self, payload: Payload, out: &mut Vec<Value>) {
        let init = take_object(&mut into_object(payload), "system/init").unwrap_or_default();
        text(&init, "model").unwrap_or_default().clone_into(&mut self.model);
        let mut event = self.new_event("system");
        event.insert("subtype".to_owned(), "init".into());
        event.extend(init);
        self.write(event, out);
    }

    /// Returns an event with its first keys.
    fn new_event(&self, kind: &str) -> Object {
        into_object(json!({ "type": kind, "session_id": self.session }))
    }

    fn store_input(&mut self, id: &str, input: Option<&Value>) {
        let Some(input) = input else { return };
        let bytes = self.stored_bytes.saturating_add(input.to_string().len());
        if bytes <= MAX_STORED_BYTES {
            self.stored_bytes = bytes;
            self.failed.insert(id.to_owned(), input.clone());
        }
    }

    fn write_message(&mut self, answer: Option<String>, block: Value, out: &mut Vec<Value>) {
        let id = answer.unwrap_or_else(|| {
            self.answers += 1;
            ids::message_id(&self.seed, self.answers)
        });
        let mut event = self.new_event("assistant");
        let message = json!({
            "id": id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [block],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": {
                "input_tokens": 0,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 0,
            },
        });
        event.insert("message".to_owned(), message);
        event.insert("parent_tool_use_id".to_owned(), Value::Null);
        self.write(event, out);
    }

    fn write(&mut self, mut event: Object, out: &mut Vec<Value>) {
        event.insert("uuid".to_owned(), ids::derived_uuid(&self.seed, self.lines).into());
        self.lines += 1;
        out.push(Value::Object(event));
    }
}
