//! The content of a call for people: what it was asked to do and what it returned, without the keys of the contract.
//!
//! The content is derived from the arguments and the result in the form of the contract, which recorded sessions and
//! streams have in common. Tools without a form of their own show names and values.

use ibeam_output::{Catalogue, PageLine, call_result_value, call_target};
use ibeam_protocol::{ToolCall, ToolOutcome, ToolOutput};
use ibeam_wire::tool::{self, SUCCESS, edit, shell, update_todos};
use serde_json::Value;

use super::row::{BlockContent, CallBlock, CallRow, CallState};
use super::text;

/// Returns the row of a call that has ended.
pub(super) fn finished(
    call: &ToolCall,
    outcome: &ToolOutcome,
    at_ms: u64,
    duration_ms: Option<u64>,
    catalogue: &Catalogue,
) -> CallRow {
    let state = match outcome {
        ToolOutcome::Success { .. } => CallState::Done,
        ToolOutcome::Failure { .. } => CallState::Failed,
        ToolOutcome::Rejected { .. } => CallState::Refused,
    };
    let result = call_result_value(&call.name, outcome);
    let blocks = match replaced_file(outcome) {
        Some(diff) => {
            vec![CallBlock { is_shown: true, label: None, content: BlockContent::Diff(text(diff)) }]
        }
        None => blocks(call, Some(&result), catalogue),
    };
    CallRow {
        at_ms,
        duration_ms,
        action: text(&catalogue.call_action(call, outcome)),
        target: call_target(call).or_else(|| task_description(call)).map(|target| text(&target)),
        state,
        blocks,
    }
}

/// Returns the difference that a call made to a file that it replaced. The contract has no place for it.
fn replaced_file(outcome: &ToolOutcome) -> Option<&str> {
    match outcome {
        ToolOutcome::Success { output: ToolOutput::Write(written), .. } => {
            Some(written.diff.as_str()).filter(|diff| !diff.is_empty())
        }
        ToolOutcome::Success { .. } | ToolOutcome::Failure { .. } | ToolOutcome::Rejected { .. } => None,
    }
}

/// Returns the row of a call whose run ended before the call did.
pub(super) fn open(call: &ToolCall, at_ms: u64, catalogue: &Catalogue) -> CallRow {
    CallRow {
        at_ms,
        duration_ms: None,
        action: text(&call.name),
        target: call_target(call).or_else(|| task_description(call)).map(|target| text(&target)),
        state: CallState::Open,
        blocks: blocks(call, None, catalogue),
    }
}

fn task_description(call: &ToolCall) -> Option<String> {
    call.arguments.get("description")?.as_str().map(str::to_owned)
}

fn blocks(call: &ToolCall, result: Option<&Value>, catalogue: &Catalogue) -> Vec<CallBlock> {
    let mut blocks = Vec::new();
    let arm = result.and_then(Value::as_object).and_then(|result| result.iter().next());
    let failure = arm.filter(|(name, _)| *name != SUCCESS).map(|(_, payload)| payload);
    if let Some(message) = failure.and_then(failure_message) {
        blocks.push(CallBlock { is_shown: true, label: None, content: BlockContent::Error(text(message)) });
    }
    let payload = arm.map(|(_, payload)| payload);
    let is_todo_list = call.name == update_todos::TOOL.name.unwrap_or_default();
    if let Some(todos) = payload.or(Some(&call.arguments)).filter(|_| is_todo_list).and_then(todos) {
        blocks.push(CallBlock { is_shown: true, label: None, content: todos });
        return blocks;
    }
    if let Some(diff) = payload.and_then(|payload| string(payload, edit::DIFF)).map(str::to_owned) {
        blocks.push(CallBlock { is_shown: true, label: None, content: BlockContent::Diff(text(&diff)) });
        return blocks;
    }
    if let Some(diff) = requested_diff(&call.arguments) {
        blocks.push(CallBlock { is_shown: true, label: None, content: BlockContent::Diff(text(&diff)) });
        return blocks;
    }
    let arguments = arguments(call);
    if !arguments.is_empty() {
        let label = Some(catalogue.line(&PageLine::Arguments));
        let content = match call.name.as_str() {
            "task" => BlockContent::Markdown(text(&arguments)),
            _ => BlockContent::Text(text(&arguments)),
        };
        blocks.push(CallBlock { is_shown: false, label, content });
    }
    if let Some(content) = payload.and_then(|payload| output(payload, failure.is_some())) {
        let label = Some(catalogue.line(&PageLine::Result));
        blocks.push(CallBlock { is_shown: false, label, content });
    }
    blocks
}

fn string<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// Returns the reason of a failed or refused call; `None` for a command, whose output is its reason.
fn failure_message(payload: &Value) -> Option<&str> {
    ["reason", "errorMessage", "error", "path"].iter().find_map(|key| string(payload, key))
}

/// Returns the to-do list of the arguments or the result.
fn todos(value: &Value) -> Option<BlockContent> {
    let entry = |todo: &Value| {
        let state = string(todo, "status").unwrap_or("pending").to_lowercase();
        let state = state.strip_prefix("todo_status_").unwrap_or(&state).to_owned();
        (state, text(string(todo, "content").unwrap_or_default()))
    };
    let entries = value.get(update_todos::TODOS)?.as_array()?;
    Some(BlockContent::Todos(entries.iter().map(entry).collect()))
}

/// Returns the replacements that a call requests, as removed and added lines.
fn requested_diff(arguments: &Value) -> Option<String> {
    if let Some(patch) = arguments.pointer("/applyPatch/patchContent").and_then(Value::as_str) {
        return Some(patch.to_owned());
    }
    let one = arguments.get("strReplace").map(std::slice::from_ref);
    let several = || arguments.pointer("/multiStrReplace/edits").and_then(Value::as_array).map(Vec::as_slice);
    let mut diff = String::new();
    for replacement in one.or_else(several)? {
        for (sign, key) in [('-', "oldText"), ('+', "newText")] {
            for line in replacement.get(key).and_then(Value::as_str).unwrap_or_default().lines() {
                diff.push(sign);
                diff.push_str(line);
                diff.push('\n');
            }
        }
    }
    Some(diff)
}

/// Returns the arguments that the target of the call does not show completely.
fn arguments(call: &ToolCall) -> String {
    let arguments = match &call.arguments {
        Value::Object(arguments) => arguments,
        Value::String(text) => return text.clone(),
        Value::Null => return String::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_)) => return other.to_string(),
    };
    let main = match call.name.as_str() {
        "shell" => "command",
        "write" => "fileText",
        "task" => "prompt",
        _ => "",
    };
    if let Some(text) = arguments.get(main).and_then(Value::as_str) {
        return text.to_owned();
    }
    let shown = call_target(call);
    let entries = arguments.iter().filter(|(key, value)| {
        let is_shown = value.as_str().is_some_and(|value| Some(value) == shown.as_deref());
        !is_shown && *key != tool::CALL_ID && !value.is_null()
    });
    let lines = entries.map(|(key, value)| match value {
        Value::String(text) => format!("{key}: {text}"),
        Value::Bool(_) | Value::Number(_) | Value::Null => format!("{key}: {value}"),
        Value::Array(_) | Value::Object(_) => format!("{key}: {}", pretty(value)),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns what a call returned.
fn output(payload: &Value, has_failed: bool) -> Option<BlockContent> {
    let content = |text_of: &str| BlockContent::Text(text(text_of));
    if let Some(exit_code) = payload.get("exitCode").and_then(Value::as_i64) {
        let both = string(payload, shell::INTERLEAVED_OUTPUT).map(str::to_owned).unwrap_or_else(|| {
            [shell::STDOUT, shell::STDERR].iter().filter_map(|key| string(payload, key)).collect()
        });
        let signal = string(payload, "signal").map(|signal| format!(" ({signal})")).unwrap_or_default();
        return Some(match exit_code {
            0 if !has_failed => content(&both),
            code => content(format!("{both}\n[exit code {code}{signal}]").trim_start()),
        });
    }
    if let Some(markdown) = string(payload, "markdown") {
        return Some(BlockContent::Markdown(text(markdown)));
    }
    if let Some(steps) = payload.get("conversationSteps").and_then(Value::as_array) {
        let last = steps.last().and_then(|step| step.pointer("/assistantMessage/text")?.as_str());
        return last.map(|last| BlockContent::Markdown(text(last)));
    }
    if let Some(blocks) = payload.get("content").and_then(Value::as_array) {
        let texts = blocks.iter().filter_map(|block| {
            block.pointer("/text/text").or_else(|| block.get("text")).and_then(Value::as_str)
        });
        let texts: Vec<_> = texts.collect();
        if !texts.is_empty() {
            return Some(content(&texts.join("\n")));
        }
    }
    if let Some(read) = payload.get("content").and_then(Value::as_str) {
        return Some(content(read));
    }
    if let Some(files) = payload.get("files").and_then(Value::as_array) {
        let files: Vec<_> = files.iter().filter_map(Value::as_str).collect();
        return Some(content(&files.join("\n")));
    }
    if let Some(results) = payload.get("workspaceResults").and_then(Value::as_object) {
        return Some(content(&results.values().map(matches).collect::<Vec<_>>().join("\n")));
    }
    if let Some(root) = payload.get("directoryTreeRoot") {
        let mut names = String::new();
        tree(root, 0, &mut names);
        return Some(content(&names));
    }
    match payload {
        Value::Null => None,
        _ if has_failed => None,
        Value::String(value) => Some(content(value)),
        Value::Object(keys) if keys.is_empty() => None,
        // The path and the counts of a change say nothing that the row does not show.
        Value::Object(keys) if keys.contains_key("fileSize") => None,
        other => Some(content(&pretty(other))),
    }
}

/// Returns the matches of a search as lines.
fn matches(results: &Value) -> String {
    let list =
        |key: &str, inner: &str| results.get(key).and_then(|of| of.get(inner)).and_then(Value::as_array);
    let name = |file: &Value| string(file, "file").unwrap_or_default().to_owned();
    if let Some(files) = list("content", "matches") {
        let lines = files.iter().flat_map(|file| {
            let matches = file.get("matches").and_then(Value::as_array).into_iter().flatten();
            let file_name = name(file);
            matches.map(move |line| {
                let number = line.get("lineNumber").and_then(Value::as_u64).unwrap_or_default();
                format!("{file_name}:{number}: {}", string(line, "content").unwrap_or_default())
            })
        });
        return lines.collect::<Vec<_>>().join("\n");
    }
    if let Some(files) = list("files", "files") {
        return files.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n");
    }
    if let Some(counts) = list("count", "counts") {
        let lines = counts.iter().map(|count| {
            let number = count.get("count").and_then(Value::as_u64).unwrap_or_default();
            format!("{}: {number}", name(count))
        });
        return lines.collect::<Vec<_>>().join("\n");
    }
    pretty(results)
}

/// Adds the names in a directory as indented lines.
fn tree(directory: &Value, depth: usize, names: &mut String) {
    const MAX_DEPTH: usize = 16;
    let indent = "  ".repeat(depth);
    let entries = |key: &str| directory.get(key).and_then(Value::as_array).into_iter().flatten();
    for child in entries("childrenDirs") {
        let path = string(child, "absPath").unwrap_or_default();
        let name = path.rsplit('/').find(|name| !name.is_empty()).unwrap_or(path);
        names.push_str(&format!("{indent}{name}/\n"));
        if depth < MAX_DEPTH {
            tree(child, depth + 1, names);
        }
    }
    for file in entries("childrenFiles") {
        names.push_str(&format!("{indent}{}\n", string(file, "name").unwrap_or_default()));
    }
}

fn pretty(value: &Value) -> String {
    // A JSON value always becomes a document.
    serde_json::to_string_pretty(value).unwrap_or_default()
}
