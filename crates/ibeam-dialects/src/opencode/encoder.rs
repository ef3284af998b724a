//! Steps as lines of opencode. A call is told when it has ended; a step ends where the model is asked again.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::ids;
use crate::json::{Object, into_object, take_object};
use crate::step::{CallStep, Step, StepEncoder, TextStep};

/// What it has to remember.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    session: String,
    /// What ids are made of: the session and, where it goes on, the run.
    seed: String,
    /// Parts so far; their ids come of it.
    parts: u64,
    /// The answer whose step is open.
    answer: Option<String>,
    answers: u64,
    /// A call of the open step has ended.
    called: bool,
    /// When the open calls began.
    starts: HashMap<String, Option<u64>>,
    /// The present time of a run that goes on; 0 in any other, which stands for a time that is not known.
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

    fn step(&mut self, step: Step, out: &mut Vec<Value>) {
        match step {
            Step::Init { session, .. } => {
                self.seed.push_str(&session);
                self.session = session;
            }
            Step::Prompt(_) => {}
            Step::Text(TextStep { text, at_ms, answer_id }) => {
                self.enter(answer_id, out);
                let at = at_ms.unwrap_or(self.now);
                self.part(
                    "text",
                    at,
                    json!({ "type": "text", "text": text, "time": { "start": at, "end": at } }),
                    out,
                );
            }
            Step::Thought(text) => {
                self.enter(None, out);
                self.part(
                    "reasoning",
                    self.now,
                    json!({ "type": "reasoning", "text": text, "time": { "start": self.now } }),
                    out,
                );
            }
            Step::CallStarted(CallStep { id, answer_id, at_ms, .. }) => {
                self.enter(answer_id, out);
                self.starts.insert(id, at_ms);
            }
            Step::CallEnded(CallStep { id, at_ms: at, payload, .. }) => {
                self.called = true;
                let start = self.starts.remove(&id).flatten().unwrap_or(self.now);
                let end = at.unwrap_or(self.now);
                let mut part = take_object(&mut into_object(payload), "tool_use.part").unwrap_or_default();
                if let Some(state) = part.get_mut("state").and_then(Value::as_object_mut) {
                    state.insert("time".to_owned(), json!({ "start": start, "end": end }));
                }
                let mut whole = into_object(json!({ "type": "tool", "callID": id }));
                whole.extend(part);
                self.part("tool_use", end, Value::Object(whole), out);
            }
            Step::End(payload) => {
                let mut payload = into_object(payload);
                if let Some(error) = take_object(&mut payload, "error") {
                    return self.line("error", self.now, error, out);
                }
                self.enter(self.answer.clone(), out);
                self.leave(take_object(&mut payload, "step_finish.part").unwrap_or_default(), out);
            }
        }
    }
}

impl Encoder {
    /// Begins the step of an answer, and ends the one before it.
    fn enter(&mut self, answer: Option<String>, out: &mut Vec<Value>) {
        let same = match (&self.answer, &answer) {
            (Some(open), Some(answer)) => open == answer,
            (Some(_), None) => !self.called,
            (None, _) => false,
        };
        if same {
            return;
        }
        if self.answer.is_some() {
            let nothing = json!({
                "reason": "tool-calls", "cost": 0,
                "tokens": { "total": 0, "input": 0, "output": 0, "reasoning": 0, "cache": { "read": 0, "write": 0 } },
            });
            self.leave(into_object(nothing), out);
        }
        self.answers += 1;
        self.called = false;
        self.answer = Some(answer.unwrap_or_else(|| ids::message_id(&self.seed, self.answers)));
        self.part("step_start", self.now, json!({ "type": "step-start" }), out);
    }

    fn leave(&mut self, used: Object, out: &mut Vec<Value>) {
        let mut part = into_object(json!({ "type": "step-finish" }));
        part.extend(used);
        self.part("step_finish", self.now, Value::Object(part), out);
        self.answer = None;
    }

    fn part(&mut self, kind: &str, at: u64, part: Value, out: &mut Vec<Value>) {
        let id = ids::derived_uuid(&self.seed, self.parts).replace('-', "");
        self.parts += 1;
        let mut whole = into_object(json!({
            "id": format!("prt_{id}"),
            "sessionID": self.session,
            "messageID": self.answer,
        }));
        whole.extend(into_object(part));
        self.line(kind, at, into_object(json!({ "part": whole })), out);
    }

    fn line(&self, kind: &str, at: u64, rest: Object, out: &mut Vec<Value>) {
        // A line that is told now has the time of its telling.
        let at = if self.now > 0 { self.now } else { at };
        let mut event = into_object(json!({ "type": kind, "timestamp": at, "sessionID": self.session }));
        event.extend(rest);
        out.push(Value::Object(event));
    }
}
