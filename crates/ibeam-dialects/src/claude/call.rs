//! Calls: `tool_use` with its `tool_result`.

use serde_json::{Value, json};

use super::result;
use crate::json::{Object, into_object, object, take, take_list, take_object, take_text};
use crate::ours::{self, ARMS, OurCall};
use crate::step::Card;
use crate::tools::{self, MCP, Shape, Tool};

const USE: &str = "assistant/tool_use";
const RESULT: &str = "user/tool_result";

const EDIT: [&str; 3] = ["old_string", "new_string", "replace_all"];

pub(super) const TOOLS: &[Tool] = &[
    Tool::new("readToolCall", &["Read"], &[("path", "file_path")], Shape::Plain),
    Tool::new("writeToolCall", &["Write"], &[("path", "file_path"), ("fileText", "content")], Shape::Plain),
    Tool::new("editToolCall", &["Edit"], &[("path", "file_path")], Shape::Edit(EDIT)),
    Tool::new("editToolCall", &["MultiEdit"], &[("path", "file_path")], Shape::Edits(EDIT)),
    Tool::new("shellToolCall", &["Bash"], &[("isBackground", "run_in_background")], Shape::Plain),
    Tool::new(
        "grepToolCall",
        &["Grep"],
        &[("outputMode", "output_mode"), ("caseInsensitive", "-i"), ("headLimit", "head_limit")],
        Shape::Plain,
    ),
    Tool::new(
        "globToolCall",
        &["Glob"],
        &[("globPattern", "pattern"), ("targetDirectory", "path")],
        Shape::Plain,
    ),
    Tool::new("lsToolCall", &["LS"], &[], Shape::Plain),
    Tool::new("deleteToolCall", &["Delete"], &[("path", "file_path")], Shape::Plain),
    Tool::new("updateTodosToolCall", &["TodoWrite"], &[], Shape::Todos("content")),
    Tool::new("webFetchToolCall", &["WebFetch"], &[], Shape::Plain),
    Tool::new("taskToolCall", &["Task", "Agent"], &[("subagentType", "subagent_type")], Shape::Plain),
];

pub(super) fn to_ours(card: Card, cwd: &str) -> Card {
    let mut card = into_object(card);
    let mut used = take_object(&mut card, USE).unwrap_or_default();
    let result = take_object(&mut card, RESULT);
    let name = take_text(&mut used, "name").unwrap_or_default();
    let input = take(&mut used, "input");
    let mut server = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    if let Some((server, tool)) = server.take() {
        let mut call = tools::mcp_to_ours(server, tool, input);
        call.result = result.map(mcp_result_to_ours);
        return call.into_card();
    }
    let (tool, input) = match (tools::of_name(TOOLS, &name), input) {
        (Some(tool), Value::Object(input)) => (tool, input),
        (_, input) => return OurCall::function(&name, &input, result.map(Value::Object)).into_card(),
    };
    let args = tool.ours(input);
    let result = result.map(|result| result::to_ours(tool.key, &args, result, cwd));
    OurCall { key: tool.key.to_owned(), args, result }.into_card()
}

pub(super) fn from_ours(card: Card) -> Card {
    let mut call = OurCall::of(card);
    if call.key == MCP {
        let result = call.result.take().map(mcp_result_from_ours);
        let (server, tool, input) = tools::mcp_from_ours(&mut call.args);
        return whole(&format!("mcp__{server}__{tool}"), input, result);
    }
    if let Some(tool) = tools::of_key(TOOLS, &call.key, &call.args) {
        let result = call.result.is_some().then(|| result::from_ours(&call));
        let name = tool.names.first().copied().unwrap_or_default();
        return whole(name, Value::Object(tool.theirs(call.args)), result);
    }
    let result = call.result.take();
    if !tools::is_function(&call.key) {
        return whole(&call.key, Value::Object(call.args), result.map(arms_as_they_are));
    }
    let (name, arguments) = call.function_parts();
    whole(&name, Value::Object(arguments), result.map(arms_as_they_are))
}

fn whole(name: &str, input: Value, result: Option<Value>) -> Card {
    object([(USE, json!({ "name": name, "input": input })), (RESULT, result.into())])
}

/// The result of a tool that contract 1 does not know: what a stream of theirs had, or an arm of ours.
pub(super) fn arms_as_they_are(result: Value) -> Value {
    match result {
        Value::Object(result) if result.contains_key("content") => Value::Object(result),
        Value::Object(result) => {
            match result.iter().find(|(arm, payload)| arm.as_str() != "success" && payload.is_object()) {
                Some((arm, payload)) => failed(arm, payload),
                None => {
                    let result = Value::Object(result);
                    json!({ "content": result.to_string(), "tool_use_result": result })
                }
            }
        }
        other => json!({ "content": other.to_string(), "tool_use_result": other }),
    }
}

pub(super) fn failed(arm: &str, payload: &Value) -> Value {
    let words = ours::words_of(arm, payload);
    let only_words = payload.as_object().is_some_and(|payload| payload.len() == 1);
    let structured = match arm {
        "error" if only_words => format!("Error: {words}").into(),
        _ => json!({ arm: payload }),
    };
    let words = match (arm, payload.get("exitCode").and_then(Value::as_i64)) {
        ("failure", Some(code)) => format!("Exit code {code}\n{words}"),
        _ => words,
    };
    json!({ "content": words, "is_error": true, "tool_use_result": structured })
}

fn mcp_result_to_ours(mut result: Object) -> Value {
    let failed = result.get("is_error").and_then(Value::as_bool).unwrap_or_default();
    let structured = take(&mut result, "tool_use_result");
    if let Some((arm, payload)) = structured.as_object().and_then(|object| object.iter().next())
        && failed
        && ARMS.contains(&arm.as_str())
        && payload.is_object()
    {
        return json!({ arm: payload });
    }
    let content = match take(&mut result, "content") {
        Value::Array(blocks) => tools::blocks_to_ours(blocks),
        Value::String(text) => json!([{ "text": { "text": text } }]),
        other => json!([other]),
    };
    let mut success = into_object(json!({ "content": content, "isError": failed }));
    if !structured.is_null() {
        success.insert("structuredContent".to_owned(), structured);
    }
    json!({ "success": success })
}

fn mcp_result_from_ours(result: Value) -> Value {
    let arms =
        result.as_object().and_then(|arms| arms.iter().find(|(name, _)| ARMS.contains(&name.as_str())));
    let Some((arm, payload)) = arms else { return arms_as_they_are(result) };
    if arm != "success" {
        let words = ours::words_of(arm, payload);
        return json!({ "content": words, "is_error": true, "tool_use_result": { arm: payload } });
    }
    let mut success = into_object(payload.clone());
    let content = tools::blocks_from_ours(take_list(&mut success, "content").unwrap_or_default());
    let failed = success.get("isError").and_then(Value::as_bool).unwrap_or_default();
    object([
        ("content", content),
        ("is_error", failed.into()),
        ("tool_use_result", take(&mut success, "structuredContent")),
    ])
}
