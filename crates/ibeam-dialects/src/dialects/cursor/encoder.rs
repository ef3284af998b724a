//! Encodes steps as events of contract 1 (docs/output-format.md), the format of Cursor. If the source stream lacks a
//! required key, the key gets a neutral value.

use ibeam_wire::tool::CALL_ID;
use serde_json::{Value, json};

use crate::contract::{self, repeats_call_id};
use crate::json::{Object, into_object, object, take, take_object, text};
use crate::step::{CallStep, Payload, Step, StepEncoder, TextStep};

#[derive(Debug, Default)]
pub(crate) struct Encoder {
    session: String,
    /// All texts so far. The last event repeats them.
    text: String,
    /// The byte offset in `text` of the text after the last call.
    last_text_start: usize,
    has_prompt: bool,
    open_calls: Vec<CallStep>,
    started_calls: u64,
    /// The number of calls that failed or were refused.
    failed_calls: u64,
}

impl StepEncoder for Encoder {
    fn start_turn(&mut self, _init: Payload, _out: &mut Vec<Value>) {
        *self = Self { session: std::mem::take(&mut self.session), ..Self::default() };
    }

    fn encode_step(&mut self, step: Step, out: &mut Vec<Value>) {
        if !self.has_prompt && !matches!(step, Step::Init { .. } | Step::Prompt(_)) {
            self.write_prompt(vec![String::new()], out);
        }
        match step {
            Step::Init { session, payload } => {
                self.session = session;
                self.write_init(payload, out);
            }
            Step::Prompt(blocks) => self.write_prompt(blocks, out),
            Step::Text(TextStep { text, at_ms, .. }) => {
                self.text.push_str(&text);
                let event = object([
                    ("type", "assistant".into()),
                    ("message", message("assistant", vec![text])),
                    ("session_id", self.session.as_str().into()),
                    ("timestamp_ms", at_ms.into()),
                ]);
                out.push(event);
            }
            Step::Thought(_) => {}
            Step::CallStarted(call) => {
                self.started_calls += 1;
                self.last_text_start = self.text.len();
                self.write_call("started", call.clone(), out);
                self.open_calls.push(call);
            }
            Step::CallEnded(call) => {
                self.open_calls.retain(|open| open.id != call.id);
                self.failed_calls += u64::from(contract::is_failed_call(&call.payload));
                self.write_call("completed", call, out);
            }
            Step::End(payload) => {
                for mut call in std::mem::take(&mut self.open_calls) {
                    contract::set_result(
                        &mut call.payload,
                        json!({ "error": { "errorMessage": "the run ended before the call" } }),
                    );
                    self.failed_calls += 1;
                    self.write_call("completed", call, out);
                }
                self.write_end(payload, out);
            }
        }
    }
}

impl Encoder {
    fn write_init(&self, mut payload: Value, out: &mut Vec<Value>) {
        let mut init = payload
            .as_object_mut()
            .and_then(|payload| take_object(payload, "system/init"))
            .unwrap_or_default();
        let mut take_or = |key: &str, value: Value| match take(&mut init, key) {
            Value::Null => value,
            present => present,
        };
        let event = object([
            ("type", "system".into()),
            ("subtype", "init".into()),
            ("apiKeySource", take_or("apiKeySource", "env".into())),
            ("cwd", take_or("cwd", "/".into())),
            ("session_id", self.session.as_str().into()),
            ("model", take_or("model", "unknown".into())),
            ("permissionMode", take_or("permissionMode", "default".into())),
        ]);
        let mut event = into_object(event);
        event.extend(init);
        out.push(Value::Object(event));
    }

    fn write_prompt(&mut self, blocks: Vec<String>, out: &mut Vec<Value>) {
        if self.has_prompt {
            return;
        }
        self.has_prompt = true;
        let event = json!({ "type": "user", "message": message("user", blocks), "session_id": self.session });
        out.push(event);
    }

    fn write_call(&self, subtype: &str, call: CallStep, out: &mut Vec<Value>) {
        let CallStep { id, answer_id, at_ms, mut payload } = call;
        let mut tool_call =
            payload.as_object_mut().map(|payload| take(payload, "tool_call")).unwrap_or_default();
        if let Some((key, body)) = tool_call.as_object_mut().and_then(|call| call.iter_mut().next())
            && repeats_call_id(key)
            && let Some(args) = body.get_mut("args").and_then(Value::as_object_mut)
        {
            args.insert(CALL_ID.to_owned(), id.as_str().into());
        }
        let event = object([
            ("type", "tool_call".into()),
            ("subtype", subtype.into()),
            ("call_id", id.into()),
            ("tool_call", tool_call),
            ("session_id", self.session.as_str().into()),
            ("model_call_id", answer_id.into()),
            ("timestamp_ms", at_ms.into()),
        ]);
        out.push(event);
    }

    fn write_end(&mut self, mut payload: Value, out: &mut Vec<Value>) {
        let empty = &mut Object::new();
        let payload = payload.as_object_mut().unwrap_or(empty);
        let event = match take_object(payload, "error") {
            Some(error) => self.error_event(error),
            None => self.result_event(take_object(payload, "result/success").unwrap_or_default()),
        };
        out.push(event);
    }

    fn result_event(&mut self, mut end: Object) -> Value {
        let duration = end.get("duration_ms").and_then(Value::as_u64).unwrap_or_default();
        for key in ["duration_ms", "duration_api_ms", "is_error", "result"] {
            end.shift_remove(key);
        }
        let mut summary = self.complete_summary(&mut end);
        if let Some(summary) = summary.as_object_mut() {
            let message = self.text.get(self.last_text_start..).unwrap_or_default();
            summary.insert("final".to_owned(), message.into());
        }
        let event = object([
            ("type", "result".into()),
            ("subtype", "success".into()),
            ("duration_ms", duration.into()),
            ("duration_api_ms", duration.into()),
            ("is_error", false.into()),
            ("result", std::mem::take(&mut self.text).into()),
            ("session_id", self.session.as_str().into()),
            ("request_id", take(&mut end, "request_id")),
            ("usage", take(&mut end, "usage")),
            ("ibeam", summary),
        ]);
        let mut event = into_object(event);
        event.extend(end);
        Value::Object(event)
    }

    fn error_event(&mut self, mut end: Object) -> Value {
        end.shift_remove("result");
        let code_fields = contract::fields_for_code(text(&end, "code").unwrap_or_default());
        let summary = self.complete_summary(&mut end);
        let result = std::mem::take(&mut self.text);
        let mut take_or = |key: &str, value: Value| match take(&mut end, key) {
            Value::Null => value,
            present => present,
        };
        let event = object([
            ("type", "error".into()),
            ("code", take_or("code", code_fields.code.into())),
            ("message", take_or("message", "the run failed".into())),
            ("exit_code", take_or("exit_code", code_fields.exit_code.into())),
            ("retryable", take_or("retryable", code_fields.retryable.into())),
            ("retry_after_ms", take_or("retry_after_ms", Value::Null)),
            ("http_status", take_or("http_status", Value::Null)),
            ("request_id", take_or("request_id", Value::Null)),
            ("session_id", self.session.as_str().into()),
            ("ibeam", summary),
            ("resumable", take_or("resumable", false.into())),
            ("result", if result.is_empty() { Value::Null } else { result.into() }),
        ]);
        let mut event = into_object(event);
        event.extend(end);
        Value::Object(event)
    }

    /// Returns the summary with all required keys.
    fn complete_summary(&self, end: &mut Object) -> Value {
        let mut known = take_object(end, "ibeam").unwrap_or_default();
        let mut take_or = |key: &str, value: Value| match take(&mut known, key) {
            Value::Null => value,
            present => present,
        };
        let summary = object([
            ("turns", take_or("turns", 1.into())),
            ("api_ms", take_or("api_ms", 0.into())),
            ("cost_usd", take_or("cost_usd", Value::Null)),
            ("permission_denials", take_or("permission_denials", json!([]))),
            ("failed_tool_calls", take_or("failed_tool_calls", self.failed_calls.into())),
            ("files_changed", take_or("files_changed", json!([]))),
            ("retries", take_or("retries", 0.into())),
            ("continuations", take_or("continuations", Value::Null)),
            ("compactions", take_or("compactions", 0.into())),
            ("tool_calls", take_or("tool_calls", self.started_calls.into())),
            ("background_stopped", take_or("background_stopped", 0.into())),
        ]);
        known.shift_remove("final");
        let mut summary = into_object(summary);
        summary.extend(known);
        Value::Object(summary)
    }
}

/// Returns a message with at least one block.
fn message(role: &str, mut texts: Vec<String>) -> Value {
    if texts.is_empty() {
        texts.push(String::new());
    }
    let content: Vec<Value> = texts.into_iter().map(|text| json!({ "type": "text", "text": text })).collect();
    json!({ "role": role, "content": content })
}
