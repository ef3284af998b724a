//! The end of a run: `turn.completed`, `turn.failed`, and a last `error`.

use serde_json::{Value, json};

use crate::contract;
use crate::json::{Object, count_at, text_at};
use crate::step::Payload;

pub(super) fn end_to_contract(payload: &Payload) -> Payload {
    for pointer in ["/turn.failed/error/message", "/error/message"] {
        if let Some(message) = payload.pointer(pointer) {
            return contract::error_payload("failed", message.as_str().unwrap_or_default(), Object::new());
        }
    }
    let Some(usage) = payload.pointer("/turn.completed/usage") else {
        return json!({ "result/success": {} });
    };
    let [read, written] =
        ["/cached_input_tokens", "/cache_write_input_tokens"].map(|key| count_at(usage, key));
    json!({ "result/success": { "usage": {
        // The input tokens of Codex include tokens that were read from or written to the cache.
        "inputTokens": count_at(usage, "/input_tokens").saturating_sub(read).saturating_sub(written),
        "outputTokens": count_at(usage, "/output_tokens"),
        "cacheReadTokens": read,
        "cacheWriteTokens": written,
    } } })
}

pub(super) fn end_from_contract(payload: &Payload) -> Payload {
    if payload.get("error").is_some() {
        return json!({ "turn.failed": { "error": { "message": text_at(payload, "/error/message") } } });
    }
    let count = |key: &str| count_at(payload, &format!("/result~1success/usage/{key}"));
    let (read, written) = (count("cacheReadTokens"), count("cacheWriteTokens"));
    let usage: Value = json!({
        "input_tokens": count("inputTokens").saturating_add(read).saturating_add(written),
        "cached_input_tokens": read,
        "cache_write_input_tokens": written,
        "output_tokens": count("outputTokens"),
        "reasoning_output_tokens": 0,
    });
    json!({ "turn.completed": { "usage": usage } })
}
