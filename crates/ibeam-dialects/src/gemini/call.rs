//! Calls: `tool_use` with its `tool_result`, which has text alone.

use serde_json::{Value, json};

use crate::json::{Object, into_object, object, take, take_list, take_object, take_text, text_at};
use crate::ours::OurCall;
use crate::results;
use crate::step::Card;
use crate::tools::{self, MCP, Shape, Tool};

const USE: &str = "tool_use";
const RESULT: &str = "tool_result";

pub(super) const TOOLS: &[Tool] = &[
    Tool::new("readToolCall", &["read_file"], &[("path", "file_path")], Shape::Plain),
    Tool::new(
        "writeToolCall",
        &["write_file"],
        &[("path", "file_path"), ("fileText", "content")],
        Shape::Plain,
    ),
    Tool::new(
        "editToolCall",
        &["replace"],
        &[("path", "file_path")],
        Shape::Edit(["old_string", "new_string", "allow_multiple"]),
    ),
    Tool::new(
        "shellToolCall",
        &["run_shell_command"],
        &[("workingDirectory", "dir_path"), ("isBackground", "is_background")],
        Shape::Plain,
    ),
    Tool::new(
        "grepToolCall",
        &["grep_search", "search_file_content"],
        &[("path", "dir_path"), ("glob", "include_pattern")],
        Shape::Plain,
    ),
    Tool::new(
        "globToolCall",
        &["glob"],
        &[("globPattern", "pattern"), ("targetDirectory", "dir_path")],
        Shape::Plain,
    ),
    Tool::new("lsToolCall", &["list_directory"], &[("path", "dir_path")], Shape::Plain),
    Tool::new("deleteToolCall", &["delete_file"], &[("path", "file_path")], Shape::Plain),
    Tool::new("updateTodosToolCall", &["write_todos"], &[], Shape::Todos("description")),
    Tool::new("webFetchToolCall", &["web_fetch"], &[], Shape::Plain),
    Tool::new("taskToolCall", &["invoke_agent"], &[("subagentType", "agent_name")], Shape::Plain),
];

pub(super) fn to_ours(card: Card, cwd: &str) -> Card {
    let mut card = into_object(card);
    let mut used = take_object(&mut card, USE).unwrap_or_default();
    let result = take_object(&mut card, RESULT);
    let name = take_text(&mut used, "tool_name").unwrap_or_default();
    let parameters = take(&mut used, "parameters");
    if let Some((server, tool)) = name.strip_prefix("mcp_").and_then(|rest| rest.split_once('_')) {
        let mut call = tools::mcp_to_ours(server, tool, parameters);
        call.result = result.map(|result| mcp_result_to_ours(&Value::Object(result)));
        return call.into_card();
    }
    let (tool, parameters) = match (tools::of_name(TOOLS, &name), parameters) {
        (Some(tool), Value::Object(parameters)) => (tool, parameters),
        (_, parameters) => {
            let result = result.map(|result| free_to_ours(&Value::Object(result)));
            return OurCall::function(&name, &parameters, result).into_card();
        }
    };
    let args = tool.ours(parameters);
    let result = result.map(|result| {
        let result = Value::Object(result);
        let output = text_at(&result, "/output");
        match failure(&result) {
            Some((word, said)) => results::failure_to_ours(word, said, &args, output),
            None => results::success_of(tool.key, &args, output, Object::new(), cwd),
        }
    });
    OurCall { key: tool.key.to_owned(), args, result }.into_card()
}

pub(super) fn from_ours(card: Card) -> Card {
    let mut call = OurCall::of(card);
    let result = call.result.as_ref().map(|result| match call.arm() {
        Some(("success", payload)) if call.key == MCP => mcp_result_from_ours(payload),
        Some(("success", payload)) if !tools::is_function(&call.key) => {
            let (said, _) = results::text_of(&call.key, &call.args, payload);
            json!({ "status": "success", "output": said })
        }
        Some((arm, payload)) if arm != "success" => {
            let (word, said) = results::failure_of(arm, payload);
            let printed = if arm == "failure" { crate::ours::output_of(payload) } else { said.clone() };
            json!({ "status": "error", "output": printed, "error": { "type": word, "message": said } })
        }
        _ => json!({ "status": "success", "output": results::free_text(result) }),
    });
    let (name, parameters) = if call.key == MCP {
        let (server, tool, parameters) = tools::mcp_from_ours(&mut call.args);
        (format!("mcp_{server}_{tool}"), parameters)
    } else {
        tools::named(TOOLS, call)
    };
    object([(USE, json!({ "tool_name": name, "parameters": parameters })), (RESULT, result.into())])
}

/// The kind and the sentence of a failure.
fn failure(result: &Value) -> Option<(&str, &str)> {
    if text_at(result, "/status") != "error" {
        return None;
    }
    Some(match result.get("error") {
        Some(error) => (text_at(error, "/type"), text_at(error, "/message")),
        None => ("error", text_at(result, "/output")),
    })
}

fn free_to_ours(result: &Value) -> Value {
    match failure(result) {
        Some((word, said)) => {
            results::failure_to_ours(word, said, &Object::new(), text_at(result, "/output"))
        }
        None => results::free_to_ours(text_at(result, "/output")),
    }
}

fn mcp_result_to_ours(result: &Value) -> Value {
    match failure(result) {
        Some((word, said)) => {
            results::failure_to_ours(word, said, &Object::new(), text_at(result, "/output"))
        }
        None => {
            let content = json!([{ "text": { "text": text_at(result, "/output") } }]);
            json!({ "success": { "content": content, "isError": false } })
        }
    }
}

fn mcp_result_from_ours(payload: &Value) -> Value {
    let mut payload = into_object(payload.clone());
    let blocks = take_list(&mut payload, "content").unwrap_or_default();
    let said: Vec<&str> = blocks.iter().map(|block| text_at(block, "/text/text")).collect();
    let said = said.join("\n");
    match payload.get("isError").and_then(Value::as_bool).unwrap_or_default() {
        true => json!({ "status": "error", "output": said, "error": { "type": "error", "message": said } }),
        false => json!({ "status": "success", "output": said }),
    }
}
