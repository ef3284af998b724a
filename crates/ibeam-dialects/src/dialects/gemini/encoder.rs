//! Encodes steps as lines of Gemini CLI. Every line has a time; an unknown time is the first millisecond of 1970.
//!
//! The lines of the start and of the prompt have the time of the next line. They wait for that line unless the run is in
//! progress. The end has the time of the last line.

use serde_json::{Value, json};

use crate::iso_time;
use crate::json::{into_object, take_object};
use crate::step::{CallStep, Payload, Step, StepEncoder, TextStep};

#[derive(Debug, Default)]
pub(crate) struct Encoder {
    /// The last known time.
    last: Option<u64>,
    /// Whether the time of the start of the run is known.
    has_start_time: bool,
    /// The type and the body of each line that waits for a time.
    held: Vec<(&'static str, Value)>,
}

impl StepEncoder for Encoder {
    fn start_live(&mut self, _run: &str, started_ms: u64) {
        (self.last, self.has_start_time) = (Some(started_ms), true);
    }

    fn encode_step(&mut self, step: Step, out: &mut Vec<Value>) {
        match step {
            Step::Init { session, payload } => {
                let mut body = into_object(json!({ "session_id": session }));
                body.extend(take_body(payload, "init"));
                self.write_or_hold("init", Value::Object(body), out);
            }
            Step::Prompt(blocks) => {
                self.write_or_hold("message", json!({ "role": "user", "content": blocks.join("\n") }), out);
            }
            Step::Text(TextStep { text, at_ms, .. }) => {
                let body = json!({ "role": "assistant", "content": text, "delta": true });
                self.write_line("message", at_ms, body, out);
            }
            Step::Thought(_) => {}
            Step::CallStarted(CallStep { id, at_ms: at, payload, .. }) => {
                let mut used = take_body(payload, "tool_use");
                let name = used.shift_remove("tool_name");
                let mut body = into_object(json!({ "tool_name": name, "tool_id": id }));
                body.extend(used);
                self.write_line("tool_use", at, Value::Object(body), out);
            }
            Step::CallEnded(CallStep { id, at_ms: at, payload, .. }) => {
                let mut body = into_object(json!({ "tool_id": id }));
                body.extend(take_body(payload, "tool_result"));
                self.write_line("tool_result", at, Value::Object(body), out);
            }
            Step::End(payload) => {
                self.write_line("result", self.last, Value::Object(take_body(payload, "result")), out)
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<Value>) {
        self.has_start_time = true;
        for (kind, body) in std::mem::take(&mut self.held) {
            write(kind, self.last, body, out);
        }
    }
}

impl Encoder {
    /// Writes a line without a time of its own, or holds the line until a time is known.
    fn write_or_hold(&mut self, kind: &'static str, body: Value, out: &mut Vec<Value>) {
        match self.has_start_time {
            true => write(kind, self.last, body, out),
            false => self.held.push((kind, body)),
        }
    }

    fn write_line(&mut self, kind: &str, at: Option<u64>, body: Value, out: &mut Vec<Value>) {
        self.last = at.or(self.last);
        self.finish(out);
        write(kind, at, body, out);
    }
}

/// Returns the part of a payload for the event `name`.
fn take_body(payload: Payload, name: &str) -> crate::json::Object {
    take_object(&mut into_object(payload), name).unwrap_or_default()
}

fn write(kind: &str, at: Option<u64>, body: Value, out: &mut Vec<Value>) {
    let at = at.and_then(iso_time::to_iso).or_else(|| iso_time::to_iso(0));
    let mut event = into_object(json!({ "type": kind, "timestamp": at }));
    event.extend(into_object(body));
    out.push(Value::Object(event));
}
