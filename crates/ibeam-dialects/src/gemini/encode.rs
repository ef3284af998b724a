//! Steps as lines of Gemini CLI. Every line has a time; one that is not known is the first moment of 1970.

use serde_json::{Value, json};

use crate::json::{into_object, take_object, write_line};
use crate::step::{Call, Card, Step, Text};
use crate::steps::Encode;
use crate::time;

/// Needs nothing of what was before.
#[derive(Debug)]
pub(crate) struct Encoder;

impl Encode for Encoder {
    fn step(&mut self, step: Step, out: &mut Vec<u8>) {
        match step {
            Step::Init { session, card } => {
                line("init", None, json!({ "session_id": session }), part(card, "init"), out);
            }
            Step::Prompt(blocks) => {
                line(
                    "message",
                    None,
                    json!({ "role": "user", "content": blocks.join("\n") }),
                    json!({}),
                    out,
                );
            }
            Step::Text(Text { text, at, .. }) => {
                let body = json!({ "role": "assistant", "content": text, "delta": true });
                line("message", at, body, json!({}), out);
            }
            Step::Thought(_) => {}
            Step::Started(Call { id, at, card, .. }) => {
                let mut used = into_object(part(card, "tool_use"));
                let name = used.shift_remove("tool_name");
                let body = json!({ "tool_name": name, "tool_id": id });
                line("tool_use", at, body, Value::Object(used), out);
            }
            Step::Ended(Call { id, at, card, .. }) => {
                line("tool_result", at, json!({ "tool_id": id }), part(card, "tool_result"), out);
            }
            Step::End(card) => line("result", None, json!({}), part(card, "result"), out),
        }
    }
}

fn part(card: Card, name: &str) -> Value {
    Value::Object(take_object(&mut into_object(card), name).unwrap_or_default())
}

fn line(kind: &str, at: Option<u64>, body: Value, rest: Value, out: &mut Vec<u8>) {
    let at = at.and_then(time::to_iso).or_else(|| time::to_iso(0));
    let mut event = into_object(json!({ "type": kind, "timestamp": at }));
    event.extend(into_object(body));
    event.extend(into_object(rest));
    write_line(&Value::Object(event), out);
}
