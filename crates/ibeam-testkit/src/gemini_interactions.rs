//! Answers as server-sent events of the Gemini Interactions API.
//!
//! Source: the API reference, "Interactions", revision 2026-05-20.

use ibeam_protocol::StopReason;
use serde_json::{Value, json};

use crate::api::{AnswerScript, Api};
use crate::request::Request;
use crate::script::{Frame, Step, pieces, stop_reason};

pub(crate) const API: Api = Api {
    model_name: "gemini/claude-sonnet-4-6",
    base_url_variable: "GEMINI_BASE_URL",
    key_variable: "GEMINI_API_KEY",
    key_header: ("x-goog-api-key", ""),
    has_path: |path| path == "/v1beta/interactions",
    id_header: None,
    stream,
    error,
    violation,
    transcript,
};

fn stream(script: &AnswerScript<'_>) -> Vec<Frame> {
    let interaction = |status: &str| json!({ "id": format!("req_{:04}", script.number), "status": status, "object": "interaction", "model": script.model });
    let mut steps = Steps { frames: Vec::new(), open: None, next: 0 };
    steps.push_event(
        json!({ "event_type": "interaction.created", "interaction": interaction("in_progress") }),
    );
    for step in script.steps {
        if !steps.push_step(step) {
            return steps.frames;
        }
    }
    steps.end_open_text();
    let mut last = interaction(&match stop_reason(script.steps, script.stop) {
        StopReason::EndTurn => "completed".to_owned(),
        StopReason::ToolUse => "requires_action".to_owned(),
        StopReason::MaxTokens => "incomplete".to_owned(),
        StopReason::Refusal => "failed".to_owned(),
        StopReason::Paused => "paused".to_owned(),
        StopReason::Unknown(word) => word,
    });
    // This API counts cached tokens as input, and has no count of tokens written to the cache.
    let input = script.usage.input + script.usage.cache_read;
    last["usage"] = json!({
        "total_input_tokens": input, "total_cached_tokens": script.usage.cache_read,
        "total_output_tokens": script.usage.output, "total_tokens": input + script.usage.output,
    });
    steps.push_event(json!({ "event_type": "interaction.completed", "interaction": last }));
    steps.frames.push(Frame::Bytes(b"event: done\ndata: [DONE]\n\n".to_vec()));
    steps.frames
}

/// The frames of a stream, built step by step.
struct Steps {
    frames: Vec<Frame>,
    /// The index of the open step with text.
    open: Option<usize>,
    /// The index of the next step.
    next: usize,
}

impl Steps {
    fn push_event(&mut self, data: Value) {
        let name = data["event_type"].as_str().unwrap_or_default().to_owned();
        self.frames.push(Frame::named_event(&name, &data));
    }

    fn start_step(&mut self, step: Value) -> usize {
        self.end_open_text();
        let index = self.next;
        self.next += 1;
        self.push_event(json!({ "event_type": "step.start", "index": index, "step": step }));
        index
    }

    fn push_delta(&mut self, index: usize, delta: Value) {
        self.push_event(json!({ "event_type": "step.delta", "index": index, "delta": delta }));
    }

    fn end_step(&mut self, index: usize) {
        self.push_event(json!({ "event_type": "step.stop", "index": index }));
    }

    /// Ends the open step with text.
    fn end_open_text(&mut self) {
        if let Some(index) = self.open.take() {
            self.end_step(index);
        }
    }

    /// Adds a step. Returns `false` if no step can follow it.
    fn push_step(&mut self, step: &Step) -> bool {
        match step {
            Step::Text(text) => {
                let index = match self.open {
                    Some(index) => index,
                    None => self.start_step(json!({ "type": "model_output" })),
                };
                self.open = Some(index);
                self.push_delta(index, json!({ "type": "text", "text": text }));
            }
            Step::Thinking { text, signature } => {
                let index = self.start_step(json!({ "type": "thought" }));
                for piece in pieces(text, 2) {
                    let content = json!({ "type": "text", "text": piece });
                    self.push_delta(index, json!({ "type": "thought_summary", "content": content }));
                }
                self.push_delta(index, json!({ "type": "thought_signature", "signature": signature }));
                self.end_step(index);
            }
            Step::Call { id, name, arguments } => {
                let call = json!({ "type": "function_call", "id": id, "name": name, "arguments": {} });
                let index = self.start_step(call);
                for piece in pieces(arguments, 3) {
                    self.push_delta(index, json!({ "type": "arguments_delta", "arguments": piece }));
                }
                self.end_step(index);
            }
            Step::Pause(pause) => self.frames.push(Frame::Pause(*pause)),
            Step::Raw(bytes) => self.frames.push(Frame::Bytes(bytes.clone())),
            Step::Cut => self.frames.push(Frame::Cut),
            Step::Stall => self.frames.push(Frame::Stall),
        }
        !matches!(step, Step::Cut | Step::Stall)
    }
}

fn error(_status: u16, kind: &str, message: &str) -> Value {
    json!({ "error": { "code": kind, "message": message } })
}

/// Checks that the request is stateless and that each call has its result.
fn violation(request: &Request) -> Option<String> {
    if request.header("api-revision").is_none() {
        return Some("header api-revision is missing".to_owned());
    }
    if let Some(violation) = request.missing_field() {
        return Some(violation);
    }
    if request.body["store"] != json!(false) || request.body.get("previous_interaction_id").is_some() {
        return Some("the request is not stateless".to_owned());
    }
    let mut open: Vec<&str> = Vec::new();
    for (at, step) in request.messages().iter().enumerate() {
        let text = |key: &str| step[key].as_str().unwrap_or_default();
        match text("type") {
            "function_call" => open.push(text("id")),
            "function_result" => match open.iter().position(|id| *id == text("call_id")) {
                Some(position) => drop(open.remove(position)),
                None => return Some(format!("input.{at}: no open call `{}`", text("call_id"))),
            },
            "thought" if text("signature").is_empty() => {
                return Some(format!("input.{at}: a thought without signature"));
            }
            "user_input" | "model_output" if !open.is_empty() => {
                return Some(format!("input.{at}: the calls {open:?} have no result"));
            }
            "" => return Some(format!("input.{at}: no type")),
            _ => {}
        }
    }
    (!open.is_empty()).then(|| format!("the calls {open:?} have no result"))
}

fn transcript(step: &Value) -> Vec<String> {
    let texts = |key: &str, prefix: &str| -> Vec<String> {
        let contents = step[key].as_array().into_iter().flatten();
        contents.filter_map(|content| Some(format!("{prefix} {}", content["text"].as_str()?))).collect()
    };
    match step["type"].as_str() {
        Some("user_input") => texts("content", "user:"),
        Some("model_output") => texts("content", "assistant:"),
        Some("function_result") => texts("result", "result"),
        Some("function_call") => {
            vec![format!("call {} {}", step["name"].as_str().unwrap_or_default(), step["arguments"])]
        }
        _ => Vec::new(),
    }
}
