//! Converts calls to the names and forms of Claude Code, and inputs back to arguments of the tools.
//!
//! Uses the encoder of the stream, so hooks receive a call in the same form as the stream.

use ibeam_dialects::{Converter, DialectName, LiveEncoder, Step};
use ibeam_output::{call_event, init_event};
use ibeam_protocol::{ModelCallId, RunStarted, ToolCall, ToolOutcome};
use ibeam_wire::Contract;
use serde_json::{Map, Value, json};

use crate::claude_tools::tool_names_for;

/// The argument that repeats the id of a call.
const CALL_ID: &str = "toolCallId";
/// The key of a path, which is absolute in every call of Claude Code.
const PATH: &str = "file_path";

/// A call in the form of Claude Code.
#[derive(Debug, PartialEq)]
pub struct ClaudeCallForm {
    pub(crate) name: String,
    /// The names of all tools of Claude Code that correspond to the tool, for the matchers of hooks.
    pub(crate) names: Vec<String>,
    pub input: Value,
    /// The result; null before the end.
    pub response: Value,
}

impl ClaudeCallForm {
    /// Returns the form of a call of the run that began with `head`, with its outcome where it has ended.
    ///
    /// # Errors
    /// The reason why the call has no such form.
    pub fn new(head: &RunStarted, call: &ToolCall, outcome: Option<&ToolOutcome>) -> Result<Self, String> {
        let session = head.session_id.to_string();
        let answer = ModelCallId::from("0");
        let mut events = Vec::new();
        let mut encoder = LiveEncoder::new(DialectName::Claude, "", 0);
        encoder.write(Step::from_init(&init_event(head, &session, Contract::One)), &mut events);
        let start = call_event(&session, &answer, 0, call, None);
        encoder.write(Step::from_call_start(&start), &mut events);
        if outcome.is_some() {
            let end = call_event(&session, &answer, 0, call, outcome);
            encoder.write(Step::from_call_end(&end), &mut events);
        }
        let block = |kind: &str| {
            let blocks = events.iter().filter_map(|event| event.pointer("/message/content")?.as_array());
            blocks.flatten().find(|block| *value_at(block, "/type") == kind)
        };
        let used = block("tool_use").ok_or("the call has no form in this dialect")?;
        let name = value_at(used, "/name").as_str().unwrap_or_default().to_owned();
        let mut input = value_at(used, "/input").clone();
        if let Some(input) = input.as_object_mut() {
            input.shift_remove(CALL_ID);
            if let Some(path) = input.get(PATH).and_then(Value::as_str) {
                let path = head.cwd.join(path).to_string_lossy().into_owned();
                input.insert(PATH.to_owned(), path.into());
            }
        }
        let structured = events.iter().find_map(|event| event.get("tool_use_result"));
        let content = block("tool_result").and_then(|block| block.get("content"));
        let response = structured.filter(|result| !result.is_null()).or(content);
        let alike = tool_names_for(&call.name).map(str::to_owned);
        let names = [name.clone()].into_iter().chain(alike).collect();
        Ok(Self { name, names, input, response: response.cloned().unwrap_or_default() })
    }

    /// Returns the names of the tool as the matchers of hooks compare them.
    pub fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    /// Returns the part of a hook's input that describes the call.
    pub fn to_hook_input(&self, call: &ToolCall) -> Value {
        json!({ "tool_name": self.name, "tool_input": self.input, "tool_use_id": call.id })
    }

    /// Returns the arguments of the tool for another input of the same call.
    ///
    /// # Errors
    /// The reason why the input has no such arguments.
    pub fn arguments(&self, input: Map<String, Value>) -> Result<Value, String> {
        let used = json!({ "type": "tool_use", "id": "0", "name": self.name, "input": input });
        let message = json!({ "role": "assistant", "content": [used] });
        let line = json!({ "type": "assistant", "message": message, "session_id": "0" });
        let events = convert_lines(DialectName::Claude, DialectName::Cursor, line.to_string().as_bytes())?;
        let call = events.iter().find_map(|event| event.get("tool_call")?.as_object()?.iter().next());
        match call {
            // Tools of servers, and tools without a name in the dialect, receive the input unchanged.
            Some((key, _)) if key == "mcpToolCall" || key == "function" => Ok(Value::Object(input)),
            Some((_, call)) => Ok(value_at(call, "/args").clone()),
            None => Err("the input does not match the tool".to_owned()),
        }
    }
}

/// Returns the value at a JSON pointer; null if it does not exist.
pub fn value_at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

/// Returns the events that the lines become in another dialect.
fn convert_lines(from: DialectName, to: DialectName, lines: &[u8]) -> Result<Vec<Value>, String> {
    let mut converter = Converter::new(from, to);
    let mut out = Vec::new();
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        converter.convert_line(line, &mut out).map_err(|error| error.to_string())?;
    }
    let lines = out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).map_err(|error| error.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use ibeam_protocol::{Event, EventKind};

    use super::*;

    /// Runs on the events of the dialects; `IBEAM_BLESS=1` writes what comes out now.
    #[test]
    fn the_forms_of_calls_are_unchanged() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ibeam-serve/tests/golden/dialect_writer");
        let events = fs::read_to_string(folder.join("tools.events.ndjson")).unwrap();
        let events: Vec<Event> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let EventKind::RunStarted(head) = &events[0].kind else { panic!("no head") };
        let mut now = String::new();
        for event in &events {
            let form = match &event.kind {
                EventKind::ToolCallStarted { call, .. } => ClaudeCallForm::new(head, call, None),
                EventKind::ToolCallFinished { call, outcome, .. } => {
                    ClaudeCallForm::new(head, call, Some(outcome.as_ref()))
                }
                _ => continue,
            };
            let form = form.unwrap();
            let arguments = form.input.as_object().map(|input| form.arguments(input.clone()));
            let ClaudeCallForm { name, names, input, response } = form;
            now.push_str(&format!("{name} {names:?} {input} {response} {arguments:?}\n"));
        }
        let path = folder.join("hook-payloads.out");
        if std::env::var_os("IBEAM_BLESS").is_some() {
            return fs::write(path, now).unwrap();
        }
        assert_eq!(fs::read_to_string(path).unwrap(), now);
    }
}
