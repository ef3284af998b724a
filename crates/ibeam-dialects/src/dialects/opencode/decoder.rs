//! Decodes lines of opencode into steps of a conversion.
//!
//! The stream has no event for the start or the end of a run. The run is complete at the end of the source if the last
//! step of opencode (a model request) has finished without a call.

use serde_json::{Map, Value, json};

use crate::json::{Object, count_at, take_object, take_text, text, text_at};
use crate::step::{CallStep, Step, StepDecoder, StepSink, TextStep};

#[derive(Debug, Default)]
pub(crate) struct Decoder {
    has_started: bool,
    session: String,
    /// The sums over all steps of opencode, and the number of these steps.
    used: Option<(StepSums, u64)>,
    /// A failure, which ends the run.
    error: Option<Value>,
}

/// The last reason, the costs and the tokens of all steps of opencode so far.
#[derive(Debug, Default)]
struct StepSums {
    reason: String,
    cost: f64,
    /// The numbers of tokens, in the order of `TOKEN_POINTERS`.
    tokens: [u64; 6],
}

/// The JSON pointers to the tokens of a step.
const TOKEN_POINTERS: [&str; 6] =
    ["/total", "/input", "/output", "/reasoning", "/cache/read", "/cache/write"];

impl StepDecoder for Decoder {
    fn decode_event(&mut self, mut event: Object, sink: &mut StepSink<'_>) -> bool {
        let kind = take_text(&mut event, "type").unwrap_or_default();
        if !["step_start", "step_finish", "text", "reasoning", "tool_use", "error"].contains(&kind.as_str()) {
            return false;
        }
        let session = take_text(&mut event, "sessionID").unwrap_or_default();
        if !self.has_started {
            self.has_started = true;
            self.session.clone_from(&session);
            sink.push(Step::Init { session: session.clone(), payload: json!({}) });
        }
        if session != self.session {
            sink.record_loss("sessionID");
        }
        if kind == "error" {
            event.shift_remove("timestamp").is_some().then(|| sink.record_loss("error.timestamp"));
            if self.error.replace(json!({ "error": event })).is_some() {
                sink.record_loss("error");
            }
            return true;
        }
        let at = event.get("timestamp").and_then(Value::as_u64);
        if at.is_some() {
            event.shift_remove("timestamp");
        }
        let Some(mut part) = take_object(&mut event, "part") else {
            sink.record_loss(&kind);
            return true;
        };
        sink.record_rest_as_lost(&kind, &event);
        let known = match kind.as_str() {
            "tool_use" => "tool".to_owned(),
            kind => kind.replace('_', "-"),
        };
        for (key, value) in [("sessionID", &session), ("type", &known)] {
            if text(&part, key) == Some(value) {
                part.shift_remove(key);
            }
        }
        if part.shift_remove("id").is_some() {
            sink.record_loss(&format!("{kind}.part.id"));
        }
        let answer = take_text(&mut part, "messageID");
        if !["text", "tool_use"].contains(&kind.as_str()) {
            answer.is_some().then(|| sink.record_loss(&format!("{kind}.part.messageID")));
            at.filter(|at| *at > 0).is_some().then(|| sink.record_loss(&format!("{kind}.timestamp")));
        }
        match kind.as_str() {
            "text" | "reasoning" => {
                let content = take_text(&mut part, "text").unwrap_or_default();
                sink.record_rest_as_lost(&format!("{kind}.part"), &part);
                sink.push(match kind.as_str() {
                    "text" => Step::Text(TextStep {
                        text: content,
                        at_ms: at.filter(|at| *at > 0),
                        answer_id: answer,
                    }),
                    _ => Step::Thought(content),
                });
            }
            "tool_use" => decode_tool_use(answer, at, part, sink),
            "step_start" => sink.record_rest_as_lost("step_start.part", &part),
            _ => self.decode_step_finish(part, sink),
        }
        true
    }

    fn finish(&mut self, sink: &mut StepSink<'_>) {
        if let Some(error) = self.error.take() {
            self.used.take().is_some().then(|| sink.record_loss("step_finish"));
            return sink.push(Step::End(error));
        }
        let Some((
            StepSums { reason, cost, tokens: [total, input, output, reasoning, read, written] },
            steps,
        )) = self.used.take()
        else {
            return;
        };
        if reason == "tool-calls" {
            sink.record_loss("step_finish");
        } else {
            let tokens = json!({
                "total": total, "input": input, "output": output, "reasoning": reasoning,
                "cache": { "read": read, "write": written },
            });
            let part = json!({ "reason": reason, "cost": cost, "tokens": tokens });
            sink.push(Step::End(json!({ "step_finish.part": part, "step_finish": steps })));
        }
    }
}

impl Decoder {
    fn decode_step_finish(&mut self, mut part: Object, sink: &mut StepSink<'_>) {
        let (used, steps) = self.used.get_or_insert_default();
        *steps += 1;
        if *steps > 1 {
            sink.record_joined("step_finish.part.tokens");
            // The end of the run has only the last reason. The expected reason of an earlier step is a call.
            (used.reason != "tool-calls").then(|| sink.record_loss("step_finish.part.reason"));
        }
        used.reason = take_text(&mut part, "reason").unwrap_or_default();
        used.cost += part.shift_remove("cost").and_then(|cost| cost.as_f64()).unwrap_or_default();
        let mut tokens = take_object(&mut part, "tokens").unwrap_or_default();
        let all_tokens = Value::Object(tokens.clone());
        for (sum, pointer) in used.tokens.iter_mut().zip(TOKEN_POINTERS) {
            *sum = sum.saturating_add(count_at(&all_tokens, pointer));
        }
        if let Some(mut cache) = take_object(&mut tokens, "cache") {
            cache.retain(|key, _| key != "read" && key != "write");
            sink.record_rest_as_lost("step_finish.part.tokens.cache", &cache);
        }
        tokens.retain(|key, _| !["total", "input", "output", "reasoning"].contains(&key.as_str()));
        sink.record_rest_as_lost("step_finish.part.tokens", &tokens);
        sink.record_rest_as_lost("step_finish.part", &part);
    }
}

fn decode_tool_use(answer: Option<String>, at: Option<u64>, mut part: Object, sink: &mut StepSink<'_>) {
    let id = take_text(&mut part, "callID").unwrap_or_default();
    let mut times =
        part.get_mut("state").and_then(Value::as_object_mut).and_then(|state| take_object(state, "time"));
    let mut time =
        |key: &str| times.as_mut().and_then(|times: &mut Map<_, _>| times.shift_remove(key)?.as_u64());
    let (start, end) = (time("start"), time("end"));
    sink.record_rest_as_lost("tool_use.part.state.time", &times.unwrap_or_default());
    if at.filter(|at| *at > 0).is_some() {
        sink.record_loss("tool_use.timestamp");
    }
    let payload = json!({ "tool_use.part": part });
    let ended = ["completed", "error"].contains(&text_at(&payload, "/tool_use.part/state/status"));
    let start = start.filter(|at| *at > 0);
    sink.push(Step::CallStarted(CallStep {
        id: id.clone(),
        answer_id: answer.clone(),
        at_ms: start,
        payload: payload.clone(),
    }));
    if ended {
        sink.push(Step::CallEnded(CallStep {
            id,
            answer_id: answer,
            at_ms: end.filter(|at| *at > 0),
            payload,
        }));
    }
}
