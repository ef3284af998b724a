//! Answers as one document, as the APIs return them for a request without a stream.
//!
//! Source: the API references, "Create a message", "Create chat completion", "Create a model response" and
//! "models.generateContent".

use ibeam_protocol::{StopReason, Usage};
use serde_json::{Value, json};

use crate::script::{Answer, Content, Step, stop_reason};
use crate::wire::Wire;

/// Returns the document of an answer.
///
/// # Panics
/// If the answer is not one of a model.
pub(crate) fn document(wire: Wire, answer: &Answer, model: &Value, id: &str) -> Value {
    let Content::Steps { steps, usage, stop } = &answer.content else {
        panic!("an answer in a batch has steps, not {:?}", answer.content)
    };
    let stop = stop_reason(steps, stop.as_ref());
    match wire {
        Wire::Anthropic => anthropic(steps, usage, &stop, model, id),
        Wire::OpenAi => chat(steps, usage, &stop, model, id),
        Wire::Responses => responses(steps, usage, &stop, model, id),
        Wire::Gemini => gemini(steps, usage, &stop, id),
        Wire::GeminiInteractions
        | Wire::Bedrock
        | Wire::VertexAnthropic
        | Wire::BedrockAnthropic
        | Wire::Ollama
        | Wire::Cohere => panic!("{wire:?} has no batches"),
    }
}

fn anthropic(steps: &[Step], usage: &Usage, stop: &StopReason, model: &Value, id: &str) -> Value {
    let content: Vec<Value> = steps
        .iter()
        .map(|step| match step {
            Step::Text(text) => json!({ "type": "text", "text": text }),
            Step::Thinking { text, signature } => {
                json!({ "type": "thinking", "thinking": text, "signature": signature })
            }
            Step::Call { id, name, arguments } => {
                json!({ "type": "tool_use", "id": id, "name": name, "input": parsed(arguments) })
            }
            other => not_in_a_document(other),
        })
        .collect();
    let stop_reason = match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::Paused => "pause_turn",
        StopReason::Refusal => "refusal",
        StopReason::Unknown(word) => word,
    };
    json!({
        "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": stop_reason, "stop_sequence": null,
        "usage": {
            "input_tokens": usage.input, "cache_creation_input_tokens": usage.cache_write,
            "cache_read_input_tokens": usage.cache_read, "output_tokens": usage.output, "service_tier": "batch",
        },
    })
}

fn chat(steps: &[Step], usage: &Usage, stop: &StopReason, model: &Value, id: &str) -> Value {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for step in steps {
        match step {
            Step::Text(piece) => text.push_str(piece),
            Step::Thinking { .. } => {}
            Step::Call { id, name, arguments } => {
                calls.push(json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }));
            }
            other => not_in_a_document(other),
        }
    }
    let mut message = json!({ "role": "assistant", "content": text, "refusal": null });
    if text.is_empty() {
        message["content"] = Value::Null;
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let finish_reason = match stop {
        StopReason::EndTurn | StopReason::Paused => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens => "length",
        StopReason::Refusal => "content_filter",
        StopReason::Unknown(word) => word,
    };
    let input = usage.input + usage.cache_read;
    json!({
        "id": format!("chatcmpl-{id}"), "object": "chat.completion", "created": 1_790_000_000, "model": model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason }],
        "usage": {
            "prompt_tokens": input, "completion_tokens": usage.output, "total_tokens": input + usage.output,
            "prompt_tokens_details": { "cached_tokens": usage.cache_read },
        },
    })
}

fn responses(steps: &[Step], usage: &Usage, stop: &StopReason, model: &Value, id: &str) -> Value {
    let output: Vec<Value> = steps
        .iter()
        .map(|step| match step {
            Step::Text(text) => json!({
                "type": "message", "id": format!("msg_{id}"), "status": "completed", "role": "assistant",
                "content": [{ "type": "output_text", "text": text, "annotations": [], "logprobs": [] }],
            }),
            Step::Thinking { text, signature } => json!({
                "type": "reasoning", "id": format!("rs_{id}"), "encrypted_content": signature,
                "summary": [{ "type": "summary_text", "text": text }],
            }),
            Step::Call { id, name, arguments } => json!({
                "type": "function_call", "id": format!("fc_{id}"), "status": "completed", "call_id": id,
                "name": name, "arguments": arguments,
            }),
            other => not_in_a_document(other),
        })
        .collect();
    let cut = matches!(stop, StopReason::MaxTokens);
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "id": format!("resp_{id}"), "object": "response", "created_at": 1_790_000_000, "model": model,
        "status": if cut { "incomplete" } else { "completed" }, "error": null,
        "incomplete_details": cut.then(|| json!({ "reason": "max_output_tokens" })), "output": output,
        "usage": {
            "input_tokens": input, "input_tokens_details": { "cached_tokens": usage.cache_read },
            "output_tokens": usage.output, "output_tokens_details": { "reasoning_tokens": usage.reasoning },
            "total_tokens": input + usage.output,
        },
    })
}

fn gemini(steps: &[Step], usage: &Usage, stop: &StopReason, id: &str) -> Value {
    let parts: Vec<Value> = steps
        .iter()
        .map(|step| match step {
            Step::Text(text) => json!({ "text": text }),
            Step::Thinking { text, .. } => json!({ "text": text, "thought": true }),
            Step::Call { id, name, arguments } => {
                json!({ "functionCall": { "id": id, "name": name, "args": parsed(arguments) } })
            }
            other => not_in_a_document(other),
        })
        .collect();
    let finish_reason = match stop {
        StopReason::EndTurn | StopReason::ToolUse => "STOP",
        StopReason::MaxTokens => "MAX_TOKENS",
        StopReason::Refusal => "SAFETY",
        StopReason::Paused => "OTHER",
        StopReason::Unknown(word) => word,
    };
    let input = usage.input + usage.cache_read;
    json!({
        "candidates": [{
            "content": { "parts": parts, "role": "model" }, "finishReason": finish_reason, "index": 0,
        }],
        "usageMetadata": {
            "promptTokenCount": input, "cachedContentTokenCount": usage.cache_read,
            "candidatesTokenCount": usage.output, "totalTokenCount": input + usage.output,
        },
        "responseId": id,
    })
}

fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).expect("this API sends arguments as JSON")
}

fn not_in_a_document<T>(step: &Step) -> T {
    panic!("a document has no such step: {step:?}")
}
