//! Converts calls, which opencode writes as parts with a state. `metadata` can be any JSON, so it contains the keys that
//! only contract 1 has.

use serde_json::{Value, json};

use crate::contract::{self, ContractCall};
use crate::json::{Object, into_object, object, take, take_list, take_object, take_text, text, text_at};
use crate::step::Payload;
use crate::text_results;
use crate::tool_table::{self, ArgShape, MCP, ToolRow};

/// The key of a payload for a call.
const PART: &str = "tool_use.part";

const TOOLS: &[ToolRow] = &[
    ToolRow::new("readToolCall", &["read"], &[("path", "filePath")], ArgShape::Plain),
    ToolRow::new(
        "writeToolCall",
        &["write"],
        &[("path", "filePath"), ("fileText", "content")],
        ArgShape::Plain,
    ),
    ToolRow::new(
        "editToolCall",
        &["edit"],
        &[("path", "filePath")],
        ArgShape::Edit(["oldString", "newString", "replaceAll"]),
    ),
    ToolRow::new("shellToolCall", &["bash"], &[("workingDirectory", "workdir")], ArgShape::Plain),
    ToolRow::new("grepToolCall", &["grep"], &[("glob", "include")], ArgShape::Plain),
    ToolRow::new(
        "globToolCall",
        &["glob"],
        &[("globPattern", "pattern"), ("targetDirectory", "path")],
        ArgShape::Plain,
    ),
    ToolRow::new("lsToolCall", &["list"], &[], ArgShape::Plain),
    ToolRow::new("deleteToolCall", &["delete"], &[("path", "filePath")], ArgShape::Plain),
    ToolRow::new("updateTodosToolCall", &["todowrite"], &[], ArgShape::Todos("content")),
    ToolRow::new("webFetchToolCall", &["webfetch"], &[], ArgShape::Plain),
    ToolRow::new("webSearchToolCall", &["websearch"], &[("searchTerm", "query")], ArgShape::Plain),
    ToolRow::new("taskToolCall", &["task"], &[("subagentType", "subagent_type")], ArgShape::Plain),
];

pub(super) fn to_contract(payload: Payload, cwd: &str) -> Payload {
    let mut part = into_object(payload).shift_remove(PART).map(into_object).unwrap_or_default();
    let name = take_text(&mut part, "tool").unwrap_or_default();
    let mut state = take_object(&mut part, "state").unwrap_or_default();
    let input = take(&mut state, "input");
    let mut metadata = take_object(&mut state, "metadata").unwrap_or_default();
    let status = take_text(&mut state, "status").unwrap_or_default();
    if let Some(title) = take_text(&mut state, "title").filter(|title| *title != title_of(&input)) {
        metadata.insert("title".to_owned(), title.into());
    }
    let ended = status == "completed" || status == "error";
    if let Some((server, tool)) = server_of(&name, &metadata) {
        let mut call = tool_table::mcp_to_contract(&server, &tool, input);
        metadata.shift_remove("server");
        call.result = ended.then(|| match failed_call_result(&status, &state, &metadata, &Object::new()) {
            Some(failure) => failure,
            None => {
                let mut success = into_object(json!({ "content": [], "isError": false }));
                let blocks = json!([{ "text": { "text": text(&state, "output").unwrap_or_default() } }]);
                success.insert("content".to_owned(), metadata.shift_remove("content").unwrap_or(blocks));
                success.extend(metadata);
                json!({ "success": success })
            }
        });
        return call.into_payload();
    }
    let (tool, input) = match (tool_table::find_by_name(TOOLS, &name), input) {
        (Some(tool), Value::Object(input)) => (tool, input),
        (_, input) => {
            let result =
                ended.then(|| match failed_call_result(&status, &state, &metadata, &Object::new()) {
                    Some(failure) => failure,
                    None => {
                        let mut result =
                            text_results::function_to_contract(text(&state, "output").unwrap_or_default());
                        if let (Some(result), false) = (result.as_object_mut(), metadata.is_empty()) {
                            result.insert("metadata".to_owned(), metadata.into());
                        }
                        result
                    }
                });
            return ContractCall::function(&name, &input, result).into_payload();
        }
    };
    let args = tool.args_to_contract(input);
    let result = ended.then(|| match failed_call_result(&status, &state, &metadata, &args) {
        Some(failure) => failure,
        None => {
            let output = text(&state, "output").unwrap_or_default();
            let code = metadata.shift_remove("exit");
            let arm = if code.as_ref().and_then(Value::as_i64).unwrap_or_default() == 0 {
                "success"
            } else {
                "failure"
            };
            let success = text_results::success_from_text(tool.key, &args, output, metadata, cwd);
            match (arm, code) {
                ("failure", Some(code)) => {
                    let mut failure =
                        into_object(success).shift_remove("success").map(into_object).unwrap_or_default();
                    failure.insert("exitCode".to_owned(), code);
                    json!({ "failure": failure })
                }
                _ => success,
            }
        }
    });
    ContractCall { key: tool.key.to_owned(), args, result }.into_payload()
}

pub(super) fn from_contract(payload: Payload) -> Payload {
    let mut call = ContractCall::from_payload(payload);
    let state = state_of(&call);
    let mut server = None;
    let (name, input) = if call.key == MCP {
        let (from, tool, input) = tool_table::mcp_from_contract(&mut call.args);
        let name = format!("{from}_{tool}");
        server = Some(from);
        (name, input)
    } else {
        tool_table::name_and_args(TOOLS, call)
    };
    let mut state = into_object(state);
    let mut metadata = take_object(&mut state, "metadata").unwrap_or_default();
    let title = take_text(&mut metadata, "title").unwrap_or_else(|| title_of(&input));
    if let Some(server) = server {
        metadata.insert("server".to_owned(), server.into());
    }
    let mut full_state = into_object(object([("status", take(&mut state, "status")), ("input", input)]));
    if text(&full_state, "status") == Some("completed") {
        full_state.insert("output".to_owned(), take(&mut state, "output"));
        full_state.insert("title".to_owned(), title.into());
    } else if let Some(error) = state.shift_remove("error") {
        full_state.insert("error".to_owned(), error);
    }
    full_state.insert("metadata".to_owned(), metadata.into());
    json!({ PART: { "tool": name, "state": full_state } })
}

/// Returns the status, the output or the error, and the metadata of a call.
fn state_of(call: &ContractCall) -> Value {
    let Some(result) = &call.result else { return json!({ "status": "running" }) };
    match call.arm() {
        Some(("success", payload)) if call.key == MCP => {
            let mut payload = into_object(payload.clone());
            let blocks = take_list(&mut payload, "content").unwrap_or_default();
            let texts: Vec<&str> = blocks.iter().map(|block| text_at(block, "/text/text")).collect();
            if blocks.len() != 1 || blocks.first().is_some_and(|block| block.pointer("/text/text").is_none())
            {
                payload.insert("content".to_owned(), blocks.clone().into());
            }
            if payload.get("isError") == Some(&false.into()) {
                payload.shift_remove("isError");
            }
            json!({ "status": "completed", "output": texts.join("\n"), "metadata": payload })
        }
        Some((arm @ ("success" | "failure"), payload)) if !tool_table::is_function(&call.key) => {
            let (output, mut rest) = text_results::text_from_success(&call.key, &call.args, payload);
            if call.key == "shellToolCall" {
                rest.shift_remove("exitCode");
                let code =
                    payload.get("exitCode").cloned().unwrap_or_else(|| i32::from(arm == "failure").into());
                rest.insert("exit".to_owned(), code);
            }
            json!({ "status": "completed", "output": output, "metadata": rest })
        }
        Some((arm, payload)) if arm != "success" => {
            let message = contract::failure_text(arm, payload);
            let is_message_only = payload.as_object().is_some_and(|payload| payload.len() == 1);
            let metadata = if arm == "error" && is_message_only {
                json!({})
            } else {
                json!({ "arm": { arm: payload } })
            };
            json!({ "status": "error", "error": message, "metadata": metadata })
        }
        _ => {
            let mut result = result.clone();
            let metadata = result.as_object_mut().and_then(|result| take_object(result, "metadata"));
            let metadata = metadata.unwrap_or_default();
            json!({ "status": "completed", "output": text_results::function_text(&result), "metadata": metadata })
        }
    }
}

/// Returns the result in contract 1 of a failed call; `None` for another call.
fn failed_call_result(status: &str, state: &Object, metadata: &Object, args: &Object) -> Option<Value> {
    if status != "error" {
        return None;
    }
    if let Some(arm) = metadata.get("arm").filter(|arm| arm.is_object()) {
        return Some(arm.clone());
    }
    let failure =
        text_results::failure_to_contract("error", text(state, "error").unwrap_or_default(), args, "");
    let rest: Object = metadata.clone();
    Some(text_results::with_extra(failure, "error", rest))
}

/// Returns the MCP server and its tool from the name of a call; `None` unless the metadata contain the server.
fn server_of(name: &str, metadata: &Object) -> Option<(String, String)> {
    let server = text(metadata, "server")?;
    let tool = name.strip_prefix(server)?.strip_prefix('_')?;
    Some((server.to_owned(), tool.to_owned()))
}

/// Returns the title of a call for people.
fn title_of(input: &Value) -> String {
    let keys = ["description", "filePath", "command", "pattern", "path", "url"];
    keys.iter().find_map(|key| input.get(key)?.as_str()).unwrap_or_default().to_owned()
}
