//! The start and the end of a run: `init` and `result`.

use serde_json::{Value, json};

use crate::contract;
use crate::json::{count_at, into_object, object, take, take_object, text_at};
use crate::step::Payload;

pub(super) fn init_to_contract(payload: Payload) -> Payload {
    let mut payload = into_object(payload);
    let model =
        take_object(&mut payload, "init").map(|mut init| take(&mut init, "model")).unwrap_or_default();
    json!({ "system/init": object([("model", model)]) })
}

pub(super) fn init_from_contract(payload: &Payload) -> Payload {
    let model = payload.pointer("/system~1init/model").cloned().unwrap_or_else(|| "unknown".into());
    json!({ "init": { "model": model } })
}

pub(super) fn end_to_contract(payload: &Payload) -> Payload {
    let result = payload.get("result").cloned().unwrap_or_default();
    if text_at(&result, "/status") == "error" {
        let code = match text_at(&result, "/error/type") {
            "FatalTurnLimitedError" => "limit",
            "FatalAuthenticationError" => "auth",
            "FatalInputError" => "request",
            "FatalSandboxError" => "sandbox",
            "FatalConfigError" => "config",
            "FatalCancellationError" => "signal",
            _ => "failed",
        };
        return contract::error_payload(code, text_at(&result, "/error/message"), crate::json::Object::new());
    }
    let usage = result.get("stats").map(|stats| {
        json!({
            "inputTokens": count_at(stats, "/input"),
            "outputTokens": count_at(stats, "/output_tokens"),
            "cacheReadTokens": count_at(stats, "/cached"),
            "cacheWriteTokens": 0,
        })
    });
    let calls = result.pointer("/stats/tool_calls").filter(|calls| calls.is_u64()).cloned();
    let end = object([
        ("duration_ms", count_at(&result, "/stats/duration_ms").into()),
        ("usage", usage.into()),
        ("ibeam", object([("tool_calls", calls.into())])),
    ]);
    json!({ "result/success": end })
}

pub(super) fn end_from_contract(payload: &Payload) -> Payload {
    if let Some(error) = payload.get("error") {
        let kind = match text_at(error, "/code") {
            "limit" => "FatalTurnLimitedError",
            "auth" => "FatalAuthenticationError",
            "request" => "FatalInputError",
            "sandbox" => "FatalSandboxError",
            "config" => "FatalConfigError",
            "signal" => "FatalCancellationError",
            _ => "Error",
        };
        return json!({ "result": {
            "status": "error", "error": { "type": kind, "message": text_at(error, "/message") },
        } });
    }
    let end = payload.get("result/success").cloned().unwrap_or_default();
    let count = |pointer: &str| count_at(&end, pointer);
    let input = count("/usage/inputTokens").saturating_add(count("/usage/cacheWriteTokens"));
    let all = input.saturating_add(count("/usage/cacheReadTokens"));
    let stats: Value = json!({
        "total_tokens": all.saturating_add(count("/usage/outputTokens")),
        "input_tokens": all,
        "output_tokens": count("/usage/outputTokens"),
        "cached": count("/usage/cacheReadTokens"),
        "input": input,
        "duration_ms": count("/duration_ms"),
        "tool_calls": count("/ibeam/tool_calls"),
    });
    json!({ "result": { "status": "success", "stats": stats } })
}
