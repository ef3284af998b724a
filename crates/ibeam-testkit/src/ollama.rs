//! Answers as lines of JSON of Ollama's own API.
//!
//! Source: the API documentation of Ollama, "Generate a chat completion". The API has no signatures, no ids of requests and
//! no counts of cached tokens.

use ibeam_protocol::StopReason;
use serde_json::{Value, json};

use crate::api::{AnswerScript, Api};
use crate::request::Request;
use crate::script::{Frame, Step, pieces, stop_reason};

pub(crate) const API: Api = Api {
    model_name: "ollama-cloud/claude-sonnet-4-6",
    base_url_variable: "OLLAMA_CLOUD_BASE_URL",
    key_variable: "OLLAMA_API_KEY",
    key_header: ("authorization", "Bearer "),
    has_path: |path| path.ends_with("/api/chat"),
    id_header: None,
    stream,
    error: |_status, _kind, message| json!({ "error": message }),
    violation: |request| request.missing_field().or_else(|| call_violation(request)),
    transcript,
};

fn stream(script: &AnswerScript<'_>) -> Vec<Frame> {
    let line = |mut message: Value, end: Value| {
        message["role"] = "assistant".into();
        let mut chunk = json!({
            "model": script.model, "created_at": "2026-11-22T10:00:00.123456Z", "message": message, "done": false,
        });
        if let (Some(chunk), Value::Object(end)) = (chunk.as_object_mut(), end) {
            chunk.extend(end);
        }
        Frame::Bytes(format!("{chunk}\n").into_bytes())
    };
    let mut frames = Vec::new();
    for step in script.steps {
        match step {
            Step::Text(text) => frames.push(line(json!({ "content": text }), Value::Null)),
            Step::Thinking { text, signature: _ } => {
                let thoughts = pieces(text, 2).into_iter();
                let message = |piece| json!({ "content": "", "thinking": piece });
                frames.extend(thoughts.map(|piece| line(message(piece), Value::Null)));
            }
            Step::Call { id, name, arguments } => {
                let arguments: Value =
                    serde_json::from_str(arguments).expect("this API sends arguments as JSON");
                let function = json!({ "index": 0, "name": name, "arguments": arguments });
                let calls = json!([{ "id": id, "function": function }]);
                frames.push(line(json!({ "content": "", "tool_calls": calls }), Value::Null));
            }
            Step::Pause(pause) => frames.push(Frame::Pause(*pause)),
            Step::Raw(bytes) => frames.push(Frame::Bytes(bytes.clone())),
            Step::Cut => {
                frames.push(Frame::Cut);
                return frames;
            }
            Step::Stall => {
                frames.push(Frame::Stall);
                return frames;
            }
        }
    }
    let done_reason = match stop_reason(script.steps, script.stop) {
        StopReason::EndTurn | StopReason::ToolUse => "stop".to_owned(),
        StopReason::MaxTokens => "length".to_owned(),
        StopReason::Refusal => "refusal".to_owned(),
        StopReason::Paused => "pause".to_owned(),
        StopReason::Unknown(word) => word,
    };
    let end = json!({
        "done": true, "done_reason": done_reason, "total_duration": 5_000_000, "load_duration": 1_000_000,
        "prompt_eval_count": script.usage.input + script.usage.cache_read, "eval_count": script.usage.output,
    });
    frames.push(line(json!({ "content": "" }), end));
    frames
}

/// Checks that the results of calls follow each message with calls, in the order of the calls.
fn call_violation(request: &Request) -> Option<String> {
    let mut open: Vec<(&Value, &Value)> = Vec::new();
    for (at, message) in request.messages().iter().enumerate() {
        if message["role"] == "tool" {
            let result = (&message["tool_call_id"], &message["tool_name"]);
            if open.is_empty() || open.remove(0) != result {
                return Some(format!("messages.{at}: no open call {result:?}"));
            }
            continue;
        }
        if !open.is_empty() {
            return Some(format!("messages.{at}: the calls {open:?} have no result"));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            if !call["function"]["arguments"].is_object() {
                return Some(format!("messages.{at}: arguments are not an object"));
            }
            open.push((&call["id"], &call["function"]["name"]));
        }
    }
    (!open.is_empty()).then(|| format!("the calls {open:?} have no result"))
}

fn transcript(message: &Value) -> Vec<String> {
    let text = message["content"].as_str().unwrap_or_default();
    let mut lines = match message["role"].as_str().unwrap_or_default() {
        "system" => Vec::new(),
        "tool" => vec![format!("result {}", text.strip_prefix("Error: ").unwrap_or(text))],
        _ if text.is_empty() => Vec::new(),
        role => vec![format!("{role}: {text}")],
    };
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        lines.push(format!(
            "call {} {}",
            function["name"].as_str().unwrap_or_default(),
            function["arguments"]
        ));
    }
    lines
}
