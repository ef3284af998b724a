//! The end of a run: the sums of all steps of opencode, or `error`.

use serde_json::{Value, json};

use crate::contract;
use crate::json::{Object, count_at, object, text_at};
use crate::step::Payload;

pub(super) fn end_to_contract(payload: &Payload) -> Payload {
    if let Some(error) = payload.pointer("/error/error") {
        let status = error
            .pointer("/data/statusCode")
            .and_then(Value::as_u64)
            .filter(|code| (100..1000).contains(code));
        let code = match (text_at(error, "/name"), status) {
            ("ProviderAuthError", _) => "auth",
            ("MessageAbortedError", _) => "signal",
            ("ContextOverflowError", _) => "context",
            ("ContentFilterError", _) => "refused",
            (_, Some(status)) => contract::code_from_status(status),
            (_, None) => "failed",
        };
        // Some errors have only a name.
        let message = error.pointer("/data/message").and_then(Value::as_str);
        let message = message.unwrap_or_else(|| text_at(error, "/name"));
        let extra = object([("http_status", status.into())]);
        return contract::error_payload(code, message, crate::json::into_object(extra));
    }
    let part = payload.get("step_finish.part").cloned().unwrap_or_default();
    let usage = part.get("tokens").map(|tokens| {
        json!({
            "inputTokens": count_at(tokens, "/input"),
            "outputTokens": count_at(tokens, "/output"),
            "cacheReadTokens": count_at(tokens, "/cache/read"),
            "cacheWriteTokens": count_at(tokens, "/cache/write"),
        })
    });
    let cost = part.get("cost").filter(|cost| cost.as_f64().is_some_and(|cost| cost > 0.0)).cloned();
    let turns = payload.get("step_finish").filter(|steps| steps.is_u64()).cloned();
    let ibeam = object([("turns", turns.into()), ("cost_usd", cost.into())]);
    json!({ "result/success": object([("usage", usage.into()), ("ibeam", ibeam)]) })
}

pub(super) fn end_from_contract(payload: &Payload) -> Payload {
    if let Some(error) = payload.get("error") {
        let (code, status) = (text_at(error, "/code"), error.get("http_status").cloned());
        let name = match (code, &status) {
            ("auth", None) => "ProviderAuthError",
            ("signal", None) => "MessageAbortedError",
            ("context", None) => "ContextOverflowError",
            ("refused", None) => "ContentFilterError",
            (_, Some(_)) => "APIError",
            (_, None) => "UnknownError",
        };
        let mut data = Object::new();
        data.insert("message".to_owned(), text_at(error, "/message").into());
        if let Some(status) = status {
            data.insert("statusCode".to_owned(), status);
            data.insert("isRetryable".to_owned(), error.get("retryable").cloned().unwrap_or_default());
        }
        return json!({ "error": { "error": { "name": name, "data": data } } });
    }
    let end = payload.get("result/success").cloned().unwrap_or_default();
    let count = |key: &str| count_at(&end, &format!("/usage/{key}"));
    let parts = ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"];
    let total = parts.iter().fold(0_u64, |total, key| total.saturating_add(count(key)));
    json!({ "step_finish.part": {
        "reason": "stop",
        "cost": end.pointer("/ibeam/cost_usd").cloned().unwrap_or_else(|| 0.into()),
        "tokens": {
            "total": total,
            "input": count("inputTokens"),
            "output": count("outputTokens"),
            "reasoning": 0,
            "cache": { "read": count("cacheReadTokens"), "write": count("cacheWriteTokens") },
        },
    } })
}
