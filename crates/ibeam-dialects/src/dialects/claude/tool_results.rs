//! Results of the tools that contract 1 has too: `tool_result`, and the structured `tool_use_result`.
//!
//! `tool_use_result` can be any JSON, so it also contains the keys that only contract 1 has.

use ibeam_wire::tool::is_arm;
use serde_json::{Value, json};

use super::calls;
use crate::contract::{self, ContractCall};
use crate::json::{Object, add_missing, into_object, object, take, take_list, take_object, take_text, text};
use crate::text_results::absolute_path;
use crate::tool_table;

/// The first words of refusals. A refusal differs from a failure only in these words.
const REFUSALS: &[&str] = &[
    "Claude requested permissions",
    "Permission to use ",
    "Permission for this tool use was denied",
    "The user doesn't want to proceed with this tool use",
];

/// Converts the result of a tool into contract 1.
pub(super) fn to_contract(key: &str, args: &Object, mut result: Object, cwd: &str) -> Value {
    let content = content_text(&result);
    let mut structured = take(&mut result, "tool_use_result");
    if result.get("is_error").and_then(Value::as_bool).unwrap_or_default() {
        let arm = structured.as_object().and_then(|object| object.iter().next());
        if let Some((arm, payload)) = arm.filter(|(arm, payload)| is_arm(arm) && payload.is_object()) {
            return json!({ arm: payload });
        }
        if key == "shellToolCall"
            && let Some((code, output)) = parse_exit_code(&content)
        {
            let command = args.get("command").cloned().unwrap_or_default();
            return json!({ "failure": {
                "command": command, "exitCode": code, "stdout": "", "stderr": output, "interleavedOutput": output,
            } });
        }
        let refused = REFUSALS.iter().any(|beginning| content.starts_with(beginning));
        return match refused {
            true => json!({ "rejected": { "reason": content } }),
            false => json!({ "error": { "errorMessage": content } }),
        };
    }
    let path = || absolute_path(text(args, "path").unwrap_or_default(), cwd);
    let mut success = Object::new();
    match key {
        "readToolCall" => {
            let mut file =
                structured.as_object_mut().and_then(|object| take_object(object, "file")).unwrap_or_default();
            let text = take_text(&mut file, "content").unwrap_or(content);
            let total = file.shift_remove("totalLines").unwrap_or_else(|| count_lines(&text).into());
            success = into_object(json!({
                "content": text,
                "isEmpty": text.is_empty(),
                "exceededLimit": file.shift_remove("exceededLimit").unwrap_or_else(|| false.into()),
                "totalLines": total,
                "totalChars": file.shift_remove("totalChars").unwrap_or_else(|| text.chars().count().into()),
            }));
            for derived in ["filePath", "numLines", "startLine"] {
                file.shift_remove(derived);
            }
            add_missing(&mut success, file);
            if structured.get("type").is_some_and(|kind| kind == "text") {
                take(structured.as_object_mut().unwrap_or(&mut Object::new()), "type");
            }
        }
        "writeToolCall" => {
            let written = text(args, "fileText").unwrap_or_default();
            success = into_object(json!({
                "path": path(),
                "linesCreated": written.lines().count(),
                "fileSize": written.len(),
                "message": content,
            }));
            remove_known_text(&mut structured, "content", written);
            remove_known_text(&mut structured, "filePath", text(args, "path").unwrap_or_default());
        }
        "editToolCall" => {
            success = into_object(json!({ "path": path(), "message": content }));
            let replaced =
                |key: &str| args.get("strReplace").and_then(|it| it.get(key)).and_then(Value::as_str);
            remove_known_text(&mut structured, "filePath", text(args, "path").unwrap_or_default());
            remove_known_text(&mut structured, "oldString", replaced("oldText").unwrap_or_default());
            remove_known_text(&mut structured, "newString", replaced("newText").unwrap_or_default());
        }
        "shellToolCall" => {
            success = into_object(
                json!({ "command": args.get("command").cloned().unwrap_or_default(), "exitCode": 0 }),
            );
            let output = match &structured {
                Value::Object(_) => (text_of(&structured, "stdout"), text_of(&structured, "stderr")),
                _ => (content.as_str(), ""),
            };
            success.insert("stdout".to_owned(), output.0.into());
            success.insert("stderr".to_owned(), output.1.into());
            success.insert("interleavedOutput".to_owned(), [output.0, output.1].concat().into());
        }
        "updateTodosToolCall" => {
            let todos = structured.as_object_mut().and_then(|object| take_list(object, "newTodos"));
            if let Some(todos) = todos {
                success.insert("todos".to_owned(), tool_table::todos_to_contract(todos, "content"));
            }
            success.insert("message".to_owned(), content.into());
        }
        "webFetchToolCall" => {
            success = into_object(
                json!({ "url": args.get("url").cloned().unwrap_or_default(), "markdown": content }),
            );
            remove_known_text(
                &mut structured,
                "result",
                success.get("markdown").and_then(Value::as_str).unwrap_or_default(),
            );
        }
        "webSearchToolCall" => drop(success.insert("content".to_owned(), content.into())),
        _ => drop(success.insert("message".to_owned(), content.into())),
    }
    match structured {
        // Keys of the structured result replace derived ones.
        Value::Object(structured) => {
            let fixed = ["exitCode", "path", "content"];
            for (name, value) in structured {
                if !(success.contains_key(&name) && fixed.contains(&name.as_str()) && key != "shellToolCall")
                {
                    success.insert(name, value);
                }
            }
        }
        Value::Null => {}
        other => drop(success.insert("output".to_owned(), other)),
    }
    json!({ "success": contract::sort_contract_keys(key, success) })
}

/// Converts a result of contract 1 into content, failure flag and structured result.
pub(super) fn from_contract(call: &ContractCall) -> Value {
    let Some((arm, payload)) = call.arm() else {
        return calls::untyped_result(call.result.clone().unwrap_or_default());
    };
    if arm != "success" {
        return calls::failure_from_contract(arm, payload);
    }
    let mut success = into_object(payload.clone());
    let args = &call.args;
    let path = args.get("path").cloned().unwrap_or_default();
    match call.key.as_str() {
        "readToolCall" => {
            let content = take_text(&mut success, "content").unwrap_or_default();
            let start = args.get("offset").and_then(Value::as_u64).filter(|offset| *offset > 0).unwrap_or(1);
            success.shift_remove("isEmpty");
            let mut file = into_object(object([
                ("filePath", path),
                ("content", content.as_str().into()),
                ("numLines", count_lines(&content).into()),
                ("startLine", start.into()),
                ("totalLines", take(&mut success, "totalLines")),
            ]));
            file.extend(success);
            let structured = json!({ "type": "text", "file": file });
            json!({ "content": number_lines(&content, start), "tool_use_result": structured })
        }
        "writeToolCall" => {
            let message = take_message(&mut success, "The file was written.");
            let mut structured = into_object(json!({
                "type": "create",
                "filePath": path,
                "content": args.get("fileText").cloned().unwrap_or_default(),
                "structuredPatch": [],
                "originalFile": null,
            }));
            structured.extend(success);
            json!({ "content": message, "tool_use_result": structured })
        }
        "editToolCall" => {
            let message = take_message(&mut success, "The file was changed.");
            let replaced =
                |key: &str| args.get("strReplace").and_then(|it| it.get(key)).cloned().unwrap_or_default();
            let mut structured = into_object(json!({
                "filePath": path,
                "oldString": replaced("oldText"),
                "newString": replaced("newText"),
                "structuredPatch": [],
                "userModified": false,
                "replaceAll": replaced("replaceAll").as_bool().unwrap_or_default(),
            }));
            structured.extend(success);
            json!({ "content": message, "tool_use_result": structured })
        }
        "shellToolCall" => {
            let output = contract::command_output(&Value::Object(success.clone()));
            remove_known_value(&mut success, "command", args.get("command"));
            if success.get("exitCode") == Some(&json!(0)) {
                success.shift_remove("exitCode");
            }
            let mut structured = into_object(json!({
                "stdout": take(&mut success, "stdout"),
                "stderr": take(&mut success, "stderr"),
                "interrupted": false,
                "isImage": false,
            }));
            structured.extend(success);
            let both = [structured.get("stdout"), structured.get("stderr")];
            let both: String = both.into_iter().flatten().filter_map(Value::as_str).collect();
            remove_known_value(&mut structured, "interleavedOutput", Some(&both.into()));
            json!({ "content": output, "is_error": false, "tool_use_result": structured })
        }
        "updateTodosToolCall" => {
            let message = take_message(&mut success, "Todos have been modified.");
            let todos = take_list(&mut success, "todos").unwrap_or_default();
            let mut structured =
                into_object(json!({ "newTodos": tool_table::todos_from_contract(todos, "content") }));
            structured.extend(success);
            json!({ "content": message, "tool_use_result": structured })
        }
        "webFetchToolCall" => {
            let markdown = take(&mut success, "markdown");
            let mut structured = into_object(json!({ "result": markdown }));
            structured.extend(success);
            json!({ "content": markdown, "tool_use_result": structured })
        }
        "webSearchToolCall" => {
            json!({ "content": take(&mut success, "content"), "tool_use_result": success })
        }
        _ => {
            let content = match take_text(&mut success, "message") {
                Some(message) => message,
                None => Value::Object(success.clone()).to_string(),
            };
            match success.shift_remove("output") {
                Some(output) if success.is_empty() => {
                    json!({ "content": content, "tool_use_result": output })
                }
                Some(output) => {
                    success.insert("output".to_owned(), output);
                    json!({ "content": content, "tool_use_result": success })
                }
                None if success.is_empty() => json!({ "content": content }),
                None => json!({ "content": content, "tool_use_result": success }),
            }
        }
    }
}

/// Returns the texts in `content`.
fn content_text(result: &Object) -> String {
    match result.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Parses `Exit code 1`, followed by the output.
fn parse_exit_code(content: &str) -> Option<(i64, &str)> {
    let rest = content.strip_prefix("Exit code ")?;
    let (code, output) = rest.split_once('\n').unwrap_or((rest, ""));
    Some((code.parse().ok()?, output))
}

/// Numbers lines as Claude Code does for the model. A line end at the end of the text starts another line.
fn number_lines(text: &str, start: u64) -> String {
    if text.is_empty() {
        return String::new();
    }
    // The offset in a stream of another program may be the largest number.
    let number = |at: usize| start.saturating_add(at as u64);
    let lines = text.split('\n').enumerate().map(|(at, line)| format!("{}\t{line}", number(at)));
    lines.collect::<Vec<_>>().join("\n")
}

fn count_lines(text: &str) -> usize {
    text.split('\n').count()
}

/// Removes and returns the message of a result, or a default message.
fn take_message(success: &mut Object, otherwise: &str) -> String {
    take_text(success, "message").unwrap_or_else(|| otherwise.to_owned())
}

fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Removes a key if its value is the text `known`, which the other form contains elsewhere.
fn remove_known_text(value: &mut Value, key: &str, known: &str) {
    if let Some(object) = value.as_object_mut() {
        remove_known_value(object, key, Some(&known.into()));
    }
}

/// Removes a key if its value is `known`, which the other form contains elsewhere.
fn remove_known_value(object: &mut Object, key: &str, known: Option<&Value>) {
    if object.get(key).is_some_and(|value| Some(value) == known) {
        object.shift_remove(key);
    }
}
