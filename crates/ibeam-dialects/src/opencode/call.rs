//! Calls: a part with a state, whose `metadata` is any JSON, so what contract 1 has beyond the text stands there.

use serde_json::{Value, json};

use crate::json::{Object, into_object, object, take, take_list, take_object, take_text, text, text_at};
use crate::ours::{self, OurCall};
use crate::results;
use crate::step::Card;
use crate::tools::{self, MCP, Shape, Tool};

const PART: &str = "tool_use.part";

const TOOLS: &[Tool] = &[
    Tool::new("readToolCall", &["read"], &[("path", "filePath")], Shape::Plain),
    Tool::new("writeToolCall", &["write"], &[("path", "filePath"), ("fileText", "content")], Shape::Plain),
    Tool::new(
        "editToolCall",
        &["edit"],
        &[("path", "filePath")],
        Shape::Edit(["oldString", "newString", "replaceAll"]),
    ),
    Tool::new("shellToolCall", &["bash"], &[("workingDirectory", "workdir")], Shape::Plain),
    Tool::new("grepToolCall", &["grep"], &[("glob", "include")], Shape::Plain),
    Tool::new(
        "globToolCall",
        &["glob"],
        &[("globPattern", "pattern"), ("targetDirectory", "path")],
        Shape::Plain,
    ),
    Tool::new("lsToolCall", &["list"], &[], Shape::Plain),
    Tool::new("deleteToolCall", &["delete"], &[("path", "filePath")], Shape::Plain),
    Tool::new("updateTodosToolCall", &["todowrite"], &[], Shape::Todos("content")),
    Tool::new("webFetchToolCall", &["webfetch"], &[], Shape::Plain),
    Tool::new("taskToolCall", &["task"], &[("subagentType", "subagent_type")], Shape::Plain),
];

pub(super) fn to_ours(card: Card, cwd: &str) -> Card {
    let mut part = into_object(card).shift_remove(PART).map(into_object).unwrap_or_default();
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
        let mut call = tools::mcp_to_ours(&server, &tool, input);
        metadata.shift_remove("server");
        call.result = ended.then(|| match failure(&status, &state, &metadata, &Object::new()) {
            Some(failure) => failure,
            None => {
                let mut success = into_object(json!({ "content": [], "isError": false }));
                let blocks = json!([{ "text": { "text": text(&state, "output").unwrap_or_default() } }]);
                success.insert("content".to_owned(), metadata.shift_remove("content").unwrap_or(blocks));
                success.extend(metadata);
                json!({ "success": success })
            }
        });
        return call.into_card();
    }
    let (tool, input) = match (tools::of_name(TOOLS, &name), input) {
        (Some(tool), Value::Object(input)) => (tool, input),
        (_, input) => {
            let result = ended.then(|| match failure(&status, &state, &metadata, &Object::new()) {
                Some(failure) => failure,
                None => {
                    let mut result = results::free_to_ours(text(&state, "output").unwrap_or_default());
                    if let (Some(result), false) = (result.as_object_mut(), metadata.is_empty()) {
                        result.insert("metadata".to_owned(), metadata.into());
                    }
                    result
                }
            });
            return OurCall::function(&name, &input, result).into_card();
        }
    };
    let args = tool.ours(input);
    let result = ended.then(|| match failure(&status, &state, &metadata, &args) {
        Some(failure) => failure,
        None => {
            let said = text(&state, "output").unwrap_or_default();
            let code = metadata.shift_remove("exit");
            let arm = if code.as_ref().and_then(Value::as_i64).unwrap_or_default() == 0 {
                "success"
            } else {
                "failure"
            };
            let success = results::success_of(tool.key, &args, said, metadata, cwd);
            match (arm, code) {
                ("failure", Some(code)) => {
                    let mut printed =
                        into_object(success).shift_remove("success").map(into_object).unwrap_or_default();
                    printed.insert("exitCode".to_owned(), code);
                    json!({ "failure": printed })
                }
                _ => success,
            }
        }
    });
    OurCall { key: tool.key.to_owned(), args, result }.into_card()
}

pub(super) fn from_ours(card: Card) -> Card {
    let mut call = OurCall::of(card);
    let state = state_of(&call);
    let mut server = None;
    let (name, input) = if call.key == MCP {
        let (from, tool, input) = tools::mcp_from_ours(&mut call.args);
        let name = format!("{from}_{tool}");
        server = Some(from);
        (name, input)
    } else {
        tools::named(TOOLS, call)
    };
    let mut state = into_object(state);
    let mut metadata = take_object(&mut state, "metadata").unwrap_or_default();
    let title = take_text(&mut metadata, "title").unwrap_or_else(|| title_of(&input));
    if let Some(server) = server {
        metadata.insert("server".to_owned(), server.into());
    }
    let mut whole = into_object(object([("status", take(&mut state, "status")), ("input", input)]));
    if text(&whole, "status") == Some("completed") {
        whole.insert("output".to_owned(), take(&mut state, "output"));
        whole.insert("title".to_owned(), title.into());
    } else if let Some(error) = state.shift_remove("error") {
        whole.insert("error".to_owned(), error);
    }
    whole.insert("metadata".to_owned(), metadata.into());
    json!({ PART: { "tool": name, "state": whole } })
}

/// Status, output or error, and metadata.
fn state_of(call: &OurCall) -> Value {
    let Some(result) = &call.result else { return json!({ "status": "running" }) };
    match call.arm() {
        Some(("success", payload)) if call.key == MCP => {
            let mut payload = into_object(payload.clone());
            let blocks = take_list(&mut payload, "content").unwrap_or_default();
            let said: Vec<&str> = blocks.iter().map(|block| text_at(block, "/text/text")).collect();
            if blocks.len() != 1 || blocks.first().is_some_and(|block| block.pointer("/text/text").is_none())
            {
                payload.insert("content".to_owned(), blocks.clone().into());
            }
            if payload.get("isError") == Some(&false.into()) {
                payload.shift_remove("isError");
            }
            json!({ "status": "completed", "output": said.join("\n"), "metadata": payload })
        }
        Some((arm @ ("success" | "failure"), payload)) if !tools::is_function(&call.key) => {
            let (said, mut rest) = results::text_of(&call.key, &call.args, payload);
            if call.key == "shellToolCall" {
                rest.shift_remove("exitCode");
                let code =
                    payload.get("exitCode").cloned().unwrap_or_else(|| i32::from(arm == "failure").into());
                rest.insert("exit".to_owned(), code);
            }
            json!({ "status": "completed", "output": said, "metadata": rest })
        }
        Some((arm, payload)) if arm != "success" => {
            let words = ours::words_of(arm, payload);
            let only_words = payload.as_object().is_some_and(|payload| payload.len() == 1);
            let metadata =
                if arm == "error" && only_words { json!({}) } else { json!({ "arm": { arm: payload } }) };
            json!({ "status": "error", "error": words, "metadata": metadata })
        }
        _ => {
            let mut result = result.clone();
            let metadata = result.as_object_mut().and_then(|result| take_object(result, "metadata"));
            let metadata = metadata.unwrap_or_default();
            json!({ "status": "completed", "output": results::free_text(&result), "metadata": metadata })
        }
    }
}

fn failure(status: &str, state: &Object, metadata: &Object, args: &Object) -> Option<Value> {
    if status != "error" {
        return None;
    }
    if let Some(arm) = metadata.get("arm").filter(|arm| arm.is_object()) {
        return Some(arm.clone());
    }
    let failure = results::failure_to_ours("error", text(state, "error").unwrap_or_default(), args, "");
    let rest: Object = metadata.clone();
    Some(results::with(failure, "error", rest))
}

/// Server and tool of a name, where it says that it is of a server.
fn server_of(name: &str, metadata: &Object) -> Option<(String, String)> {
    let server = text(metadata, "server")?;
    let tool = name.strip_prefix(server)?.strip_prefix('_')?;
    Some((server.to_owned(), tool.to_owned()))
}

/// What people see of a call.
fn title_of(input: &Value) -> String {
    let keys = ["description", "filePath", "command", "pattern", "path", "url"];
    keys.iter().find_map(|key| input.get(key)?.as_str()).unwrap_or_default().to_owned()
}
