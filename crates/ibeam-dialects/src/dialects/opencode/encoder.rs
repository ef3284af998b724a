//! Encodes steps as lines of opencode. A call is written when it has ended. A step of opencode is one model request with
//! its calls, so it ends at the next model request.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::ids;
use crate::json::{Object, into_object, take_object};
use crate::step::{CallStep, Step, StepEncoder, TextStep};

#[derive(Debug, Default)]
pub(crate) struct Encoder {
    session: String,
    /// The source of derived ids: the run, if it is in progress, and the session.
    seed: String,
    /// The number of parts so far, from which their ids derive.
    parts: u64,
    /// The id of the answer whose step is open.
    answer: Option<String>,
    /// The number of answers so far, from which ids of answers derive.
    answers: u64,
    /// Whether a call of the open step has ended.
    has_ended_call: bool,
    /// The start times of the open calls.
    starts: HashMap<String, Option<u64>>,
    /// The present time of a run in progress; otherwise 0, which means an unknown time.
    now: u64,
}

impl StepEncoder for Encoder {
    fn start_live(&mut self, run: &str, started_ms: u64) {
        run.clone_into(&mut self.seed);
        self.now = started_ms;
    }

    fn set_time(&mut self, now_ms: u64) {
        self.now = now_ms;
    }

    fn encode_step(&mut self, step: Step, out: &mut Vec<Value>) {
        match step {
            Step::Init { session, .. } => {
                self.seed.push_str(&session);
                self.session = session;
            }
            Step::Prompt(_) => {}
            Step::Text(TextStep { text, at_ms, answer_id }) => {
                self.enter_step(answer_id, out);
                let at = at_ms.unwrap_or(self.now);
                self.write_part(
                    "text",
                    at,
                    json!({ "type": "text", "text": text, "time": { "start": at, "end": at } }),
                    out,
                );
            }
            Step::Thought(text) => {
                self.enter_step(None, out);
                self.write_part(
                    "reasoning",
                    self.now,
                    json!({ "type": "reasoning", "text": text, "time": { "start": self.now } }),
                    out,
                );
            }
            Step::CallStarted(CallStep { id, answer_id, at_ms, .. }) => {
                self.enter_step(answer_id, out);
                self.starts.insert(id, at_ms);
            }
            Step::CallEnded(CallStep { id, at_ms: at, payload, .. }) => {
                self.has_ended_call = true;
                let start = self.starts.remove(&id).flatten().unwrap_or(self.now);
                let end = at.unwrap_or(self.now);
                let mut part = take_object(&mut into_object(payload), "tool_use.part").unwrap_or_default();
                if let Some(state) = part.get_mut("state").and_then(Value::as_object_mut) {
                    state.insert("time".to_owned(), json!({ "start": start, "end": end }));
                }
                let mut full_part = into_object(json!({ "type": "tool", "callID": id }));
                full_part.extend(part);
                self.write_part("tool_use", end, Value::Object(full_part), out);
            }
            Step::End(payload) => {
                let mut payload = into_object(payload);
                if let Some(error) = take_object(&mut payload, "error") {
                    return self.write_line("error", self.now, error, out);
                }
                self.enter_step(self.answer.clone(), out);
                self.leave_step(take_object(&mut payload, "step_finish.part").unwrap_or_default(), out);
            }
        }
    }
}

impl Encoder {
    /// Starts the step of an answer and ends the previous step.
    fn enter_step(&mut self, answer: Option<String>, out: &mut Vec<Value>) {
        let same = match (&self.answer, &answer) {
            (Some(open), Some(answer)) => open == answer,
            (Some(_), None) => !self.has_ended_call,
            (None, _) => false,
        };
        if same {
            return;
        }
        if self.answer.is_some() {
            let no_usage = json!({
                "reason": "tool-calls", "cost": 0,
                "tokens": { "total": 0, "input": 0, "output": 0, "reasoning": 0, "cache": { "read": 0, "write": 0 } },
            });
            self.leave_step(into_object(no_usage), out);
        }
        self.answers += 1;
        self.has_ended_call = false;
        self.answer = Some(answer.unwrap_or_else(|| ids::message_id(&self.seed, self.answers)));
        self.write_part("step_start", self.now, json!({ "type": "step-start" }), out);
    }

    /// Ends the open step with its reason, cost and tokens.
    fn leave_step(&mut self, used: Object, out: &mut Vec<Value>) {
        let mut part = into_object(json!({ "type": "step-finish" }));
        part.extend(used);
        self.write_part("step_finish", self.now, Value::Object(part), out);
        self.answer = None;
    }

    fn write_part(&mut self, kind: &str, at: u64, part: Value, out: &mut Vec<Value>) {
        let id = ids::derived_uuid(&self.seed, self.parts).replace('-', "");
        self.parts += 1;
        let mut full_part = into_object(json!({
            "id": format!("prt_{id}"),
            "sessionID": self.session,
            "messageID": self.answer,
        }));
        full_part.extend(into_object(part));
        self.write_line(kind, at, into_object(json!({ "part": full_part })), out);
    }

    fn write_line(&self, kind: &str, at: u64, rest: Object, out: &mut Vec<Value>) {
        // In a run in progress, each line has the present time.
        let at = if self.now > 0 { self.now } else { at };
        let mut event = into_object(json!({ "type": kind, "timestamp": at, "sessionID": self.session }));
        event.extend(rest);
        out.push(Value::Object(event));
    }
}
