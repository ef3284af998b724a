//! Calls: `tool_use` with its `tool_result`.

use ibeam_wire::tool::is_arm;
use serde_json::{Value, json};

use super::tool_results;
use crate::contract::{self, ContractCall};
use crate::json::{Object, into_object, object, take, take_list, take_object, take_text};
use crate::step::Payload;
use crate::tool_table::{self, ArgShape, MCP, ToolRow};

/// The key of a payload for the start of a call.
const TOOL_USE: &str = "assistant/tool_use";
/// The key of a payload for the result of a call.
const TOOL_RESULT: &str = "user/tool_result";

/// The arguments of one replacement.
const EDIT_KEYS: [&str; 3] = ["old_string", "new_string", "replace_all"];

pub(super) const TOOLS: &[ToolRow] = &[
    ToolRow::new("readToolCall", &["Read"], &[("path", "file_path")], ArgShape::Plain),
    ToolRow::new(
        "writeToolCall",
        &["Write"],
        &[("path", "file_path"), ("fileText", "content")],
        ArgShape::Plain,
    ),
    ToolRow::new("editToolCall", &["Edit"], &[("path", "file_path")], ArgShape::Edit(EDIT_KEYS)),
    ToolRow::new("editToolCall", &["MultiEdit"], &[("path", "file_path")], ArgShape::Edits(EDIT_KEYS)),
    ToolRow::new("shellToolCall", &["Bash"], &[("isBackground", "run_in_background")], ArgShape::Plain),
    ToolRow::new(
        "grepToolCall",
        &["Grep"],
        &[("outputMode", "output_mode"), ("caseInsensitive", "-i"), ("headLimit", "head_limit")],
        ArgShape::Plain,
    ),
    ToolRow::new(
        "globToolCall",
        &["Glob"],
        &[("globPattern", "pattern"), ("targetDirectory", "path")],
        ArgShape::Plain,
    ),
    ToolRow::new("lsToolCall", &["LS"], &[], ArgShape::Plain),
    ToolRow::new("deleteToolCall", &["Delete"], &[("path", "file_path")], ArgShape::Plain),
    ToolRow::new("updateTodosToolCall", &["TodoWrite"], &[], ArgShape::Todos("content")),
    ToolRow::new("webFetchToolCall", &["WebFetch"], &[], ArgShape::Plain),
    ToolRow::new("webSearchToolCall", &["WebSearch"], &[("searchTerm", "query")], ArgShape::Plain),
    ToolRow::new("taskToolCall", &["Task", "Agent"], &[("subagentType", "subagent_type")], ArgShape::Plain),
];

pub(super) fn to_contract(payload: Payload, cwd: &str) -> Payload {
    let mut payload = into_object(payload);
    let mut used = take_object(&mut payload, TOOL_USE).unwrap_or_default();
    let result = take_object(&mut payload, TOOL_RESULT);
    let name = take_text(&mut used, "name").unwrap_or_default();
    let input = take(&mut used, "input");
    let mut server = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    if let Some((server, tool)) = server.take() {
        let mut call = tool_table::mcp_to_contract(server, tool, input);
        call.result = result.map(mcp_result_to_contract);
        return call.into_payload();
    }
    let (tool, input) = match (tool_table::find_by_name(TOOLS, &name), input) {
        (Some(tool), Value::Object(input)) => (tool, input),
        (_, input) => return ContractCall::function(&name, &input, result.map(Value::Object)).into_payload(),
    };
    let args = tool.args_to_contract(input);
    let result = result.map(|result| tool_results::to_contract(tool.key, &args, result, cwd));
    ContractCall { key: tool.key.to_owned(), args, result }.into_payload()
}

pub(super) fn from_contract(payload: Payload) -> Payload {
    let mut call = ContractCall::from_payload(payload);
    if call.key == MCP {
        let result = call.result.take().map(mcp_result_from_contract);
        let (server, tool, input) = tool_table::mcp_from_contract(&mut call.args);
        return payload_of(&format!("mcp__{server}__{tool}"), input, result);
    }
    if let Some(tool) = tool_table::find_by_key(TOOLS, &call.key, &call.args) {
        let result = call.result.is_some().then(|| tool_results::from_contract(&call));
        let name = tool.names.first().copied().unwrap_or_default();
        return payload_of(name, Value::Object(tool.args_from_contract(call.args)), result);
    }
    let result = call.result.take();
    if !tool_table::is_function(&call.key) {
        return payload_of(&call.key, Value::Object(call.args), result.map(untyped_result));
    }
    let (name, arguments) = call.function_parts();
    payload_of(&name, Value::Object(arguments), result.map(untyped_result))
}

fn payload_of(name: &str, input: Value, result: Option<Value>) -> Payload {
    object([(TOOL_USE, json!({ "name": name, "input": input })), (TOOL_RESULT, result.into())])
}

/// Converts the result of a tool that contract 1 has no key for. The result has the form of Claude Code or of contract 1.
pub(super) fn untyped_result(result: Value) -> Value {
    match result {
        Value::Object(result) if result.contains_key("content") => Value::Object(result),
        Value::Object(result) => {
            match result.iter().find(|(arm, payload)| arm.as_str() != "success" && payload.is_object()) {
                Some((arm, payload)) => failure_from_contract(arm, payload),
                None => {
                    let result = Value::Object(result);
                    json!({ "content": result.to_string(), "tool_use_result": result })
                }
            }
        }
        other => json!({ "content": other.to_string(), "tool_use_result": other }),
    }
}

pub(super) fn failure_from_contract(arm: &str, payload: &Value) -> Value {
    let text = contract::failure_text(arm, payload);
    let is_message_only = payload.as_object().is_some_and(|payload| payload.len() == 1);
    let structured = match arm {
        "error" if is_message_only => format!("Error: {text}").into(),
        _ => json!({ arm: payload }),
    };
    let text = match (arm, payload.get("exitCode").and_then(Value::as_i64)) {
        ("failure", Some(code)) => format!("Exit code {code}\n{text}"),
        _ => text,
    };
    json!({ "content": text, "is_error": true, "tool_use_result": structured })
}

fn mcp_result_to_contract(mut result: Object) -> Value {
    let failed = result.get("is_error").and_then(Value::as_bool).unwrap_or_default();
    let structured = take(&mut result, "tool_use_result");
    if let Some((arm, payload)) = structured.as_object().and_then(|object| object.iter().next())
        && failed
        && is_arm(arm)
        && payload.is_object()
    {
        return json!({ arm: payload });
    }
    let content = match take(&mut result, "content") {
        Value::Array(blocks) => tool_table::blocks_to_contract(blocks),
        Value::String(text) => json!([{ "text": { "text": text } }]),
        other => json!([other]),
    };
    let mut success = into_object(json!({ "content": content, "isError": failed }));
    if !structured.is_null() {
        success.insert("structuredContent".to_owned(), structured);
    }
    json!({ "success": success })
}

fn mcp_result_from_contract(result: Value) -> Value {
    let arms = result.as_object().and_then(|arms| arms.iter().find(|(name, _)| is_arm(name)));
    let Some((arm, payload)) = arms else { return untyped_result(result) };
    if arm != "success" {
        let text = contract::failure_text(arm, payload);
        return json!({ "content": text, "is_error": true, "tool_use_result": { arm: payload } });
    }
    let mut success = into_object(payload.clone());
    let content = tool_table::blocks_from_contract(take_list(&mut success, "content").unwrap_or_default());
    let failed = success.get("isError").and_then(Value::as_bool).unwrap_or_default();
    object([
        ("content", content),
        ("is_error", failed.into()),
        ("tool_use_result", take(&mut success, "structuredContent")),
    ])
}
