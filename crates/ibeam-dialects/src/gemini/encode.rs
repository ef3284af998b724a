//! Steps as lines of Gemini CLI. Every line has a time; one that is not known is the first moment of 1970.
//!
//! Heads and prompts have the time of what comes behind them, and wait for it where the run does not go on now; the
//! end has that of what came last.

use serde_json::{Value, json};

use crate::json::{into_object, take_object, write_line};
use crate::step::{Call, Card, Step, Text};
use crate::steps::Encode;
use crate::time;

/// What it has to remember.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    /// The last time that is known.
    last: Option<u64>,
    /// Something was said behind the head, or needs not be waited for.
    timed: bool,
    /// The lines that wait: their kind and what is in them.
    held: Vec<(&'static str, Value)>,
}

impl Encode for Encoder {
    fn live(&mut self, _run: &str, began_ms: u64) {
        (self.last, self.timed) = (Some(began_ms), true);
    }

    fn step(&mut self, step: Step, out: &mut Vec<u8>) {
        match step {
            Step::Init { session, card } => {
                let mut body = into_object(json!({ "session_id": session }));
                body.extend(part(card, "init"));
                self.head("init", Value::Object(body), out);
            }
            Step::Prompt(blocks) => {
                self.head("message", json!({ "role": "user", "content": blocks.join("\n") }), out);
            }
            Step::Text(Text { text, at, .. }) => {
                let body = json!({ "role": "assistant", "content": text, "delta": true });
                self.line("message", at, body, out);
            }
            Step::Thought(_) => {}
            Step::Started(Call { id, at, card, .. }) => {
                let mut used = part(card, "tool_use");
                let name = used.shift_remove("tool_name");
                let mut body = into_object(json!({ "tool_name": name, "tool_id": id }));
                body.extend(used);
                self.line("tool_use", at, Value::Object(body), out);
            }
            Step::Ended(Call { id, at, card, .. }) => {
                let mut body = into_object(json!({ "tool_id": id }));
                body.extend(part(card, "tool_result"));
                self.line("tool_result", at, Value::Object(body), out);
            }
            Step::End(card) => self.line("result", self.last, Value::Object(part(card, "result")), out),
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        self.timed = true;
        for (kind, body) in std::mem::take(&mut self.held) {
            write(kind, self.last, body, out);
        }
    }
}

impl Encoder {
    fn head(&mut self, kind: &'static str, body: Value, out: &mut Vec<u8>) {
        match self.timed {
            true => write(kind, self.last, body, out),
            false => self.held.push((kind, body)),
        }
    }

    fn line(&mut self, kind: &str, at: Option<u64>, body: Value, out: &mut Vec<u8>) {
        self.last = at.or(self.last);
        self.finish(out);
        write(kind, at, body, out);
    }
}

fn part(card: Card, name: &str) -> crate::json::Object {
    take_object(&mut into_object(card), name).unwrap_or_default()
}

fn write(kind: &str, at: Option<u64>, body: Value, out: &mut Vec<u8>) {
    let at = at.and_then(time::to_iso).or_else(|| time::to_iso(0));
    let mut event = into_object(json!({ "type": kind, "timestamp": at }));
    event.extend(into_object(body));
    write_line(&Value::Object(event), out);
}
