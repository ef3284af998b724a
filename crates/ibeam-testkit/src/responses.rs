//! Answers as server-sent events of the OpenAI Responses API.
//!
//! Source: the API reference, "Responses: streaming events". The signature of thinking is its encrypted content.

use ibeam_protocol::StopReason;
use serde_json::{Value, json};

use crate::api::{AnswerScript, Api};
use crate::request::Request;
use crate::script::{Frame, Step, pieces, stop_reason};

pub(crate) const API: Api = Api {
    // A model that no other API offers, so that its requests use Responses at any address.
    model_name: "openai/gpt-6.2-sol",
    base_url_variable: "OPENAI_BASE_URL",
    key_variable: "OPENAI_API_KEY",
    key_header: ("authorization", "Bearer "),
    has_path: |path| path.ends_with("/responses"),
    id_header: Some("x-request-id"),
    stream,
    error,
    violation,
    transcript,
};

/// Returns the complete stream of an answer.
fn stream(script: &AnswerScript<'_>) -> Vec<Frame> {
    let mut items = Items { frames: Vec::new(), output: Vec::new(), open: None };
    let response = |status: &str, output: &[Value], usage: Value| {
        json!({
            "id": format!("resp_{:04}", script.number), "object": "response", "created_at": 1_790_000_000,
            "model": script.model, "status": status, "error": null, "incomplete_details": null,
            "output": output, "usage": usage,
        })
    };
    let started = response("in_progress", &[], Value::Null);
    items.push_event(json!({ "type": "response.created", "response": started }));
    items.push_event(json!({ "type": "response.in_progress", "response": started }));
    let stop = stop_reason(script.steps, script.stop);
    for step in script.steps {
        if !items.push_step(step, &stop) {
            return items.frames;
        }
    }
    items.end_open_message();
    let reason = match stop {
        StopReason::EndTurn | StopReason::ToolUse => None,
        StopReason::MaxTokens => Some("max_output_tokens".to_owned()),
        StopReason::Refusal => Some("content_filter".to_owned()),
        StopReason::Paused => Some("paused".to_owned()),
        StopReason::Unknown(word) => Some(word),
    };
    // This API counts cached tokens as input tokens.
    let usage = script.usage;
    let input = usage.input + usage.cache_read + usage.cache_write;
    let total = json!({
        "input_tokens": input,
        "input_tokens_details": { "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write },
        "output_tokens": usage.output, "output_tokens_details": { "reasoning_tokens": usage.reasoning },
        "total_tokens": input + usage.output,
    });
    let status = if reason.is_some() { "incomplete" } else { "completed" };
    let mut last = response(status, &items.output, total);
    if let Some(reason) = reason {
        last["incomplete_details"] = json!({ "reason": reason });
    }
    items.push_event(json!({ "type": format!("response.{status}"), "response": last }));
    items.frames
}

/// Returns the body of an error.
fn error(_status: u16, kind: &str, message: &str) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": kind } })
}

/// The frames of a stream, and the complete items so far.
struct Items {
    frames: Vec<Frame>,
    output: Vec<Value>,
    open: Option<String>,
}

impl Items {
    fn push_event(&mut self, data: Value) {
        let name = data["type"].as_str().unwrap_or_default().to_owned();
        self.frames.push(Frame::named_event(&name, &data));
    }

    fn start_item(&mut self, item: &Value) {
        self.push_event(
            json!({ "type": "response.output_item.added", "output_index": self.output.len(), "item": item }),
        );
    }

    /// Adds a delta of the open item.
    fn push_delta(&mut self, kind: &str, delta: &str) {
        let index = self.output.len();
        let id = format!("item_{index}");
        self.push_event(json!({
            "type": format!("response.{kind}.delta"), "item_id": id, "output_index": index, "content_index": 0,
            "delta": delta, "obfuscation": "x7Kq",
        }));
    }

    /// Adds the complete item. Its id differs from the id at its start, as with some services.
    fn end_item(&mut self, mut item: Value) {
        let index = self.output.len();
        item["id"] = format!("final_{index}").into();
        self.push_event(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
        self.output.push(item);
    }

    fn end_open_message(&mut self) {
        if let Some(text) = self.open.take() {
            let part = json!({ "type": "output_text", "text": text, "annotations": [] });
            self.end_item(
                json!({ "type": "message", "status": "completed", "role": "assistant", "content": [part] }),
            );
        }
    }

    /// Adds a step. Returns `false` if no step can follow it.
    fn push_step(&mut self, step: &Step, stop: &StopReason) -> bool {
        let id = format!("item_{}", self.output.len());
        match step {
            Step::Text(text) => {
                if self.open.is_none() {
                    let role = "assistant";
                    self.start_item(&json!({ "type": "message", "id": id, "status": "in_progress", "role": role, "content": [] }));
                }
                self.open.get_or_insert_default().push_str(text);
                self.push_delta("output_text", text);
            }
            Step::Thinking { text, signature } => {
                self.end_open_message();
                self.start_item(&json!({ "type": "reasoning", "id": id, "summary": [] }));
                for piece in pieces(text, 2) {
                    self.push_delta("reasoning_summary_text", &piece);
                }
                let summary = json!({ "type": "summary_text", "text": text });
                self.end_item(
                    json!({ "type": "reasoning", "summary": [summary], "encrypted_content": signature }),
                );
            }
            Step::Call { id: call_id, name, arguments } => {
                self.end_open_message();
                let call = json!({ "type": "function_call", "call_id": call_id, "name": name });
                let with = |arguments: &str, status: &str| {
                    let mut call = call.clone();
                    call["arguments"] = arguments.into();
                    call["status"] = status.into();
                    call
                };
                self.start_item(&with("", "in_progress"));
                for piece in pieces(arguments, 3) {
                    self.push_delta("function_call_arguments", &piece);
                }
                let is_complete = serde_json::from_str::<Value>(arguments).is_ok();
                let is_cut = *stop == StopReason::MaxTokens && !is_complete;
                self.end_item(with(arguments, if is_cut { "incomplete" } else { "completed" }));
            }
            Step::Pause(pause) => self.frames.push(Frame::Pause(*pause)),
            Step::Raw(bytes) => self.frames.push(Frame::Bytes(bytes.clone())),
            Step::Cut => self.frames.push(Frame::Cut),
            Step::Stall => self.frames.push(Frame::Stall),
        }
        !matches!(step, Step::Cut | Step::Stall)
    }
}

/// Checks that the request is stateless, that each call has its result, and that reasoning can be decrypted and led to
/// something.
fn violation(request: &Request) -> Option<String> {
    if let Some(violation) = request.missing_field() {
        return Some(violation);
    }
    if request.body["store"] != json!(false) || request.body.get("previous_response_id").is_some() {
        return Some("the request is not stateless".to_owned());
    }
    let mut open: Vec<&str> = Vec::new();
    let items = request.messages();
    for (at, item) in items.iter().enumerate() {
        let id = item["call_id"].as_str().unwrap_or_default();
        match item["type"].as_str() {
            Some("function_call") => open.push(id),
            Some("function_call_output") => match open.iter().position(|candidate| *candidate == id) {
                Some(position) => drop(open.remove(position)),
                None => return Some(format!("input.{at}: no open call `{id}`")),
            },
            Some("message") if !open.is_empty() => {
                return Some(format!("input.{at}: the calls {open:?} have no result"));
            }
            Some("reasoning") => {
                let next = items.get(at + 1);
                if item["encrypted_content"].as_str().unwrap_or_default().is_empty() {
                    return Some(format!("input.{at}: reasoning is not stored and has no encrypted content"));
                }
                if next.is_none_or(|next| next["role"] == "user") {
                    return Some(format!("input.{at}: reasoning without its required following item"));
                }
            }
            Some(_) => {}
            None => return Some(format!("input.{at}: no type")),
        }
    }
    (!open.is_empty()).then(|| format!("the calls {open:?} have no result"))
}

fn transcript(item: &Value) -> Vec<String> {
    let text = |key: &str| item[key].as_str().unwrap_or_default();
    match text("type") {
        // The system prompt, if it has a cache breakpoint.
        "message" if text("role") == "developer" => Vec::new(),
        "message" => match &item["content"] {
            Value::Array(parts) => {
                let texts = parts.iter().filter_map(|part| part["text"].as_str());
                texts.map(|part| format!("{}: {part}", text("role"))).collect()
            }
            content => vec![format!("{}: {}", text("role"), content.as_str().unwrap_or_default())],
        },
        "function_call" => vec![format!("call {} {}", text("name"), text("arguments"))],
        "function_call_output" => {
            let output = text("output");
            // Other APIs have a field for a failure.
            vec![format!("result {}", output.strip_prefix("Error: ").unwrap_or(output))]
        }
        _ => Vec::new(),
    }
}
