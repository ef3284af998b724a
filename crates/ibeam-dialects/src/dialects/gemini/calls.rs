//! Converts calls: `tool_use` with its `tool_result`, which has only text.

use serde_json::{Value, json};

use crate::contract::ContractCall;
use crate::json::{Object, into_object, object, take, take_list, take_object, take_text, text_at};
use crate::step::Payload;
use crate::text_results;
use crate::tool_table::{self, ArgShape, MCP, ToolRow};

/// The key of a payload for the start of a call.
const TOOL_USE: &str = "tool_use";
/// The key of a payload for the result of a call.
const TOOL_RESULT: &str = "tool_result";

pub(super) const TOOLS: &[ToolRow] = &[
    ToolRow::new("readToolCall", &["read_file"], &[("path", "file_path")], ArgShape::Plain),
    ToolRow::new(
        "writeToolCall",
        &["write_file"],
        &[("path", "file_path"), ("fileText", "content")],
        ArgShape::Plain,
    ),
    ToolRow::new(
        "editToolCall",
        &["replace"],
        &[("path", "file_path")],
        ArgShape::Edit(["old_string", "new_string", "allow_multiple"]),
    ),
    ToolRow::new(
        "shellToolCall",
        &["run_shell_command"],
        &[("workingDirectory", "dir_path"), ("isBackground", "is_background")],
        ArgShape::Plain,
    ),
    ToolRow::new(
        "grepToolCall",
        &["grep_search", "search_file_content"],
        &[("path", "dir_path"), ("glob", "include_pattern")],
        ArgShape::Plain,
    ),
    ToolRow::new(
        "globToolCall",
        &["glob"],
        &[("globPattern", "pattern"), ("targetDirectory", "dir_path")],
        ArgShape::Plain,
    ),
    ToolRow::new("lsToolCall", &["list_directory"], &[("path", "dir_path")], ArgShape::Plain),
    ToolRow::new("deleteToolCall", &["delete_file"], &[("path", "file_path")], ArgShape::Plain),
    ToolRow::new("updateTodosToolCall", &["write_todos"], &[], ArgShape::Todos("description")),
    ToolRow::new("webFetchToolCall", &["web_fetch"], &[], ArgShape::Plain),
    ToolRow::new("webSearchToolCall", &["google_web_search"], &[("searchTerm", "query")], ArgShape::Plain),
    ToolRow::new("taskToolCall", &["invoke_agent"], &[("subagentType", "agent_name")], ArgShape::Plain),
];

pub(super) fn to_contract(payload: Payload, cwd: &str) -> Payload {
    let mut payload = into_object(payload);
    let mut used = take_object(&mut payload, TOOL_USE).unwrap_or_default();
    let result = take_object(&mut payload, TOOL_RESULT);
    let name = take_text(&mut used, "tool_name").unwrap_or_default();
    let parameters = take(&mut used, "parameters");
    if let Some((server, tool)) = name.strip_prefix("mcp_").and_then(|rest| rest.split_once('_')) {
        let mut call = tool_table::mcp_to_contract(server, tool, parameters);
        call.result = result.map(|result| mcp_result_to_contract(&Value::Object(result)));
        return call.into_payload();
    }
    let (tool, parameters) = match (tool_table::find_by_name(TOOLS, &name), parameters) {
        (Some(tool), Value::Object(parameters)) => (tool, parameters),
        (_, parameters) => {
            let result = result.map(|result| function_to_contract(&Value::Object(result)));
            return ContractCall::function(&name, &parameters, result).into_payload();
        }
    };
    let args = tool.args_to_contract(parameters);
    let result = result.map(|result| {
        let result = Value::Object(result);
        let output = text_at(&result, "/output");
        match failure_parts(&result) {
            Some((kind, message)) => text_results::failure_to_contract(kind, message, &args, output),
            None => text_results::success_from_text(tool.key, &args, output, Object::new(), cwd),
        }
    });
    ContractCall { key: tool.key.to_owned(), args, result }.into_payload()
}

pub(super) fn from_contract(payload: Payload) -> Payload {
    let mut call = ContractCall::from_payload(payload);
    let result = call.result.as_ref().map(|result| match call.arm() {
        Some(("success", payload)) if call.key == MCP => mcp_result_from_contract(payload),
        Some(("success", payload)) if !tool_table::is_function(&call.key) => {
            let (text, _) = text_results::text_from_success(&call.key, &call.args, payload);
            json!({ "status": "success", "output": text })
        }
        Some((arm, payload)) if arm != "success" => {
            let (kind, message) = text_results::failure_to_text(arm, payload);
            let output =
                if arm == "failure" { crate::contract::command_output(payload) } else { message.clone() };
            json!({ "status": "error", "output": output, "error": { "type": kind, "message": message } })
        }
        _ => json!({ "status": "success", "output": text_results::function_text(result) }),
    });
    let (name, parameters) = if call.key == MCP {
        let (server, tool, parameters) = tool_table::mcp_from_contract(&mut call.args);
        (format!("mcp_{server}_{tool}"), parameters)
    } else {
        tool_table::name_and_args(TOOLS, call)
    };
    object([(TOOL_USE, json!({ "tool_name": name, "parameters": parameters })), (TOOL_RESULT, result.into())])
}

/// Returns the kind and the message of a failure.
fn failure_parts(result: &Value) -> Option<(&str, &str)> {
    if text_at(result, "/status") != "error" {
        return None;
    }
    Some(match result.get("error") {
        Some(error) => (text_at(error, "/type"), text_at(error, "/message")),
        None => ("error", text_at(result, "/output")),
    })
}

fn function_to_contract(result: &Value) -> Value {
    match failure_parts(result) {
        Some((kind, message)) => {
            text_results::failure_to_contract(kind, message, &Object::new(), text_at(result, "/output"))
        }
        None => text_results::function_to_contract(text_at(result, "/output")),
    }
}

fn mcp_result_to_contract(result: &Value) -> Value {
    match failure_parts(result) {
        Some((kind, message)) => {
            text_results::failure_to_contract(kind, message, &Object::new(), text_at(result, "/output"))
        }
        None => {
            let content = json!([{ "text": { "text": text_at(result, "/output") } }]);
            json!({ "success": { "content": content, "isError": false } })
        }
    }
}

fn mcp_result_from_contract(payload: &Value) -> Value {
    let mut payload = into_object(payload.clone());
    let blocks = take_list(&mut payload, "content").unwrap_or_default();
    let texts: Vec<&str> = blocks.iter().map(|block| text_at(block, "/text/text")).collect();
    let text = texts.join("\n");
    match payload.get("isError").and_then(Value::as_bool).unwrap_or_default() {
        true => json!({ "status": "error", "output": text, "error": { "type": "error", "message": text } }),
        false => json!({ "status": "success", "output": text }),
    }
}
