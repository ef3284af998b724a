//! The start and the end of a run: `system/init` and `result`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::calls::TOOLS;
use super::{DEFAULT_CONTEXT_WINDOW, DEFAULT_MAX_OUTPUT, VERSION};
use crate::contract;
use crate::json::{Object, count_at, into_object, object, take, take_list, take_object, text, text_at};
use crate::step::Payload;
use crate::tool_table;

const INIT: &str = "system/init";
const RESULT: &str = "result";

/// Pairs of permission modes in contract 1 and in Claude Code. Of several matches, the first one is written.
const PERMISSION_MODES: &[(&str, &str)] = &[
    ("default", "default"),
    ("force", "bypassPermissions"),
    ("plan", "plan"),
    ("ask", "plan"),
    ("default", "acceptEdits"),
    ("default", "dontAsk"),
    ("default", "auto"),
];

/// Pairs of sources of the API key in contract 1 and in Claude Code. Of several matches, the first one is written.
const KEY_SOURCES: &[(&str, &str)] = &[
    ("env", "ANTHROPIC_API_KEY"),
    ("login", "/login managed key"),
    ("flag", "temporary"),
    ("env", "none"),
    ("env", "apiKeyHelper"),
    ("login", "oauth"),
    ("login", "user"),
    ("login", "project"),
    ("login", "org"),
];

fn find_contract_name(table: &[(&'static str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(_, claude)| *claude == name).map(|(contract, _)| *contract)
}

fn find_claude_name(table: &[(&'static str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(contract, _)| *contract == name).map(|(_, claude)| *claude)
}

pub(super) fn init_to_contract(payload: Payload) -> Payload {
    let mut init = into_object(payload).shift_remove(INIT).map(into_object).unwrap_or_default();
    let key = text(&init, "apiKeySource").and_then(|name| find_contract_name(KEY_SOURCES, name));
    let mode = text(&init, "permissionMode").and_then(|name| find_contract_name(PERMISSION_MODES, name));
    let names = |names: Vec<Value>| -> Value {
        names.iter().filter_map(Value::as_str).map(|name| tool_table::name_to_contract(TOOLS, name)).collect()
    };
    let init = object([
        ("apiKeySource", key.into()),
        ("cwd", take(&mut init, "cwd")),
        ("model", take(&mut init, "model")),
        ("permissionMode", mode.into()),
        ("tools", take_list(&mut init, "tools").map(names).into()),
        ("mcp_servers", take(&mut init, "mcp_servers")),
    ]);
    json!({ INIT: init })
}

pub(super) fn init_from_contract(payload: Payload) -> Payload {
    let mut init = into_object(payload).shift_remove(INIT).map(into_object).unwrap_or_default();
    let needs_none = init.get("ibeam").is_some_and(|ibeam| text_at(ibeam, "/api_key") == "none");
    let key = text(&init, "apiKeySource")
        .and_then(|name| find_claude_name(KEY_SOURCES, name))
        .unwrap_or("ANTHROPIC_API_KEY");
    let mode = text(&init, "permissionMode")
        .and_then(|name| find_claude_name(PERMISSION_MODES, name))
        .unwrap_or("default");
    let names = take_list(&mut init, "tools").unwrap_or_default();
    let names =
        names.iter().filter_map(Value::as_str).map(|name| tool_table::name_from_contract(TOOLS, name));
    let value_or = |value: Value, otherwise: Value| if value.is_null() { otherwise } else { value };
    let init = object([
        ("cwd", value_or(init.get("cwd").cloned().unwrap_or_default(), "/".into())),
        ("tools", names.collect()),
        ("mcp_servers", value_or(init.get("mcp_servers").cloned().unwrap_or_default(), json!([]))),
        ("model", value_or(init.get("model").cloned().unwrap_or_default(), "unknown".into())),
        ("permissionMode", mode.into()),
        ("slash_commands", json!([])),
        ("apiKeySource", if needs_none { "none" } else { key }.into()),
        ("claude_code_version", VERSION.into()),
        ("output_style", "default".into()),
        ("agents", json!([])),
        ("skills", json!([])),
        ("plugins", json!([])),
    ]);
    json!({ INIT: init })
}

pub(super) fn end_to_contract(payload: Payload) -> Payload {
    let result = into_object(payload).shift_remove(RESULT).unwrap_or_default();
    let usage = result.get("usage").filter(|usage| usage.is_object()).map(|usage| {
        json!({
            "inputTokens": count_at(usage, "/input_tokens"),
            "outputTokens": count_at(usage, "/output_tokens"),
            "cacheReadTokens": count_at(usage, "/cache_read_input_tokens"),
            "cacheWriteTokens": count_at(usage, "/cache_creation_input_tokens"),
        })
    });
    let denials: Vec<Value> = result
        .get("permission_denials")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(denial_to_contract)
        .collect();
    let cost = result.get("total_cost_usd").filter(|cost| cost.as_f64().is_some_and(|cost| cost >= 0.0));
    let ibeam = object([
        ("turns", result.get("num_turns").filter(|turns| turns.is_u64()).cloned().into()),
        ("api_ms", count_at(&result, "/duration_api_ms").into()),
        ("cost_usd", cost.cloned().into()),
        ("permission_denials", denials.into()),
        ("structured", result.get("structured_output").cloned().unwrap_or_default()),
    ]);
    let subtype = text_at(&result, "/subtype");
    let failed = result.get("is_error").and_then(Value::as_bool).unwrap_or_default();
    if subtype == "success" && !failed {
        let end = object([
            ("duration_ms", count_at(&result, "/duration_ms").into()),
            ("usage", usage.into()),
            ("ibeam", ibeam),
        ]);
        return json!({ "result/success": end });
    }
    let status =
        result.get("api_error_status").and_then(Value::as_u64).filter(|status| (100..1000).contains(status));
    let code = match subtype {
        "error_max_turns" | "error_max_budget_usd" => "limit",
        _ => status.map_or("failed", contract::code_from_status),
    };
    let errors: Vec<&str> = result
        .get("errors")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let message = match errors.as_slice() {
        [] => result.get("result").and_then(Value::as_str).unwrap_or(subtype).to_owned(),
        errors => errors.join("\n"),
    };
    let extra = object([("http_status", status.into()), ("ibeam", ibeam)]);
    contract::error_payload(code, &message, into_object(extra))
}

fn denial_to_contract(denial: &Value) -> Value {
    let tool = tool_table::name_to_contract(TOOLS, text_at(denial, "/tool_name"));
    json!({ "call_id": text_at(denial, "/tool_use_id"), "tool": tool, "rule": "" })
}

pub(super) fn end_from_contract(payload: Payload) -> Payload {
    let mut payload = into_object(payload);
    if let Some(error) = take_object(&mut payload, "error") {
        return failure_from_contract(&Value::Object(error));
    }
    let end = take(&mut payload, "result/success");
    json!({ RESULT: object([
        ("subtype", "success".into()),
        ("is_error", false.into()),
        ("duration_ms", count_at(&end, "/duration_ms").into()),
        ("duration_api_ms", count_at(&end, "/ibeam/api_ms").into()),
        ("num_turns", turns_of(&end)),
        ("stop_reason", "end_turn".into()),
        ("total_cost_usd", cost_of(&end)),
        ("usage", usage_from_contract(&end)),
        ("modelUsage", model_usage_from_contract(&end)),
        ("permission_denials", denials_from_contract(&end)),
        ("structured_output", end.pointer("/ibeam/structured").cloned().unwrap_or_default()),
    ]) })
}

fn failure_from_contract(error: &Value) -> Payload {
    let code = text_at(error, "/code");
    let subtype = if code == "limit" { "error_max_turns" } else { "error_during_execution" };
    json!({ RESULT: object([
        ("subtype", subtype.into()),
        ("is_error", true.into()),
        ("api_error_status", error.get("http_status").cloned().unwrap_or_default()),
        ("duration_ms", 0.into()),
        ("duration_api_ms", count_at(error, "/ibeam/api_ms").into()),
        ("num_turns", turns_of(error)),
        ("total_cost_usd", cost_of(error)),
        ("usage", usage_from_contract(error)),
        ("modelUsage", model_usage_from_contract(error)),
        ("permission_denials", denials_from_contract(error)),
        ("errors", json!([text_at(error, "/message")])),
    ]) })
}

fn turns_of(end: &Value) -> Value {
    end.pointer("/ibeam/turns").filter(|turns| turns.is_u64()).cloned().unwrap_or_else(|| 0.into())
}

fn cost_of(end: &Value) -> Value {
    end.pointer("/ibeam/cost_usd").filter(|cost| cost.is_number()).cloned().unwrap_or_else(|| 0.into())
}

fn usage_from_contract(end: &Value) -> Value {
    json!({
        "input_tokens": count_at(end, "/usage/inputTokens"),
        "cache_creation_input_tokens": count_at(end, "/usage/cacheWriteTokens"),
        "cache_read_input_tokens": count_at(end, "/usage/cacheReadTokens"),
        "output_tokens": count_at(end, "/usage/outputTokens"),
    })
}

/// Returns the use of each model that answered, by its id. Models of several providers with the same id are added.
fn model_usage_from_contract(end: &Value) -> Value {
    let mut uses: BTreeMap<&str, ModelUse> = BTreeMap::new();
    for totals in end.pointer("/ibeam/models").and_then(Value::as_array).into_iter().flatten() {
        let name = text_at(totals, "/model");
        let id = name.split_once('/').map_or(name, |(_, id)| id);
        if count_at(totals, "/requests") > 0 || totals.get("usage").is_some() {
            uses.entry(id).or_default().add(totals);
        }
    }
    uses.into_iter().map(|(id, used)| (id.to_owned(), used.report())).collect::<Object>().into()
}

/// The tokens and the cost of one model. An unknown cost is 0.
#[derive(Default)]
struct ModelUse {
    /// The tokens: input, output, read from the cache, written to the cache.
    tokens: [u64; 4],
    cost_usd: f64,
}

impl ModelUse {
    fn add(&mut self, totals: &Value) {
        const KEYS: [&str; 4] = [
            "/usage/inputTokens",
            "/usage/outputTokens",
            "/usage/cacheReadTokens",
            "/usage/cacheWriteTokens",
        ];
        for (sum, key) in self.tokens.iter_mut().zip(KEYS) {
            *sum = sum.saturating_add(count_at(totals, key));
        }
        self.cost_usd += totals.get("cost_usd").and_then(Value::as_f64).unwrap_or_default();
    }

    fn report(self) -> Value {
        let [input, output, cache_read, cache_write] = self.tokens;
        json!({
            "inputTokens": input,
            "outputTokens": output,
            "cacheReadInputTokens": cache_read,
            "cacheCreationInputTokens": cache_write,
            "webSearchRequests": 0,
            "costUSD": if self.cost_usd > 0.0 { self.cost_usd.into() } else { Value::from(0) },
            "contextWindow": DEFAULT_CONTEXT_WINDOW,
            "maxOutputTokens": DEFAULT_MAX_OUTPUT,
        })
    }
}

fn denials_from_contract(end: &Value) -> Value {
    let denials = end.pointer("/ibeam/permission_denials").and_then(Value::as_array);
    let denial = |denial: &Value| {
        let tool = tool_table::name_from_contract(TOOLS, text_at(denial, "/tool"));
        json!({ "tool_name": tool, "tool_use_id": text_at(denial, "/call_id"), "tool_input": {} })
    };
    denials.into_iter().flatten().map(denial).collect()
}
