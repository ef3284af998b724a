//! Steps as lines of Claude Code. One block a message, as it prints them.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::json::{Object, into_object, object, take, take_object, text, write_line};
use crate::step::{Call, Step, Text};
use crate::steps::Encode;
use crate::{ids, time};

/// The most bytes of inputs that are kept for the end.
const MOST_KEPT: usize = 1 << 20;

/// What it has to remember.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    session: String,
    /// What ids are made of: the session and, where it goes on, the run.
    seed: String,
    model: String,
    /// Lines so far; their ids come of it.
    lines: u64,
    /// Answers of the model without an id.
    answers: u64,
    /// The text of the last segment, which the end repeats.
    last: String,
    /// The inputs of calls that failed, by id: the end repeats those that were refused.
    failed: HashMap<String, Value>,
    /// The bytes of these inputs.
    kept: usize,
}

impl Encode for Encoder {
    fn live(&mut self, run: &str, _began_ms: u64) {
        run.clone_into(&mut self.seed);
    }

    fn step(&mut self, step: Step, out: &mut Vec<u8>) {
        match step {
            Step::Init { session, mut card } => {
                self.seed.push_str(&session);
                self.session = session;
                let init = card
                    .as_object_mut()
                    .and_then(|card| take_object(card, "system/init"))
                    .unwrap_or_default();
                text(&init, "model").unwrap_or_default().clone_into(&mut self.model);
                let mut event = self.head("system");
                event.insert("subtype".to_owned(), "init".into());
                event.extend(init);
                self.write(event, out);
            }
            Step::Prompt(blocks) => {
                let content: Vec<Value> =
                    blocks.into_iter().map(|text| json!({ "type": "text", "text": text })).collect();
                let mut event = self.head("user");
                event.insert("message".to_owned(), json!({ "role": "user", "content": content }));
                event.insert("parent_tool_use_id".to_owned(), Value::Null);
                event.insert("isReplay".to_owned(), true.into());
                self.write(event, out);
            }
            Step::Text(Text { text, answer, .. }) => {
                self.message(answer, json!({ "type": "text", "text": text }), out);
                self.last = text;
            }
            Step::Thought(thought) => {
                self.message(None, json!({ "type": "thinking", "thinking": thought, "signature": "" }), out);
            }
            Step::Started(Call { id, answer, mut card, .. }) => {
                let mut block = into_object(json!({ "type": "tool_use", "id": id }));
                let used = card.as_object_mut().and_then(|card| take_object(card, "assistant/tool_use"));
                block.extend(used.unwrap_or_default());
                self.message(answer, Value::Object(block), out);
            }
            Step::Ended(Call { id, at, mut card, .. }) => {
                let result = card.as_object_mut().and_then(|card| take_object(card, "user/tool_result"));
                let mut result = result.unwrap_or_default();
                let structured = take(&mut result, "tool_use_result");
                if result.get("is_error").is_some_and(|failed| *failed == true) {
                    self.keep_input(&id, card.pointer("/assistant~1tool_use/input"));
                }
                let mut block = into_object(json!({ "type": "tool_result", "tool_use_id": id }));
                block.extend(result);
                let mut event = self.head("user");
                event.insert("message".to_owned(), json!({ "role": "user", "content": [block] }));
                event.insert("parent_tool_use_id".to_owned(), Value::Null);
                let further = object([
                    ("timestamp", at.and_then(time::to_iso).into()),
                    ("tool_use_result", structured),
                ]);
                event.extend(into_object(further));
                self.write(event, out);
            }
            Step::End(mut card) => {
                let mut end =
                    card.as_object_mut().and_then(|card| take_object(card, "result")).unwrap_or_default();
                let mut event = self.head("result");
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
    fn head(&self, kind: &str) -> Object {
        into_object(json!({ "type": kind, "session_id": self.session }))
    }

    fn keep_input(&mut self, id: &str, input: Option<&Value>) {
        let Some(input) = input else { return };
        let bytes = self.kept.saturating_add(input.to_string().len());
        if bytes <= MOST_KEPT {
            self.kept = bytes;
            self.failed.insert(id.to_owned(), input.clone());
        }
    }

    fn message(&mut self, answer: Option<String>, block: Value, out: &mut Vec<u8>) {
        let id = answer.unwrap_or_else(|| {
            self.answers += 1;
            ids::message(&self.seed, self.answers)
        });
        let mut event = self.head("assistant");
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

    fn write(&mut self, mut event: Object, out: &mut Vec<u8>) {
        event.insert("uuid".to_owned(), ids::uuid(&self.seed, self.lines).into());
        self.lines += 1;
        write_line(&Value::Object(event), out);
    }
}
