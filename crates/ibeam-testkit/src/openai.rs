//! Answers as server-sent events of the OpenAI Chat Completions API.
//!
//! Source: the API reference, "Chat Completions: streaming". Thinking is sent in `reasoning_content`, as services do
//! that show it. The API has no signatures.

use ibeam_protocol::StopReason;
use serde_json::{Value, json};

use crate::api::{AnswerScript, Api};
use crate::request::{self, Request};
use crate::script::{Frame, Step, pieces, stop_reason};

pub(crate) const API: Api = Api {
    model_name: "openrouter/anthropic/claude-sonnet-4.6",
    base_url_variable: "OPENROUTER_BASE_URL",
    key_variable: "OPENROUTER_API_KEY",
    key_header: ("authorization", "Bearer "),
    has_path: |path| path.ends_with("/chat/completions"),
    id_header: Some("x-request-id"),
    stream,
    error,
    violation: |request| request.missing_field().or_else(|| call_violation(request)),
    transcript: request::transcript_of,
};

/// Returns the complete stream of an answer.
fn stream(script: &AnswerScript<'_>) -> Vec<Frame> {
    let AnswerScript { steps, usage, stop, model, number } = *script;
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": format!("chatcmpl-{number:04}"), "object": "chat.completion.chunk", "created": 1_790_000_000,
            "model": model, "choices": choices,
        });
        if !usage.is_null() {
            chunk["usage"] = usage;
        }
        Frame::unnamed_event(&chunk.to_string())
    };
    let delta = |delta: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": null }]), Value::Null)
    };
    let mut frames = vec![delta(json!({ "role": "assistant", "content": "", "refusal": null }))];
    let mut calls = 0;
    for step in steps {
        match step {
            Step::Text(text) => frames.push(delta(json!({ "content": text }))),
            Step::Thinking { text, signature: _ } => {
                let thoughts = pieces(text, 2).into_iter();
                frames.extend(thoughts.map(|piece| delta(json!({ "reasoning_content": piece }))));
            }
            Step::Call { id, name, arguments } => {
                let begin = json!({
                    "index": calls, "id": id, "type": "function", "function": { "name": name, "arguments": "" },
                });
                frames.push(delta(json!({ "tool_calls": [begin] })));
                for piece in pieces(arguments, 3) {
                    let more = json!({ "index": calls, "function": { "arguments": piece } });
                    frames.push(delta(json!({ "tool_calls": [more] })));
                }
                calls += 1;
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
    let finish_reason = match stop_reason(steps, stop) {
        StopReason::EndTurn => "stop".to_owned(),
        StopReason::ToolUse => "tool_calls".to_owned(),
        StopReason::MaxTokens => "length".to_owned(),
        StopReason::Paused => "pause_turn".to_owned(),
        StopReason::Refusal => "content_filter".to_owned(),
        StopReason::Unknown(word) => word,
    };
    let last = json!([{ "index": 0, "delta": {}, "logprobs": null, "finish_reason": finish_reason }]);
    frames.push(chunk(last, Value::Null));
    // This API counts cached tokens as prompt tokens, and has no count of tokens written to the cache.
    let prompt = usage.input + usage.cache_read;
    let total = json!({
        "prompt_tokens": prompt, "completion_tokens": usage.output, "total_tokens": prompt + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cache_read },
    });
    frames.push(chunk(json!([]), total));
    frames.push(Frame::unnamed_event("[DONE]"));
    frames
}

/// Returns the body of an error.
fn error(_status: u16, kind: &str, message: &str) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": kind } })
}

/// Checks that `tool` messages with the results follow each assistant message with calls.
pub(crate) fn call_violation(request: &Request) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in request.messages().iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            match open.iter().position(|candidate| *candidate == id) {
                Some(position) => drop(open.remove(position)),
                None => return Some(format!("messages.{at}: no open call `{id}`")),
            }
            continue;
        }
        if !open.is_empty() {
            return Some(format!("messages.{at}: the calls {open:?} have no result"));
        }
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open = calls.filter_map(|call| call["id"].as_str()).collect();
    }
    (!open.is_empty()).then(|| format!("the calls {open:?} have no result"))
}
