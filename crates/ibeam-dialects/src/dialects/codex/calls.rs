//! Converts calls, which Codex writes as items with a status.
//!
//! Codex reads and searches with commands, so calls of such tools become commands. Other tools of contract 1 that Codex
//! has no item for become tools of a server named `ibeam`, with the result of contract 1 as structured content. Tools
//! without a key in contract 1 become tools of a server named `function`.

use serde_json::{Value, json};

use super::lookup_commands;
use crate::contract::{self, ContractCall};
use crate::json::{Object, into_object, object, take, take_list, take_object, take_text, text, text_at};
use crate::step::Payload;
use crate::text_results;
use crate::tool_table::{self, MCP};

/// The name of the server for tools that contract 1 has a key for.
const CONTRACT_SERVER: &str = "ibeam";
/// The name of the server for tools that contract 1 has no key for.
const FUNCTION_SERVER: &str = "function";

/// The tools that change files, and the kinds of their changes.
const CHANGES: &[(&str, &str)] =
    &[("writeToolCall", "add"), ("editToolCall", "update"), ("deleteToolCall", "delete")];

pub(super) fn to_contract(payload: Payload, cwd: &str) -> Payload {
    let mut item = into_object(payload).shift_remove("item").map(into_object).unwrap_or_default();
    let kind = take_text(&mut item, "type").unwrap_or_default();
    let call = match kind.as_str() {
        "command_execution" => command_to_contract(item),
        "file_change" => change_to_contract(item, cwd),
        "mcp_tool_call" => mcp_call_to_contract(item),
        "todo_list" => {
            let todos = todos_to_contract(take_list(&mut item, "items").unwrap_or_default());
            let args = object([("todos", todos.clone()), ("merge", false.into())]);
            let result = Some(json!({ "success": { "todos": todos } }));
            ContractCall { key: "updateTodosToolCall".to_owned(), args: into_object(args), result }
        }
        // A web search, a call of another agent, or an unknown item: the arguments are the item itself.
        _ => {
            let result = match take_text(&mut item, "status").as_deref() {
                Some("in_progress") => None,
                Some("failed") => Some(json!({ "error": { "errorMessage": "" } })),
                _ => Some(json!({ "success": {} })),
            };
            ContractCall::function(&kind, &Value::Object(item), result)
        }
    };
    call.into_payload()
}

pub(super) fn from_contract(payload: Payload, base: &str) -> Payload {
    let mut call = ContractCall::from_payload(payload);
    let item = match call.key.as_str() {
        "shellToolCall" => command_from_contract(&call),
        "updateTodosToolCall" => {
            let after =
                call.arm().filter(|(arm, _)| *arm == "success").and_then(|(_, payload)| payload.get("todos"));
            let todos = after.or_else(|| call.args.get("todos")).and_then(Value::as_array);
            let item = |todo: &Value| {
                let done = text_at(todo, "/status") == "TODO_STATUS_COMPLETED";
                json!({ "text": text_at(todo, "/content"), "completed": done })
            };
            json!({ "type": "todo_list", "items": todos.into_iter().flatten().map(item).collect::<Vec<_>>() })
        }
        key => match CHANGES.iter().find(|(known, _)| *known == key) {
            Some((_, kind)) => {
                let path = text(&call.args, "path").unwrap_or_default();
                let path =
                    if base.is_empty() { path.to_owned() } else { text_results::absolute_path(path, base) };
                file_change_item(json!([{ "path": path, "kind": kind }]), &call)
            }
            None if tool_table::is_function(key) => function_from_contract(&mut call),
            None => match lookup_commands::lookup_command(key, &call.args) {
                Some(command) => command_execution(command.into(), lookup_commands::lookup_outcome(&call)),
                None => mcp_call_from_contract(&mut call),
            },
        },
    };
    json!({ "item": item })
}

fn command_to_contract(mut item: Object) -> ContractCall {
    let command = take(&mut item, "command");
    let output = take_text(&mut item, "aggregated_output").unwrap_or_default();
    let code = take(&mut item, "exit_code");
    let state = take_text(&mut item, "status").unwrap_or_default();
    let printed = |code: &Value| {
        json!({
            "command": command, "exitCode": code, "stdout": output, "stderr": "", "interleavedOutput": output,
        })
    };
    let result = match (state.as_str(), code.as_i64()) {
        ("in_progress", _) => None,
        ("declined", _) => Some(json!({ "rejected": { "reason": output } })),
        (_, Some(0)) => Some(json!({ "success": printed(&code) })),
        (_, Some(_)) => Some(json!({ "failure": printed(&code) })),
        (_, None) => Some(json!({ "error": { "errorMessage": output } })),
    };
    let mut args = into_object(json!({ "command": command }));
    args.extend(item);
    ContractCall { key: "shellToolCall".to_owned(), args, result }
}

fn command_from_contract(call: &ContractCall) -> Value {
    let (output, code, state) = match call.arm() {
        None => (String::new(), Value::Null, "in_progress"),
        Some(("success", payload)) => (
            contract::command_output(payload),
            payload.get("exitCode").cloned().unwrap_or_else(|| 0.into()),
            "completed",
        ),
        Some(("failure", payload)) => (
            contract::command_output(payload),
            payload.get("exitCode").cloned().unwrap_or_default(),
            "failed",
        ),
        Some((arm @ "rejected", payload)) => (contract::failure_text(arm, payload), Value::Null, "declined"),
        Some((arm, payload)) => (contract::failure_text(arm, payload), Value::Null, "failed"),
    };
    command_execution(call.args.get("command").cloned().unwrap_or_default(), (output, code, state))
}

fn command_execution(command: Value, (output, code, state): (String, Value, &str)) -> Value {
    json!({
        "type": "command_execution",
        "command": command,
        "aggregated_output": output,
        "exit_code": code,
        "status": state,
    })
}

fn change_to_contract(mut item: Object, cwd: &str) -> ContractCall {
    let state = text(&item, "status").unwrap_or_default();
    let ended = |success: Value| match state {
        "in_progress" => None,
        "failed" => Some(json!({ "error": { "errorMessage": "" } })),
        _ => Some(json!({ "success": success })),
    };
    let changes = item.get("changes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let key = match changes {
        [change] => CHANGES.iter().find(|(_, kind)| *kind == text_at(change, "/kind")).map(|(key, _)| *key),
        _ => None,
    };
    let (Some(key), [change]) = (key, changes) else {
        let result = ended(json!({}));
        return ContractCall::function(
            "file_change",
            &json!({ "changes": take(&mut item, "changes") }),
            result,
        );
    };
    let path = text_at(change, "/path");
    let absolute =
        if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", cwd.trim_end_matches('/')) };
    let (args, success) = match key {
        "writeToolCall" => (
            json!({ "path": path, "fileText": "" }),
            json!({ "path": absolute, "linesCreated": 0, "fileSize": 0 }),
        ),
        "deleteToolCall" => (json!({ "path": path }), json!({ "path": absolute, "fileSize": 0 })),
        _ => (json!({ "path": path }), json!({ "path": absolute })),
    };
    ContractCall { key: key.to_owned(), args: into_object(args), result: ended(success) }
}

/// Returns the item for a call that changes files.
fn file_change_item(changes: Value, call: &ContractCall) -> Value {
    json!({ "type": "file_change", "changes": changes, "status": state_of(call) })
}

fn state_of(call: &ContractCall) -> &'static str {
    match call.arm() {
        None if call.result.is_none() => "in_progress",
        None | Some(("success", _)) => "completed",
        Some(_) => "failed",
    }
}

fn mcp_call_to_contract(mut item: Object) -> ContractCall {
    let server = take_text(&mut item, "server").unwrap_or_default();
    let tool = take_text(&mut item, "tool").unwrap_or_default();
    let arguments = take(&mut item, "arguments");
    let state = take_text(&mut item, "status").unwrap_or_default();
    let error = take_object(&mut item, "error").and_then(|mut error| take_text(&mut error, "message"));
    let mut result = take_object(&mut item, "result").unwrap_or_default();
    let structured = take(&mut result, "structured_content");
    let mut call = match (server.as_str(), arguments) {
        (CONTRACT_SERVER, Value::Object(args)) => ContractCall { key: tool, args, result: None },
        (FUNCTION_SERVER, arguments) => ContractCall::function(&tool, &arguments, None),
        (server, arguments) => tool_table::mcp_to_contract(server, &tool, arguments),
    };
    let is_own_server = server == CONTRACT_SERVER || server == FUNCTION_SERVER;
    call.result = match (state.as_str(), error) {
        ("in_progress", _) => None,
        (_, Some(message)) => Some(json!({ "error": { "errorMessage": message } })),
        _ if is_own_server && structured.is_object() => Some(structured),
        (state, None) => {
            let blocks =
                tool_table::blocks_to_contract(take_list(&mut result, "content").unwrap_or_default());
            let mut success = into_object(json!({ "content": blocks, "isError": state == "failed" }));
            if !structured.is_null() {
                success.insert("structuredContent".to_owned(), structured);
            }
            success.extend(result);
            Some(json!({ "success": success }))
        }
    };
    call
}

fn mcp_call_from_contract(call: &mut ContractCall) -> Value {
    let result = call.result.take();
    if call.key != MCP {
        return substitute_item(
            CONTRACT_SERVER,
            &call.key,
            Value::Object(std::mem::take(&mut call.args)),
            result,
        );
    }
    let (server, tool, arguments) = tool_table::mcp_from_contract(&mut call.args);
    let Some(result) = result else {
        return mcp_call_item(&server, &tool, arguments, Value::Null, None, "in_progress");
    };
    let call = ContractCall { key: MCP.to_owned(), args: Object::new(), result: Some(result) };
    match call.arm() {
        Some(("success", payload)) => {
            let mut success = into_object(payload.clone());
            let blocks =
                tool_table::blocks_from_contract(take_list(&mut success, "content").unwrap_or_default());
            let failed = take(&mut success, "isError").as_bool().unwrap_or_default();
            let structured = take(&mut success, "structuredContent");
            let mut result = into_object(json!({ "content": blocks, "structured_content": structured }));
            result.extend(success);
            mcp_call_item(
                &server,
                &tool,
                arguments,
                result.into(),
                None,
                if failed { "failed" } else { "completed" },
            )
        }
        Some((arm, payload)) => {
            let message = contract::failure_text(arm, payload);
            mcp_call_item(&server, &tool, arguments, Value::Null, Some(message), "failed")
        }
        None => mcp_call_item(&server, &tool, arguments, Value::Null, None, "completed"),
    }
}

fn function_from_contract(call: &mut ContractCall) -> Value {
    let (name, mut arguments) = call.function_parts();
    if name == "file_change" && arguments.len() == 1 && arguments.get("changes").is_some_and(Value::is_array)
    {
        return file_change_item(take(&mut arguments, "changes"), call);
    }
    if name == "web_search" || name == "collab_tool_call" {
        let mut item = into_object(json!({ "type": name }));
        item.extend(arguments);
        if name != "web_search" {
            item.insert("status".to_owned(), state_of(call).into());
        }
        return Value::Object(item);
    }
    let result = call.result.take();
    substitute_item(FUNCTION_SERVER, &name, Value::Object(arguments), result)
}

/// Returns the item for a call of a tool that Codex does not have. The item is a call of an MCP server with the name
/// `server`.
fn substitute_item(server: &str, tool: &str, arguments: Value, result: Option<Value>) -> Value {
    let Some(result) = result else {
        return mcp_call_item(server, tool, arguments, Value::Null, None, "in_progress");
    };
    let call = ContractCall { key: tool.to_owned(), args: Object::new(), result: Some(result.clone()) };
    match call.arm() {
        Some(("error", payload)) if payload.as_object().is_some_and(|payload| payload.len() == 1) => {
            mcp_call_item(
                server,
                tool,
                arguments,
                Value::Null,
                Some(contract::failure_text("error", payload)),
                "failed",
            )
        }
        arm => {
            let (text, state) = match arm {
                Some(("success", payload)) => {
                    (payload.get("content").and_then(Value::as_str).map(str::to_owned), "completed")
                }
                Some((arm, payload)) => (Some(contract::failure_text(arm, payload)), "failed"),
                None => (None, "completed"),
            };
            let content = json!([{ "type": "text", "text": text.unwrap_or_else(|| result.to_string()) }]);
            let result = json!({ "content": content, "structured_content": result });
            mcp_call_item(server, tool, arguments, result, None, state)
        }
    }
}

/// Returns the item for a call of the tool of an MCP server.
fn mcp_call_item(
    server: &str,
    tool: &str,
    arguments: Value,
    result: Value,
    error: Option<String>,
    state: &str,
) -> Value {
    json!({
        "type": "mcp_tool_call",
        "server": server,
        "tool": tool,
        "arguments": arguments,
        "result": result,
        "error": error.map(|message| json!({ "message": message })),
        "status": state,
    })
}

fn todos_to_contract(items: Vec<Value>) -> Value {
    let todo = |(at, item): (usize, Value)| {
        let done = item.get("completed").and_then(Value::as_bool).unwrap_or_default();
        let state = if done { "TODO_STATUS_COMPLETED" } else { "TODO_STATUS_PENDING" };
        json!({ "id": at.to_string(), "content": text_at(&item, "/text"), "status": state })
    };
    (1..).zip(items).map(todo).collect()
}
