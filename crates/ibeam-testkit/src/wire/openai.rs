//! OpenAI Chat Completions, streaming. Source: the API reference, "The chat completion chunk object"; reasoning
//! as `reasoning_content`, the way compatible services send it.

use ibeam_protocol::StopReason;
use serde_json::{Value, json};

use super::{Chunk, Head, is_only_faults, pieces};
use crate::script::Step;

pub(super) fn encode(head: &Head, tells_usage: bool, steps: &[Step]) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let silent = is_only_faults(steps);
    if !silent {
        chunks.push(delta(head, json!({"role": "assistant", "content": ""})));
    }
    let mut stop = None;
    let mut calls = 0_u32;
    for step in steps {
        match step {
            Step::Text(text) => chunks.push(delta(head, json!({"content": text}))),
            Step::Thinking(text) => chunks.push(delta(head, json!({"reasoning_content": text}))),
            Step::Call { id, name, arguments } => {
                let function = json!({"name": name, "arguments": ""});
                let first = json!({"index": calls, "id": id, "type": "function", "function": function});
                chunks.push(delta(head, json!({"tool_calls": [first]})));
                for piece in pieces(arguments) {
                    let more = json!({"index": calls, "function": {"arguments": piece}});
                    chunks.push(delta(head, json!({"tool_calls": [more]})));
                }
                calls += 1;
            }
            Step::Stop(reason) => stop = Some(reason.clone()),
            Step::Usage(_) | Step::Status { .. } => {}
            Step::Delay(time) => chunks.push(Chunk::Delay(*time)),
            Step::Raw(bytes) => chunks.push(Chunk::Bytes(bytes.clone())),
            Step::Cut => chunks.push(Chunk::Cut),
            Step::Stall => chunks.push(Chunk::Stall),
        }
    }
    if !silent {
        let reason = match stop.unwrap_or(if calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn }) {
            StopReason::EndTurn => "stop".to_owned(),
            StopReason::ToolUse => "tool_calls".to_owned(),
            StopReason::MaxTokens => "length".to_owned(),
            StopReason::Refusal => "content_filter".to_owned(),
            StopReason::Unknown(word) => word,
        };
        let choice = json!({"index": 0, "delta": {}, "logprobs": null, "finish_reason": reason});
        chunks.push(event(head, json!([choice]), None));
        if tells_usage {
            let usage = head.usage;
            let prompt = usage.input + usage.cache_read + usage.cache_write;
            let told = json!({
                "prompt_tokens": prompt,
                "completion_tokens": usage.output,
                "total_tokens": prompt + usage.output,
                "prompt_tokens_details": {"cached_tokens": usage.cache_read},
            });
            chunks.push(event(head, json!([]), Some(told)));
        }
        chunks.push(Chunk::Bytes(b"data: [DONE]\n\n".to_vec()));
    }
    chunks
}

fn delta(head: &Head, delta: Value) -> Chunk {
    let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": null});
    event(head, json!([choice]), None)
}

fn event(head: &Head, choices: Value, usage: Option<Value>) -> Chunk {
    let mut data = json!({
        "id": format!("chatcmpl-{:04}", head.number),
        "object": "chat.completion.chunk",
        "created": 1_750_000_000,
        "model": head.model,
        "system_fingerprint": "fp_0000000000",
        "choices": choices,
    });
    if let (Some(usage), Some(object)) = (usage, data.as_object_mut()) {
        object.insert("usage".to_owned(), usage);
    }
    Chunk::Bytes(format!("data: {data}\n\n").into_bytes())
}
